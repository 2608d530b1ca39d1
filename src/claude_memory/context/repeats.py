"""Which statements a context holds already. Pure.

A statement repeats another only by the same words in the same order, whole: a number, a `not` or a
condition more makes another statement.
"""

from __future__ import annotations

import re

from claude_memory.model import Kind

SHORTEST = 12  # characters; less is a label or a heading, not a statement
_LABELS = "|".join([*Kind, "architecture", "priority", "value", "said"])
# What stands before a statement: bullets, boxes, a day and an hour, what kind of statement it is.
_BEFORE = re.compile(
    r"^[\s>*+•-]*(?:\[[ xX]\]\s+)?"
    rf"(?:(?:(?:{_LABELS}), )?\d{{4}}-\d\d-\d\d(?:T[\d:]+Z?)?(?: \d\d:\d\d)?:?\s+)?(?:(?:{_LABELS}): )?"
)
# ... and after it: whose words they are, a doubt, an id.
_AFTER = re.compile(
    r"(?:”, from [^”\[]*)?(?:\s*\((?:possibly out of date|session)[^()]*\))?(?:\s*\[[\w:.-]+\])?\s*$"
)
_BETWEEN = re.compile(r"\s\(?[Ww]hy:\s|[.:!?]+[\s”\"')]+|[;·…“”。！？\n]|\s[-–—]+\s|,? because |,? so that ")
_WORD = re.compile(r"\w+(?:['’./:_-]+\w+)*")
_ARTICLES = frozenset({"a", "an", "the"})


class Said:
    """The statements of the lines taken so far."""

    def __init__(self) -> None:
        self._pieces: set[str] = set()

    def add(self, text: str) -> None:
        """Note what a line says."""
        self._pieces.update(_pieces(text))

    def holds(self, text: str) -> bool:
        """Whether all that a line says was said; a heading, a row or a label says nothing."""
        pieces = [] if text.startswith("|") else _pieces(text)
        return sum(map(len, pieces)) >= SHORTEST and self._pieces.issuperset(pieces)


def _pieces(text: str) -> list[str]:
    if text.startswith(("#", "```")):
        return []
    if text.startswith("|"):  # each cell of a row is a statement
        return [words for cell in text.split("|") if (words := _words(cell))]
    core = _AFTER.sub("", _BEFORE.sub("", text, count=1), count=1)
    return [words for part in _BETWEEN.split(core) if (words := _words(part))]


def _words(text: str) -> str:
    found = (word.casefold() for word in _WORD.findall(text))
    return " ".join(word for word in found if word not in _ARTICLES)
