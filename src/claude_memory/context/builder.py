"""One builder for every context: sections in order, each with a share, whole lines, one budget.

A section that needs less than its share leaves the rest to those after it. The builder knows
nothing of what a section says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.repeats import Said, Told
from claude_memory.model import MemoryId, Project, SessionId
from claude_memory.text.tokens import MARK_CHARACTERS, MARK_TOKENS, Context, tokens

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

# Claude Code spills a longer string to a file and shows the model 2 KB of it.
MAX_CHARACTERS = 9_000 - MARK_CHARACTERS


@dataclass(frozen=True, slots=True)
class Line:
    """One line of context, and the memory it stands for, if any.

    A line that retells what others hold gives itself anew, without what is told in its own place.
    """

    text: str
    memory: MemoryId | None = None
    anew: Callable[[Told], str] | None = None


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


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the start context: its heading, its share of the budget, and who writes its lines."""

    name: str
    heading: str
    share: float
    lines: Callable[[Situation], Sequence[Line]]
    sources: tuple[str, ...] = ("startup", "clear", "resume", "fork", "compact")
    states: bool = True  # else its lines are no statements: a reminder stands whatever else is said


def build(sections: Sequence[Section], situation: Situation, *, max_tokens: int) -> Context:
    """Fill the budget in the sections' order. Never over it, marks included, never half a line.

    A statement stands once: in the first section that tells it, and as a retelling only where none does.
    """
    wanted = [item for item in sections if situation.source in item.sources]
    drafts = [(section, list(section.lines(situation))) for section in wanted]
    budget = max(max_tokens - MARK_TOKENS, 0)
    first = _Packing(budget, drafts, Said())  # tells which statements have room in their own place
    packed = _Packing(budget, drafts, first.own) if first.retells else first
    lines = [line for _, taken in packed.taken for line in taken]
    text = "\n".join(line.text for line in lines)
    memories = tuple(dict.fromkeys(line.memory for line in lines if line.memory))
    return Context(text, tokens(text), memories, tuple(section.name for section, _ in packed.taken))


class _Packing:
    """One round of choosing lines; `elsewhere` is what has its own place in the context."""

    def __init__(
        self, max_tokens: int, drafts: Sequence[tuple[Section, Sequence[Line]]], elsewhere: Said
    ) -> None:
        self.taken: list[tuple[Section, list[Line]]] = []
        self.own = Said()
        self.retells = False
        self._retold = Said()
        self._elsewhere = elsewhere
        self._spent = 0
        self._characters = 0
        whole = sum(section.share for section, _ in drafts) or 1.0
        allowance = 0.0
        for section, lines in drafts:
            # Shares count among the sections of this source: together they are the whole budget.
            allowance += section.share / whole * max_tokens
            if taken := self._section(section, lines, min(allowance, max_tokens)):
                self.taken.append((section, taken))

    def _section(self, section: Section, lines: Sequence[Line], allowance: float) -> list[Line]:
        taken: list[Line] = []
        pending = [Line(section.heading)] if section.heading else []
        for draft in lines:
            line = self._fresh(draft) if section.states else draft
            if line is None or not self._has_room([*pending, line], allowance):
                continue
            taken += [*pending, line]
            pending = []
            (self._retold if draft.anew else self.own).add(line.text)
            self.retells = self.retells or draft.anew is not None
        return taken

    def _fresh(self, line: Line) -> Line | None:
        """The line, less what it repeats; None if nothing is left of it."""
        if line.anew is None:
            return None if self.own.holds(line.text) else line
        text = line.anew(self._elsewhere.holds)
        return replace(line, text=text) if text and not self._retold.holds(text) else None

    def _has_room(self, block: Sequence[Line], allowance: float) -> bool:
        cost = sum(tokens(item.text) + 1 for item in block)
        size = sum(len(item.text) + 1 for item in block)
        if self._spent + cost > allowance or self._characters + size > MAX_CHARACTERS:
            return False
        self._spent += cost
        self._characters += size
        return True
