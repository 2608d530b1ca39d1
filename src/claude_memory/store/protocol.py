"""What a store must do. Every backend keeps the same promises, and one test suite proves it.

A store keeps rows and finds candidates; it never ranks. Methods take and return values of
`model`; each call is one transaction; every query is scoped to projects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    MemoryFilter,
    MemoryId,
    Passage,
    PassageId,
    Project,
    ProjectId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.redact.erasure import Holder


@dataclass(frozen=True, slots=True)
class Added:
    """What a write did: known ids and erased content are passed over, never stored twice."""

    events: int = 0
    memories: int = 0
    duplicates: int = 0
    tombstoned: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a memory's state, waiting for the mirror or read back from it.

    `record` is what a line of memories.jsonl says: {"change", "at", "memory": {...}} for a state,
    {"change", "at", "tombstone": hash} for an erasure, {"change", "at", "project": {...}}.
    """

    sequence: int
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The figures BM25 needs of one scope."""

    passages: int
    mean_length: float
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class VectorScan:
    """The nearest passages and the distribution of all cosines in the scope, by exact scan."""

    candidates: tuple[tuple[PassageId, float], ...]
    scanned: int
    minimum: float
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Integrity:
    """What a full check found. `problems` is empty in a healthy store."""

    problems: tuple[str, ...]
    memories: int
    passages: int
    text_entries: int
    vectors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts for `stats` and `doctor`."""

    schema_version: int
    events: int
    memories: Mapping[str, int]
    projects: int
    sessions: int
    passages: int
    vectors: Mapping[str, int]
    size_bytes: int
    oldest: datetime | None = None
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Erased:
    """What `erase` removed, for the person who asked."""

    memories: int
    events: int
    passages: int
    vectors: int
    cut: int = field(default=0, compare=False)  # other texts that held it, and lost it
    # Of the memories, also of those that nobody named but that said the same, or are made anew without it.
    ids: tuple[MemoryId, ...] = field(default=(), compare=False)
    transcripts: tuple[str, ...] = field(default=(), compare=False)  # agents' own files that it was read from
    left: tuple[str, ...] = ()  # places where it still stands and that only the person may change


@dataclass(frozen=True, slots=True)
class Pruned:
    """What retention removed."""

    events: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events a timeline wants."""

    session: SessionId | None = None
    kinds: tuple[EventKind, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[EventId, ...] = field(default=())


class Store(Protocol):
    """The persistent half of the memory."""

    def close(self) -> None: ...

    # --- projects
    def project_for(self, identity: ProjectIdentity) -> Project:
        """Find, join by alias, or create the project of a folder; a partial identity makes none: NotFound."""
        ...

    def projects(self) -> list[Project]: ...

    def merge_projects(self, source: ProjectId, target: ProjectId) -> Project:
        """Let all of one project belong to another, which is given back; only its names are left."""
        ...

    def split_project(self, identity: ProjectIdentity) -> Project:
        """Make a folder a project of its own, with the sessions that were held in it."""
        ...

    def move_folder(self, identity: ProjectIdentity, target: ProjectId) -> Project:
        """Let a folder belong to a known project from now on."""
        ...

    # --- writing
    def add(self, events: Sequence[Event], memories: Sequence[StoredMemory]) -> Added:
        """Store a batch in one transaction, with its text entries; ids already there are skipped."""
        ...

    def update(self, memory: StoredMemory) -> None:
        """Replace a memory's row; its passages are rebuilt if title or body changed."""
        ...

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        """Remove memories, the events they came from, text, vectors and file pages; leave tombstones.

        The sentences `texts`, by default what the memories say, are taken out of everything else, too, in
        every project.
        """

    def apply_tombstones(self) -> Erased:
        """Remove what tombstones name that came from elsewhere, as `erase` would have."""

    def erased_sentences(self, project: ProjectId | None = None) -> Holder:
        """What was erased from a project, or from any, by its hashes: tells which texts hold it."""
        ...

    def prune(self, *, events_before: datetime | None, forgotten_before: datetime | None) -> Pruned:
        """Retention: drop old events and memories whose time for undoing has passed."""
        ...

    # --- reading
    def memories(
        self,
        scope: SearchScope,
        filter_: MemoryFilter,
        *,
        ids: Sequence[MemoryId] | None = None,
        limit: int | None = None,
        newest_first: bool = True,
    ) -> list[StoredMemory]:
        """The memories that fit; with `ids`, only those, in that order."""
        ...

    def complete_id(self, scope: SearchScope, prefix: str) -> list[MemoryId]:
        """Ids that begin with what a person typed."""
        ...

    def events(
        self, scope: SearchScope, filter_: EventFilter, *, limit: int, newest_first: bool = True
    ) -> list[Event]: ...

    # --- finding candidates
    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics: ...

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        """Passages that hold at least one term, likeliest first. Never fails, whatever the terms."""
        ...

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, vector: bytes, model: str, limit: int
    ) -> VectorScan:
        """The nearest passages by exact cosine over int8 vectors of this very model."""
        ...

    def passages(self, ids: Sequence[PassageId], *, model: str | None = None) -> list[Passage]:
        """Whole passages, with their vector of `model` where there is one."""
        ...

    def has_open_intentions(self) -> bool:
        """Whether any reminder waits; cheap, because every prompt asks."""
        ...

    # --- vectors
    def unembedded(self, model: str, limit: int, *, project: ProjectId | None = None) -> list[Passage]:
        """Passages that have no vector of this model yet, newest memories first."""
        ...

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        """Attach vectors; a passage that is gone by now is skipped."""
        ...

    def drop_vectors(self, *, keep: str | None) -> int:
        """Remove vectors of every other model (after a change of model)."""
        ...

    # --- mirror and upkeep
    def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
        """Wait no longer than this for another writer, in this thread, for as long as it is open."""
        ...

    def after_write(self, notify: Callable[[], None]) -> None:
        """Call `notify` after every commit of this process, outside the transaction."""
        ...

    def pending_changes(self, limit: int) -> list[Change]: ...

    def changes_mirrored(self, through: int) -> None: ...

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        """Rebuild from mirror records; tombstones in them are honoured."""
        ...

    def rebuild_index(self) -> int:
        """Make passages and text entries anew from the memories; returns the passages made."""
        ...

    def integrity(self) -> Integrity: ...

    def stats(self, project: ProjectId | None = None) -> StoreStats: ...

    def snapshot(self, target: Path) -> None:
        """Write a consistent copy while others read and write."""
        ...
