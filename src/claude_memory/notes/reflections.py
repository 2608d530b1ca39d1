"""Reflections: patterns, insights and ideas of a person and their agents, one JSON line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryId, memory_id
from claude_memory.notes.places import PersonFiles
from claude_memory.notes.reading import Problem, read_records

BY_AGENT = "agent"  # a record that says nothing is a person's
KINDS = {"pattern": Kind.PATTERN, "reflection": Kind.REFLECTION, "idea": Kind.IDEA}
TYPES = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class Reflection:
    """One insight, and the line it stands on."""

    type: str
    content: str
    date: str = ""
    project: str = ""
    line: int = 0
    by_agent: bool = False

    @property
    def key(self) -> str:
        """What tells it from the others of the file."""
        return f"{self.type}:{self.content[:500]}"


def memory_of(home: Path, item: Reflection) -> MemoryId:
    """The memory that stands for a reflection in the store."""
    return memory_id(f"file:{PersonFiles(home).reflections}:{item.key}")


def add(
    home: Path, type_: str, content: str, *, project: str, now: datetime, by_agent: bool = False
) -> Reflection:
    """Write one down."""
    from claude_memory.notes.file_edits import append_record  # redacts: who only reads need not load it

    if type_ not in TYPES:
        raise InvalidInput(f"unknown type {type_!r}: one of {', '.join(TYPES)}")
    if not content.strip():
        raise InvalidInput("a reflection needs a text")
    made = Reflection(type_, " ".join(content.split()), f"{now:%Y-%m-%d}", project, by_agent=by_agent)
    record = {"type": made.type, "content": made.content, "date": made.date, "project": made.project}
    if by_agent:
        record["by"] = BY_AGENT
    append_record(PersonFiles(home).reflections, record, home=home)
    return made


def read(home: Path) -> tuple[list[Reflection], list[Problem]]:
    """All of them, oldest first."""
    path = PersonFiles(home).reflections
    records, problems = read_records(path)
    found = []
    for record in records:
        item = of_record(record.value, record.line)
        if item is None:
            problems.append(Problem(path, record.line, "a reflection without content"))
        else:
            found.append(item)
    return found, problems


def of_record(value: Mapping[str, Any], line: int) -> Reflection | None:
    """The reflection of a record; an unknown type counts as a reflection, one without content is none."""
    content, type_ = _text(value, "content"), _text(value, "type")
    if not content.strip():
        return None
    return Reflection(
        type_ if type_ in TYPES else "reflection",
        content,
        _text(value, "date"),
        _text(value, "project"),
        line,
        value.get("by") == BY_AGENT,
    )


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
