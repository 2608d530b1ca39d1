"""The values that a store takes and gives back, beside those of the domain; conversations, lives and the
graph have theirs in `archive_model` and `lifecycle_model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from claude_memory.model import MemoryId, PassageId


class Added(NamedTuple):
    """What a write did: known ids and erased content are passed over, never stored twice."""

    memories: int = 0
    duplicates: int = 0
    tombstoned: int = 0


class Change(NamedTuple):
    """One numbered change: what a mirror writes down, and what two homes exchange.

    `record` is what a line of memories.jsonl says: {"change", "at", "memory": {...}} for a state,
    {"change", "at", "tombstone": hash} for an erasure, {"change", "at", "project": {...}}.
    """

    sequence: int  # of this store
    record: Mapping[str, Any]
    home: str  # the store where it was made
    clock: int  # microseconds, never back and never twice: orders the changes of several homes


class TermStatistics(NamedTuple):
    """The figures BM25 needs of one scope."""

    passages: int
    mean_length: float
    document_frequency: Mapping[str, int]


class VectorScan(NamedTuple):
    """The nearest passages and the distribution of all cosines in the scope, by exact scan."""

    candidates: tuple[tuple[PassageId, float], ...]
    scanned: int
    minimum: float
    mean: float
    deviation: float


class Integrity(NamedTuple):
    """What a full check found. `problems` is empty in a healthy store."""

    problems: tuple[str, ...]
    memories: int
    passages: int
    text_entries: int
    vectors: Mapping[str, int]


class StoreStats(NamedTuple):
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
    server: Mapping[str, object] = {}  # of a team's: see `postgres.health.metrics`


class Inspection(NamedTuple):
    """What was seen of a store without opening it for use. What could not be read in time is None."""

    version: int  # 0 for a file in which nothing is yet
    current: int  # the version that this program makes
    size_bytes: int
    lock: str  # `free`, or in words why nobody can write
    on_network: bool = False
    memories: int | None = None
    passages: int | None = None
    text_entries: int | None = None
    pending_changes: int | None = None
    last_change: int | None = None
    texts: Mapping[str, bytes] | None = None  # a digest of the words of each memory that the mirror has
    vectors: Mapping[str, int] = {}
    problems: tuple[str, ...] | None = None


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
    beyond: str = field(default="", compare=False)  # what the store cannot reach, in words


class Pruned(NamedTuple):
    """What retention removed."""

    events: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """What went because the store was over its cap."""

    tool_outputs: int = 0
    messages: int = 0
    exchanges: int = 0

    def __add__(self, other: MadeRoom) -> MadeRoom:
        return MadeRoom(
            self.tool_outputs + other.tool_outputs,
            self.messages + other.messages,
            self.exchanges + other.exchanges,
        )
