"""Making the text index anew from the memories.

One transaction: readers keep the old index until it commits, writers wait or come back, and so no
row can fall between two passes. Passages whose cut did not change keep their ids and their vectors.
"""

from __future__ import annotations

import apsw

from claude_memory.store.sqlite import text_index
from claude_memory.store.sqlite.text_index import IndexWriter

_BATCH = 2000


def rebuild(db: apsw.Connection) -> int:
    """Drop every text entry, cut every memory again, enter all; returns the passages there are."""
    db.execute("INSERT INTO text_index (text_index) VALUES ('delete-all')")
    db.execute("DELETE FROM lexicon")
    _drop_orphans(db)
    # A new epoch: vector caches are copied anew from the table too.
    db.execute("UPDATE spaces SET passages = 0, length = 0, epoch = epoch + 1")
    db.execute("DELETE FROM dead_vectors")
    writer = IndexWriter(db)
    in_order = "SELECT number FROM memories ORDER BY session, created_at, number"
    numbers = [number for (number,) in db.execute(in_order)]
    for number in numbers:
        text_index.recut(db, number)
    fresh = set(numbers)
    for start in range(0, len(numbers), _BATCH):
        text_index.refresh(db, writer, numbers[start : start + _BATCH], fresh=fresh)
        writer.flush()
    return int(db.execute("SELECT count(*) FROM passages").get)


def _drop_orphans(db: apsw.Connection) -> None:
    db.execute("DELETE FROM vectors WHERE passage NOT IN (SELECT id FROM passages)")
    gone = "SELECT id FROM passages WHERE memory NOT IN (SELECT number FROM memories)"
    db.execute(
        f"""INSERT INTO dead_vectors (model, space, passage)
            SELECT model, space, passage FROM vectors WHERE passage IN ({gone})"""
    )
    db.execute(f"DELETE FROM vectors WHERE passage IN ({gone})")
    for table in ("passages", "arrivals", "unjudged"):
        db.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT number FROM memories)")
