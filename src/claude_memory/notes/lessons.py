"""tasks/lessons.md: what went wrong once and need not again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.notes.documents import one_line, set_block
from claude_memory.notes.places import ProjectFiles

SAID = "lessons"  # told by a person
NOTED = "agent-lessons"  # by an agent: shown as a quotation
LEARNED = "learned"  # read from what happened
TITLE = "# Lessons"
MAX_LEARNED = 50


def add(files: ProjectFiles, home: Path, text: str, *, day: date, by_agent: bool = False) -> bool:
    """Write a lesson down."""
    if not text.strip():
        raise InvalidInput("a lesson needs a text")
    if by_agent:
        return _add(files, home, NOTED, [one_line(text)], day, heading="## Noted by agents")
    return _add(files, home, SAID, [one_line(text)], day, heading="")


def learn(files: ProjectFiles, home: Path, texts: Sequence[str], *, day: date) -> bool:
    """Write down what failed and was then solved."""
    fresh = [one_line(text) for text in texts]
    return bool(fresh) and _add(files, home, LEARNED, fresh, day, heading="## From failures that were solved")


def _add(
    files: ProjectFiles, home: Path, block: str, texts: Sequence[str], day: date, *, heading: str
) -> bool:
    def lines(present: list[str]) -> list[str]:
        known = {line.partition(": ")[2] for line in present}
        fresh = [f"- {day:%Y-%m-%d}: {text}" for text in texts if text not in known]
        every = [*present, *fresh]
        return every[-MAX_LEARNED:] if block == LEARNED else every

    return set_block(files, home, files.lessons, block, lines, heading=heading, title=TITLE)
