"""Obvious secrets, cut with the standard library alone: for what a hook itself writes into a file.

A subset of the rules that guard the store, cheap enough to run before every prompt.
"""

from __future__ import annotations

import re
from functools import cache

MARK = "[secret]"
_LONG = 32  # characters: what has no name of its own is a secret only if it is as long as a key

# Each pattern runs only when its cue stands in the text (lower case), the one without only where a word is
# long enough; its first group is cut.
_RULES = (
    ("akia|asia", r"\b((?:AKIA|ASIA)[A-Z0-9]{16,})"),
    ("gh", r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    ("glpat-", r"\b(glpat-[\w-]{16,})"),
    ("sk-|pk-|rk_|sk_", r"\b([srp]k[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,})"),
    ("xox", r"\b(xox[abeprs]-[\w-]{10,})"),
    ("aiza", r"\b(AIza[\w-]{30,})"),
    ("eyj", r"\b(eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?)"),
    ("private key", r"(-----BEGIN [A-Z ]*PRIVATE KEY-----.*)"),
    ("://", r"://[^\s/:@]{0,80}:([^\s/@]{2,})@"),
    ("bearer|basic", r"(?i:\b(?:bearer|basic)\s+)([\w.~+/=-]{12,})"),
    (
        "pass|pwd|secret|token|key|credential|pin",
        r"(?i:\b[\w-]*(?:passw(?:or)?d|passphrase|passcode|pwd|secret|token|credentials?"
        r"|(?:api|access)[ _-]?key)\b"
        r"[\"'`]?\s*(?:is|are|was|=|:|:=|=>|to)?\s*[\"'`“]?)((?=[^\s\"'`”]*[\d!@#$%^&*_])[^\s\"'`”,;]{6,})",
    ),
    (
        "",
        r"(?<![\w/.-])((?=[A-Za-z\d+/_-]*\d)(?=[A-Za-z\d+/_-]*[A-Z])(?=[A-Za-z\d+/_-]*[a-z])"
        r"[A-Za-z\d+/_-]{32,}={0,2})(?![\w/.])",
    ),
)  # fmt: skip


def cut(text: str) -> str:
    """The text with every obvious secret replaced by a mark."""
    lowered = text.lower()
    long = any(len(word) >= _LONG for word in text.split())
    for cues, pattern in _RULES:
        if any(cue in lowered for cue in cues.split("|")) if cues else long:
            text = _compiled(pattern).sub(lambda found: found[0].replace(found[1], MARK), text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
