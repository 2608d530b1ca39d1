"""The working buffer: what is going on right now, every prompt written down before anybody acts on it.

The prompt hook appends; it takes no lock and reads nothing. The drain folds what was appended into one
block, says which family each prompt belongs to, and keeps the newest. A person may write anything around
it. One entry is one line; ⏎ stands where the prompt had a new line.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.notes import blocks
from claude_memory.notes.file_edits import append, refuse_special, rewrite
from claude_memory.notes.places import INVITATION, ProjectFiles
from claude_memory.notes.reading import read_bytes
from claude_memory.platform.files import private_folder

PROMPTS = "prompts"  # what people typed and pasted: shown as a quotation
NOTES = "write-ahead"  # a person's own, written on purpose
BY_AGENTS = "agent-notes"  # shown as a quotation
EXCHANGES = "exchanges"
NEXT = "next"
HEADINGS = {
    PROMPTS: "## Said lately",
    NOTES: "## Noted",
    BY_AGENTS: "## Noted by agents",
    EXCHANGES: "## Last exchanges before the compaction",
    NEXT: "## Next",
}
SAID = "said"  # a prompt that settles nothing, or that was not read yet
NOTE = "note"  # written on purpose
NEWEST = 20  # entries that stay whatever they are; as many older ones that settle something stay, too
ENTRY_CHARACTERS = 6_000
TITLE = f"# Working buffer\n\n{INVITATION}\n\n"
_NEW_LINE = " ⏎ "
_ENTRY = (
    r"^- (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d)Z (?P<label>[a-z]+(?:, [a-z]+)*): (?P<text>.*?)"
    r"(?: \(session (?P<session>[\w-]+)\))?$"
)


class BufferEntry(NamedTuple):
    """One thing that was said: when, what it settles, in which session."""

    at: datetime
    label: str
    text: str
    session: str = ""

    def line(self) -> str:
        """As it stands in the file."""
        whose = f" (session {self.session})" if self.session else ""
        told = _NEW_LINE.join(filter(None, (" ".join(line.split()) for line in self.text.splitlines())))
        return f"- {self.at.astimezone(UTC):%Y-%m-%dT%H:%M}Z {self.label}: {_bounded(told)}{whose}"

    @property
    def prompt(self) -> str:
        """The text with its lines."""
        return self.text.replace(_NEW_LINE, "\n")


def write_ahead(files: ProjectFiles, entry: BufferEntry) -> None:
    """Append an entry as a whole block of its own: one write, no lock, nothing read."""
    block = "\n".join([*blocks.drawn_block(PROMPTS, [entry.line()]), ""]).encode("utf-8", "replace")
    if not files.inside(files.buffer):
        raise InvalidInput(f"{files.buffer} leads outside the project's own files: it is left alone")
    refuse_special(files.buffer)
    _append(files.buffer, block)
    if (copy := files.copy_of(files.buffer)) is not None:
        with contextlib.suppress(OSError):
            _append(copy, block)


def _append(path: Path, block: bytes) -> None:
    private_folder(path.parent)
    append(path, block, title=TITLE.encode(), sync=False)


def fold(files: ProjectFiles, home: Path) -> bool:
    """Bring what hooks appended into one block: marked by family, each entry once, the newest kept."""
    raw = read_bytes(files.buffer)
    folded = raw.count(f"claude-memory:begin {PROMPTS} ".encode()) < 2 and HEADINGS[PROMPTS].encode() in raw
    if not raw or folded or not files.inside(files.buffer):
        return False
    return rewrite(files, home, files.buffer, _folded)


def _folded(text: str) -> str:
    present = blocks.content(text, PROMPTS)
    last: dict[tuple[str, str], str] = {}
    for line in present:
        match = _pattern().match(line)
        key = (match["text"], "") if match else (line, line)
        last.pop(key, None)  # what is said again is said now
        last[key] = _marked(match) if match else line
    lines = list(last.values())
    settling = [line for line in lines[:-NEWEST] if not _is_plain(line)]
    return _with(text, PROMPTS, [*settling[-NEWEST:], *lines[-NEWEST:]])


def _marked(match: re.Match[str]) -> str:
    """The entry with what its prompt settles: told by the one ear, anew every time."""
    if match["label"] != SAID:
        return match[0]
    from claude_memory.understand.typed import families

    found = families(match["text"].replace(_NEW_LINE, "\n"))
    start, end = match.span("label")
    return f"{match[0][:start]}{', '.join(found)}{match[0][end:]}" if found else match[0]


def _is_plain(line: str) -> bool:
    match = _pattern().match(line)
    return match is None or match["label"] == SAID


def add(files: ProjectFiles, home: Path, entry: BufferEntry, *, by_agent: bool = False) -> bool:
    """Add an entry that was written on purpose; one that stands there already is not repeated."""
    block = BY_AGENTS if by_agent else NOTES

    def change(text: str) -> str:
        present = blocks.content(text, block)
        known = {match["text"] for line in present if (match := _pattern().match(line))}
        fresh = [] if _bounded(entry.text) in known else [entry.line()]
        return _with(text, block, [*present, *fresh][-2 * NEWEST :])

    return rewrite(files, home, files.buffer, change)


def set_block(files: ProjectFiles, home: Path, name: str, lines: Sequence[str]) -> bool:
    """Let one block of the buffer say just this."""
    if not lines and not files.buffer.exists():
        return False
    return rewrite(files, home, files.buffer, lambda text: _with(text, name, lines))


def clear(files: ProjectFiles, home: Path) -> bool:
    """Empty the machine's blocks; what a person wrote stays."""

    def change(text: str) -> str:
        for name in HEADINGS:
            text = blocks.updated(text, name, [])
        return text

    return files.buffer.exists() and rewrite(files, home, files.buffer, change)


def entries_in(lines: Sequence[tuple[int, str]]) -> list[tuple[int, BufferEntry]]:
    """The entries among a buffer's numbered lines."""
    matches = ((number, _pattern().match(line)) for number, line in lines)
    return [
        (
            number,
            BufferEntry(
                datetime.fromisoformat(match["at"]).replace(tzinfo=UTC),
                match["label"],
                match["text"],
                match["session"] or "",
            ),
        )
        for number, match in matches
        if match and _is_time(match["at"])
    ]


def session_name(session: str) -> str:
    """A session's id as it may stand in a line: ids come from outside."""
    return "".join(letter for letter in session if letter.isalnum() or letter in "_-")[:64]


def _with(text: str, name: str, lines: Sequence[str]) -> str:
    if not text and lines:
        text = TITLE
    return blocks.updated(text, name, lines, heading=HEADINGS[name])


def _bounded(text: str) -> str:
    if len(text) <= ENTRY_CHARACTERS:
        return text
    head = ENTRY_CHARACTERS * 3 // 4
    return f"{text[:head].rstrip()} […] {text[head - ENTRY_CHARACTERS :].lstrip()}"


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:  # somebody's own line that looks like an entry
        return False
    return True


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_ENTRY)
