"""What is understood of a conversation: exchanges and the session's record; and both as JSON documents.

An exchange is one request of a person, the work it led to, and how it ended. Everything in it comes
from archived messages, which are redacted already; ordinals count messages within their conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from claude_memory.model import SessionId, StoredMemory


class Outcome(StrEnum):
    ANSWERED = "answered"  # the agent had the last word
    INTERRUPTED = "interrupted"  # the person stopped the agent
    REJECTED = "rejected"  # the person refused the last step, and nothing came after it
    OPEN = "open"  # nothing came after the request, or the agent was still at it


@dataclass(frozen=True, slots=True)
class Utterance:
    """Words of a person: what they typed themselves, and how they came to say it."""

    ordinal: int
    at: datetime
    words: str  # their own words, without what they pasted
    manner: str = "typed"
    pasted: str = ""  # what they pasted, cut to its first lines
    question: str = ""  # what they answered, where that is known
    file: str = ""  # whose edit they refused


@dataclass(frozen=True, slots=True)
class Command:
    ordinal: int
    command: str
    failed: bool = False
    error: str = ""  # the lines of its output that say what was wrong


@dataclass(frozen=True, slots=True)
class Commit:
    ordinal: int
    hash: str
    subject: str
    branch: str = ""
    amends: bool = False  # took the place of the last commit of an earlier exchange


@dataclass(frozen=True, slots=True)
class TaskItem:
    """A task of the agent's own list, as it stood at the end of the exchange."""

    title: str
    status: str  # pending, in_progress, completed, deleted
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    session: SessionId
    key: str  # names the exchange wherever it is read: its first message's event, else session and ordinal
    first: int
    last: int
    began: datetime
    ended: datetime
    branch: str = ""
    cwd: str = ""
    asked: tuple[Utterance, ...] = ()  # the request first, then what was added while the agent worked
    plan: str = ""  # an accepted plan that this exchange carries out: the agent's words
    handed: str = ""  # what the harness handed on instead of a person: a command, a notification
    files_read: tuple[str, ...] = ()
    files_edited: tuple[tuple[str, int], ...] = ()  # with the number of edits, most edited first
    commands: tuple[Command, ...] = ()
    commits: tuple[Commit, ...] = ()
    pull_requests: tuple[str, ...] = ()
    tasks: tuple[TaskItem, ...] = ()
    said: tuple[str, ...] = ()  # what the agent told on the way
    closing: str = ""  # its last words
    outcome: Outcome = Outcome.OPEN
    uncommitted: tuple[str, ...] = ()  # edited after the last commit of this exchange
    failing: tuple[Command, ...] = ()  # checks whose last run in this exchange failed

    @property
    def request(self) -> str:
        """What the person asked for first, in their own words; empty if no person asked."""
        return self.asked[0].words if self.asked else ""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A whole session in brief; grows with it."""

    session: SessionId
    title: str
    began: datetime
    ended: datetime
    branches: tuple[str, ...] = ()  # latest last
    exchanges: int = 0
    first_request: str = ""
    last_request: str = ""
    answered: bool = True  # whether the last request was
    commits: tuple[Commit, ...] = ()
    pull_requests: tuple[str, ...] = ()
    files: tuple[tuple[str, int], ...] = ()  # by number of edits
    uncommitted: tuple[str, ...] = ()  # edited after the last commit
    open_tasks: tuple[TaskItem, ...] = ()
    failing: tuple[Command, ...] = ()
    checks: tuple[str, ...] = ()  # commands that check the work, by how often they were run
    closing: str = ""


# --- as JSON documents, which the store keeps

_PARTS: Mapping[str, Any] = {
    "asked": Utterance,
    "commands": Command,
    "commits": Commit,
    "tasks": TaskItem,
    "open_tasks": TaskItem,
    "failing": Command,
}


def to_json(value: Exchange | SessionRecord) -> dict[str, Any]:
    """A document that `from_json` or `record_from_json` reads back; empty members are left out."""
    document: dict[str, Any] = {key: one for key, one in asdict(value).items() if one or one is False}
    for key in ("began", "ended"):
        document[key] = document[key].isoformat()
    for spoken in document.get("asked", ()):
        spoken["at"] = spoken["at"].isoformat()
    return document


def from_json(document: Mapping[str, Any]) -> Exchange:
    """The exchange of such a document; members that it does not know are passed over."""
    return Exchange(**{"first": 0, "last": 0, **_members(Exchange, document)})


def record_from_json(document: Mapping[str, Any]) -> SessionRecord:
    return SessionRecord(**{"title": "", **_members(SessionRecord, document)})


def _members(kind: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _member(key, value) for key, value in document.items() if key in kind.__slots__}


def _member(key: str, value: Any) -> Any:
    if key in ("began", "ended", "at"):
        return datetime.fromisoformat(value)
    if key == "outcome":
        return Outcome(value)
    if part := _PARTS.get(key):
        return tuple(part(**_members(part, item)) for item in value)
    if not isinstance(value, list):
        return value
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)


def places_of(memory: StoredMemory) -> list[tuple[str, int, int]]:
    """The messages that a memory was understood from: conversation, first, last; none if it was written."""
    told = memory.provenance
    named = [told] if told.get("source") == "exchange" else list(told.get("places", ()))
    return [
        (str(place.get("conversation")), min(place["messages"]), max(place["messages"]))
        for place in named
        if isinstance(place, Mapping) and place.get("messages")
    ]
