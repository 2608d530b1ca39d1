"""What hooks gave to agents, and what their sessions then did with it: told in the ledger, counted as a use.

Reads events only. What a use means for a memory's strength is `strength`'s part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from claude_memory.model import (
    Event,
    EventKind,
    MemoryFilter,
    MemoryId,
    Project,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.store.base import Store
from claude_memory.store.model import EventFilter, Review
from claude_memory.text.words import query_terms, strings_in
from claude_memory.understand.tools import same_file

_LEDGER_EVENTS, _MOST_EVENTS = 100_000, 2_000
# A reply that shares this many of a memory's words, and half of them, was made with it in mind.
FEWEST_WORDS = 4
LEAST_SHARE = 0.5
_READERS = ("Read", "NotebookRead")
_INJECTIONS = (EventKind.INJECTION,)
_CALLS = (EventKind.TOOL_USE, EventKind.TOOL_FAILURE)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One day, session and kind of hook: how often context was given, how much of it, what of it was used."""

    day: date
    session: SessionId | None
    given_at: str
    times: int
    tokens: int
    memories: int
    used: tuple[str, ...] = ()  # by the session: "edited src/a.py", "opened m4x…", "ran make fmt"


@dataclass(frozen=True, slots=True)
class Given:
    """One time a hook handed a memory to an agent."""

    timestamp: datetime
    session: SessionId | None
    given_at: str


def given(store: Store, scope: SearchScope, memory: str, *, limit: int = 5) -> list[Given]:
    """The last times one memory was given, newest first."""
    events = store.archive.events(scope, EventFilter(kinds=_INJECTIONS), limit=_MOST_EVENTS)
    mine = [event for event in events if memory in _memories(event)]
    return [Given(event.timestamp, event.session, _given_at(event)) for event in mine[:limit]]


def ledger(store: Store, scope: SearchScope, *, since: datetime | None = None) -> list[LedgerLine]:
    """The injections of a project, newest day first."""
    wanted = EventFilter(kinds=(*_INJECTIONS, *_CALLS), since=since)
    sums: dict[tuple[date, SessionId | None, str], list[Event]] = {}
    calls: dict[SessionId | None, list[Event]] = {}
    for event in reversed(store.archive.events(scope, wanted, limit=_LEDGER_EVENTS)):
        if event.kind is EventKind.INJECTION:
            sums.setdefault((event.timestamp.date(), event.session, _given_at(event)), []).append(event)
        else:
            calls.setdefault(event.session, []).append(event)
    memories = _find(store, scope, (event for injected in sums.values() for event in injected))
    lines = [
        LedgerLine(
            *key,
            times=len(injected),
            tokens=sum(int(event.payload.get("tokens") or 0) for event in injected),
            memories=sum(len(_memories(event)) for event in injected),
            used=_used(injected, calls.get(key[1], ()), memories),
        )
        for key, injected in sums.items()
    ]
    return sorted(lines, key=lambda line: (line.day, line.session or "", line.given_at), reverse=True)


def note_uses(store: Store, project: Project, since: datetime) -> int:
    """Count given memories that were then used as reviews; each once per session and giving."""
    from claude_memory.lifecycle import strength

    scope = SearchScope((project.id,))
    wanted = EventFilter(kinds=(*_INJECTIONS, EventKind.TOOL_USE, EventKind.REPLY), since=since)
    events = store.archive.events(scope, wanted, limit=_MOST_EVENTS)[::-1]
    memories = _find(store, scope, events)
    kept, noted = store.lifecycle, []
    known = strength.held(kept, list(memories.values()))
    for review in _first_uses(events, memories):
        if review not in kept.reviews(review.memory):
            known[review.memory] = strength.reviewed(
                memories[review.memory], known[review.memory], review.reason, review.at
            )
            noted.append(review)
    if noted:
        kept.put_strengths({review.memory: known[review.memory] for review in noted}, noted)
    return len(noted)


def _first_uses(events: Iterable[Event], memories: dict[str, StoredMemory]) -> Iterator[Review]:
    """The first use of each memory after it was given, session by session."""
    given: dict[SessionId | None, dict[str, bool]] = {}  # each memory, and whether it was used
    for event in events:
        mine = given.setdefault(event.session, {})
        mine.update((id_, False) for id_ in _memories(event) if id_ in memories and id_ not in mine)
        for id_, used in mine.items():
            if not used and _uses(event, memories[id_]):
                mine[id_] = True
                yield Review(MemoryId(id_), event.timestamp, "used")


def _find(store: Store, scope: SearchScope, events: Iterable[Event]) -> dict[str, StoredMemory]:
    ids = sorted({MemoryId(id_) for event in events for id_ in _memories(event)})
    found = store.memories.find(scope, MemoryFilter(), ids=ids) if ids else []
    return {memory.id: memory for memory in found}


def _given_at(event: Event) -> str:
    return str(event.payload.get("given_at", "?"))


def _memories(event: Event) -> list[str]:
    named = event.payload.get("memories") if event.kind is EventKind.INJECTION else None
    return [str(id_) for id_ in named] if isinstance(named, list) else []


def _used(
    injected: Sequence[Event], calls: Sequence[Event], memories: dict[str, StoredMemory]
) -> tuple[str, ...]:
    """Each use once, in the order they came."""
    found: dict[str, None] = {}
    for event in injected:
        for line in _lines(event):
            known = memories.get(line.get("id", ""))
            files = (line["file"],) if line.get("file") else known.files if known else ()
            for call in calls:
                use = _how_used(call, line.get("id", ""), files, line.get("command", ""))
                if use and call.timestamp > event.timestamp:
                    found[use] = None
    return tuple(found)


def _lines(event: Event) -> list[dict[str, Any]]:
    """What was given, line by line; an older record names the memories only."""
    lines = event.payload.get("lines")
    if isinstance(lines, list):
        return [line for line in lines if isinstance(line, dict)]
    return [{"id": id_} for id_ in _memories(event)]


def _uses(event: Event, memory: StoredMemory) -> bool:
    if event.kind is EventKind.INJECTION:
        return False
    if event.kind is EventKind.TOOL_USE:
        return bool(_how_used(event, memory.id, memory.files))
    said = set(query_terms(" ".join(strings_in(event.payload))[:20_000]))
    words = set(query_terms(memory.body[:2_000]))
    shared = len(said & words)
    return shared >= FEWEST_WORDS and shared >= LEAST_SHARE * len(words)


def _how_used(event: Event, id_: str, files: Sequence[str], command: str = "") -> str:
    """What a call of a tool did with something that was given: in a few words, empty if nothing."""
    inputs = event.payload.get("tool_input")
    inputs = inputs if isinstance(inputs, dict) else {}
    if id_ and any(id_ in text for text in strings_in(inputs)):
        return f"opened {id_}"
    touched, ran = inputs.get("file_path") or inputs.get("notebook_path"), inputs.get("command")
    if isinstance(touched, str) and event.payload.get("tool_name") not in _READERS:
        return next((f"edited {file}" for file in files if same_file(touched, file)), "")
    if command and isinstance(ran, str) and " ".join(command.split()) in " ".join(ran.split()):
        return f"ran {command}"
    return ""
