"""One builder for every context: sections in order, each with a share, whole lines, one budget.

A section that needs less than its share leaves the rest to those after it. The builder knows
nothing of what a section says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.budget import MARK_CHARACTERS, MARK_TOKENS, Context, tokens
from claude_memory.model import MemoryId, Project, SessionId

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

# Claude Code spills a longer string to a file and shows the model 2 KB of it.
MAX_CHARACTERS = 9_000 - MARK_CHARACTERS


@dataclass(frozen=True, slots=True)
class Line:
    """One line of context, and the memory it stands for, if any."""

    text: str
    memory: MemoryId | None = None


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


def build(sections: Sequence[Section], situation: Situation, *, max_tokens: int) -> Context:
    """Fill the budget in the sections' order. Never over it, marks included, never half a line."""
    max_tokens = max(max_tokens - MARK_TOKENS, 0)
    chosen: list[str] = []
    memories: list[MemoryId] = []
    used_sections: list[str] = []
    spent = 0
    allowance = 0.0
    characters = 0
    wanted = [item for item in sections if situation.source in item.sources]
    whole = sum(item.share for item in wanted) or 1.0
    for section in wanted:
        # Shares count among the sections of this source: together they are the whole budget.
        allowance += section.share / whole * max_tokens
        lines = list(section.lines(situation))
        taken: list[Line] = []
        heading = [Line(section.heading)] if section.heading else []
        pending = heading
        for line in lines:
            block = [*pending, line]
            cost = sum(tokens(item.text) + 1 for item in block)
            size = sum(len(item.text) + 1 for item in block)
            if spent + cost > min(allowance, max_tokens) or characters + size > MAX_CHARACTERS:
                continue
            taken += block
            pending = []
            spent += cost
            characters += size
        if taken:
            used_sections.append(section.name)
            chosen += [item.text for item in taken]
            memories += [item.memory for item in taken if item.memory]
    text = "\n".join(chosen)
    return Context(text, tokens(text), tuple(dict.fromkeys(memories)), tuple(used_sections))
