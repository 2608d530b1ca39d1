"""What hooks gave to agents, and what of it their sessions then used; noted when it happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from claude_memory.lifecycle.use import how_used
from claude_memory.model import Event, EventKind, MemoryFilter, MemoryId, SearchScope, SessionId

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

_READ_AT_MOST = 100_000
_WANTED = (EventKind.INJECTION, EventKind.TOOL_USE, EventKind.TOOL_FAILURE)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One day, session and kind of hook: how often context was given, how much of it, what of it was used."""

    day: date
    session: SessionId | None
    given_at: str
    times: int
    tokens: int
    memories: int
    used: tuple[
        str, ...
    ] = ()  # what the session did with it: "edited src/a.py", "opened m4x…", "ran make fmt"


def ledger(store: Store, scope: SearchScope, *, since: datetime | None = None) -> list[LedgerLine]:
    """The injections of a project, newest day first."""
    from claude_memory.store.archive_model import EventFilter

    events = store.archive.events(scope, EventFilter(kinds=_WANTED, since=since), limit=_READ_AT_MOST)[::-1]
    return _added_up(events, _files(store, scope, events))


@dataclass(frozen=True, slots=True)
class Given:
    """One time a hook handed a memory to an agent."""

    timestamp: datetime
    session: SessionId | None
    given_at: str


def given(store: Store, scope: SearchScope, memory: str, *, limit: int = 5) -> list[Given]:
    """The last times one memory was given, newest first."""
    from claude_memory.store.archive_model import EventFilter

    events = store.archive.events(scope, EventFilter(kinds=(EventKind.INJECTION,)), limit=2_000)
    mine = [event for event in events if memory in (event.payload.get("memories") or ())]
    return [Given(e.timestamp, e.session, str(e.payload.get("given_at", "?"))) for e in mine[:limit]]


def _files(store: Store, scope: SearchScope, events: Iterable[Event]) -> dict[str, tuple[str, ...]]:
    ids = {MemoryId(id_) for event in events for id_ in _memories(event)}
    found = store.memories.find(scope, MemoryFilter(), ids=sorted(ids)) if ids else []
    return {memory.id: memory.files for memory in found}


def _memories(event: Event) -> list[str]:
    named = event.payload.get("memories") if event.kind is EventKind.INJECTION else None
    return [str(id_) for id_ in named] if isinstance(named, list) else []


def _added_up(events: Sequence[Event], files: dict[str, tuple[str, ...]]) -> list[LedgerLine]:
    sums: dict[tuple[date, SessionId | None, str], list[Event]] = {}
    for event in events:
        if event.kind is EventKind.INJECTION:
            key = (event.timestamp.date(), event.session, str(event.payload.get("given_at", "?")))
            sums.setdefault(key, []).append(event)
    actions: dict[SessionId | None, list[Event]] = {}
    for event in events:
        if event.kind is not EventKind.INJECTION:
            actions.setdefault(event.session, []).append(event)
    lines = [
        LedgerLine(
            *key,
            times=len(injected),
            tokens=sum(int(event.payload.get("tokens") or 0) for event in injected),
            memories=sum(len(_memories(event)) for event in injected),
            used=_used(injected, actions.get(key[1], ()), files),
        )
        for key, injected in sums.items()
    ]
    return sorted(lines, key=lambda line: (line.day, line.session or "", line.given_at), reverse=True)


def _used(
    injected: Sequence[Event], actions: Sequence[Event], files: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Each use once, in the order they came."""
    found: dict[str, None] = {}
    for event in injected:
        for line in _lines(event):
            named = (line["file"],) if line.get("file") else files.get(line.get("id", ""), ())
            for action in actions:
                use = how_used(action, line.get("id", ""), named, line.get("command", ""))
                if use and action.timestamp > event.timestamp:
                    found[use] = None
    return tuple(found)


def _lines(event: Event) -> list[dict[str, Any]]:
    """What was given, line by line; an older record names the memories only."""
    lines = event.payload.get("lines")
    if isinstance(lines, list):
        return [line for line in lines if isinstance(line, dict)]
    return [{"id": id_} for id_ in _memories(event)]
