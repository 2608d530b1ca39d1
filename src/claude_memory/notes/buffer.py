"""The working buffer: what is going on right now, every prompt written down before anybody acts on it.

The prompt hook appends; it takes no lock and reads nothing. The drain folds what was appended into one
block, says which family each prompt belongs to, and keeps the newest. A person may write anything around
it. One entry is one line; ⏎ stands where the prompt had a new line.
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from typing import NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.notes import blocks
from claude_memory.notes.plain_files import TITLES, ProjectFiles, append, read_bytes, refuse_special

SAID = "said"  # a prompt that settles nothing, or that was not read yet
NOTE = "note"  # written on purpose
NEWEST = 20  # entries that stay whatever they are; as many older ones that settle something stay, too
ENTRY_CHARACTERS = 6_000
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
        whose = f" (session {self.session})" if self.session else ""
        text = _NEW_LINE.join(filter(None, (" ".join(line.split()) for line in self.text.splitlines())))
        return f"- {self.at.astimezone(UTC):%Y-%m-%dT%H:%M}Z {self.label}: {middle_cut(text)}{whose}"


def write_ahead(files: ProjectFiles, entry: BufferEntry) -> None:
    """Append an entry as a whole block of its own: one write, no lock, nothing read."""
    block = "\n".join([*blocks.drawn_block(blocks.PROMPTS, [entry.line()]), ""]).encode("utf-8", "replace")
    if not files.inside(files.buffer):
        raise InvalidInput(f"{files.buffer} leads outside the project's own files: it is left alone")
    refuse_special(files.buffer)
    title = TITLES[files.buffer.name].encode()
    append(files.buffer, block, title=title, sync=False)
    if (copy := files.copy_of(files.buffer)) is not None:
        with contextlib.suppress(OSError):
            append(copy, block, title=title, sync=False)


def fold(files: ProjectFiles) -> None:
    """Bring the prompts that hooks appended into one block, if they are not there yet."""
    raw = read_bytes(files.buffer) if files.inside(files.buffer) else b""
    appended = raw.count(f"claude-memory:begin {blocks.PROMPTS} ".encode())
    if appended > 1 or (raw and blocks.HEADINGS[blocks.PROMPTS].encode() not in raw):
        files.change_block(blocks.PROMPTS, _folded)


def _folded(lines: list[str]) -> list[str]:
    """The entries that stay, each once, the newest last; what each settles is told anew every time."""
    from claude_memory.understand.typed import families

    last: dict[str, tuple[bool, str]] = {}
    for line in lines:
        entry = entry_of(line)
        key = f"entry {entry.text}" if entry else line
        last.pop(key, None)  # what is said again is said now
        if entry and entry.label == SAID:
            settled = ", ".join(families(entry.text.replace(_NEW_LINE, "\n")))
            last[key] = bool(settled), line.replace(f"Z {SAID}: ", f"Z {settled or SAID}: ", 1)
        else:
            last[key] = entry is not None, line
    every = list(last.values())
    settling = [item for item in every[:-NEWEST] if item[0]]
    return [line for _, line in (*settling[-NEWEST:], *every[-NEWEST:])]


def with_note(lines: list[str], entry: BufferEntry) -> list[str]:
    """A block's lines with one more that was written on purpose; one that stands there is not repeated."""
    known = {present.text for line in lines if (present := entry_of(line))}
    return [*lines, *([] if middle_cut(entry.text) in known else [entry.line()])][-2 * NEWEST :]


def entry_of(line: str) -> BufferEntry | None:
    """The entry that a line is; None for a line of somebody's own, even one that looks like an entry."""
    match = re.match(_ENTRY, line)
    try:
        at = datetime.fromisoformat(match["at"]).replace(tzinfo=UTC) if match else None
    except ValueError:
        return None
    return BufferEntry(at, match["label"], match["text"], match["session"] or "") if match and at else None


def session_name(session: str) -> str:
    """A session's id as it may stand in a line: ids come from outside."""
    return "".join(letter for letter in session if letter.isalnum() or letter in "_-")[:64]


def middle_cut(text: str, characters: int = ENTRY_CHARACTERS) -> str:
    """The text in one line, without its middle if it is longer than that."""
    plain, head = " ".join(text.split()), characters * 3 // 4
    if len(plain) <= characters:
        return plain
    return f"{plain[:head].rstrip()} […] {plain[head - characters :].lstrip()}"
