"""The values that a store takes and gives back, beside those of the domain (`claude_memory.model`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    MemoryId,
    PassageId,
    ProjectId,
    SessionId,
    StoredMemory,
)
from claude_memory.model import Message as Message  # noqa: PLC0414  one of the words of the archive


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
    server: Mapping[str, object] = {}  # of a team's: release, tables, search indexes, connections


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
    events: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """What went because the store was over its cap."""

    tool_outputs: int = 0
    messages: int = 0
    exchanges: int = 0

    def __add__(self, other: MadeRoom) -> MadeRoom:
        return MadeRoom(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class NewMessage(NamedTuple):
    """One turn, ready to be kept: redacted, bounded, and known by any of its keys, which copies share."""

    session: SessionId
    agent: str
    role: str
    at: datetime
    text: str
    keys: tuple[int, ...]
    cwd: str = ""
    branch: str = ""
    tool: str = ""
    call: str = ""
    failed: bool = False
    parent: str = ""
    path: str = ""  # of the file it was read from
    speaker: str = ""  # person, agent, tool, harness; empty in what was kept before this was told
    manner: str = ""  # how it came about: typed, queued, answer, closing …
    packed: bytes | None = None  # the text compressed, if that was done already
    event: Event | None = None
    imported: bool = False  # from a history that was not written on this machine
    # Of a message that another home kept: its event, its project, its place among the others.
    event_id: str = ""
    project: ProjectId | None = None
    moment: int = 0


class ImportFile(NamedTuple):
    """How far a source was read, and what tells that it is still the same file."""

    path: str
    agent: str
    inode: int
    size: int
    modified_ns: int
    offset: int
    head: str
    tail: str
    skipped: int = 0
    state: Mapping[str, Any] = {}


class Archived(NamedTuple):
    messages: int = 0
    duplicates: int = 0
    sessions: int = 0
    events: int = 0


class Understood(NamedTuple):
    """One exchange of a conversation: the memory it is found by, its place, and its parts as a document."""

    memory: StoredMemory
    first: int
    last: int
    record: Mapping[str, Any]


class Conversation(NamedTuple):
    number: int
    session: SessionId
    agent: str
    project: ProjectId
    cwd: str
    branch: str
    first: datetime
    last: datetime
    messages: int
    title: str
    parent: str = ""
    continues: str = ""  # the conversation whose beginning this one copied
    path: str = ""
    understood: int = 0  # messages that were read for exchanges
    imported: bool = False

    @property
    def name(self) -> str:
        """What a person knows it by: how it began."""
        return self.title or ("(a sub-agent's work)" if self.parent else "(no title)")


class WaitingCompactions(NamedTuple):
    """A session with reports of compactions that are not summed up yet."""

    session: SessionId
    reports: tuple[Event, ...]  # all that there are, by time
    latest: EventId  # the one that came in last


class EventFilter(NamedTuple):
    session: SessionId | None = None
    kinds: tuple[EventKind, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[EventId, ...] = ()


class ConversationFilter(NamedTuple):
    """Which conversations a question is about. Empty fields do not restrict."""

    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    folder: str = ""  # held there, or in a folder below it
    roles: tuple[str, ...] = ()  # of the messages looked for
    failed: bool = False  # only messages of tools that failed


ANY_CONVERSATION = ConversationFilter()


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class IntentionStatus(StrEnum):
    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"


class Intention(NamedTuple):
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


class Strength(NamedTuple):
    """How firmly a memory is held: the state of its forgetting curve, and the reviews behind it."""

    stability: float  # days until the chance of recall has fallen to 90%
    difficulty: float
    reviewed_at: datetime
    reviews: int = 0
    lapses: int = 0
    demoted: bool = False


class Review(NamedTuple):
    memory: MemoryId
    at: datetime
    reason: str


class Relation(NamedTuple):
    """One memory's bearing on another, with the evidence in words."""

    source: MemoryId
    target: MemoryId
    kind: str
    evidence: str
    at: datetime


class FileState(NamedTuple):
    """What a file held when a memory was tied to it; `stale` says in words how it differs now."""

    memory: MemoryId
    path: str
    sketch: str
    revision: str = ""
    stale: str = ""


class Step(NamedTuple):
    """One thing a consolidation did, enough to undo it."""

    action: str
    memory: MemoryId
    other: MemoryId | None = None


class Entity(NamedTuple):
    """A thing that memories speak of: a file, symbol, package, command, error, topic, task, session."""

    kind: str
    name: str


class Mention(NamedTuple):
    """A memory's bearing on a thing; the memory is the evidence."""

    memory: MemoryId
    relation: str
    entity: Entity
