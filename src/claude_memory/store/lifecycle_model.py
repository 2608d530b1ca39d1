"""The values of a memory's life and of the graph: intentions, strength, relations, file states, mentions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from claude_memory.model import MemoryId, ProjectId


class Priority(StrEnum):
    """How much an intention matters."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class IntentionStatus(StrEnum):
    """Where an intention stands."""

    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Intention:
    """Something to be reminded of: at a time, at a file, at a topic, in a codebase, or at the next chance."""

    id: str
    project: ProjectId
    text: str
    created_at: datetime
    at: datetime | None = None
    deadline: datetime | None = None
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    codebase: str | None = None
    priority: Priority = Priority.NORMAL
    status: IntentionStatus = IntentionStatus.OPEN
    snoozed_until: datetime | None = None
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Strength:
    """How firmly a memory is held: the state of its forgetting curve, and the reviews behind it."""

    stability: float  # days until the chance of recall has fallen to 90%
    difficulty: float
    reviewed_at: datetime
    reviews: int = 0
    lapses: int = 0
    demoted: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """One use of a memory."""

    memory: MemoryId
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Relation:
    """One memory's bearing on another, with the evidence in words."""

    source: MemoryId
    target: MemoryId
    kind: str
    evidence: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file held when a memory was tied to it; `stale` says in words how it differs now."""

    memory: MemoryId
    path: str
    sketch: str
    revision: str = ""
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a consolidation did, enough to undo it."""

    action: str
    memory: MemoryId
    other: MemoryId | None = None


class Entity(NamedTuple):
    """A thing that memories speak of: a file, symbol, package, command, error, topic, task, session."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A memory's bearing on a thing; the memory is the evidence."""

    memory: MemoryId
    relation: str
    entity: Entity
