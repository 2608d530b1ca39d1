"""Redaction's two promises, measured: every planted secret is gone, and clean events stay as they are."""

from __future__ import annotations

import base64
import json
import random
import re
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from claude_memory.redact import redact, redact_document

EVENT_CHARACTERS = 8192
_MARK = re.compile(r"\[(?:private|secret:[a-z0-9-]+)\]")
WANTED_EVENTS = 4000
MAX_ALTERED_SHARE = 0.001
SOURCE_SUFFIXES = {".py", ".pyi", ".md", ".txt", ".rst", ".toml", ".json", ".js", ".h"}


def _load_samples() -> ModuleType:
    spec = spec_from_file_location("secret_samples", Path(__file__).with_name("secret_samples.py"))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


secret_samples = _load_samples()
SAMPLES = secret_samples.samples()


def _leaks(secret: str, text: str) -> list[str]:
    slices = (secret[i : i + 12] for i in range(max(1, len(secret) - 11)))
    return [part for part in slices if part in text]


def test_there_are_enough_samples_of_enough_formats() -> None:
    assert len(SAMPLES) >= 100
    assert len({sample.format for sample in SAMPLES}) >= 60


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.format)
def test_nothing_of_a_planted_secret_is_left(sample: secret_samples.Sample) -> None:
    for place, text in secret_samples.surroundings(sample.snippet).items():
        assert sample.secret[:12] in text.replace("\\n", "\n") or "\n" in sample.secret, place
        cut = redact(text)
        assert not _leaks(sample.secret, cut), (place, cut[:400])
        assert "[secret:" in cut, place
        assert redact(cut) == cut, place


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.format)
def test_nothing_of_it_is_left_in_an_event(sample: secret_samples.Sample) -> None:
    event = {
        "session_id": "s1",
        "hook_event_name": "PostToolUse",
        "tool_input": {"command": sample.snippet, "description": "run it"},
        "tool_response": {"stdout": f"ok\n{sample.snippet}\n", "lines": [sample.snippet]},
    }
    cut = redact_document(event)
    assert not _leaks(sample.secret, json.dumps(cut))
    assert json.dumps(cut).count("[secret:") >= 3
    assert cut["session_id"] == "s1"


# A stand-in for a cloud and its client: their examples are made of keys and passwords.
WITH_SECRETS = {"boto3", "botocore", "moto"}


def _source_events() -> Iterator[tuple[str, str]]:
    """Real text present wherever the tests run: the installed packages and the standard library."""
    packages, standard = (Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib"))
    for root in (packages, standard):
        found = (file for file in root.rglob("*") if file.suffix in SOURCE_SUFFIXES and file.is_file())
        files = sorted(file for file in found if root is packages or "site-packages" not in file.parts)
        files = [file for file in files if not WITH_SECRETS & set(file.parts)]
        random.Random(1).shuffle(files)
        yield from _cut_into_events(files, WANTED_EVENTS // 2)


def _cut_into_events(files: list[Path], wanted: int) -> Iterator[tuple[str, str]]:
    count = 0
    for file in files:
        text = file.read_text("utf-8", "replace")[: 4 * EVENT_CHARACTERS]
        for start in range(0, len(text), EVENT_CHARACTERS):
            yield f"{file.parent.name}/{file.name}:{start}", text[start : start + EVENT_CHARACTERS]
            count += 1
        if count >= wanted:
            return


def _hex(rng: random.Random, size: int) -> str:
    return f"{rng.getrandbits(size * 4):0{size}x}"


def _b64(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


GENERATED: dict[str, Callable[[random.Random], str]] = {
    "git log": lambda r: (
        f"commit {_hex(r, 40)}\nAuthor: Ada <ada@host.dev>\n    Rotate the session token ({_hex(r, 7)})\n"
    ),
    "npm lock": lambda r: (
        f'"from": "https://files.example/a/-/a-{r.randrange(9)}.tgz",\n"integrity": "sha512-{_b64(r, 64)}"\n'
    ),
    "python lock": lambda r: (
        f'{{ url = "https://files.host/packages/{_hex(r, 2)}/{_hex(r, 60)}/a.whl", hash = "sha256:{_hex(r, 64)}" }}\n'
    ),
    "uuids": lambda r: (
        f'{{"id": "{uuid.UUID(int=r.getrandbits(128))}", "session": "{uuid.UUID(int=r.getrandbits(128))}"}}\n'
    ),
    "pytest": lambda r: (
        f"tests/test_auth.py::test_password_is_hashed[{r.randrange(99)}] PASSED [ {r.randrange(99)}%]\n"
    ),
    "png": lambda r: (
        f'<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{_b64(r, 300)}AAAAAAAAAAAAAAAAAAAAAAAA{_b64(r, 90)}">\n'
    ),
    "docker": lambda r: f"api-{r.randrange(9)}: digest: sha256:{_hex(r, 64)} size: {r.randrange(9999)}\n",
    "minified": lambda r: (
        f"!function(t,e){{var n=e.token||t.getToken();e.password=i(n,{r.randrange(999)}),t.key=r[{r.randrange(99)}]}}(this,a);"
    ),
    "code": lambda r: (
        f"self.token_{r.randrange(9)} = await client.fetch_token(user, password=form['password'])\n"
    ),
    "typescript": lambda r: (
        f"const apiKey{r.randrange(9)} = config.get<string>('service.apiKey') ?? process.env.API_KEY;\n"
    ),
    "docs": lambda r: (
        f"Set `API_KEY=<your key>` and `DB_PASSWORD=changeme`, then open step {r.randrange(9)}.\n"
    ),
    "env file": lambda r: (
        f"PORT={r.randrange(9999)}\nSECRET_KEY=your-secret-key-here\nTOKEN=${{CI_TOKEN}}\nDB_PASSWORD=password\n"
    ),
    "yaml": lambda r: (
        f"password:\n  valueFrom:\n    secretKeyRef:\n      name: db-credentials\n      key: password-{r.randrange(9)}\n"
    ),
    "usage": lambda r: (
        f'"usage": {{"input_tokens": {r.randrange(99999)}, "cache_read_input_tokens": {r.randrange(99999)}}}\n'
    ),
    "coverage": lambda r: (
        f"src/auth/token_store.py     {r.randrange(999)}     {r.randrange(99)}    {r.randrange(99)}%\n"
    ),
    "urls": lambda r: (
        f"GET http://localhost:{r.randrange(9999)}/users/@me?page={r.randrange(9)} 200 {r.random():.3f}s\n"
    ),
}


def _generated_events() -> Iterator[tuple[str, str]]:
    rng = random.Random(2)
    for name, line in GENERATED.items():
        for number in range(60):
            yield f"{name} {number}", "".join(line(rng) for _ in range(20))[:EVENT_CHARACTERS]


def test_clean_events_of_agents_stay_as_they_are() -> None:
    altered = [name for name, text in _generated_events() if redact(text) != text]
    assert altered == []


def test_at_most_one_in_a_thousand_clean_events_is_altered() -> None:
    """Key-shaped examples in third-party documentation count against us."""
    events = [*_source_events(), *_generated_events()]
    altered = {name: _MARK.findall(cut) for name, text in events if (cut := redact(text)) != text}
    assert len(events) >= 3000
    assert len(altered) <= MAX_ALTERED_SHARE * len(events), altered


def test_ten_megabytes_pass_and_are_still_searched() -> None:
    secret = SAMPLES[0].secret
    text = "the quick brown fox holds a token and a password = none\n" * 190_000
    cut = redact(f"{text}{secret}\n{text}")
    assert len(text) > 10_000_000
    assert len(_MARK.findall(cut)) == 1
    assert secret not in cut
