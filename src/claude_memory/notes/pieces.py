"""What each plain file says, as pieces that can be remembered and traced to file and line. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.model import Kind
from claude_memory.notes import blocks, buffer, markdown
from claude_memory.notes.long_term import cells_of
from claude_memory.notes.reading import Lines
from claude_memory.text.words import shorten

LABEL_KINDS = {
    "correction": Kind.CORRECTION,
    "decision": Kind.DECISION,
    "architecture": Kind.CONVENTION,
    "priority": Kind.DECISION,
    "value": Kind.FACT,
}
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_TABLES = ("decisions", "agent-decisions", "key-files")
_OWN_BLOCKS = ("lessons", "decisions", "write-ahead")  # a person's words, kept by the machine
_TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing a file says. The key tells it from others of the same file and outlives an edit."""

    key: str
    kind: Kind
    title: str
    body: str
    line: int
    topics: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    created_at: datetime | None = None
    machine: bool = False
    session: str = ""
    noted_in: str = ""


def of_note(lines: Lines, kind: Kind = Kind.NOTE) -> list[Piece]:
    """A markdown file by its headings."""
    note = markdown.parse(lines.lines, lines.path.stem)
    found: list[Piece] = []
    seen: dict[tuple[str, ...], int] = {}
    for section in note.sections:
        seen[section.path] = seen.get(section.path, 0) + 1
        names = [name for name in section.path if name != note.title]
        title = " › ".join([note.title, *names])
        body = markdown.spoken(section.text) or title
        key = "/".join(section.path) + (f"#{seen[section.path]}" if seen[section.path] > 1 else "")
        found.append(
            Piece(key, kind, shorten(title, _TITLE_CHARACTERS), body, section.line, note.tags, note.links)
        )
    return found


def of_memory_file(lines: Lines) -> list[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    tables = [block for block in blocks.find([text for _, text in lines.lines]) if block.name in _TABLES]
    kept_up = {line for block in tables for line in block.machine}
    by_agents = {line for block in tables if block.name == "agent-decisions" for line in block.machine}
    texts = dict(lines.lines)
    rows = {
        number: row
        for number, line in lines.lines
        if line.startswith("|") and (row := cells_of(line)) and _DAY.match(row[0])
    }
    found = []
    for number, (day, what, why) in rows.items():
        reason = f"\nWhy: {why}" if why.strip(" -–—") else ""
        found.append(
            Piece(
                f"decision:{_hash(what)}",
                Kind.DECISION,
                shorten(what, _TITLE_CHARACTERS),
                f"{what}{reason}",
                number,
                created_at=_at(day),
                machine=texts[number] in by_agents,
            )
        )
    kept = tuple(item for item in lines.lines if item[0] not in rows and item[1] not in kept_up)
    return found + of_note(Lines(lines.path, kept))


def of_bullets(lines: Lines, kind: Kind) -> list[Piece]:
    """A list: each item by itself, with the lines that belong to it."""
    machine = _machine_lines(lines)
    found = []
    for number, text in _items(lines):
        first = text.splitlines()[0]
        dated = _DATED.match(text)
        said = text[dated.end() :] if dated else text
        found.append(
            Piece(
                f"item:{_hash(text)}",
                kind,
                shorten(said.splitlines()[0], _TITLE_CHARACTERS),
                said,
                number,
                created_at=_at(dated[1]) if dated else None,
                machine=any(first in line for line in machine),
            )
        )
    return found


def of_buffer(lines: Lines) -> list[Piece]:
    """What was written ahead; the rest of a buffer is gone tomorrow."""
    machine = _machine_lines(lines)
    texts = dict(lines.lines)
    return [
        Piece(
            f"said:{_hash(f'{entry.label}:{entry.text}:{entry.session}')}",
            LABEL_KINDS.get(entry.label, Kind.NOTE),
            shorten(entry.text, _TITLE_CHARACTERS),
            entry.text,
            number,
            created_at=entry.at,
            session=entry.session,
            machine=texts[number] in machine,
        )
        for number, entry in buffer.entries_in(lines.lines)
    ]


def of_project_file(path: Path, lines: Lines) -> list[Piece]:
    """A file of the project by its place."""
    if path.name == "working-buffer.md":
        return of_buffer(lines)
    if path.name == "lessons.md":
        return of_bullets(lines, Kind.LESSON)
    if path.name == "MEMORY.md":
        return of_memory_file(lines)
    machine = _machine_lines(lines)
    human = tuple(item for item in lines.lines if item[1] not in machine)
    return of_note(Lines(path, human)) if path.name != "todo.md" else of_note(lines)


def _machine_lines(lines: Lines) -> set[str]:
    """Lines of blocks, among them those that people did not write."""
    texts = [line for _, line in lines.lines]
    machine = [block for block in blocks.find(texts) if block.name not in _OWN_BLOCKS]
    return {line for block in machine for line in block.machine if line}


def _at(day: str) -> datetime | None:
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC)
    except ValueError:
        return None


def _items(lines: Lines) -> Iterator[tuple[int, str]]:
    current: list[str] = []
    start = 0
    for number, line in lines.lines:
        bullet = _BULLET.match(line)
        if bullet and not line.startswith((" ", "\t")):
            if current:
                yield start, "\n".join(current)
            current, start = [bullet[1]], number
        elif current and line.startswith((" ", "\t")) and line.strip():
            current.append(line.strip())
        elif current:
            yield start, "\n".join(current)
            current = []
    if current:
        yield start, "\n".join(current)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
