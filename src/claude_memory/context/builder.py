"""One builder for every context: sections in order, whole lines, one budget, each statement once.

A section has a limit of its own, so that none starves those after it; what is not needed stays unused.
The builder knows nothing of what a section says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.lines import Context, Line
from claude_memory.context.repeats import Said
from claude_memory.model import Project, SessionId
from claude_memory.settings import Settings
from claude_memory.text.quotation import MARK_CHARACTERS, MARK_TOKENS, tokens

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

__all__ = ["Context", "Line", "Section", "Situation", "build"]
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


def build(sections: Sequence[Section], situation: Situation, *, max_tokens: int) -> Context:
    """The sections in their order. Never over the budget, marks included, never half a line."""
    wanted = [section for section in sections if situation.source in section.sources]
    packing = _Packing(max(max_tokens - MARK_TOKENS, 0))
    taken = {
        section.name: packing.take(section, section.lines(situation))
        for section in sorted(wanted, key=lambda section: section.in_full)
    }
    lines = [line for section in wanted for line in taken[section.name]]
    text = "\n".join(line.text for line in lines)
    memories = tuple(dict.fromkeys(line.memory for line in lines if line.memory))
    names = tuple(section.name for section in wanted if taken[section.name])
    return Context(text, tokens(text), memories, names, tuple(lines))


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
            block = [*pending, line]
            cost = sum(tokens(one.text) + 1 for one in block)
            size = sum(len(one.text) + 1 for one in block)
            if cost > min(room, self._tokens_left) or size > self._characters_left:
                break  # lines stand in order of worth: a short one behind it would stand out of place
            room, self._tokens_left = room - cost, self._tokens_left - cost
            self._characters_left -= size
            taken += [replace(one, reason=one.reason or section.name) for one in block]
            self._said.add(line.text)
            pending = []
        return taken
