"""Removing for good: rows, text entries, vectors, events and what waits for the mirror.

Deleting overwrites rows (`secure_delete`); `scrub` then rewrites text index and file, so that no page,
separator or log frame keeps a word. FTS5's own `secure-delete` would do the same for every change of a
neighbour too, and made one write cost ten times more at 100,000 memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import apsw

from claude_memory.model import EventId, MemoryId, StoredMemory
from claude_memory.redact.erasure import Sentences
from claude_memory.store.protocol import Erased, Pruned
from claude_memory.store.sqlite import changes, rows, sources, sweep, text_index, tombstones
from claude_memory.store.sqlite.connection import transaction
from claude_memory.store.sqlite.text_index import IndexWriter
from claude_memory.text.words import strings_in

_FIRST_REAL_MOMENT = datetime(2020, 1, 1, tzinfo=UTC)  # an earlier event tells of a clock that was not set
_AHEAD = timedelta(days=1)

# Numbers grow as events come in. What came in after one that is young enough is young enough, too,
# whatever the clock said when it was captured; what says 1970 goes with what came in after it.
_PRUNE_EVENTS = """WITH kept AS MATERIALIZED (SELECT coalesce((SELECT number FROM events
        WHERE timestamp >= :before AND timestamp <= :latest ORDER BY number LIMIT 1), 1 << 62) AS first),
    old AS MATERIALIZED (SELECT coalesce((SELECT number FROM events WHERE timestamp >= :real
        AND timestamp < :before AND number < (SELECT first FROM kept)
        ORDER BY number DESC LIMIT 1), 0) AS last)
    DELETE FROM events WHERE timestamp < :before AND number < (SELECT first FROM kept)
        AND (timestamp >= :real OR number < (SELECT last FROM old))"""


def erase(
    db: apsw.Connection, ids: Sequence[MemoryId], at: str, *, texts: Sequence[str] | None = None
) -> Erased:
    """Remove memories and the events they came from, and leave hashes that keep them away.

    Whatever else holds one of `texts`, by default what the memories say, loses it, in every project.
    """
    asked = _load(db, ids)
    if not asked:
        return Erased(0, 0, 0, 0)
    grave = _Grave(db, at)
    swept = sweep.Swept()
    changes.drop_for(db, [memory.id for _, memory in asked])
    events = _erase_origins(db, grave, [memory for _, memory in asked], swept)
    known = sources.of(db, [memory for _, memory in asked])
    events += _erase_named(db, grave, known.events)
    sweep.blank_messages(db, known.messages, swept)
    gone = dict(asked)
    swept.changed = 0  # those were asked for
    said = [memory.body for _, memory in asked] if texts is None else texts
    if said:
        sentences = Sentences(said)
        sweep.sweep(db, lambda _: sentences, swept)
        for project in {*swept.projects, *(memory.project for _, memory in asked)}:
            for text in said:
                grave.bury(tombstones.of_sentence(grave.salt, project, text))
        gone.update(swept.memories)
        swept.derived = {number: id_ for number, id_ in swept.derived.items() if number not in gone}
        for id_, _ in swept.events:
            grave.bury([tombstones.of_event(grave.salt, id_)])
        events += len(swept.events)
    anew = sources.understand_anew(db, swept.touched, gone, said)
    changes.drop_for(db, [memory.id for memory in gone.values()])
    for memory in gone.values():
        grave.bury(tombstones.of_memory(grave.salt, memory))
    grave.bury(tombstones.of_id(grave.salt, piece) for piece in anew.pieces.values())
    passages, vectors = remove(db, [*gone, *_dropped(db, anew, swept.derived)])
    db.execute("INSERT OR REPLACE INTO meta VALUES ('unscrubbed', '1')")
    ids_gone = (*(memory.id for memory in gone.values()), *anew.ids, *swept.derived.values())
    said_in = tuple(sorted(swept.transcripts))
    return Erased(len(gone), events, passages, vectors, swept.changed, ids_gone, said_in)


def apply_tombstones(db: apsw.Connection, at: str) -> Erased:
    """Take out what the tombstones tell, after they came from elsewhere: rows, events, messages, texts."""
    known = tombstones.Tombstones(db)
    doomed = {number: memory for number, memory in _all(db) if known.hold_memory(memory)}
    grave = _Grave(db, at)
    swept = sweep.Swept()
    events = _erase_origins(db, grave, list(doomed.values()), swept)
    named = [EventId(id_) for (id_,) in db.execute("SELECT id FROM events")]
    dead = [id_ for id_ in named if known.hold_event(id_)]
    db.execute("DELETE FROM events WHERE id IN (SELECT value FROM json_each(?))", (rows.to_json(dead),))
    left = [id_ for (id_,) in db.execute("SELECT DISTINCT event FROM messages WHERE event IS NOT NULL")]
    sweep.blank_messages_of(db, [id_ for id_ in left if known.hold_event(EventId(id_))], swept)
    remove(db, list(doomed))
    swept.changed = 0
    sweep.sweep(db, known.sentences, swept)
    gone = dict(swept.memories)
    anew = sources.understand_anew(db, swept.touched, gone, ())
    passages, vectors = remove(db, [*gone, *_dropped(db, anew, swept.derived)])
    db.execute("INSERT OR REPLACE INTO meta VALUES ('unscrubbed', '1')")
    doomed.update(gone)
    ids = (*(memory.id for memory in doomed.values()), *anew.ids, *swept.derived.values())
    count = events + len(dead) + len(swept.events)
    said_in = tuple(sorted(swept.transcripts))
    return Erased(len(doomed), count, passages, vectors, swept.changed, ids, said_in)


class _Grave:
    """Where hashes are left, here and in the mirror."""

    def __init__(self, db: apsw.Connection, at: str) -> None:
        self._db, self._at = db, at
        self.salt = tombstones.salt(db)

    def bury(self, hashes: Iterable[str]) -> None:
        for hash_ in hashes:
            tombstones.add(self._db, [(self.salt, hash_)])
            changes.record_tombstone(self._db, self.salt, hash_, self._at)


def prune(
    db: apsw.Connection, events_before: datetime | None, forgotten_before: datetime | None, at: str
) -> Pruned:
    """Drop events by age, and erase memories that were forgotten long enough ago."""
    events = memories = 0
    if events_before is not None:
        values = {"before": rows.stamp(events_before), "real": rows.stamp(_FIRST_REAL_MOMENT)}
        db.execute(_PRUNE_EVENTS, {**values, "latest": rows.stamp(datetime.fromisoformat(at) + _AHEAD)})
        events = db.changes()
    if forgotten_before is not None:
        old = rows.fetch(
            db,
            "SELECT id FROM memories WHERE forgotten_at < ? AND status = 'forgotten'",
            (rows.stamp(forgotten_before),),
        )
        ids = [MemoryId(id_) for (id_,) in old]
        memories = erase(db, ids, at, texts=()).memories if old else 0
    return Pruned(events, memories)


def is_unfinished(db: apsw.Connection) -> bool:
    """Whether something was erased whose old pages may still be in the files."""
    return db.execute("SELECT 1 FROM meta WHERE key = 'unscrubbed'").get is not None


def scrub(db: apsw.Connection) -> None:
    """Rewrite index and file without what was deleted; unfinished while a reader needs the old pages."""
    _rewrite_text_index(db)
    if _truncate_log(db):
        db.execute("VACUUM")
        if _truncate_log(db):
            db.execute("DELETE FROM meta WHERE key = 'unscrubbed'")


def _truncate_log(db: apsw.Connection) -> bool:
    if db.pragma("journal_mode") != "wal":
        return True
    busy, _, _ = next(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    return not busy


def _rewrite_text_index(db: apsw.Connection) -> None:
    """`optimize` leaves a single segment as it is, separators of erased terms included; so add a second."""
    columns = "rowid, own, near, far, dates"
    with transaction(db, "BEGIN IMMEDIATE"):
        rowid = int(db.execute("SELECT coalesce(max(id), 0) + 1 FROM passages").get)
        entry = (rowid, "0_", "", "", "")
        db.execute(f"INSERT INTO text_index ({columns}) VALUES (?, ?, ?, ?, ?)", entry)
        db.execute("INSERT INTO text_index (text_index) VALUES ('optimize')")
        db.execute(f"INSERT INTO text_index (text_index, {columns}) VALUES ('delete', ?, ?, ?, ?, ?)", entry)


_MEMORIES = f"SELECT m.number, {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}"


def _load(db: apsw.Connection, ids: Sequence[MemoryId]) -> list[tuple[int, StoredMemory]]:
    statement = f"{_MEMORIES} WHERE m.id IN (SELECT value FROM json_each(?))"
    found = rows.fetch(db, statement, (rows.to_json(list(ids)),))
    return [(row[0], rows.memory_from_row(row[1:])) for row in found]


def _all(db: apsw.Connection) -> list[tuple[int, StoredMemory]]:
    return [(row[0], rows.memory_from_row(row[1:])) for row in db.execute(_MEMORIES)]


def _dropped(db: apsw.Connection, anew: sources.Anew, emptied: Mapping[int, MemoryId]) -> list[int]:
    """What is made anew leaves no tombstone, and the mirror must not bring its old words back."""
    # Of an exchange whose messages are not here, nothing can be made anew.
    lone = {number: id_ for number, id_ in emptied.items() if id_ not in anew.emptied}
    dropped = {**lone, **anew.dropped, **anew.pieces}
    ids = list(dropped.values())
    changes.drop_for(db, ids)
    changes.record_dropped(db, ids)
    return sorted(dropped)


def _erase_named(db: apsw.Connection, grave: _Grave, events: set[EventId]) -> int:
    gone = 0
    for id_ in sorted(events):
        db.execute("DELETE FROM events WHERE id = ?", (id_,))
        gone += db.changes()
        grave.bury([tombstones.of_event(grave.salt, id_)])
    return gone


def _erase_origins(
    db: apsw.Connection, grave: _Grave, memories: Sequence[StoredMemory], swept: sweep.Swept
) -> int:
    """Events that memories name as their origin, and their messages; how many events."""
    gone: list[str] = []
    named: list[str] = []
    for memory in memories:
        own = list(strings_in(memory.provenance))
        named += own
        gone += [
            id_
            for (id_,) in rows.fetch(
                db,
                """DELETE FROM events WHERE project = (SELECT number FROM projects WHERE id = ?)
                   AND id IN (SELECT value FROM json_each(?)) RETURNING id""",
                (memory.project, rows.to_json(own)),
            )
        ]
    archived = "SELECT DISTINCT event FROM messages WHERE event IN (SELECT value FROM json_each(?))"
    events = [id_ for (id_,) in rows.fetch(db, archived, (rows.to_json(named),))]
    for id_ in {*gone, *events}:
        grave.bury([tombstones.of_event(grave.salt, EventId(id_))])
    sweep.blank_messages_of(db, events, swept)
    return len(gone)


def remove(db: apsw.Connection, numbers: Sequence[int]) -> tuple[int, int]:
    """Delete memories with all that hangs on them, then let their neighbours close the gaps."""
    writer = IndexWriter(db)
    gaps: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    passages = vectors = 0
    for number in numbers:
        session, created_at, space = next(
            db.execute("SELECT session, created_at, space FROM memories WHERE number = ?", (number,))
        )
        dropped = text_index.drop_passages(db, writer, number)
        passages += dropped.passages
        vectors += dropped.vectors
        db.execute("DELETE FROM memories WHERE number = ?", (number,))
        db.execute("UPDATE spaces SET epoch = epoch + 1 WHERE number = ?", (space,))
        db.execute("DELETE FROM dead_vectors WHERE space = ?", (space,))
        if session is not None:
            gaps[session].append((created_at, number))
    for session, places in gaps.items():
        text_index.refresh_session(db, writer, session, sorted(places), set())
    writer.flush()
    return passages, vectors
