"""Adding and changing rows, with their text entries and the mirror's outbox, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import apsw

from claude_memory.errors import NotFound
from claude_memory.model import Event, Kind, MemoryId, ProjectId, SessionId, Status, StoredMemory
from claude_memory.store.protocol import Added
from claude_memory.store.sqlite import changes, projects, rows, text_index
from claude_memory.store.sqlite.text_index import IndexWriter
from claude_memory.store.sqlite.tombstones import Tombstones

_LATE = timedelta(days=1)
_CAPTURED = (Kind.OBSERVATION, Kind.SUMMARY)
_COLUMNS = (
    "id project space kind title body created_at updated_at trust status session task topics files "
    "provenance supersedes superseded_by forgotten_at pinned"
).split()
_INSERT_MEMORY = f"""INSERT INTO memories ({", ".join(_COLUMNS)})
    VALUES ({", ".join(":" + name for name in _COLUMNS)}) ON CONFLICT (id) DO NOTHING RETURNING number"""
_UPDATE_MEMORY = f"""UPDATE memories SET {", ".join(f"{name} = :{name}" for name in _COLUMNS if name != "id")}
    WHERE id = :id"""
_INSERT_EVENT = """INSERT INTO events (id, kind, agent, session, project, cwd, timestamp, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING number"""
_SINK_TWINS = """UPDATE memories SET status = 'superseded', superseded_by = :newer
    WHERE number IN (SELECT twin.number FROM memories newer
        JOIN memories old ON old.id = :old
        JOIN memories twin ON twin.space = old.space AND twin.kind IN (SELECT value FROM json_each(:kinds))
        WHERE newer.id = :newer AND twin.project = old.project AND twin.status = 'active' AND NOT twin.pinned
        AND twin.created_at <= newer.created_at AND twin.id NOT IN (:old, :newer)
        AND (twin.trust <> 'user' OR newer.trust = 'user')
        AND rtrim(lower(trim(twin.body)), '. ') = rtrim(lower(trim(:body)), '. '))
    RETURNING id"""
_SESSION = """INSERT INTO sessions (project, id, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)
    ON CONFLICT DO UPDATE SET first_seen = min(first_seen, ?3), last_seen = max(last_seen, ?3)
    RETURNING number"""


class Places:
    """Numbers of projects and sessions, looked up once per transaction."""

    def __init__(self, db: apsw.Connection) -> None:
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
            number = int(self._db.execute(_SESSION, (project, rows.kept(id_), seen)).get)
            self._sessions[name] = (number, min(first, seen), max(last, seen))
        return number


def add(
    db: apsw.Connection, events: Sequence[Event], memories: Sequence[StoredMemory], *, mirrored: bool = True
) -> Added:
    """Store what is new. `mirrored` is off when the rows come from the mirror itself."""
    places, tombstones = Places(db), Tombstones(db)
    duplicates = tombstoned = 0
    stored_events = 0
    for event in map(rows.kept_event, events):
        admitted = tombstones.admitted_event(event)
        if admitted is None:
            tombstoned += 1
        elif _insert_event(db, places, admitted):
            stored_events += 1
        else:
            duplicates += 1
    stored: list[tuple[int, StoredMemory]] = []
    for offered in map(rows.kept_memory, memories):
        memory = tombstones.admitted(offered)
        if memory is None:
            tombstoned += 1
            continue
        number = _insert_memory(db, places, memory)
        if number is None:
            duplicates += 1
        else:
            stored.append((number, memory))
    if mirrored:
        changes.record_states(db, "add", [memory for _, memory in stored])
        _note_unjudged(db, stored)
    _note_arrivals(db, stored, datetime.now(UTC))
    for _, memory in stored:
        if memory.supersedes:
            _supersede(db, memory, mirrored=mirrored)
    writer = IndexWriter(db)
    text_index.index(db, writer, [number for number, _ in stored])
    writer.flush()
    return Added(stored_events, len(stored), duplicates, tombstoned)


def _note_arrivals(db: apsw.Connection, stored: Sequence[tuple[int, StoredMemory]], now: datetime) -> None:
    """Note the time for memories that were made more than a day before they came."""
    late = [number for number, memory in stored if now - memory.created_at > _LATE]
    if late:
        at = rows.stamp(now)
        db.executemany("INSERT OR IGNORE INTO arrivals VALUES (?, ?)", [(number, at) for number in late])


def _note_unjudged(db: apsw.Connection, stored: Sequence[tuple[int, StoredMemory]]) -> None:
    """Statements are to meet their neighbours; what comes from the mirror did so before."""
    waiting = [(number,) for number, memory in stored if memory.kind not in _CAPTURED]
    db.executemany("INSERT OR IGNORE INTO unjudged VALUES (?)", waiting)


def _insert_event(db: apsw.Connection, places: Places, event: Event) -> bool:
    project = places.project(event.project)
    session = places.session(project, event.session, event.timestamp)
    return db.execute(_INSERT_EVENT, rows.event_values(event, project, session)).get is not None


def _insert_memory(db: apsw.Connection, places: Places, memory: StoredMemory) -> int | None:
    project = places.project(memory.project)
    session = places.session(project, memory.session, memory.created_at)
    number: int | None = db.execute(_INSERT_MEMORY, rows.memory_values(memory, project, session)).get
    if number is not None:
        _write_sides(db, number, memory)
    return number


def _write_sides(db: apsw.Connection, number: int, memory: StoredMemory) -> None:
    topics, paths = rows.side_rows(memory)
    if topics:
        db.executemany("INSERT INTO memory_topics VALUES (?, ?)", [(topic, number) for topic in topics])
    if paths:
        db.executemany("INSERT INTO memory_files VALUES (?, ?, ?)", [(*pair, number) for pair in paths])


def _supersede(db: apsw.Connection, newer: StoredMemory, *, mirrored: bool) -> None:
    """The old one stays, says what replaced it, and sinks. Another project's memory is out of reach."""
    changed = db.execute(
        """UPDATE memories SET status = 'superseded', superseded_by = ?, updated_at = max(updated_at, ?)
           WHERE id = ? AND id <> ?1 AND status = 'active'
             AND project = (SELECT project FROM memories WHERE id = ?1) RETURNING id""",
        (newer.id, rows.stamp(newer.created_at), newer.supersedes),
    ).get
    if changed is not None and mirrored:
        old = _load(db, MemoryId(changed))
        changes.record_states(db, "supersede", [old])
        _sink_twins(db, old)


def _sink_twins(db: apsw.Connection, old: StoredMemory) -> None:
    """What says word for word the same as a memory that was replaced is replaced with it.

    Captured turns stay what was said; what a person pinned, or said again after the replacement, holds.
    """
    kinds = rows.to_json([kind.value for kind in Kind if kind not in (Kind.OBSERVATION, Kind.SUMMARY)])
    values = {"old": old.id, "newer": old.superseded_by, "body": old.body, "kinds": kinds}
    found = [MemoryId(id_) for (id_,) in db.execute(_SINK_TWINS, values)]
    if found:
        changes.record_states(db, "supersede", [_load(db, id_) for id_ in found])


def _load(db: apsw.Connection, id_: MemoryId) -> StoredMemory:
    statement = f"SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES} WHERE m.id = ?"
    return rows.memory_from_row(next(db.execute(statement, (id_,))))


def update(db: apsw.Connection, memory: StoredMemory, *, mirrored: bool = True) -> None:
    """Replace a row; what is searched of it is made anew only if that changed."""
    before = next(
        db.execute(
            "SELECT number, space, session, created_at, title, body, status FROM memories WHERE id = ?",
            (memory.id,),
        ),
        None,
    )
    if before is None:
        raise NotFound(f"no memory {memory.id}")
    memory = rows.kept_memory(memory)
    number, space, session, created_at, title, body, status = before
    memory = Tombstones(db).left_of(memory)
    places = Places(db)
    project = places.project(memory.project)
    values = rows.memory_values(memory, project, places.session(project, memory.session, memory.created_at))
    db.execute(_UPDATE_MEMORY, values)
    db.execute("DELETE FROM memory_topics WHERE memory = ?", (number,))
    db.execute("DELETE FROM memory_files WHERE memory = ?", (number,))
    _write_sides(db, number, memory)
    if mirrored:
        changes.record_states(db, _change_name(status, memory.status), [memory])
        if status != memory.status and memory.status is Status.SUPERSEDED and memory.superseded_by:
            _sink_twins(db, memory)
    cut_anew = (space, created_at, title, body) != tuple(
        values[name] for name in ("space", "created_at", "title", "body")
    )
    hidden = (status == Status.FORGOTTEN) != (memory.status is Status.FORGOTTEN)
    moved = session != values["session"]
    if not (cut_anew or hidden or moved):
        return
    writer = IndexWriter(db)
    fresh: set[int] = set()
    if cut_anew:
        text_index.drop_passages(db, writer, number)
        text_index.make_passages(db, number)
        fresh.add(number)
    if session is not None:
        text_index.refresh_session(db, writer, session, [(created_at, 0)], fresh)
    text_index.refresh(db, writer, [number], fresh=fresh)
    writer.flush()


def _change_name(before: str, after: Status) -> str:
    if before == after:
        return "update"
    names = {Status.FORGOTTEN: "forget", Status.SUPERSEDED: "supersede", Status.ARCHIVED: "archive"}
    return names.get(after, "restore")
