"""Keeps what sessions leave: those with something new are marked, distilled and stored, however often.

A mark is written before the events it stands for and removed after their memories are stored, so that a
process that ends in between leaves it to the next. Never judges: `distil` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claude_memory.distil.turns import TELLS_OF, Distilled, Origin
from claude_memory.files import private_folder, write_atomically
from claude_memory.ingest import session_turns
from claude_memory.model import (
    Event,
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.store.archive_protocol import Conversation, Message
from claude_memory.store.protocol import EventFilter, Store

MAX_EVENTS = 600  # of a session, the latest: what is older was distilled when it was new
MAX_MESSAGES = 4_000
_EVENT = re.compile(r"[a-z_]+:[0-9a-f]{32}")
_ALL = MemoryFilter(statuses=tuple(Status))
Remaining = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Marks:
    """The sessions that have events which were not distilled yet; one small file each."""

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / "cache" / "undistilled"

    def put(self, events: Iterable[Event]) -> None:
        """Mark the sessions of events that are about to be stored."""
        touched = {
            (event.project, event.session)
            for event in events
            if event.session and event.kind in session_turns.KINDS
        }
        for project, session in sorted(touched):
            path = self._path(project, session)
            if not path.exists():
                private_folder(self.folder)
                write_atomically(path, json.dumps([project, session]).encode())

    def all(self) -> list[tuple[Path, ProjectId, SessionId]]:
        """What is marked, oldest first."""
        found = []
        for path in sorted(self.folder.glob("*.json"), key=_age):
            try:
                project, session = json.loads(path.read_bytes())
                found.append((path, ProjectId(project), SessionId(session)))
            except (OSError, ValueError, TypeError):
                path.unlink(missing_ok=True)  # a damaged mark: the session's next event makes a new one
        return found

    def _path(self, project: ProjectId, session: SessionId) -> Path:
        return self.folder / f"{memory_id(f'{project}/{session}')}.json"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def distil_marked(home: Path, store: Store, out_of_time: Remaining) -> tuple[int, int]:
    """Distil marked sessions until time is up: how many memories are new, how many marks are left."""
    waiting = Marks(home).all()
    new = done = 0
    for path, project, session in waiting:
        if out_of_time():
            break
        new += distil_session(store, project, session)
        path.unlink(missing_ok=True)
        done += 1
    return new, len(waiting) - done


def distil_session(store: Store, project: ProjectId, session: SessionId) -> int:
    """Distil what hooks captured of a session, and store what is new."""
    from claude_memory.distil.session import distil
    from claude_memory.lifecycle.entry import admit

    wanted = EventFilter(session=session, kinds=session_turns.KINDS)
    events = store.events(SearchScope((project,)), wanted, limit=MAX_EVENTS)[::-1]
    if not events:
        return 0
    origin = Origin(session, project, events[0].cwd, "hook")
    found = distil(session_turns.from_events(events), origin)
    settle(store, project, found)
    if not found.memories:
        return 0
    fresh = _unknown(store, project, found.memories)
    added = store.add([], found.memories).memories
    # What was decided before is said again, or replaced; no model is loaded for this, so what is not
    # plain from the words waits.
    admit(store, _latest(store, project, fresh), None, hasty=True)
    return added


def _unknown(store: Store, project: ProjectId, memories: Sequence[StoredMemory]) -> list[MemoryId]:
    """Those that the store has not seen yet; a session is distilled again whenever it goes on."""
    ids = [memory.id for memory in memories]
    known = {memory.id for memory in store.memories(SearchScope((project,)), _ALL, ids=ids)}
    return [id_ for id_ in ids if id_ not in known]


def _latest(store: Store, project: ProjectId, ids: Sequence[MemoryId]) -> list[StoredMemory]:
    """The memories as they stand, oldest first; what the session itself took back has nothing to say."""
    if not ids:
        return []
    found = store.memories(SearchScope((project,)), MemoryFilter(statuses=(Status.ACTIVE,)), ids=ids)
    return sorted(found, key=lambda memory: (memory.created_at, memory.id))


def of_conversation(
    store: Store, conversation: Conversation, messages: Sequence[Message]
) -> list[StoredMemory]:
    """The memories that an archived conversation leaves; those that changed are changed on the way."""
    from claude_memory.distil.session import distil

    turns = session_turns.from_messages(conversation.session, messages[-MAX_MESSAGES:])
    person, agent = _trusts(store, conversation.project, messages)
    origin = Origin(conversation.session, conversation.project, conversation.cwd, "transcript", person, agent)
    found = distil(turns, origin)
    settle(store, conversation.project, found)
    return list(found.memories)


def _trusts(store: Store, project: ProjectId, messages: Sequence[Message]) -> tuple[Trust, Trust]:
    """Words from a history that was not written here are nobody's own words, whatever is made of them."""
    ids = [memory_id(f"event:{message.event}") for message in messages if message.event][:200]
    observed = store.memories(SearchScope((project,)), _ALL, ids=ids) if ids else []
    if any(memory.trust is Trust.IMPORTED for memory in observed):
        return Trust.IMPORTED, Trust.IMPORTED
    return Trust.USER, Trust.AGENT


def settle(store: Store, project: ProjectId, found: Distilled) -> None:
    """Bring what is stored already up to what the session says now: taken back, or gone on."""
    grown = {memory.id: memory for memory in found.memories if memory.kind is Kind.SUMMARY}
    ids: list[MemoryId] = [*found.withdrawn, *grown]
    if not ids:
        return
    for known in store.memories(SearchScope((project,)), _ALL, ids=ids):
        if known.status is not Status.ACTIVE or known.provenance.get("source") != "distilled":
            continue
        if known.id in found.withdrawn:
            later = found.withdrawn[known.id]
            store.update(replace(known, status=Status.SUPERSEDED, superseded_by=later))
        elif known.body != grown[known.id].body:
            store.update(_grown(known, grown[known.id]))


def _grown(known: StoredMemory, now: StoredMemory) -> StoredMemory:
    """A session's summary as it is now; one that reads only the end of a session adds nothing."""
    if now.created_at > known.created_at or len(now.body) < len(known.body):
        return known
    return replace(
        known,
        body=now.body,
        files=now.files,
        topics=now.topics,
        provenance=now.provenance,
        updated_at=max(known.updated_at, now.updated_at),
    )


def kin(store: Store, asked: Sequence[StoredMemory]) -> list[StoredMemory]:
    """The memories that were made from the same events as these, or tell of one of them."""
    events = {name for memory in asked for name in _events(memory.provenance)}
    found: dict[MemoryId, StoredMemory] = {}
    for memory in asked if events else ():
        scope = SearchScope((memory.project,))
        for other in store.memories(scope, replace(_ALL, session=memory.session)):
            if events & {name.removeprefix(TELLS_OF) for name in _events(other.provenance, TELLS_OF)}:
                found[other.id] = other
    for memory in asked:
        found.pop(memory.id, None)
    return list(found.values())


def _events(value: object, *besides: str) -> Iterator[str]:
    """The ids of events anywhere in a memory's provenance, also those with another beginning."""
    if isinstance(value, str):
        if _EVENT.fullmatch(value) or value.startswith(besides):
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _events(item, *besides)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _events(item, *besides)
