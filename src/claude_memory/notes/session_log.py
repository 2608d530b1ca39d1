"""Session logs: one JSON line a session in one file a day, for people and agents to read.

Written by many processes at once, edited by people, merged by git: read what can be read. A line with
`through` was made from a session's record and grows with it; any other line is whoever's wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from claude_memory.notes.blocks import short
from claude_memory.notes.places import PersonFiles
from claude_memory.notes.reading import Problem, read_records

_LISTS = ("decisions", "artifacts", "open_threads")


@dataclass(frozen=True, slots=True)
class SessionLine:
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
        """As it stands in the file."""
        fields: dict[str, Any] = {
            "date": self.date,
            "session": self.session,
            "time": self.time,
            "summary": self.summary,
            **{name: list(getattr(self, name)) for name in _LISTS},
        }
        extra = {"project": self.project, "session_id": self.session_id, "through": self.through}
        return fields | {name: value for name, value in extra.items() if value}


def append(home: Path, line: SessionLine) -> Path:
    """Add a session's line to the file of its day."""
    from claude_memory.notes.file_edits import append_record  # redacts: who only reads need not load it

    path = PersonFiles(home).sessions / f"{line.date}.jsonl"
    append_record(path, line.record(), home=home)
    return path


def put(home: Path, line: SessionLine, *, known: str = "") -> str:
    """Let a session have this line in the file of its day; one that grew is replaced. Returns its hash.

    Lines of people and of other sessions stay as they are, and so does a line of ours that somebody changed:
    `known` is the hash of what was written last.
    """
    from claude_memory.notes.file_edits import edit, json_line

    made = json_line(line.record())
    hashes = [known]

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        place = next((place for place, raw in enumerate(lines) if _is_ours(raw, line.session_id)), None)
        if place is not None and known and _hash(lines[place]) != known:
            return text
        hashes.append(_hash(made))
        if place is None:
            gap = "" if not text or text.endswith("\n") else "\n"
            return f"{text}{gap}{made}"
        return "".join([*lines[:place], made, *lines[place + 1 :]])

    edit(PersonFiles(home).sessions / f"{line.date}.jsonl", change, home=home)
    return hashes[-1]


def _hash(line: str) -> str:
    return short(line.strip().encode("utf-8", "surrogatepass"), 6)


def _is_ours(raw: str, session: str) -> bool:
    """Whether a line was made from a session's record; only those say how far they tell."""
    if '"through"' not in raw:
        return False
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("session_id") == session and bool(value.get("through"))


def recent(
    home: Path, *, today: date, days: int = 3, project: str | None = None
) -> tuple[list[SessionLine], list[Problem]]:
    """The lines of the last days, newest first; of one project, if named, and of no project."""
    lines: list[SessionLine] = []
    problems: list[Problem] = []
    for path in _recent_files(home, today, days):
        records, faults = read_records(path)
        problems += faults
        found = [line_of(record.value, path, record.line) for record in records]
        lines += reversed([line for line in found if project is None or line.project in (project, "")])
    return lines, problems


def day_files(home: Path) -> list[Path]:
    """Every day's file, oldest first."""
    try:
        return sorted(PersonFiles(home).sessions.glob("????-??-??.jsonl"))
    except OSError:
        return []


def _recent_files(home: Path, today: date, days: int) -> Iterator[Path]:
    for back in range(-1, days):  # a session logged in a zone ahead of this one is from tomorrow
        path = PersonFiles(home).sessions / f"{today - timedelta(days=back):%Y-%m-%d}.jsonl"
        if path.is_file():
            yield path


def line_of(value: Mapping[str, Any], path: Path, number: int) -> SessionLine:
    """The line that a record is."""
    return SessionLine(
        date=_text(value.get("date")) or path.stem,
        through=_text(value.get("through")),
        path=path,
        line=number,
        session=_text(value.get("session")),
        time=_text(value.get("time")),
        summary=_text(value.get("summary")),
        decisions=_texts(value.get("decisions")),
        artifacts=_texts(value.get("artifacts")),
        open_threads=_texts(value.get("open_threads")),
        project=_text(value.get("project")),
        session_id=_text(value.get("session_id")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """People and agents write a list, a text, or objects with their reason."""
    items = value if isinstance(value, list) else [value] if value else []
    return tuple(text for item in items if (text := _stated(item)))


def _stated(item: Any) -> str:
    if isinstance(item, dict):
        said = _text(item.get("decision")) or _text(item.get("what")) or _text(item.get("text"))
        why = _text(item.get("why")) or _text(item.get("rationale"))
        return f"{said} (why: {why})" if said and why else said or why
    return _text(item)
