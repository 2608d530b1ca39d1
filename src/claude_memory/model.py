"""The domain: frozen values that every other module speaks in.

Nothing here reads a file, a clock or a database. Times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, NewType

EventId = NewType("EventId", str)
MemoryId = NewType("MemoryId", str)
PassageId = NewType("PassageId", int)
PersonId = NewType("PersonId", str)
ProjectId = NewType("ProjectId", str)
SessionId = NewType("SessionId", str)

_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford: no i, l, o, u to misread
_ID_LENGTH = 12  # 60 bits: a million memories collide with probability 4e-7


class Kind(StrEnum):
    DECISION = "decision"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    FACT = "fact"
    FIX = "fix"
    PATTERN = "pattern"
    CONVENTION = "convention"
    LESSON = "lesson"
    REFLECTION = "reflection"
    IDEA = "idea"
    OBSERVATION = "observation"
    SUMMARY = "summary"
    NOTE = "note"


class Trust(StrEnum):
    """Where a memory came from; only a person's own words are handed on as they are."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORTED = "imported"


class Scope(StrEnum):
    """A memory belongs to its project, or travels with the person."""

    PROJECT = "project"
    USER = "user"


BY_HAND = "by_hand"  # in a provenance: somebody worded it, so that understanding anew leaves its words alone


class Status(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"  # faded: still found by a search, never offered unasked
    FORGOTTEN = "forgotten"
    PROPOSED = "proposed"  # suggested by rules or an agent: in the inbox, never given as settled


class EventKind(StrEnum):
    SESSION_START = "session_start"
    PROMPT = "prompt"
    TOOL_CALL = "tool_call"
    TOOL_USE = "tool_use"
    TOOL_FAILURE = "tool_failure"
    REPLY = "reply"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_RESULT = "subagent_result"
    COMPACTION_START = "compaction_start"
    COMPACTION = "compaction"
    SESSION_END = "session_end"
    INSTRUCTIONS = "instructions"
    INJECTION = "injection"  # context that a hook of ours gave an agent
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """What is known of a folder, strongest name first; the store joins them to one project.

    A partial one lacks a name that takes long to find: enough to recognise a project, not to make one.
    `remote` is what the repository says of itself; it can keep a folder apart, but never join it.
    """

    identities: tuple[str, ...]
    name: str
    path: str
    partial: bool = False
    remote: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """One repository or folder, stable across clones, worktrees and moves."""

    id: ProjectId
    name: str
    path: str
    identities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. Immutable; stored once, whoever reports it."""

    id: EventId
    kind: EventKind
    agent: str
    session: SessionId | None
    project: ProjectId
    cwd: str
    timestamp: datetime
    payload: Mapping[str, Any]


class Message(NamedTuple):
    """One archived message; `ordinal` counts from 1 within its conversation."""

    number: int
    conversation: int
    ordinal: int
    role: str
    at: datetime
    text: str
    tool: str = ""
    call: str = ""
    failed: bool = False
    event: str = ""
    speaker: str = ""  # person, agent, tool, harness
    manner: str = ""  # how it came about: typed, queued, answer, rejection, closing, …
    branch: str = ""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory as a caller hands it in; what is left out is filled by `Memory.remember_many`."""

    body: str
    kind: Kind | str = Kind.NOTE
    title: str | None = None
    topics: Sequence[str] = ()
    files: Sequence[str] = ()
    session: str | None = None
    task: str | None = None
    created_at: datetime | None = None
    # `user` if a person says it, refused inside an agent; else an agent's word
    trust: Trust | str | None = None
    scope: Scope | str = Scope.PROJECT
    supersedes: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None  # a stable name of its source: the same origin is stored once


STATEMENT_CHARACTERS = 600  # longer texts say more than one thing


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One thing worth recalling, as the store keeps it."""

    id: MemoryId
    project: ProjectId
    kind: Kind
    title: str
    body: str
    created_at: datetime
    updated_at: datetime
    trust: Trust = Trust.USER
    scope: Scope = Scope.PROJECT
    status: Status = Status.ACTIVE
    session: SessionId | None = None
    task: str | None = None
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    supersedes: MemoryId | None = None
    superseded_by: MemoryId | None = None
    forgotten_at: datetime | None = None
    pinned: bool = False
    person: PersonId | None = None  # who owns it, of scope `user` only; the store fills it in

    @property
    def is_statement(self) -> bool:
        """Whether it says one thing that may hold or not.

        Exchanges and long texts do not, nor a note that belongs to a conversation: it is a turn, too.
        """
        turn = self.kind is Kind.NOTE and self.session is not None
        captured = self.kind in (Kind.OBSERVATION, Kind.SUMMARY)
        return not turn and not captured and len(self.body) <= STATEMENT_CHARACTERS


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories a question is about. Empty fields do not restrict."""

    kinds: tuple[Kind, ...] = ()
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    task: str | None = None
    session: SessionId | None = None
    since: datetime | None = None
    until: datetime | None = None
    agent: str | None = None
    branch: str | None = None  # of exchanges that were held on it
    failed: bool = False  # exchanges in which a tool failed
    among: tuple[MemoryId, ...] | None = None
    statuses: tuple[Status, ...] = (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED, Status.PROPOSED)

    @property
    def restricts(self) -> bool:
        return self != MemoryFilter()


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The projects a query may see. None stands for all of them, on explicit request only.

    Memories of scope `user` are visible from every project.
    """

    projects: tuple[ProjectId, ...] | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A searchable slice of a memory, with its text already tokenised for the index.

    `own` are the tokens of title and text; `near` and `far` those of the neighbours of the same
    session at distance one and two; `date` the words for the day it is from.
    """

    id: PassageId
    memory: MemoryId
    project: ProjectId
    ordinal: int
    text: str
    own: tuple[str, ...]
    near: tuple[str, ...]
    far: tuple[str, ...]
    date: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    id: MemoryId
    kind: Kind
    title: str
    snippet: str
    relevance: float
    session: SessionId | None
    project: ProjectId
    timestamp: datetime
    files: tuple[str, ...]
    status: Status
    trust: Trust
    superseded_by: MemoryId | None = None
    score: float = 0.0
    place: str = ""  # file and line, for what stands in a plain file
    stale: str = ""  # in words what of it the working tree no longer bears out


def memory_id(seed: str) -> MemoryId:
    """Derive a memory's id, so that the same origin always gives the same memory."""
    import hashlib

    digest = hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    letters = (_ID_ALPHABET[(number >> (5 * place)) & 31] for place in range(_ID_LENGTH))
    return MemoryId("m" + "".join(letters))
