"""A context that is handed over, and what it was made of, line by line."""

from __future__ import annotations

from dataclasses import dataclass

from claude_memory.model import MemoryId


@dataclass(frozen=True, slots=True)
class Line:
    """One line of context: the memory it stands for if any, why it is there, and what it was made from."""

    text: str
    memory: MemoryId | None = None
    reason: str = ""
    source: str = ""  # the session, summary or file, where that is no memory
    level: int = 0  # of a heading, which stands only above a line of its own: 1 is the highest


@dataclass(frozen=True, slots=True)
class Context:
    """What is handed over, and what it was made of."""

    text: str
    tokens: int
    memories: tuple[MemoryId, ...]
    sections: tuple[str, ...]
    lines: tuple[Line, ...] = ()
