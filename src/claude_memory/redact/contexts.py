"""Secrets that only their surroundings give away: headers, URLs, commands, assignments. Data, no code."""

from __future__ import annotations

from claude_memory.redact.rule import BARE, BASE64, CHARS, QUOTE, SEPARATOR, Rule, named, token

_NAME = (
    r"(?i:secret|token|passw(?:or)?d|passphrase|pwd|credentials?|[_-]pass|[_-]auth|secret[_-]?key[_-]?base"
    r"|(?:api|access|secret|private|auth|encryption|signing|master|account|shared|license|app|application"
    r"|admin|service|server|client|deploy|write|webhook|hmac|jwt|integration|ingest)[_-]?key)"
)
_NAME_WORDS = tuple(
    """secret token passwd password passphrase pwd credential _pass _auth -auth -pass _key -key apikey
    accesskey privatekey authkey encryptionkey signingkey masterkey accountkey sharedkey licensekey appkey
    applicationkey adminkey servicekey serverkey clientkey deploykey writekey webhookkey""".split()
)
# Names that end like a secret's and are none: resource types and addresses, public keys, places in a listing.
_OTHER_NAMES = (
    r"[A-Z]\w*::[A-Z]\w*::\w*|arn:aws[\w-]*:[\w-]*:[\w-]*:[0-9]*:|(?i:public_?key_?)"
    r"|(?i:(?:next|lock|idempotency|update|page|continuation|sync|pagination|cursor"
    r"|resume)[_-]?(?:page[_-]?)?)"
)
# Where an environment line begins: in a file, a diff, a numbered listing, a JSON string.
_LINE = r"(?m)(?:^|\\n)[ \t+-]*(?:[0-9]+[\t\x7f])?(?:export |set |ENV |ARG |- )?"
_ENV_NAME = (
    r"(?:[A-Z][A-Z0-9_]*_)?(?:PASSWORD|PASSWD|PWD|PASS|PASSPHRASE|SECRET|TOKEN|CREDENTIALS|AUTH|KEY_BASE"
    r"|(?:API|ACCESS|PRIVATE|SECRET|ENCRYPTION|SIGNING|MASTER)_?KEY)"
)
_ENV_WORDS = tuple(
    "password= passwd= pwd= pass= passphrase= secret= token= credentials= auth= key_base= key=".split()
)
_FLAG = r"--?[a-z-]{0,30}(?:password|passwd|passphrase|pwd|pass|token|secret|api-key|auth)"
_COOKIE = (
    r"(?i:(?:sess(?:ion)?|auth|remember)[\w.-]{0,16}|sid|connect\.sid|token|jwt|csrftoken"
    r"|phpsessid|jsessionid)"
)
# Servers that are always reached with a login; elsewhere `scheme://a:b@c` may be an address without one.
_STORES = (
    r"(?i:postgres\w*|mysql\w*|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb"
    r"|\+srv|\+\w{3,12}|s?ftps?|smtps?|imaps?|ldaps?|nats|kafka)"
)
_LOGIN = r"""://[^\s:/?#@"'<>`\x00]{0,80}:([^\s/?#"'<>`\x00]{3,})@[A-Za-z0-9\[_.\x7f-]"""
_TYPE = r"(?::[ \t]?[A-Za-z][\w.]*(?:\[\w+\])?(?:[ \t]?\|[ \t]?None)?[ \t]?)?"
_ASSIGN = rf"(?:{QUOTE})?\]?{_TYPE}[ \t]{{0,12}}(?:=>|:=|\?=|==|[=:])[ \t]{{0,12}}"

CONTEXTS = (
    token("jwt", "eyj", r"eyJ[\w-]{8,}(?:\.[\w-]+){1,2}\.[\w-]*(?:\.[\w-]+)*", "jwt"),
    Rule(
        "authorization-header",
        ("authorization", "x-api-key", "x-auth-token", "private-token", "x-access-token", "api-key"),
        r"(?:\b|_|\\[nrt])(?i:authorization|x-api-key|x-auth-token|private-token|x-access-token|api-key)"
        + SEPARATOR
        + rf"(?i:(?:bearer|token|basic|apikey|digest|key|bot|splunk|ghost)(?:[ \t]+|%20|=))?({BARE}{{8,}})",
        "header",
    ),
    named("bearer-token", "bearer", "bearer", r"[\w.~+/-]{16,}={0,2}", "random"),
    Rule("basic-login", ("basic",), r"(?i:\bbasic)[ \t]+([A-Za-z0-9+/_-]{8,}={0,2})", "basic"),
    Rule("url-password", ("://",), _STORES + _LOGIN, "password"),
    Rule("url-password", ("://",), rf"\b[A-Za-z][A-Za-z0-9+.-]{{1,30}}{_LOGIN}", "env"),
    Rule(
        "connection-string-password",
        ("password=", "pwd=", "password =", "pwd ="),
        r"""(?:;[ \t]?|["'])(?i:password|pwd)[ \t]?=[ \t]?([^;\s"'`\x00]{4,});?""",
        "env",
    ),
    Rule(
        "curl-login",
        ("curl", "wget", "http"),
        r"""\s(?:-u|--user|--proxy-user|-U)[ =]?["']?[\w.@+%-]+:([^\s"'`\x00]{4,})""",
        "env",
    ),
    Rule(
        "command-password",
        ("--pass", "--pwd", "--token", "--secret", "--api-key", "--auth", "-pass"),
        rf"(?:\s|^|[\"'])(?:{_FLAG})(?:[ \t=]|(?:{QUOTE}),?[ \t]?)"
        rf"(?:\\\r?\n[ \t]*)?(?:{QUOTE})?({BARE}{{6,}})",
        "env",
    ),
    Rule(
        "mysql-password",
        ("mysql", "mariadb", "sshpass", "redis-cli"),
        rf"(?:mysql\w*|mariadb\w*)\s[^\n|;]{{0,120}}?\s-p({BARE}{{6,}})"
        rf"|sshpass\s+-p[ \t]*(?:{QUOTE})?({BARE}{{4,}})"
        rf"|redis-cli\s[^\n|;]{{0,120}}?-a[ \t]+(?:{QUOTE})?({BARE}{{6,}})",
        "env",
    ),
    Rule(
        "netrc-password",
        ("password ", "password\t"),
        r"(?:machine[ \t]+[\w.:-]+|default)[^\x00]{1,80}?login[ \t]+\S+?[^\x00]{1,80}?"
        rf"password[ \t]+({BARE}{{6,}})",
        "env",
    ),
    Rule(
        "sql-password",
        ("identified by", "password '", "encrypted password", "password = '"),
        r"(?i:identified by|(?:with|encrypted|set|(?:role"
        r"|user) [\w\"]+) password)\s+(?:=[ \t]*)?\\*['\"]([^'\"\s\x00]{6,})['\"]",
        "env",
    ),
    Rule(
        "xml-password",
        ("</",),
        r"<(?i:[\w.:-]{0,30}(?:password|passwd|secret|token|apikey|api_key|api-key))>([^<\s\x00]{8,})</",
        "random",
    ),
    Rule(
        "session-cookie",
        ("cookie",),
        rf"""(?i:cookie)[^\n\x00]{{0,400}}?{_COOKIE}["']?[=:][ ]?["']?([^\s;,"'\x00]{{16,}})""",
        "random",
    ),
    Rule(
        "kubernetes-secret",
        ("kind: secret", '"kind": "secret"', '"kind":"secret"'),
        rf"(?m)^[ \t+-]*[\w.-]{{1,60}}:[ \t]+(?:{QUOTE})?({BASE64}{{10,}}={{0,2}})(?:{QUOTE})?[ \t]*$",
        "kubernetes",
    ),
    Rule(
        "env-key",
        ("_key=",),
        rf"{_LINE}[A-Z][A-Z0-9_]*_KEY=(?:{QUOTE})?({CHARS}{{16,}})",
        "random",
    ),
    Rule(
        "env-secret",
        _ENV_WORDS,
        rf"{_LINE}{_ENV_NAME}=(?:{QUOTE})?({CHARS}{{6,}})",
        "env",
    ),
    Rule(
        "password-literal",
        ("password", "passwd", "pwd", "passphrase"),
        rf"(?i:password|passwd|pwd|passphrase){_ASSIGN}[bru]?{QUOTE}({CHARS}{{6,}})\\*[\"'`]",
        "env",
    ),
    Rule(
        "password-phrase",
        ("password", "passwd", "pwd", "passphrase"),
        rf"(?i:password|passwd|pwd|passphrase){_ASSIGN}[bru]?{QUOTE}"
        rf"([^\s\"'`\\\x00][^\"'`\\\n\x00]{{4,60}})\\*[\"'`]",
        "phrase",
    ),
    # Two letters name much besides (a page's width, Playwright): only what no mere word or number can be.
    Rule(
        "short-password",
        ("pw=", "pw =", "pw:", "pw :", 'pw"', "pw'"),
        rf"(?:^|[^A-Za-z0-9])(?i:pw){_ASSIGN}[bru]?(?:{QUOTE})?({BARE}{{6,}})",
        "mixed",
    ),
    Rule(
        "spoken-password",
        ("password is", "password was", "passphrase is", "passwort ist", "pw is", "pw was", "pw ist"),
        r"(?i:\b(?:password|passphrase|passwort|pw)[ \t]+(?:is|was|ist)[ \t]+(?:now[ \t]+)?)[\"'`]?"
        r"([^\s\"'`,;\x00]{5,}[^\s\"'`,;.!?:)\x00])",
        "spoken",
    ),
    Rule(
        "mysql-password",
        ("mysql", "mariadb"),
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;\x00]{0,200}?[ \t]-p([^\s\"'`\x00]{6,})",
        "env",
    ),
    Rule(
        "secret-assignment",
        _NAME_WORDS,
        rf"(?:{_OTHER_NAMES})?"
        rf"{_NAME}(?:(?:{_ASSIGN}|(?:{QUOTE}),[ \t]?)[bru]?{QUOTE}({CHARS}{{8,}})"
        rf"|{_ASSIGN}({BARE}{{8,}}(?:&[^\s&=?\"'`\x00]+)*))"
        rf"|(?i:\bset(?:env|x)?)[ \t]+\w*{_NAME}[ \t]+(?:{QUOTE})?({BARE}{{8,}})",
        "random",
        unless=_OTHER_NAMES,
    ),
    Rule(
        "spoken-secret",
        ("key is", "key was", "token is", "token was", "secret is", "secret was"),
        r"(?i:\b(?:(?:api|access|secret|private|deploy)[ _-]?key|token|secret)[ \t]+(?:is|was)[ \t]+)"
        r"(?:now[ \t]+)?[\"'`]?([^\s\"'`,;\x00]{7,}[^\s\"'`,;.!?:)\x00])",
        "mixed",
    ),
    # What a person makes up holds words, which no key does; beside such a name a digit among them tells.
    Rule(
        "password-assignment",
        ("password", "passwd", "pwd", "passphrase"),
        rf"(?i:password|passwd|pwd|passphrase){_ASSIGN}({BARE}{{7,}}[^\s\"'`\\,;&|<>().!?:\x00])",
        "spoken",
    ),
    Rule(
        "worded-secret",
        tuple(f"{name}{sign}" for name in ("token", "secret", "key") for sign in ("=", ":", " =", " :")),
        r"(?:^|[\s,;({\[\"'`]|\\[nrt])(?i:token|secret|(?:api|access|secret)[ _-]?key)[ \t]?[=:][ \t]?"
        r"([^\s\"'`\\,;&|<>()\x00]{7,}[^\s\"'`\\,;&|<>().!?:\x00])(?:[\s,;.!?)}\]\"'`\\]|$)",
        "mixed",
    ),
)
