"""What a store must do for whole conversations: keep messages once, find and give them back.

The archive outlives the agents' own files. It keeps and finds; it never ranks, redacts or reads files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from claude_memory.model import Event, EventId, MemoryId, ProjectId, SearchScope, SessionId, StoredMemory


@dataclass(frozen=True, slots=True)
class NewMessage:
    """One turn, ready to be kept: redacted, bounded, with what it leaves as event and memories.

    A message is known when any of its keys is: a copy of a conversation shares at least one.
    """

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


@dataclass(frozen=True, slots=True)
class ImportFile:
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
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Archived:
    """What a batch added."""

    messages: int = 0
    duplicates: int = 0
    sessions: int = 0
    events: int = 0


@dataclass(frozen=True, slots=True)
class Understood:
    """One exchange of a conversation: the memory it is found by, its place, and its parts as a document."""

    memory: StoredMemory
    first: int
    last: int
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One archived conversation."""

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


@dataclass(frozen=True, slots=True)
class Message:
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
class WaitingCompactions:
    """A session with reports of compactions that are not summed up yet."""

    session: SessionId
    reports: tuple[Event, ...]  # all that there are, by time
    latest: EventId  # the one that came in last


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """Which conversations a question is about. Empty fields do not restrict."""

    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    folder: str = ""  # held there, or in a folder below it
    roles: tuple[str, ...] = ()  # of the messages looked for
    failed: bool = False  # only messages of tools that failed


ANY_CONVERSATION = ConversationFilter()


class Archive(Protocol):
    """The conversations of a store."""

    def add(
        self,
        messages: Sequence[NewMessage],
        projects: Mapping[str, ProjectId],
        files: Sequence[ImportFile] = (),
        events: Sequence[Event] = (),
    ) -> Archived:
        """Keep what is new, the events, and how far files were read: all or nothing.

        `projects` names the project of every folder that a message is from.
        """
        ...

    def file(self, path: str) -> ImportFile | None: ...

    def files(self) -> list[ImportFile]: ...

    def conversations(
        self,
        scope: SearchScope,
        *,
        prefix: str = "",
        agent: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        folder: str = "",
        limit: int | None = None,
    ) -> list[Conversation]:
        """The conversations that fit, newest first."""
        ...

    def session_ids(self, scope: SearchScope, prefix: str) -> list[str]:
        """Ids of sessions that begin so, of events and memories as well as of conversations; not many."""
        ...

    def by_sessions(self, scope: SearchScope, sessions: Sequence[str]) -> list[Conversation]:
        """Conversations by their agents' own ids, newest first."""
        ...

    def by_numbers(self, numbers: Sequence[int]) -> list[Conversation]:
        """Conversations by their numbers, in that order."""
        ...

    def messages(
        self, conversation: int, *, first: int = 1, last: int | None = None, failed_only: bool = False
    ) -> list[Message]:
        """A conversation's messages in order, or a range of them."""
        ...

    def candidates(
        self,
        scope: SearchScope,
        words: Sequence[str],
        limit: int,
        within: ConversationFilter = ANY_CONVERSATION,
    ) -> list[Message]:
        """Messages of all roles that hold the rarest of the words together, newest first."""
        ...

    def matching(
        self,
        scope: SearchScope,
        words: Sequence[str],
        within: ConversationFilter,
        accept: Callable[[str], bool],
        *,
        limit: int,
        depth: int,
    ) -> list[Message]:
        """Messages with all the words whose text is accepted, newest first; `depth` are looked at at most."""
        ...

    def of_events(self, events: Sequence[str]) -> list[Message]:
        """The messages that left these events."""
        ...

    def word_counts(self, words: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """About how many messages there are, and in how many of them each word stands."""
        ...

    def words_beginning(self, start: str, limit: int) -> list[str]:
        """Words of messages that begin so, the most common first."""
        ...

    def upgrade_stage(self) -> int:
        """1 while events of an earlier release wait to be messages, 2 until all is understood, else 0."""
        ...

    def reach_upgrade_stage(self, stage: int) -> None:
        """Note how far the upgrade is; 0 when it is done."""
        ...

    def waiting(self, limit: int) -> list[Conversation]:
        """Conversations with messages that were not understood yet, oldest first."""
        ...

    def understood(
        self,
        conversation: int,
        through: int,
        exchanges: Sequence[Understood],
        *,
        since: int = 1,
        record: Mapping[str, Any] | None = None,
        memories: Sequence[StoredMemory] = (),
    ) -> int:
        """Keep what was understood of messages from `since` to `through`; returns how many memories are new.

        Exchanges that were known from `since` on and are not among these are gone.
        """
        ...

    def exchanges(self, conversation: int) -> list[tuple[MemoryId, int, int, Mapping[str, Any]]]:
        """A conversation's exchanges in order: memory, first and last message, parts."""
        ...

    def exchanges_at(
        self, places: Sequence[tuple[int, int]]
    ) -> list[tuple[MemoryId, int, int, int, Mapping[str, Any]] | None]:
        """For each conversation and message the exchange that holds it: memory, conversation, first, last,
        parts."""
        ...

    def exchange_parts(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Any]]:
        """The parts of those memories that are exchanges."""
        ...

    def session_records(self, scope: SearchScope, limit: int) -> list[tuple[Conversation, Mapping[str, Any]]]:
        """The records of sessions, newest first."""
        ...

    def unasked(self, *, before: datetime, limit: int) -> list[Conversation]:
        """Sessions, silent since `before`, that no model was asked about since they grew; newest first."""
        ...

    def asked(self, conversation: int, through: int) -> None:
        """A language model was asked about so many messages of a conversation."""
        ...

    def waiting_compactions(self, limit: int) -> list[WaitingCompactions]:
        """Sessions with reports that came in since the last `summed_up`; the latest first."""
        ...

    def summed_up(self, waiting: WaitingCompactions) -> None:
        """These need no more look, until another report of the session comes in."""
        ...

    def agents(self) -> list[str]:
        """Whose conversations are kept."""
        ...

    def totals(self) -> Mapping[str, int]:
        """Conversations, messages and bytes kept."""
        ...
