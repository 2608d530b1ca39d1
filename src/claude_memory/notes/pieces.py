"""What each plain file says, as pieces that can be remembered and traced to file and line. Pure.

One reader for each format: notes, MEMORY.md, lists, the working buffer, reflections, session logs. What was
itself made from the store (todo, tables of what sessions did, their lines) is read by people and not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from claude_memory.model import Kind
from claude_memory.notes import blocks, buffer, markdown
from claude_memory.notes import project_documents as documents
from claude_memory.notes.reading import Lines, records_of
from claude_memory.notes.reflections import KINDS, of_record
from claude_memory.notes.session_log import line_of
from claude_memory.text.words import shorten

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_MADE = (documents.SETTLED, documents.WORKSTREAMS, documents.KEY_FILES, documents.UNSOLVED, documents.TODO)
_PERSONS = (documents.LESSONS, documents.DECISIONS, buffer.NOTES)  # their words, kept by the machine
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
    by_agent: bool = False
    session: str = ""
    project: str = ""  # where the file says so


def of_knowledge(lines: Lines) -> list[Piece]:
    """A note of the knowledge base; what agents added to it stands in a block and is theirs."""
    theirs = _lines_of(lines, lambda name: name == buffer.BY_AGENTS)
    added = [
        Piece(
            f"added:{_hash(text)}",
            Kind.NOTE,
            f"{lines.path.stem}: {text}"[:_TITLE_CHARACTERS],
            text,
            number,
            by_agent=True,
        )
        for number, text in lines.lines
        if text in theirs and not text.startswith("#")
    ]
    return [*of_note(_without(lines, theirs)), *added]


def of_note(lines: Lines) -> list[Piece]:
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
            Piece(
                key, Kind.NOTE, shorten(title, _TITLE_CHARACTERS), body, section.line, note.tags, note.links
            )
        )
    return found


def of_memory_file(lines: Lines) -> list[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    tables = _lines_of(lines, lambda name: name in (documents.DECISIONS, documents.AGENT_DECISIONS))
    by_agents = _lines_of(lines, lambda name: name == documents.AGENT_DECISIONS)
    left = _without(lines, _lines_of(lines, lambda name: name in _MADE))
    rows = {
        number: row
        for number, line in left.lines
        if line.startswith("|") and (row := documents.cells_of(line)) and _DAY.match(row[0])
    }
    texts = dict(left.lines)
    found = [
        Piece(
            f"decision:{_hash(what)}",
            Kind.DECISION,
            shorten(what, _TITLE_CHARACTERS),
            f"{what}\nWhy: {why}" if why.strip(" -–—") else what,
            number,
            created_at=_at(day),
            by_agent=texts[number] in by_agents,
        )
        for number, (day, what, why) in rows.items()
    ]
    rest = tuple(item for item in left.lines if item[0] not in rows and item[1] not in tables)
    return found + of_note(Lines(lines.path, rest))


def of_lessons(lines: Lines) -> list[Piece]:
    """A list: each item by itself, with the lines that belong to it."""
    machine = _lines_of(lines, lambda name: name not in _PERSONS)
    found = []
    for number, text in _items(_without(lines, _lines_of(lines, lambda name: name in _MADE))):
        dated = _DATED.match(text)
        said = text[dated.end() :] if dated else text
        first = text.splitlines()[0]
        found.append(
            Piece(
                f"item:{_hash(text)}",
                Kind.LESSON,
                shorten(said.splitlines()[0], _TITLE_CHARACTERS),
                said,
                number,
                created_at=_at(dated[1]) if dated else None,
                by_agent=any(first in line for line in machine),
            )
        )
    return found


def of_buffer(lines: Lines) -> list[Piece]:
    """What somebody noted on purpose; prompts are found by their exchanges, the rest is gone tomorrow."""
    machine = _lines_of(lines, lambda name: name not in _PERSONS)
    texts = dict(lines.lines)
    return [
        Piece(
            f"said:{_hash(f'{entry.label}:{entry.text}:{entry.session}')}",
            Kind.NOTE,
            shorten(entry.text, _TITLE_CHARACTERS),
            entry.text,
            number,
            created_at=entry.at,
            session=entry.session,
            by_agent=texts[number] in machine,
        )
        for number, entry in buffer.entries_in(lines.lines)
        if entry.label == buffer.NOTE
    ]


def of_project_file(lines: Lines) -> list[Piece]:
    """A file of the project by its name; of a log or a list, what people wrote."""
    reader = _READERS.get(lines.path.name)
    return reader(lines) if reader else of_note(_without(lines, _lines_of(lines, lambda _: True)))


_READERS = {"working-buffer.md": of_buffer, "lessons.md": of_lessons, "MEMORY.md": of_memory_file}


def of_reflections(lines: Lines) -> list[Piece]:
    """Reflections: a person's go with them, an agent's belong to the project it was in."""
    found = [of_record(record.value, record.line) for record in records_of(lines)[0]]
    return [
        Piece(
            item.key,
            KINDS[item.type],
            item.content[:_TITLE_CHARACTERS],
            item.content,
            item.line,
            created_at=_at(item.date),
            by_agent=item.by_agent,
            project=item.project if item.by_agent else "",
        )
        for item in found
        if item is not None
    ]


def of_session_log(lines: Lines) -> list[Piece]:
    """The lines that people and agents wrote; one made from a session's record is found by that record."""
    found = []
    for record in records_of(lines)[0]:
        line = line_of(record.value, lines.path, record.line)
        parts = [line.summary]
        parts += [f"Decided: {text}" for text in line.decisions]
        parts += [f"Made: {', '.join(line.artifacts)}"] if line.artifacts else []
        parts += [f"Open: {text}" for text in line.open_threads]
        body = "\n".join(part for part in parts if part)
        if body and not line.through:
            found.append(
                Piece(
                    body[:500],
                    Kind.SUMMARY,
                    (line.session or line.summary)[:_TITLE_CHARACTERS],
                    body,
                    line.line,
                    created_at=_at(f"{line.date}T{line.time}") or _at(line.date),
                    by_agent=True,
                    session=line.session_id,
                    project=line.project,
                )
            )
    return found


def _lines_of(lines: Lines, wanted: Callable[[str], bool]) -> set[str]:
    """The machine's lines in blocks of these names."""
    found = blocks.find([text for _, text in lines.lines])
    return {line for block in found if wanted(block.name) for line in block.machine if line}


def _without(lines: Lines, gone: Collection[str]) -> Lines:
    return Lines(lines.path, tuple(item for item in lines.lines if item[1] not in gone))


def _at(moment: str) -> datetime | None:
    try:
        return datetime.fromisoformat(moment).replace(tzinfo=UTC)
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
    return blocks.short(text.encode("utf-8", "surrogatepass"), 8)
