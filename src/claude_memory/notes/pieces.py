"""What each plain file says, as pieces that can be remembered and traced to file and line. Pure.

One reader for each format: notes, MEMORY.md, lists, the working buffer, reflections, session logs. What was
itself made from the store (todo, tables of what sessions did, their lines) is read by people and not here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from claude_memory.model import Kind
from claude_memory.notes import blocks, buffer
from claude_memory.notes.person_files import KINDS, reflection, session_line
from claude_memory.notes.places import INVITATIONS
from claude_memory.notes.project_documents import cells_of
from claude_memory.notes.text_files import Lines, records_of
from claude_memory.text import markdown
from claude_memory.text.words import shorten

_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_COMMENT = re.compile(r"^<!--.*-->$")
_FROM_STORE = [name for name in blocks.FROM_SESSIONS if name != blocks.LEARNED]
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
    theirs = _machine_lines(lines, [blocks.AGENT_NOTES])
    added = [(number, text) for number, text in lines.lines if text in theirs and not text.startswith("#")]
    return [
        *_of_note(_without(lines, theirs)),
        *(
            Piece(
                f"added:{_hash(text)}",
                Kind.NOTE,
                f"{lines.path.stem}: {text}"[:_TITLE_CHARACTERS],
                text,
                number,
                by_agent=True,
            )
            for number, text in added
        ),
    ]


def of_project_file(lines: Lines) -> list[Piece]:
    """A file of the project by its name; of a log or a list, what people wrote."""
    readers = {"working-buffer.md": _of_buffer, "lessons.md": _of_lessons, "MEMORY.md": of_memory_file}
    reader = readers.get(lines.path.name)
    return reader(lines) if reader else _of_note(_without(lines, _machine_lines(lines)))


def _of_note(lines: Lines) -> list[Piece]:
    """A markdown file by its headings."""
    ours = INVITATIONS.get(lines.path.name)
    said = [item for item in lines.lines if item[1] != ours and not _COMMENT.match(item[1])]
    note = markdown.parse(said, lines.path.stem)
    pieces: list[Piece] = []
    seen: dict[tuple[str, ...], int] = {}
    for section in note.sections:
        times = seen[section.path] = seen.get(section.path, 0) + 1
        title = " › ".join([note.title, *(name for name in section.path if name != note.title)])
        key = "/".join(section.path) + (f"#{times}" if times > 1 else "")
        body = markdown.spoken(section.text)
        shown = shorten(title, _TITLE_CHARACTERS)
        pieces.append(Piece(key, Kind.NOTE, shown, body, section.line, note.tags, note.links))
    return pieces


def of_memory_file(lines: Lines) -> list[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    by_agents = _machine_lines(lines, [blocks.AGENT_DECISIONS])
    tables = by_agents | _machine_lines(lines, [blocks.DECISIONS])
    left = _without(lines, _machine_lines(lines, _FROM_STORE))
    pieces, rest = [], []
    for number, line in left.lines:
        row = cells_of(line) if line.startswith("|") else None
        if row and _DAY.match(row[0]):
            day, what, why = row
            pieces.append(
                Piece(
                    f"decision:{_hash(what)}",
                    Kind.DECISION,
                    shorten(what, _TITLE_CHARACTERS),
                    f"{what}\nWhy: {why}" if why.strip(" -–—") else what,
                    number,
                    created_at=_at(day),
                    by_agent=line in by_agents,
                )
            )
        elif line not in tables:
            rest.append((number, line))
    return pieces + _of_note(Lines(lines.path, tuple(rest)))


def _of_lessons(lines: Lines) -> list[Piece]:
    """A list: each item by itself, with the lines that belong to it."""
    machine = _machine_lines(lines, but=blocks.BY_PERSON)
    pieces = []
    for number, text in _items(_without(lines, _machine_lines(lines, _FROM_STORE))):
        dated = _DATED.match(text)
        lesson = text[dated.end() :] if dated else text
        first = text.splitlines()[0]
        pieces.append(
            Piece(
                f"item:{_hash(text)}",
                Kind.LESSON,
                shorten(lesson.splitlines()[0], _TITLE_CHARACTERS),
                lesson,
                number,
                created_at=_at(dated[1]) if dated else None,
                by_agent=any(first in line for line in machine),
            )
        )
    return pieces


def _of_buffer(lines: Lines) -> list[Piece]:
    """What somebody noted on purpose; prompts are found by their exchanges, the rest is gone tomorrow."""
    machine = _machine_lines(lines, but=blocks.BY_PERSON)
    return [
        Piece(
            f"said:{_hash(f'{entry.label}:{entry.text}:{entry.session}')}",
            Kind.NOTE,
            shorten(entry.text, _TITLE_CHARACTERS),
            entry.text,
            number,
            created_at=entry.at,
            session=entry.session,
            by_agent=line in machine,
        )
        for number, line in lines.lines
        if (entry := buffer.entry_of(line)) and entry.label == buffer.NOTE
    ]


def of_reflections(lines: Lines) -> list[Piece]:
    """Reflections: a person's go with them, an agent's belong to the project it was in."""
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
        for number, value in records_of(lines)[0]
        if (item := reflection(value, number))
    ]


def of_session_log(lines: Lines) -> list[Piece]:
    """The lines that people and agents wrote; one made from a session's record is found by that record."""
    pieces = []
    for number, value in records_of(lines)[0]:
        line = session_line(value, lines.path, number)
        parts = [line.summary, *(f"Decided: {text}" for text in line.decisions)]
        parts += [f"Made: {', '.join(line.artifacts)}"] if line.artifacts else []
        parts += [f"Open: {text}" for text in line.open_threads]
        body = "\n".join(filter(None, parts))
        if body and not line.through:
            pieces.append(
                Piece(
                    body[:500],
                    Kind.SUMMARY,
                    (line.session or line.summary)[:_TITLE_CHARACTERS],
                    body,
                    number,
                    created_at=_at(f"{line.date}T{line.time}") or _at(line.date),
                    by_agent=True,
                    session=line.session_id,
                    project=line.project,
                )
            )
    return pieces


def _machine_lines(lines: Lines, names: Collection[str] | None = None, but: Collection[str] = ()) -> set[str]:
    """The machine's lines in blocks of these names; in all blocks but some."""
    present = blocks.find([text for _, text in lines.lines])
    wanted = [block for block in present if block.name not in but and (not names or block.name in names)]
    return {line for block in wanted for line in block.machine if line}


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
    for number, line in [*lines.lines, (0, "")]:
        bullet = _BULLET.match(line)
        if current and not bullet and line.startswith((" ", "\t")) and line.strip():
            current.append(line.strip())
            continue
        if current:
            yield start, "\n".join(current)
        current, start = ([bullet[1]], number) if bullet else ([], 0)


def _hash(text: str) -> str:
    return blocks.short(text.encode("utf-8", "surrogatepass"), 8)
