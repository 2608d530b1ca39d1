"""The values of the archive: messages, conversations, exchanges, filters, and how far files were read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from claude_memory.model import Event, EventId, EventKind, ProjectId, SessionId, StoredMemory
from claude_memory.model import Message as Message  # noqa: PLC0414  one of the words of the archive


class NewMessage(NamedTuple):
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
    """What a batch added."""

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


class WaitingCompactions(NamedTuple):
    """A session with reports of compactions that are not summed up yet."""

    session: SessionId
    reports: tuple[Event, ...]  # all that there are, by time
    latest: EventId  # the one that came in last


class EventFilter(NamedTuple):
    """Which events a timeline wants."""

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
