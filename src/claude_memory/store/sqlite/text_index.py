"""The text index: one entry per passage, kept in step with its row, its lexicon and its neighbours.

Terms come ready from `store.passages`; FTS5 only splits them at spaces. Every term carries the number of
its space, so that a query of one project cannot meet a row of another.

Deleting overwrites rows (`secure_delete`); `scrub` then rewrites text index and file, so that no page,
separator or log frame keeps a word. FTS5's own `secure-delete` would do the same for every change of a
neighbour too, and made one write cost ten times more at 100,000 memories.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from claude_memory.store.sql.passages import Terms
from claude_memory.store.sqlite.connection import SqliteDatabase, transaction
from claude_memory.store.sqlite.schema import escaped, head

_PUTS = 500  # entries that wait to be written together
_LEXICON = """INSERT INTO lexicon VALUES (?, ?)
    ON CONFLICT DO UPDATE SET passages = passages + excluded.passages"""
_TOTALS = """INSERT INTO spaces (number, passages, length) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
    SET passages = passages + excluded.passages, length = length + excluded.length"""
_DROP_ENTRY = """INSERT INTO text_index (text_index, rowid, own, near, far, dates)
    VALUES ('delete', ?, ?, ?, ?, ?)"""
_PUT_ENTRY = "INSERT INTO text_index (rowid, own, near, far, dates) VALUES (?, ?, ?, ?, ?)"
_DEAD = "INSERT INTO dead_vectors (model, space, passage) SELECT model, space, passage FROM vectors"


def encode(space: int, terms: str) -> str:
    """Terms in characters that FTS5's ascii tokenizer keeps: letters, digits, `_` and non-ASCII.

    Each is headed by its space: `jwt c++` in space 12 becomes `12_jwt 12_c_2b_2b`.
    """
    if not terms:
        return ""
    begin = head(space)
    return begin + escaped(terms).replace(" ", f" {begin}")


class IndexWriter:
    """Collects what one transaction changes in the text index; `flush` settles counts at the end."""

    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db
        self._frequency: Counter[str] = Counter()
        self._passages: Counter[int] = Counter()
        self._length: defaultdict[int, float] = defaultdict(float)
        self._puts: list[tuple[int | str, ...]] = []

    def put(self, passage: int, space: int, terms: Terms) -> None:
        """Enter a passage that is not in the index."""
        self._puts.append((passage, *self._count(space, terms, 1)))
        if len(self._puts) >= _PUTS:
            self._write()

    def _write(self) -> None:
        """Enter what waits: in order, because the index begins a new piece whenever numbers go back."""
        self._db.executemany(_PUT_ENTRY, sorted(self._puts))
        self._puts.clear()

    def drop(self, passage: int, space: int, terms: Terms) -> None:
        """Take a passage out of the index; `terms` must be what was put."""
        if self._puts:
            self._write()
        self._db.execute(_DROP_ENTRY, (passage, *self._count(space, terms, -1)))

    def _count(self, space: int, terms: Terms, sign: int) -> list[str]:
        columns = [encode(space, column) for column in terms]
        keys = set(" ".join(columns).split())
        if sign > 0:
            self._frequency.update(keys)
        else:
            self._frequency.subtract(keys)
        self._passages[space] += sign
        self._length[space] += sign * terms.length
        return columns

    def flush(self) -> None:
        """Write what waits, and bring lexicon and totals up to date."""
        self._write()
        deltas = [(term, delta) for term, delta in sorted(self._frequency.items()) if delta]
        self._db.executemany(_LEXICON, deltas)
        gone = ((term,) for term, delta in deltas if delta < 0)
        self._db.executemany("DELETE FROM lexicon WHERE term = ? AND passages <= 0", gone)
        totals = [(space, delta, self._length[space]) for space, delta in self._passages.items()]
        self._db.executemany(_TOTALS, totals)
        self._frequency.clear()
        self._passages.clear()
        self._length.clear()

    def drop_vectors(self, memory: int) -> int:
        """Remove the vectors of a memory's passages; returns how many."""
        mine = "WHERE passage IN (SELECT id FROM passages WHERE memory = ?)"
        self._db.execute(f"{_DEAD} {mine}", (memory,))
        self._db.execute(f"DELETE FROM vectors {mine}", (memory,))
        return self._db.changes()

    def erased(self, space: int) -> None:
        """Let the vector caches of a space be made anew, without what is gone for good."""
        self._db.execute("UPDATE spaces SET epoch = epoch + 1 WHERE number = ?", (space,))
        self._db.execute("DELETE FROM dead_vectors WHERE space = ?", (space,))

    def clear(self) -> None:
        """Empty the index, and drop vectors that belong to nothing; vector caches are copied anew, too."""
        self._db.execute("INSERT INTO text_index (text_index) VALUES ('delete-all')")
        self._db.execute("DELETE FROM lexicon")
        self._db.execute("UPDATE spaces SET passages = 0, length = 0, epoch = epoch + 1")
        self._db.execute("DELETE FROM dead_vectors")
        self._db.execute(
            """DELETE FROM vectors WHERE passage NOT IN (SELECT q.id FROM passages q
               JOIN memories m ON m.number = q.memory)"""
        )


def scrub(db: SqliteDatabase) -> None:
    """Rewrite index and file without what was deleted; unfinished while a reader needs the old pages."""
    _rewrite_text_index(db)
    if _truncate_log(db):
        db.execute("VACUUM")
        if _truncate_log(db):
            db.execute("DELETE FROM meta WHERE key = 'unscrubbed'")


def _truncate_log(db: SqliteDatabase) -> bool:
    if db.pragma("journal_mode") != "wal":
        return True
    busy, _, _ = next(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    return not busy


def _rewrite_text_index(db: SqliteDatabase) -> None:
    """`optimize` leaves a single segment as it is, separators of erased terms included; so add a second."""
    columns = "rowid, own, near, far, dates"
    with transaction(db, "BEGIN IMMEDIATE"):
        rowid = int(db.execute("SELECT coalesce(max(id), 0) + 1 FROM passages").get)
        entry = (rowid, "0_", "", "", "")
        db.execute(f"INSERT INTO text_index ({columns}) VALUES (?, ?, ?, ?, ?)", entry)
        db.execute("INSERT INTO text_index (text_index) VALUES ('optimize')")
        db.execute(f"INSERT INTO text_index (text_index, {columns}) VALUES ('delete', ?, ?, ?, ?, ?)", entry)
