"""What a rule is, and the pieces that patterns are built from. All in re2 syntax.

Every group of a pattern is cut where it matched. NUL marks what was cut before and must be in no value class.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One format. The rule runs only on texts that hold one of its keywords (lower case).

    The check decides about the value; a match that begins with `unless` is no find. The pattern of a
    `finder` finds the heads of columns.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    check: str | None = None
    unless: str | None = None
    finder: bool = False


# A token may follow an escape of JSON, of a URL or of a terminal, whose last letter would join the word.
START = r"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]*m)"
QUOTE = r"""\\*["'`]"""
# What a secret can be made of where nothing but its surroundings marks it. A backslash belongs to the value
# unless it begins an escape that ends the line or the string.
CHARS = r"""(?:[^\s"'`\\\x00]|\\[^nrtu"'`\s\\\x00])"""
BARE = r"""(?:[^\s"'`\\,;&|<>()\x00]|\\[^nrtu"'`\s\\\x00])"""
# `name = "value"`, `"name": "value"`, `name => value`, `--name value`, `name", "value`
SEPARATOR = (
    rf"(?:{QUOTE})?\]?[ \t]{{0,3}}(?:=>|:=|\?=|==|[=:,]|[ \t])(?:\\\r?\n)?[ \t]{{0,3}}[bru]?(?:{QUOTE})?"
)


def token(kind: str, keywords: str, body: str, check: str | None = "token") -> Rule:
    """A format that shows by itself."""
    return Rule(kind, tuple(keywords.split()), f"{START}({body})", check)


def named(kind: str, names: str, keywords: str, value: str, check: str | None = "token") -> Rule:
    """A value without a format of its own: the name of its service stands before it."""
    pattern = rf"(?i:(?:{names})[a-z0-9_.-]{{0,24}}){SEPARATOR}({value})"
    return Rule(kind, tuple(keywords.split()), pattern, check)


BASE64 = r"[A-Za-z0-9+/]"
