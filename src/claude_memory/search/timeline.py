"""What happened around a moment: memories and captured events in one order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.model import Event, EventKind, Kind, MemoryFilter, SearchScope, SessionId, StoredMemory

if TYPE_CHECKING:
    from claude_memory.store.base import Store

SHOWN_EVENTS = (
    EventKind.PROMPT,
    EventKind.TOOL_USE,
    EventKind.TOOL_FAILURE,
    EventKind.REPLY,
    EventKind.SUBAGENT_RESULT,
    EventKind.COMPACTION,
)
_TITLE_FIELDS = ("prompt", "error", "last_assistant_message", "compact_summary")


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of a timeline: a memory, or an event that has no memory of its own."""

    id: str
    kind: str
    title: str
    timestamp: datetime
    session: SessionId | None
    is_event: bool = False
    anchor: bool = False


def entries_around(
    store: Store,
    scope: SearchScope,
    anchor: StoredMemory | None,
    *,
    before: int,
    after: int,
    session: SessionId | None,
) -> list[TimelineEntry]:
    """Entries before and after the anchor, oldest first; without an anchor, the most recent ones."""
    if anchor is None:
        return _entries(store, scope, session, None, before + after, newest_first=True)[-(before + after) :]
    moment = anchor.created_at
    earlier = _entries(store, scope, session, (None, moment), before + 1, newest_first=True)
    later = _entries(store, scope, session, (moment, None), after + 1, newest_first=False)
    own = _from_memory(anchor, anchor=True)
    return [
        *[entry for entry in earlier if entry.id != anchor.id][-before or len(earlier) :],
        own,
        *[entry for entry in later if entry.id != anchor.id and entry not in earlier][:after],
    ]


def _entries(
    store: Store,
    scope: SearchScope,
    session: SessionId | None,
    span: tuple[datetime | None, datetime | None] | None,
    count: int,
    *,
    newest_first: bool,
) -> list[TimelineEntry]:
    from claude_memory.store.model import EventFilter

    since, until = span or (None, None)
    wanted = MemoryFilter(session=session, since=since, until=until)
    memories = store.memories.find(scope, wanted, limit=count, newest_first=newest_first)
    events = store.archive.events(
        scope,
        EventFilter(session=session, kinds=SHOWN_EVENTS, since=since, until=until),
        limit=2 * count,
        newest_first=newest_first,
    )
    told = {memory.provenance.get("event") for memory in memories} | _in_exchanges(store, scope, events)
    # The record of a session of one exchange says the same as that exchange.
    alone = {_span(memory) for memory in memories if memory.kind is Kind.OBSERVATION}
    memories = [memory for memory in memories if not _is_record(memory) or _span(memory) not in alone]
    entries = [_from_memory(memory) for memory in memories]
    entries += [_from_event(event) for event in events if event.id not in told]
    entries.sort(key=lambda entry: entry.timestamp, reverse=newest_first)
    return sorted(entries[:count], key=lambda entry: entry.timestamp)


def _is_record(memory: StoredMemory) -> bool:
    return memory.provenance.get("source") == "session"


def _span(memory: StoredMemory) -> tuple[SessionId | None, datetime, datetime]:
    return memory.session, memory.created_at, memory.updated_at


def _in_exchanges(store: Store, scope: SearchScope, events: Sequence[Event]) -> set[str]:
    """Events that exchanges tell of already: those of conversations that were understood to their end."""
    named = {event.session for event in events if event.session}
    found = store.archive.by_sessions(scope, list(named))
    told = {item.session for item in found if item.understood >= item.messages}
    return {event.id for event in events if event.session in told}


def _from_memory(memory: StoredMemory, *, anchor: bool = False) -> TimelineEntry:
    return TimelineEntry(
        memory.id, memory.kind, memory.title, memory.created_at, memory.session, anchor=anchor
    )


def _from_event(event: Event) -> TimelineEntry:
    return TimelineEntry(
        event.id, event.kind, _event_title(event), event.timestamp, event.session, is_event=True
    )


def _event_title(event: Event) -> str:
    for name in _TITLE_FIELDS:
        value = event.payload.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip().splitlines()[0][:100]
    tool = str(event.payload.get("tool_name", event.kind))
    inputs = event.payload.get("tool_input")
    if isinstance(inputs, dict):
        for name in ("command", "file_path", "pattern", "query", "description"):
            if isinstance(inputs.get(name), str):
                return f"{tool}: {inputs[name].splitlines()[0][:90] if inputs[name] else ''}"
    return tool
