"""Reflections: patterns, insights and ideas of a person and their agents, one JSON line each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.model import MemoryId, memory_id
from claude_memory.notes.editing import append_record
from claude_memory.notes.places import PersonFiles
from claude_memory.notes.reading import Problem, read_records

BY_AGENT = "agent"  # a record that says nothing is a person's
TYPES = ("pattern", "reflection", "idea")


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
    """All of them, oldest first; an unknown type counts as a reflection."""
    records, problems = read_records(PersonFiles(home).reflections)
    found = []
    for record in records:
        content = record.value.get("content")
        if not isinstance(content, str) or not content.strip():
            problems.append(
                Problem(PersonFiles(home).reflections, record.line, "a reflection without content")
            )
            continue
        kind = record.value.get("type")
        day, project = record.value.get("date"), record.value.get("project")
        found.append(
            Reflection(
                kind if kind in TYPES else "reflection",
                content,
                day if isinstance(day, str) else "",
                project if isinstance(project, str) else "",
                record.line,
                record.value.get("by") == BY_AGENT,
            )
        )
    return found, problems
