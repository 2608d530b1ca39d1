"""One builder for every context: sections in order, whole lines, one budget, each statement once.

A section has a limit of its own, so that none starves those after it; what is not needed stays unused.
The builder knows nothing of what a section says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.moments import Line, Offer
from claude_memory.model import Kind, Project, SessionId
from claude_memory.settings import Settings
from claude_memory.text.quotation import MARK_CHARACTERS, MARK_TOKENS, tokens

if TYPE_CHECKING:
    from claude_memory.store.base import Store

# Claude Code spills a longer string to a file and shows the model 2 KB of it.
MAX_CHARACTERS = 9_000 - MARK_CHARACTERS


@dataclass(frozen=True, slots=True)
class Situation:
    """Where and when a context is made; everything a section may look at."""

    home: Path
    project: Project
    project_root: Path
    store: Store
    source: str
    session: SessionId | None
    now: datetime
    branch: str = ""
    changed_files: tuple[str, ...] = ()
    transcript: str = ""  # the agent's own file of the session
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the start context: its heading, how many tokens it takes at most, who writes its lines."""

    name: str
    heading: str
    max_tokens: int
    lines: Callable[[Situation], Sequence[Line]]
    sources: tuple[str, ...] = ("startup", "clear", "resume", "fork", "compact")
    states: bool = True  # else its lines are no statements: a reminder stands whatever else is said
    in_full: bool = False  # takes what the others leave, up to its limit


def build(sections: Sequence[Section], situation: Situation, *, max_tokens: int) -> Offer:
    """The sections in their order. Never over the budget, marks included, never half a line."""
    wanted = [section for section in sections if situation.source in section.sources]
    packing = _Packing(max(max_tokens - MARK_TOKENS, 0))
    taken = {
        section.name: packing.take(section, section.lines(situation))
        for section in sorted(wanted, key=lambda section: section.in_full)
    }
    lines = [line for section in wanted for line in taken[section.name]]
    names = [section.name for section in wanted if taken[section.name]]
    return Offer("\n".join(line.text for line in lines), lines, names)


class _Packing:
    """What was said so far, and what room is left."""

    def __init__(self, max_tokens: int) -> None:
        self._said = Said()
        self._tokens_left = max_tokens
        self._characters_left = MAX_CHARACTERS

    def take(self, section: Section, lines: Sequence[Line]) -> list[Line]:
        """The lines that are new and have room; headings go with the first line below them."""
        room, taken = section.max_tokens, list[Line]()
        pending = [Line(section.heading)] if section.heading else []
        for line in lines:
            if line.level:
                pending = [one for one in pending if one.level < line.level] + [line]
                continue
            if section.states and self._said.holds(line.text):
                continue
            pending = [one for one in pending if one.source in ("", line.source)]  # of what was said
            block = [*pending, line]
            cost = sum(tokens(one.text) + 1 for one in block)
            size = sum(len(one.text) + 1 for one in block)
            if cost > min(room, self._tokens_left) or size > self._characters_left:
                break  # lines stand in order of worth: a short one behind it would stand out of place
            room, self._tokens_left = room - cost, self._tokens_left - cost
            self._characters_left -= size
            for one in block:
                one.reason = one.reason or section.name
            taken += block
            self._said.add(line.text)
            pending = []
        return taken


# --- which statements a context holds already
#
# A statement repeats another only by the same words in the same order, whole: a number, a `not` or a
# condition more makes another statement.

SHORTEST = 12  # characters; less is a label or a heading, not a statement
_LABELS = "|".join([*Kind, "architecture", "priority", "value", "said"])
# What stands before a statement: bullets, boxes, a day and an hour, what kind of statement it is.
_BEFORE = re.compile(
    r"^[\s>*+•“-]*(?:\[[ xX]\]\s+)?"
    rf"(?:(?:(?:{_LABELS}), )?\d{{4}}-\d\d-\d\d(?:T[\d:]+Z?)?(?: \d\d:\d\d)?:?\s+)?"
    rf"(?:(?:{_LABELS})(?:, (?:{_LABELS}))*: )?"
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
        """Whether all that a line says was said; a heading, a row or a label says nothing.

        What was cut in its middle counts as said where the whole of it was.
        """
        pieces = [] if text.startswith("|") else _pieces(text)
        if sum(map(len, pieces)) < SHORTEST:
            return False
        new = [piece for piece in pieces if piece not in self._pieces]
        is_cut = new == pieces[-1:] and "…" in text and len(new[0]) >= SHORTEST
        return not new or (is_cut and any(piece.startswith(new[0]) for piece in self._pieces))


def _pieces(text: str) -> list[str]:
    if text.startswith(("#", "```")):
        return []
    if text.startswith("|"):  # each cell of a row holds statements
        return [words for cell in text.split("|") for part in _BETWEEN.split(cell) if (words := _words(part))]
    core = _AFTER.sub("", _BEFORE.sub("", text, count=1), count=1)
    return [words for part in _BETWEEN.split(core) if (words := _words(part))]


def _words(text: str) -> str:
    found = (word.casefold() for word in _WORD.findall(text))
    return " ".join(word for word in found if word not in _ARTICLES)
