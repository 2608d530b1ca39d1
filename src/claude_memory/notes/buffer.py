"""The working buffer: what is going on right now, written before anybody acts on it.

Entries of the machine stand in marked blocks; a person may write anything around them. Standard
library only: the prompt hook writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from claude_memory.notes import blocks
from claude_memory.notes.documents import rewrite
from claude_memory.notes.editing import WAIT_SECONDS
from claude_memory.notes.places import INVITATION, ProjectFiles

WRITE_AHEAD = "write-ahead"
BY_AGENTS = "agent-notes"  # shown as a quotation
EXCHANGES = "exchanges"
NEXT = "next"
HEADINGS = {
    WRITE_AHEAD: "## Said lately",
    BY_AGENTS: "## Noted by agents",
    EXCHANGES: "## Last exchanges before the compaction",
    NEXT: "## Next",
}
MAX_ENTRIES = 40
TITLE = f"# Working buffer\n\n{INVITATION}\n"
HOOK_WAIT_SECONDS = 0.3  # a prompt must not wait longer for another writer; the prompt itself is spooled

_ENTRY = (
    r"^- (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d)Z (?P<label>[a-z]+): (?P<text>.*?)"
    r"(?: \(session (?P<session>[\w-]+)\))?$"
)


class Entry(NamedTuple):
    """One thing that was said: when, what kind of thing, in which session."""

    at: datetime
    label: str
    text: str
    session: str = ""

    def line(self) -> str:
        """As it stands in the file."""
        whose = f" (session {self.session})" if self.session else ""
        return (
            f"- {self.at.astimezone(UTC):%Y-%m-%dT%H:%M}Z {self.label}: {' '.join(self.text.split())}{whose}"
        )


def add(
    files: ProjectFiles,
    home: Path,
    entries: Sequence[Entry],
    *,
    wait_seconds: float = WAIT_SECONDS,
    by_agent: bool = False,
) -> None:
    """Add entries; one that stands there already, from whatever time, is not repeated."""
    block = BY_AGENTS if by_agent else WRITE_AHEAD

    def change(text: str) -> str:
        present = blocks.content(text, block)
        known = {_said(line) for line in present}
        fresh = [entry.line() for entry in entries if _said(entry.line()) not in known]
        return _with(text, block, [*present, *fresh][-MAX_ENTRIES:])

    rewrite(files, home, files.buffer, change, wait_seconds=wait_seconds)


def set_block(files: ProjectFiles, home: Path, name: str, lines: Sequence[str]) -> bool:
    """Let one block of the buffer say just this."""
    return rewrite(files, home, files.buffer, lambda text: _with(text, name, lines))


def clear(files: ProjectFiles, home: Path) -> bool:
    """Empty the machine's blocks; what a person wrote stays."""

    def change(text: str) -> str:
        for name in HEADINGS:
            text = blocks.updated(text, name, [])
        return text

    return files.buffer.exists() and rewrite(files, home, files.buffer, change)


def entries_in(lines: Sequence[tuple[int, str]]) -> list[tuple[int, Entry]]:
    """The entries among a buffer's numbered lines."""
    found = []
    for number, line in lines:
        match = _pattern().match(line)
        if match:
            at = datetime.fromisoformat(match["at"]).replace(tzinfo=UTC)
            found.append((number, Entry(at, match["label"], match["text"], match["session"] or "")))
    return found


def session_name(session: str) -> str:
    """A session's id as it may stand in a line: ids come from outside."""
    return "".join(letter for letter in session if letter.isalnum() or letter in "_-")[:64]


def _with(text: str, name: str, lines: Sequence[str]) -> str:
    if not text and lines:
        text = TITLE
    return blocks.updated(text, name, lines, heading=HEADINGS[name])


def _said(line: str) -> str:
    """An entry without its time: `- 2026-11-15T10:00Z ` is as long every day."""
    return line[20:] if line.startswith("- ") and line[18:20] == "Z " else line


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_ENTRY)
