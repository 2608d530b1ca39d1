"""What hooks gave to agents: every injection was noted when it happened; here it is added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from claude_memory.model import Event, EventKind, SearchScope, SessionId

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

_READ_AT_MOST = 100_000


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One day, session and kind of hook: how often context was given, and how much of it."""

    day: date
    session: SessionId | None
    given_at: str
    times: int
    tokens: int
    memories: int


def ledger(store: Store, scope: SearchScope, *, since: datetime | None = None) -> list[LedgerLine]:
    """The injections of a project, newest day first."""
    from claude_memory.store.protocol import EventFilter

    wanted = EventFilter(kinds=(EventKind.INJECTION,), since=since)
    return _added_up(store.events(scope, wanted, limit=_READ_AT_MOST))


@dataclass(frozen=True, slots=True)
class Given:
    """One time a hook handed a memory to an agent."""

    timestamp: datetime
    session: SessionId | None
    given_at: str


def given(store: Store, scope: SearchScope, memory: str, *, limit: int = 5) -> list[Given]:
    """The last times one memory was given, newest first."""
    from claude_memory.store.protocol import EventFilter

    events = store.events(scope, EventFilter(kinds=(EventKind.INJECTION,)), limit=2_000)
    mine = [event for event in events if memory in (event.payload.get("memories") or ())]
    return [Given(e.timestamp, e.session, str(e.payload.get("given_at", "?"))) for e in mine[:limit]]


def _added_up(events: Iterable[Event]) -> list[LedgerLine]:
    sums: dict[tuple[date, SessionId | None, str], tuple[int, int, int]] = {}
    for event in events:
        payload = event.payload
        key = (event.timestamp.date(), event.session, str(payload.get("given_at", "?")))
        times, tokens, memories = sums.get(key, (0, 0, 0))
        given = payload.get("memories")
        sums[key] = (
            times + 1,
            tokens + int(payload.get("tokens") or 0),
            memories + (len(given) if isinstance(given, list) else 0),
        )
    lines = [LedgerLine(*key, *figures) for key, figures in sums.items()]
    return sorted(lines, key=lambda line: (line.day, line.session or "", line.given_at), reverse=True)
