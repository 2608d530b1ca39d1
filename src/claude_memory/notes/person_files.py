"""The person's files of JSON lines: what each session was (one file a day), and reflections.

Written by many processes at once, edited by people, merged by git: what can be read is read. A session's
line with `through` was made from its record and grows with it; any other line is whoever's wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryId, Scope, StoredMemory, Trust, memory_id
from claude_memory.notes import plain_files
from claude_memory.notes.blocks import short
from claude_memory.notes.plain_files import edit, json_line, one_line, read_lines, records_of, with_line
from claude_memory.text.times import stated

REFLECTIONS = "reflections.jsonl"
KINDS = {"pattern": Kind.PATTERN, "reflection": Kind.REFLECTION, "idea": Kind.IDEA}
BY_AGENT = "agent"  # a record that says nothing is a person's


class Piece(NamedTuple):
    """One thing a plain file says. The key tells it from others of the same file and outlives an edit."""

    key: str
    kind: Kind
    body: str
    line: int
    title: str = ""  # the body's first line, unless it says otherwise
    topics: tuple[str, ...] = ()
    created_at: datetime | None = None
    by_agent: bool = False
    session: str = ""
    project: str = ""  # where the file says so


class SessionLine(NamedTuple):
    """What one session was: the line's fields, and where it stands."""

    date: str
    session: str
    time: str
    summary: str
    decisions: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    open_threads: tuple[str, ...] = ()
    project: str = ""
    session_id: str = ""
    through: str = ""
    path: Path | None = None
    line: int = 0

    def record(self) -> dict[str, Any]:
        """As it stands in the file; where and from whom it is, only if it says so."""
        told = zip(_RECORD, self, strict=False)
        return {name: value for name, value in told if value or name not in _OPTIONAL}


_RECORD = SessionLine._fields[:-2]
_LISTS, _OPTIONAL = _RECORD[4:7], _RECORD[7:]


def session_logs(home: Path) -> list[Path]:
    return sorted((home / "sessions").glob("????-??-??.jsonl"))


def append_session(home: Path, line: SessionLine) -> Path:
    path = home / "sessions" / f"{line.date}.jsonl"
    edit(path, lambda text: with_line(text, json_line(line.record())), home=home)
    return path


def put_session(home: Path, line: SessionLine, *, written_before: str = "") -> str:
    """Let a session have this line in the file of its day; one that grew is replaced. Returns its hash.

    Lines of people and of other sessions stay as they are, and so does a line of ours that somebody changed:
    `written_before` is the hash of what was written last.
    """
    made = json_line(line.record())
    hashes = [written_before]

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        place = next((place for place, raw in enumerate(lines) if _is_ours(raw, line.session_id)), None)
        if place is not None and written_before and short(lines[place].strip(), 6) != written_before:
            return text
        hashes.append(short(made.strip(), 6))
        if place is None:
            return with_line(text, made)
        return "".join([*lines[:place], made, *lines[place + 1 :]])

    edit(home / "sessions" / f"{line.date}.jsonl", change, home=home)
    return hashes[-1]


def _is_ours(raw: str, session: str) -> bool:
    """Whether a line was made from a session's record; only those say how far they tell."""
    try:
        value = json.loads(raw) if '"through"' in raw else None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("session_id") == session and bool(value.get("through"))


def recent_sessions(
    home: Path, *, today: date, days: int = 3, project: str | None = None
) -> tuple[list[SessionLine], list[plain_files.FileProblem]]:
    """The lines of the last days, newest first; of one project, if named, and of no project."""
    lines: list[SessionLine] = []
    problems: list[plain_files.FileProblem] = []
    for back in range(-1, days):  # a session logged in a zone ahead of this one is from tomorrow
        path = home / "sessions" / f"{today - timedelta(days=back)}.jsonl"
        records, faults = records_of(read_lines(path))
        problems += faults
        present = [_session_line(value, path, number) for number, value in reversed(records)]
        lines += [line for line in present if project is None or line.project in (project, "")]
    return lines, problems


def _session_line(value: Mapping[str, Any], path: Path, number: int) -> SessionLine:
    told: dict[str, Any] = {name: _text(value, name) for name in _RECORD}
    told |= {name: _texts(value.get(name)) for name in _LISTS}
    return SessionLine(**{**told, "date": told["date"] or path.stem}, path=path, line=number)


def of_session_log(lines: plain_files.Lines) -> Iterator[Piece]:
    """What people and agents wrote there; a line made from a session's record is found by that record."""
    for number, value in records_of(lines)[0]:
        line = _session_line(value, lines.path, number)
        parts = [line.summary, *(f"Decided: {text}" for text in line.decisions)]
        parts += [f"Made: {', '.join(line.artifacts)}"] if line.artifacts else []
        parts += [f"Open: {text}" for text in line.open_threads]
        body = "\n".join(filter(None, parts))
        if body and not line.through:
            at = stated(f"{line.date}T{line.time}") or stated(line.date)
            piece = Piece(body[:500], Kind.SUMMARY, body, number, line.session, created_at=at, by_agent=True)
            yield piece._replace(session=line.session_id, project=line.project)


def _text(value: Mapping[str, Any], key: str) -> str:
    return text if isinstance(text := value.get(key), str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """People and agents write a list or a text; what else stands there is told as it is."""
    items = value if isinstance(value, list) else [value]
    return tuple(item if isinstance(item, str) else json.dumps(item) for item in items if item)


# --- reflections: patterns, insights and ideas; a person's go with them, an agent's stay in their project


def of_reflections(lines: plain_files.Lines) -> list[Piece]:
    """What the file says, oldest first; an unknown type counts as a reflection."""
    every = records_of(lines)[0]
    return [_reflection(value, line) for line, value in every if _text(value, "content").strip()]


def _reflection(value: Mapping[str, Any], line: int) -> Piece:
    content, kind = _text(value, "content"), KINDS.get(_text(value, "type"), Kind.REFLECTION)
    by_agent, at = value.get("by") == BY_AGENT, stated(_text(value, "date"))
    piece = Piece(f"{kind.value}:{content[:500]}", kind, content, line, created_at=at, by_agent=by_agent)
    return piece._replace(project=_text(value, "project") if by_agent else "")


def reflections(home: Path) -> list[Piece]:
    return of_reflections(read_lines(home / REFLECTIONS))


def memory_of_reflection(home: Path, item: Piece) -> MemoryId:
    return memory_id(f"file:{home / REFLECTIONS}:{item.key}")


def add_reflection(
    home: Path, type_: str, content: str, *, project: str, now: datetime, by_agent: bool = False
) -> Piece:
    if type_ not in KINDS:
        raise InvalidInput(f"unknown type {type_!r}: one of {', '.join(KINDS)}")
    if not content.strip():
        raise InvalidInput("a reflection needs a text")
    record = {"type": type_, "content": one_line(content), "date": f"{now:%Y-%m-%d}", "project": project}
    record |= {"by": BY_AGENT} if by_agent else {}
    edit(home / REFLECTIONS, lambda text: with_line(text, json_line(record)), home=home)
    return _reflection(record, 0)


def reflected(home: Path, memory: StoredMemory) -> StoredMemory:
    """A new memory that is a reflection, as its file has it from now on: a person's goes with the person."""
    by_agent, now = memory.trust is not Trust.USER, memory.created_at.astimezone()
    made = add_reflection(
        home, memory.kind.value, memory.body, project=memory.project, now=now, by_agent=by_agent
    )
    scope = Scope.PROJECT if by_agent else Scope.USER
    return replace(memory, id=memory_of_reflection(home, made), body=made.body, scope=scope)
