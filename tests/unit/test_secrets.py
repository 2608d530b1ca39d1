"""Secrets are replaced by their kind; what only looks like one stays as it is."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.redact import redact, redact_document
from claude_memory.redact.checks import CHECKS
from claude_memory.redact.engine import RULES

RNG = random.Random(7)
VALUE = "7" + "".join(RNG.choices(string.ascii_letters + string.digits, k=22)) + "q"
GITHUB = "ghp_" + "".join(RNG.choices(string.ascii_letters + string.digits, k=36))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"export GH={GITHUB}", "github-token"),
        (f"postgres://app:{VALUE}@db:5432/x", "url-password"),
        (f"Authorization: Bearer {VALUE}", "authorization-header"),
        (f"DB_PASSWORD={VALUE}", "env-secret"),
        (f'"client_secret": "{VALUE}"', "secret-assignment"),
        (f"token: str | None = '{VALUE}'", "secret-assignment"),
        (f'os.environ.setdefault("API_TOKEN", "{VALUE}")', "secret-assignment"),
        (f"tool --password {VALUE}", "command-password"),
        (f"SEARCH_ADMIN_KEY={VALUE}", "env-key"),
        ("passwd = 'geheim$parole'", "password-literal"),
        (f"pw = {VALUE}", "short-password"),
        (f'{{"db_pw": "{VALUE}"}}', "short-password"),
        (f"PW={VALUE}", "short-password"),
        (f"the staging pw is {VALUE}", "spoken-password"),
        (f"pwd: {VALUE}", "secret-assignment"),
    ],
)
def test_only_the_secret_is_replaced_by_its_kind(text: str, kind: str) -> None:
    result = redact(text)
    secret = next(s for s in (GITHUB, VALUE, "geheim$parole") if s in text)
    assert result == text.replace(secret, f"[secret:{kind}]")
    assert result.count("[secret:") == 1


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=your-api-key-here",
        "API_KEY=<token>",
        "API_KEY=${TOKEN}",
        "API_KEY=$TOKEN",
        "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
        "PASSWORD=changeme",
        "PASSWORD=********",
        'token = os.environ["SERVICE_TOKEN"]',
        "const token = process.env.SERVICE_TOKEN_2;",
        "token: ${{ secrets.DEPLOY_TOKEN }}",
        "password: {{ vault_db_password_1 }}",
        "def login(user: str, password: str | None = None) -> Token:",
        "password = base64.b64decode(data)",
        "token = await self.auth.get_token2(user_id)",
        "const { password, token } = await schema.parseAsync(req.body);",
        "password: z.string().min(8).max(64),",
        'String password = request.getParameter("password");',
        'token := os.Getenv("TOKEN")',
        "SOCKS5_NO_ACCEPTABLE_AUTH = SOCKS5_NO_ACCEPTABLE_AUTH",
        "postgres://user:password@localhost/db",
        "postgres://${USER}:${PASS}@localhost/db",
        "http://localhost:8080/users/@me",
        "git@github.com:org/repo.git",
        "docker run -u 1000:1000 curlimages/curl https://host/",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id: 123e4567-e89b-42d3-a456-426614174000",
        '"integrity": "sha512-9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b7476=="',
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "the token expires after 3600 seconds, the password never does",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
        'if line == "-----BEGIN PRIVATE KEY-----": return True',
        "Authorization: Bearer <token>",
        "tokens: 15234, cached_tokens: 12000, max_tokens=4096",
        "publicKeyToken=b77a5c561934e089",
        '"NextToken": "eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b190cnVuY2F0ZV9hbW91bnQiOiAxMH0="',
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:Orders-a7b2c3",
        "AWS::IAM::AccessKey: 72c2d9dd90025459",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_a_name_gives_its_value_context() -> None:
    document = {
        "password": VALUE,
        "env": [{"name": "API_TOKEN", "value": VALUE}, {"name": "MODE", "value": "fast"}],
        "argv": ["deploy", "--password", VALUE, "--fast"],
        "headers": [["Authorization", f"Bearer {VALUE}"], ["Accept", "text/html"]],
    }
    cut = redact_document(document)
    assert VALUE not in repr(cut)
    assert repr(cut).count("[secret:") == 4
    assert cut["env"][1] == {"name": "MODE", "value": "fast"}
    assert cut["argv"][0] == "deploy"
    assert cut["argv"][3] == "--fast"
    assert redact_document(cut) == cut


def test_two_keys_that_become_one_text_keep_both_members() -> None:
    other = "ghp_" + "".join(RNG.choices(string.ascii_letters + string.digits, k=36))
    cut = redact_document({GITHUB: 1, other: 2})
    assert sorted(cut.values()) == [1, 2]
    assert repr(cut).count("[secret:github-token]") == 2
    assert "ghp_" not in repr(cut)


def test_a_mark_is_never_taken_for_a_secret() -> None:
    text = 'password="[secret:url-password]" token: [secret:jwt] PASSWORD=[private]'
    assert redact(text) == text


def test_a_secret_beside_a_mark_still_goes() -> None:
    assert VALUE not in redact(f"[secret:jwt] API_TOKEN={VALUE} [private]")


def test_a_lone_surrogate_moves_no_boundary() -> None:
    text = f"\ud800é🔑 TOKEN={VALUE} \udfff ende"
    assert redact(text) == "\ud800é🔑 TOKEN=[secret:secret-assignment] \udfff ende"


def test_every_rule_is_valid_and_prefiltered() -> None:
    assert len({rule.kind for rule in RULES}) >= 60
    for rule in RULES:
        assert re2.compile(rule.pattern).groups >= 1, rule.kind
        assert rule.keywords, rule.kind
        assert all(word == word.lower() for word in rule.keywords), rule.kind
        assert rule.check is None or rule.check in CHECKS


def test_a_text_that_overwhelms_the_prefilter_is_still_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exhausted:
        def Match(self, text: bytes) -> list[int]:  # noqa: N802
            return []

    monkeypatch.setattr("claude_memory.redact.engine._prefilter", Exhausted)
    assert redact(f"DB_PASSWORD={VALUE}") == "DB_PASSWORD=[secret:env-secret]"


KEYWORDS = sorted({keyword for rule in RULES for keyword in rule.keywords})


@given(
    st.text(max_size=300).filter(
        lambda text: not any(keyword in text.lower() for keyword in ["private", *KEYWORDS])
    )
)
def test_a_text_without_keywords_is_unchanged(text: str) -> None:
    assert redact(text) == text


FRAGMENTS = st.sampled_from(
    [
        VALUE,
        GITHUB,
        "password",
        "token",
        "=",
        ": ",
        '"',
        "'",
        "\\",
        "\\n",
        "\n",
        " ",
        "[secret:x]",
        "://u:",
        "@h",
        "Bearer ",
        "\ud800",
        "ß",
        "-----BEGIN PRIVATE KEY-----",
        "-",
        ";",
        "<private>",
        "curl -u a:",
        "\x1b[1m",
        "\0",
    ]
)


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_a_second_pass_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.dictionaries(FRAGMENTS, FRAGMENTS | st.lists(FRAGMENTS, max_size=4) | st.integers(), max_size=6))
def test_a_second_pass_over_a_document_changes_nothing(document: Any) -> None:
    once = redact_document(document)
    assert redact_document(once) == once


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=Tr0ub4dor&3xyz ok", "password=[secret:secret-assignment] ok"),
        ('PASSWORD="ab cd ef 12"', 'PASSWORD="[secret:password-phrase]"'),
        ('{"password": "My Long Pass 99"}', '{"password": "[secret:password-phrase]"}'),
        ("my password is Kaninchen77!", "my password is [secret:spoken-password]!"),
        ("mysql -u root -pS3cretPw99 db", "mysql -u root -p[secret:mysql-password] db"),
        ("use password=hunter2SuperSalamander9 there", "use password=[secret:password-assignment] there"),
        ("password: hunter2SuperSalamander9.", "password: [secret:password-assignment]."),
        ("set passwd=correct-horse7battery, ok?", "set passwd=[secret:password-assignment], ok?"),
        ("The API key: hunter2SuperSalamander9 works", "The API key: [secret:worded-secret] works"),
        ("with token=hunter2SuperSalamander9.", "with token=[secret:worded-secret]."),
        ("our api key is hunter2SuperSalamander9, yes", "our api key is [secret:spoken-secret], yes"),
    ],
)
def test_a_password_goes_to_its_end_however_it_is_written(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        'password: "must be at least 8 characters"',
        '"password": "Enter 8 digits"',
        'hint for password: "At least 12 chars"',
        "the password is incorrect.",
        "password is required",
        "mysql -u root -p mydb",
        "password=os.environ['DB2_PASSWORD'] and password: str",
        "password: Optional[str] = None, password=form2.password",
        "password=password123 or password=<your-Password-1>",
        "the token is valid2 and the secret is kept",
        "token: Token2 | None, secret=settings.secret2",
        "the api key is wrong, the key is user_id2",
    ],
)
def test_talk_about_passwords_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "pwd",
        "cd $(pwd) && ls",
        "pwd: /home/me/work2",
        "PWD=/home/dev/app2",
        "OLDPWD=/srv/app1",
        "pwd: ~/src/app2",
        "pwd = os.getcwd()",
        "pwd = Path.cwd()",
        "pwd=$PWD",
        "pw = page_width",
        "pw: 1024",
        "pw = 320px",
        "pw = 0.75",
        "pw: string",
        "pw = sync_playwright().start()",
        "pw = await async_playwright()",
        "const pw = process.env.DB_PW",
        "pw: w1 + w2",
        "the pw is wrong",
        "http://w3.org/pw=index2",
    ],
)
def test_the_working_directory_and_other_short_names_stay(text: str) -> None:
    assert redact(text) == text
