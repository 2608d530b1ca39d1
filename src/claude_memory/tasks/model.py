"""What a task, a session and their documents are, and the order of work: scratchpad, plan, progress.

Frozen values and pure rules; no file is read here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path


class Part(StrEnum):
    """One of the three documents of a task."""

    SCRATCHPAD = "scratchpad"
    PLAN = "plan"
    PROGRESS = "progress"


class Phase(StrEnum):
    """How far a task has come."""

    DISCOVERY = "discovery"
    PLANNING = "planning"
    EXECUTION = "execution"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a task's files that a person should look at."""

    task: str
    session: str
    path: Path
    message: str
    tampered: bool = True

    def __str__(self) -> str:
        return f"{self.path.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One sealed piece of a plan or of a progress record."""

    number: int
    text: str
    time: datetime | None = None
    by: str = ""
    marks: tuple[str, ...] = ()

    @property
    def unplanned(self) -> bool:
        """Whether it was written before there was a plan."""
        return "unplanned" in self.marks


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier text of a scratchpad."""

    number: int
    saved_at: datetime
    by: str
    size: int
    path: Path


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A document of a task, as the folder's listing shows it."""

    part: Part
    path: Path
    size: int
    updated_at: datetime

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of one session: its exact name, the session's folder, and the names of its files there."""

    name: str
    stem: str
    created_at: datetime
    by: str
    session_id: str
    folder: Path
    files: Mapping[Part, str] = field(default_factory=dict)

    def path(self, part: Part) -> Path:
        """Where a document stands that was begun."""
        return self.folder / "tasks" / self.files[part]


@dataclass(frozen=True, slots=True)
class Session:
    """A stretch of work; `folder` is where its files stand."""

    session_id: str
    name: str
    created_at: datetime
    by: str
    folder: Path
    tasks: Mapping[str, TaskRecord] = field(default_factory=dict)

    @property
    def short_id(self) -> str:
        """The part of the id that file names carry."""
        return self.session_id.split("-", 1)[0][:8]


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task in a list; made from folder listings alone."""

    name: str
    current_phase: Phase
    session_id: str
    created_at: datetime
    updated_at: datetime
    files: tuple[TaskFile, ...]

    @property
    def file_count(self) -> int:
        """How many of the three documents there are."""
        return len(self.files)


@dataclass(frozen=True, slots=True)
class TaskStatus(TaskSummary):
    """Everything `status TASK` tells."""

    entries: int
    unplanned_entries: int
    amendments: int
    last_entry: Entry | None
    problems: tuple[Problem, ...]
    next_step: str

    @property
    def task_name(self) -> str:
        """The task's name."""
        return self.name


# --- the order of work


def phase_of(present: Collection[Part]) -> Phase:
    """The phase that the documents of a task show; a task without any is about to be discovered."""
    if Part.PROGRESS in present:
        return Phase.EXECUTION
    return Phase.PLANNING if Part.PLAN in present else Phase.DISCOVERY


def objection(task: str, step: Part, present: Collection[Part]) -> str | None:
    """Why a step is out of order, with the step that comes first; None when it may be taken."""
    first = {Part.PLAN: Part.SCRATCHPAD, Part.PROGRESS: Part.PLAN}.get(step)
    if first is None or first in present:
        return None
    todo = "explore first" if first is Part.SCRATCHPAD else "make one"
    command = f'`claude-memory {first} "{task}" --content "..."`'
    return f"task {task!r} has no {first} yet: {todo} with {command}, or pass --force"


def next_step(task: str, present: Collection[Part]) -> str:
    """The command that carries a task on."""
    if Part.PLAN in present or Part.PROGRESS in present:
        return f'claude-memory append "{task}" "..."'
    if Part.SCRATCHPAD in present:
        return f'claude-memory plan "{task}" --from-scratchpad'
    return f'claude-memory scratchpad "{task}" --content "..."'
