"""Removing for good: rows, text entries, vectors, events and what waits for the mirror.

Deleting overwrites rows (`secure_delete`); `scrub` then rewrites text index and file, so that no page,
separator or log frame keeps a word. FTS5's own `secure-delete` would do the same for every change of a
neighbour too, and made one write cost ten times more at 100,000 memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import apsw

from claude_memory.model import EventId, MemoryId, StoredMemory
from claude_memory.store.protocol import Erased, Pruned
from claude_memory.store.sqlite import archive_search, changes, rows, text_index, tombstones
from claude_memory.store.sqlite.connection import transaction
from claude_memory.store.sqlite.text_index import IndexWriter
from claude_memory.text import strings_in

_SHORTEST_QUOTE = 16  # a shorter body may stand in an event by chance
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


def erase(db: apsw.Connection, ids: Sequence[MemoryId], at: str) -> Erased:
    """Remove memories and the events they came from, and leave hashes that keep them away."""
    found = _load(db, ids)
    salt = tombstones.salt(db)
    changes.drop_for(db, [memory.id for _, memory in found])
    events = 0
    for _, memory in found:
        events += _erase_events(db, salt, memory, at)
        for hash_ in tombstones.of_memory(salt, memory):
            _bury(db, salt, hash_, at)
    passages, vectors = _remove(db, [number for number, _ in found])
    if found:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('unscrubbed', '1')")
    return Erased(len(found), events, passages, vectors)


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
        memories = erase(db, [MemoryId(id_) for (id_,) in old], at).memories if old else 0
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


def _load(db: apsw.Connection, ids: Sequence[MemoryId]) -> list[tuple[int, StoredMemory]]:
    statement = f"""SELECT m.number, {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
        WHERE m.id IN (SELECT value FROM json_each(?))"""
    found = rows.fetch(db, statement, (rows.to_json(list(ids)),))
    return [(row[0], rows.memory_from_row(row[1:])) for row in found]


def _bury(db: apsw.Connection, salt: str, hash_: str, at: str) -> None:
    tombstones.add(db, [(salt, hash_)])
    changes.record_tombstone(db, salt, hash_, at)


def _erase_events(db: apsw.Connection, salt: str, memory: StoredMemory, at: str) -> int:
    """Events that the memory names as its origin, and those of its project that quote it word for word."""
    named = rows.to_json(list(strings_in(memory.provenance)))
    quote = rows.to_json(memory.body)[1:-1]
    gone = rows.fetch(
        db,
        """DELETE FROM events WHERE project = (SELECT number FROM projects WHERE id = :project) AND (
               id IN (SELECT value FROM json_each(:named))
               OR (length(:quote) >= :shortest AND instr(payload, :quote)))
           RETURNING id""",
        {"project": memory.project, "named": named, "quote": quote, "shortest": _SHORTEST_QUOTE},
    )
    for (id_,) in gone:
        _bury(db, salt, tombstones.of_event(salt, EventId(id_)), at)
    archive_search.erase(db, memory, [*strings_in(memory.provenance), *(id_ for (id_,) in gone)])
    return len(gone)


def _remove(db: apsw.Connection, numbers: Sequence[int]) -> tuple[int, int]:
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
