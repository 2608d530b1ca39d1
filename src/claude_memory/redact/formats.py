"""Secrets that show by their own shape: keys as blocks of text here, all others from `formats.tsv`."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import dirname, join

from claude_memory.redact.rule import BASE64, Rule, named, token

_PIECES = {"%BASE64%": BASE64, "%UUID%": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"}

_PEM_SKIP = r"""(?:[\s"',+|>#*\\\x7f-]|\\+[nrt]|[0-9]{1,6}[\t\x7f:])*"""
_PEM_HEADERS = (
    r"(?:(?:\s|\\+[nr])*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\r\n\\\x00]{0,120})*"
)
# A log puts its own head before each line of the key: such a line counts when it ends in a long run.
_PEM_HEAD = r"\r?\n[^\n\x00]{0,80}[ \t|:>\x7f]"
_PEM_RUN = rf"(?:{_PEM_SKIP}[A-Za-z0-9+/=]{{12,}}|{_PEM_HEAD}[A-Za-z0-9+/]{{24,}}={{0,2}}[ \t]*)"
_PEM_LAST = rf"(?:(?:{_PEM_SKIP}|{_PEM_HEAD})[A-Za-z0-9+/=]{{0,80}}[ \t]*)?"
_PEM_END = (
    rf"(?:{_PEM_LAST}(?:{_PEM_SKIP}|{_PEM_HEAD})-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?"
)

BLOCKS = (
    Rule(
        "private-key",
        ("private key",),
        rf"(-----BEGIN [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----{_PEM_HEADERS}"
        rf"{_PEM_RUN}+{_PEM_END})",
    ),
    Rule(
        "ssh2-private-key",
        ("ssh2 encrypted private key",),
        rf"(---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:{_PEM_SKIP}[A-Za-z0-9+/=:]{{8,}})+)",
    ),
    Rule(
        "putty-private-key",
        ("private-lines", "private-mac"),
        rf"Private-Lines: ?[0-9]+({_PEM_RUN}+(?:{_PEM_SKIP}{BASE64}{{2,}}={{1,2}})?)"
        r"|Private-MAC: ?([0-9a-f]{40,})",
    ),
    token("age-secret-key", "age-secret-key-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40,}"),
    named(
        "wireguard-private-key",
        "private_?key|preshared_?key",
        "privatekey private_key presharedkey",
        rf"{BASE64}{{43}}=",
    ),
    named("kubeconfig-client-key", "client-key-data", "client-key-data", rf"{BASE64}{{40,}}={{0,2}}"),
)


def _listed() -> Iterator[Rule]:
    with open(join(dirname(__file__), "formats.tsv"), encoding="utf-8") as lines:  # noqa: PTH118, PTH120, PTH123
        for line in lines:
            if not line.startswith("#"):
                yield _rule(*line.rstrip("\n").split("\t"))


def _rule(kind: str, keywords: str, check: str, *rest: str) -> Rule:
    body = rest[-1]
    for name, piece in _PIECES.items():
        body = body.replace(name, piece)
    words, checked = tuple(keywords.split(",")), None if check == "-" else check
    if rest[0] == "whole:":
        return Rule(kind, words, body, checked)
    made = token(kind, "", body, checked) if len(rest) == 1 else named(kind, rest[0], "", body, checked)
    return made._replace(keywords=words)


FORMATS: tuple[Rule, ...] = (*BLOCKS, *_listed())
