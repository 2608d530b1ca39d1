"""Adding and changing rows, with their text entries and what the mirrors are told, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from claude_memory.errors import NotFound
from claude_memory.model import Event, Kind, PersonId, ProjectId, Scope, SessionId, Status, StoredMemory
from claude_memory.store.model import Added
from claude_memory.store.sql import changes, passages, projects, rows
from claude_memory.store.sql.rows import kept, kept_event, kept_memory, to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_LATE = timedelta(days=1)
_CAPTURED = (Kind.OBSERVATION, Kind.SUMMARY)
_STATEMENTS = to_json([kind.value for kind in Kind if kind not in _CAPTURED])
_COLUMNS = (
    "id project space kind title body created_at updated_at trust status session task topics files "
    "provenance supersedes superseded_by forgotten_at pinned person"
).split()
_INSERT_MEMORY = f"""INSERT INTO memories ({", ".join(_COLUMNS)})
    VALUES ({", ".join(":" + name for name in _COLUMNS)}) ON CONFLICT (id) DO NOTHING RETURNING number"""
_UPDATE_MEMORY = f"""UPDATE memories SET {", ".join(f"{name} = :{name}" for name in _COLUMNS if name != "id")}
    WHERE id = :id"""
_INSERT_EVENT = """INSERT INTO events (id, kind, agent, session, project, cwd, timestamp, payload)
    VALUES (:id, :kind, :agent, :session, :project, :cwd, :timestamp, :payload)
    ON CONFLICT (id) DO NOTHING RETURNING number"""
_SINK = """UPDATE memories SET status = 'superseded', superseded_by = ?1, updated_at = max(updated_at, ?2)
    WHERE id = ?3 AND id <> ?1 AND status = 'active'
      AND project = (SELECT project FROM memories WHERE id = ?1) RETURNING number"""
_SINK_TWINS = """UPDATE memories SET status = 'superseded', superseded_by = twins.newer
    FROM (SELECT twin.number AS number, newer.id AS newer FROM memories old
        JOIN memories newer ON newer.id = old.superseded_by
        JOIN memories twin ON twin.space = old.space AND twin.kind IN (SELECT value FROM json_each(:kinds))
        WHERE old.number = :old AND twin.project = old.project AND twin.status = 'active' AND NOT twin.pinned
        AND twin.created_at <= newer.created_at AND twin.number NOT IN (old.number, newer.number)
        AND (twin.trust <> 'user' OR newer.trust = 'user')
        AND rtrim(lower(trim(twin.body)), '. ') = rtrim(lower(trim(old.body)), '. ')) twins
    WHERE memories.number = twins.number RETURNING memories.number"""
# What somebody says of a memory; where it was found, and when it was last looked at, every home notes itself.
_SAID = "kind title body trust status task topics files supersedes superseded_by pinned project space".split()
_BEFORE = f"SELECT number, session, created_at, {', '.join(_SAID)} FROM memories WHERE id = ?"
_HIDDEN = "UPDATE memories SET hidden_clock = clock, hidden_home = home WHERE number = ?"
_SESSION = """INSERT INTO sessions (project, id, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)
    ON CONFLICT (project, id) DO UPDATE SET first_seen = min(sessions.first_seen, ?3),
        last_seen = max(sessions.last_seen, ?3)
    RETURNING number"""


class Places:
    """Numbers of projects, sessions and people, looked up once per transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._projects: dict[ProjectId, int] = {}
        self._sessions: dict[tuple[int, SessionId], tuple[int, int, int]] = {}

    def project(self, id_: ProjectId) -> int:
        """The project's number."""
        if id_ not in self._projects:
            self._projects[id_] = projects.number_of(self._db, id_)
        return self._projects[id_]

    def session(self, project: int, id_: SessionId | None, at: datetime) -> int | None:
        """The session's number, its span widened to `at`."""
        if id_ is None:
            return None
        seen, name = rows.stamp(at), (project, id_)
        number, first, last = self._sessions.get(name, (0, seen, seen))
        if not number or not first <= seen <= last:
            number = int(self._db.execute(_SESSION, (project, kept(id_), seen)).get)
            self._sessions[name] = (number, min(first, seen), max(last, seen))
        return number

    def owned(self, memory: StoredMemory) -> StoredMemory:
        """The memory with its owner: the person of this store, unless it names another."""
        person = (memory.person or self._person) if memory.scope is Scope.USER else None
        return memory if person == memory.person else replace(memory, person=person)

    def is_welcome(self, memory: StoredMemory) -> bool:
        """Whether a store of several people takes it: what is a person's alone only they can bring."""
        return memory.person in (None, self._person)

    def of(self, memory: StoredMemory) -> dict[str, int | None]:
        """The numbers of a memory's project, session and person, and of the space that it is searched in."""
        project = self.project(memory.project)
        session = self.session(project, memory.session, memory.created_at)
        person, space = None, project
        if memory.person is not None:
            person = self._number_of(kept(memory.person))
            space = self._db.user_space if memory.person == self._person else -person
        return {"project": project, "session": session, "person": person, "space": space}

    def _number_of(self, person: str) -> int:
        number = self._db.execute("SELECT number FROM people WHERE id = ?", (person,)).get
        made = "INSERT INTO people (id, name) VALUES (?, '') RETURNING number"
        return int(self._db.execute(made, (person,)).get if number is None else number)

    @cached_property
    def _person(self) -> PersonId:
        return PersonId(str(rows.noted(self._db, "person")))


def add_events(db: Database, events: Sequence[Event]) -> int:
    """Store what is new and was not erased; returns how many."""
    places, tombstones = Places(db), rows.tombstones(db)
    stored = 0
    for event in map(kept_event, events):
        admitted = tombstones.admitted_event(event)
        if admitted is not None:
            project = places.project(admitted.project)
            session = places.session(project, admitted.session, admitted.timestamp)
            values = {**rows.columns(admitted), "project": project, "session": session}
            stored += db.execute(_INSERT_EVENT, values).get is not None
    return stored


def add(db: Database, memories: Sequence[StoredMemory], *, mirrored: bool = True) -> Added:
    """Store what is new. `mirrored` is off when the rows come from the mirror itself, or from another home:
    what follows from them is told there, too."""
    places, tombstones = Places(db), rows.tombstones(db)
    duplicates = tombstoned = 0
    stored: list[tuple[int, StoredMemory]] = []
    for offered in map(kept_memory, memories):
        memory = tombstones.admitted(places.owned(offered))
        if memory is None:
            tombstoned += 1
            continue
        if db.is_shared and not places.is_welcome(memory):
            continue
        number = db.execute(_INSERT_MEMORY, {**rows.columns(memory), **places.of(memory)}).get
        if number is None:
            duplicates += 1
        else:
            _write_sides(db, number, memory)
            stored.append((number, memory))
    if mirrored:
        changes.record_states(db, "add", stored)
        waiting = [(number,) for number, memory in stored if memory.kind not in _CAPTURED]
        db.executemany("INSERT INTO unjudged (memory) VALUES (?) ON CONFLICT DO NOTHING", waiting)
        for _, memory in stored:
            if memory.supersedes:
                _supersede(db, memory)
    _note_arrivals(db, stored, datetime.now(UTC))
    passages.index(db, [number for number, _ in stored])
    return Added(len(stored), duplicates, tombstoned)


def _note_arrivals(db: Database, stored: Sequence[tuple[int, StoredMemory]], now: datetime) -> None:
    """Note the time for memories that were made more than a day before they came."""
    late = [number for number, memory in stored if now - memory.created_at > _LATE]
    if late:
        at = rows.stamp(now)
        arrived = "INSERT INTO arrivals (memory, at) VALUES (?, ?) ON CONFLICT DO NOTHING"
        db.executemany(arrived, [(number, at) for number in late])


def _write_sides(db: Database, number: int, memory: StoredMemory) -> None:
    """The topics and files by which a memory is looked up."""
    topics = {clean(topic).casefold() for topic in memory.topics}
    paths = [(*pair, number) for pair in rows.named_paths(memory.files) if pair[1]]
    if topics:
        named = "INSERT INTO memory_topics (topic, memory) VALUES (?, ?)"
        db.executemany(named, [(topic, number) for topic in topics])
    if paths:
        db.executemany("INSERT INTO memory_files (name, path, memory) VALUES (?, ?, ?)", paths)


def _supersede(db: Database, newer: StoredMemory) -> None:
    """The old one stays, says what replaced it, and sinks. Another project's memory is out of reach."""
    values = (newer.id, rows.stamp(newer.created_at), newer.supersedes)
    number = db.execute(_SINK, values).get
    if number is not None:
        changes.record_new_states(db, "supersede", [number])
        _sink_twins(db, number)


def _sink_twins(db: Database, old: int) -> None:
    """What says word for word the same as a memory that was replaced is replaced with it.

    Captured turns stay what was said; what a person pinned, or said again after the replacement, holds.
    """
    twins = [number for (number,) in db.execute(_SINK_TWINS, {"old": old, "kinds": _STATEMENTS})]
    changes.record_new_states(db, "supersede", twins)


def update(db: Database, memory: StoredMemory, *, mirrored: bool = True, counts: bool = True) -> None:
    """Replace a row; what is searched of it is made anew only if that changed.

    A change `counts` between homes unless it is one that every home makes by itself.
    """
    before = next(db.execute(_BEFORE, (memory.id,)), None)
    if before is None:
        raise NotFound(f"no memory {memory.id}")
    number, session, created_at, *said = before
    was = {"created_at": created_at, **dict(zip(_SAID, said, strict=True))}
    status = was["status"]
    places = Places(db)
    memory = rows.tombstones(db).left_of(places.owned(kept_memory(memory)))
    values = {**rows.columns(memory), **places.of(memory)}
    db.execute(_UPDATE_MEMORY, values)
    db.execute("DELETE FROM memory_topics WHERE memory = ?", (number,))
    db.execute("DELETE FROM memory_files WHERE memory = ?", (number,))
    _write_sides(db, number, memory)
    hidden = (status == Status.FORGOTTEN) != (memory.status is Status.FORGOTTEN)
    if mirrored:
        counts = counts and any(was[name] != values[name] for name in _SAID)
        changes.record_states(db, _change_name(status, memory.status), [(number, memory)], counts=counts)
        if counts and hidden:
            db.execute(_HIDDEN, (number,))
        if status != memory.status and memory.status is Status.SUPERSEDED and memory.superseded_by:
            _sink_twins(db, number)
    cut_anew = any(was[name] != values[name] for name in ("space", "created_at", "title", "body"))
    if not (cut_anew or hidden or session != values["session"]):
        return
    writer = db.entries()
    fresh: set[int] = set()
    if cut_anew:
        passages.drop_passages(db, writer, number)
        passages.make_passages(db, number)
        fresh.add(number)
    if session is not None:
        passages.refresh_session(db, writer, session, [(created_at, 0)], fresh)
    passages.refresh(db, writer, [number], fresh=fresh)
    writer.flush()


def _change_name(before: str, after: Status) -> str:
    if before == after:
        return "update"
    names = {Status.FORGOTTEN: "forget", Status.SUPERSEDED: "supersede", Status.ARCHIVED: "archive"}
    return names.get(after, "restore")
