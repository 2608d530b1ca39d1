"""What a store must do for the life of memories: intentions, strength, relations, file states.

Values and one interface beside `Store`. It keeps and finds; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from claude_memory.errors import StoreFault
from claude_memory.model import MemoryId, Project, ProjectId, SearchScope, StoredMemory
from claude_memory.store.protocol import Store


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


class Lifecycle(Protocol):
    """The life of a store's memories."""

    # --- intentions
    def put_intention(self, intention: Intention) -> None:
        """Keep a new one or the new state of a known one."""
        ...

    def intentions(self, project: Project, *, open_only: bool = True) -> list[Intention]:
        """Those of the project, and those of anywhere that name its codebase; oldest first."""
        ...

    # --- strength
    def strengths(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Strength]: ...

    def put_strengths(self, strengths: Mapping[MemoryId, Strength], reviews: Sequence[Review] = ()) -> None:
        """Keep states and the reviews that led to them, in one transaction."""
        ...

    def reviews(self, memory: MemoryId) -> list[Review]: ...

    def arrivals(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, datetime]:
        """When memories came to this store, of those that were made long before."""
        ...

    # --- the write gate
    def unjudged(self, limit: int) -> list[StoredMemory]:
        """Memories that have not met their neighbours yet, of any project, oldest first."""
        ...

    def judged(self, ids: Sequence[MemoryId]) -> None:
        """These have met their neighbours."""
        ...

    # --- relations
    def relate(self, relations: Sequence[Relation]) -> int:
        """Keep relations between memories of one project; returns how many are new."""
        ...

    def relations(self, ids: Sequence[MemoryId], *, kinds: Sequence[str] = ()) -> list[Relation]:
        """Those that begin or end at one of the memories."""
        ...

    def unrelate(self, source: MemoryId, target: MemoryId, kind: str) -> None:
        """Take a relation back."""
        ...

    def archive(self, ids: Sequence[MemoryId]) -> int:
        """Let active memories rest; nothing else of them changes."""
        ...

    def unarchive(self, ids: Sequence[MemoryId]) -> int:
        """Bring archived memories back as they were."""
        ...

    # --- proposals
    def reject(self, ids: Sequence[MemoryId]) -> int:
        """Take proposals out for good: what rules find again is not proposed again."""
        ...

    # --- files
    def put_file_states(self, states: Sequence[FileState]) -> None: ...

    def file_states(self, scope: SearchScope, ids: Sequence[MemoryId] | None = None) -> list[FileState]: ...

    # --- consolidation
    def consolidated(self, project: ProjectId, at: datetime, steps: Sequence[Step]) -> int:
        """Note a run and its steps; returns its number."""
        ...

    def steps(self, run: int) -> list[Step]: ...

    def last_run(self, project: ProjectId) -> tuple[int, datetime, int] | None:
        """Number and time of the last run that stands, and how many memories came since."""
        ...

    def undone(self, run: int) -> None: ...


def lifecycle_of(store: Store) -> Lifecycle:
    """The lifecycle side of a store."""
    found = getattr(store, "lifecycle", None)
    if found is None:
        raise StoreFault("this store keeps no strength, intentions or relations")
    return found  # type: ignore[no-any-return]
