"""Which memories were of use: given to an agent, and then their file was touched or their words came back.

Reads events only; deciding is pure. What follows for their strength is `strength`'s part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from claude_memory.model import Event, EventKind, MemoryFilter, MemoryId, Project, SearchScope, StoredMemory
from claude_memory.store.archive_model import EventFilter
from claude_memory.store.lifecycle_model import Review
from claude_memory.store.protocol import Store
from claude_memory.text.words import query_terms, strings_in

MOST_EVENTS = 2_000
# A reply that shares this many of a memory's words, and half of them, was made with it in mind.
FEWEST_WORDS = 4
LEAST_SHARE = 0.5
_READERS = ("Read", "NotebookRead")
_WANTED = (EventKind.INJECTION, EventKind.TOOL_USE, EventKind.REPLY)


def note_uses(store: Store, project: Project, since: datetime) -> int:
    """Count given memories that were then used as reviews; each once per session and giving."""
    from claude_memory.lifecycle import strength

    scope = SearchScope((project.id,))
    events = store.archive.events(scope, EventFilter(kinds=_WANTED, since=since), limit=MOST_EVENTS)[::-1]
    given = _given(events)
    ids = list(dict.fromkeys(MemoryId(id_) for found in given.values() for id_ in found))
    memories = {memory.id: memory for memory in store.memories.find(scope, MemoryFilter(), ids=ids)}
    reviews = list(used(events, given, memories))
    kept = store.lifecycle
    known = strength.held(kept, [memories[id_] for id_ in dict.fromkeys(item.memory for item in reviews)])
    noted = []
    for review in reviews:
        if review not in kept.reviews(review.memory):
            known[review.memory] = strength.reviewed(
                memories[review.memory], known[review.memory], review.reason, review.at
            )
            noted.append(review)
    if noted:
        kept.put_strengths({review.memory: known[review.memory] for review in noted}, noted)
    return len(noted)


def used(
    events: Sequence[Event],
    given: Mapping[str, Mapping[str, datetime]],
    memories: Mapping[MemoryId, StoredMemory],
) -> Iterable[Review]:
    """The first use of each memory after it was given, session by session."""
    seen: set[tuple[str, str]] = set()
    for event in events:
        for id_, at in given.get(event.session or "", {}).items():
            memory = memories.get(MemoryId(id_))
            key = (event.session or "", id_)
            if memory is None or key in seen or event.timestamp <= at:
                continue
            if event.kind is not EventKind.INJECTION and _uses(event, memory):
                seen.add(key)
                yield Review(MemoryId(id_), event.timestamp, "used")


def _given(events: Sequence[Event]) -> dict[str, dict[str, datetime]]:
    found: dict[str, dict[str, datetime]] = {}
    for event in events:
        ids = event.payload.get("memories")
        if event.kind is EventKind.INJECTION and event.session and isinstance(ids, list):
            for id_ in ids:
                found.setdefault(event.session, {}).setdefault(str(id_), event.timestamp)
    return found


def how_used(event: Event, id_: str, files: Sequence[str], command: str = "") -> str:
    """What a call of a tool did with something that was given: in a few words, empty if nothing."""
    inputs = event.payload.get("tool_input")
    inputs = inputs if isinstance(inputs, dict) else {}
    if id_ and any(id_ in text for text in strings_in(inputs)):
        return f"opened {id_}"
    touched = _touched(event.payload)
    if touched and event.payload.get("tool_name") not in _READERS:
        return next((f"edited {file}" for file in files if _same_file(touched, file)), "")
    ran = inputs.get("command")
    if command and isinstance(ran, str) and " ".join(command.split()) in " ".join(ran.split()):
        return f"ran {command}"
    return ""


def _uses(event: Event, memory: StoredMemory) -> bool:
    if event.kind is EventKind.TOOL_USE:
        return bool(how_used(event, memory.id, memory.files))
    said = set(query_terms(" ".join(strings_in(event.payload))[:20_000]))
    words = set(query_terms(memory.body[:2_000]))
    shared = len(said & words)
    return shared >= FEWEST_WORDS and shared >= LEAST_SHARE * len(words)


def _touched(payload: Mapping[str, Any]) -> str:
    inputs = payload.get("tool_input")
    if not isinstance(inputs, dict):
        return ""
    path = inputs.get("file_path") or inputs.get("notebook_path")
    return path if isinstance(path, str) else ""


def _same_file(one: str, other: str) -> bool:
    short, long = sorted((PurePosixPath(path.replace("\\", "/")).parts for path in (one, other)), key=len)
    return bool(short) and long[-len(short) :] == short
