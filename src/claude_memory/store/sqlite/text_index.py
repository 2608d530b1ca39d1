"""The text index: one entry per passage, kept in step with its row, its lexicon and its neighbours.

Terms come ready from `store.passages`; FTS5 only splits them at spaces. Every term carries the number of
its space, so that a query of one project cannot meet a row of another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from claude_memory.store import passages
from claude_memory.store.passages import Place, Terms
from claude_memory.store.sqlite import rows
from claude_memory.store.sqlite.keys import escaped, head

_PUTS = 500  # entries that wait to be written together
_REBUILT = 2_000  # memories whose entries are made anew at once

_INSERT_PASSAGE = """INSERT INTO passages (memory, space, ordinal, start, stop, own, near, far, dates)
    VALUES (?, ?, ?, ?, ?, ?, '', '', ?)"""
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

    def __init__(self, db: apsw.Connection) -> None:
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


def make_passages(db: apsw.Connection, number: int) -> None:
    """Cut a memory into passages. Their entries follow with `refresh`."""
    title, body, created_at, space = _source(db, number)
    dates = passages.date_terms(rows.moment(created_at))
    cut = enumerate(passages.cuts(title, body))
    db.executemany(_INSERT_PASSAGE, [(number, space, ordinal, *part, dates) for ordinal, part in cut])


def _recut(db: apsw.Connection, number: int) -> None:
    """Cut a memory again, while the index is empty; where the cuts are the same, vectors stay."""
    title, body, created_at, space = _source(db, number)
    cut = list(passages.cuts(title, body))
    present = db.execute(
        "SELECT start, stop FROM passages WHERE memory = ? AND space = ? ORDER BY ordinal", (number, space)
    ).fetchall()
    if present != [(part.start, part.stop) for part in cut]:
        _remove_passages(db, number)
        make_passages(db, number)
        return
    dates = passages.date_terms(rows.moment(created_at))
    db.executemany(
        "UPDATE passages SET own = ?, near = '', far = '', dates = ? WHERE memory = ? AND ordinal = ?",
        [(part.own, dates, number, ordinal) for ordinal, part in enumerate(cut)],
    )


def _source(db: apsw.Connection, number: int) -> tuple[str, str, int, int]:
    statement = "SELECT title, body, created_at, space FROM memories WHERE number = ?"
    title, body, created_at, space = next(db.execute(statement, (number,)))
    return title, body, created_at, space


class Dropped(NamedTuple):
    """How much `drop_passages` removed."""

    passages: int
    vectors: int


def drop_passages(db: apsw.Connection, writer: IndexWriter, number: int) -> Dropped:
    """Remove a memory's passages with their entries and vectors."""
    statement = "SELECT id, space, own, near, far, dates FROM passages WHERE memory = ?"
    present = rows.fetch(db, statement, (number,))
    for id_, space, *columns in present:
        writer.drop(id_, space, Terms(*columns))
    return Dropped(len(present), _remove_passages(db, number))


def _remove_passages(db: apsw.Connection, number: int) -> int:
    """Delete the rows and their vectors; returns how many vectors went."""
    mine = "WHERE passage IN (SELECT id FROM passages WHERE memory = ?)"
    db.execute(f"{_DEAD} {mine}", (number,))
    db.execute(f"DELETE FROM vectors {mine}", (number,))
    vectors = db.changes()
    db.execute("DELETE FROM passages WHERE memory = ?", (number,))
    return vectors


def index(db: apsw.Connection, numbers: Sequence[int]) -> None:
    """Enter new memories, and tell their neighbours."""
    writer = IndexWriter(db)
    for number in numbers:
        make_passages(db, number)
    refresh(db, writer, numbers, fresh=set(numbers))
    writer.flush()


def refresh(db: apsw.Connection, writer: IndexWriter, numbers: Iterable[int], *, fresh: set[int]) -> None:
    """Bring the entries of these memories and of those beside them up to date.

    `fresh` are memories whose passages have no entry yet; each leaves the set when it gets one.
    """
    sessions: defaultdict[int | None, list[Place]] = defaultdict(list)
    for number in numbers:
        session, created_at = next(
            db.execute("SELECT session, created_at FROM memories WHERE number = ?", (number,))
        )
        sessions[session].append((created_at, number))
    alone = {number: ("", "") for _, number in sessions.pop(None, ())}
    _write_entries(db, writer, alone, fresh)
    for session, places in sessions.items():
        if session is not None:
            refresh_session(db, writer, session, sorted(places), fresh)


def refresh_session(
    db: apsw.Connection, writer: IndexWriter, session: int, places: list[Place], fresh: set[int]
) -> None:
    """Bring the entries at and around places of a session up to date; a place may be empty by now."""
    chain = _chain(db, session, places[0], places[-1])
    statement = """SELECT memory, own FROM passages
        WHERE ordinal = 0 AND memory IN (SELECT value FROM json_each(?))"""
    own = rows.fetch(db, statement, (rows.id_list(number for _, number in chain),))
    heads = {memory: passages.head_terms(terms) for memory, terms in own}
    _write_entries(db, writer, passages.beside(chain, heads, places), fresh)


def _chain(db: apsw.Connection, session: int, first: Place, last: Place) -> list[Place]:
    """The memories of a session from four before `first` to four after `last`, in order."""
    seen = """SELECT created_at, number FROM memories
        WHERE session = ? AND space > 0 AND status <> 'forgotten' AND (created_at, number)"""
    forward, back = "ORDER BY created_at, number", "ORDER BY created_at DESC, number DESC"
    reach = f"LIMIT {2 * passages.REACH}"
    before = db.execute(f"{seen} < (?, ?) {back} {reach}", (session, *first)).fetchall()
    middle = db.execute(f"{seen} BETWEEN (?, ?) AND (?, ?) {forward}", (session, *first, *last)).fetchall()
    after = db.execute(f"{seen} > (?, ?) {forward} {reach}", (session, *last)).fetchall()
    return [*reversed(before), *middle, *after]


def _write_entries(
    db: apsw.Connection, writer: IndexWriter, beside: Mapping[int, tuple[str, str]], fresh: set[int]
) -> None:
    """Bring the entries of memories up to date, each with the terms near it and far from it."""
    statement = """SELECT memory, id, space, own, near, far, dates FROM passages
        WHERE memory IN (SELECT value FROM json_each(?)) ORDER BY id"""
    present = rows.fetch(db, statement, (rows.id_list(beside),))
    changed = {row[1] for row in present if beside[row[0]] != row[4:6]}
    db.executemany(
        "UPDATE passages SET near = ?, far = ? WHERE id = ?",
        [(*beside[row[0]], row[1]) for row in present if row[1] in changed],
    )
    for memory, id_, space, *columns in present:
        if id_ in changed and memory not in fresh:
            writer.drop(id_, space, Terms(*columns))
    for memory, id_, space, own, _, _, dates in present:
        if id_ in changed or memory in fresh:
            writer.put(id_, space, Terms(own, *beside[memory], dates))
    fresh.difference_update(beside)


def rebuild(db: apsw.Connection) -> int:
    """Make all entries anew from the memories; returns the passages there are.

    In one transaction: readers keep the old index until it commits, writers wait or come back, and so no
    row can fall between two passes. Passages whose cut did not change keep their ids and their vectors.
    """
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
        _recut(db, number)
    fresh = set(numbers)
    for start in range(0, len(numbers), _REBUILT):
        refresh(db, writer, numbers[start : start + _REBUILT], fresh=fresh)
        writer.flush()
    return int(db.execute("SELECT count(*) FROM passages").get)


def _drop_orphans(db: apsw.Connection) -> None:
    db.execute("DELETE FROM vectors WHERE passage NOT IN (SELECT id FROM passages)")
    gone = "SELECT id FROM passages WHERE memory NOT IN (SELECT number FROM memories)"
    db.execute(f"{_DEAD} WHERE passage IN ({gone})")
    db.execute(f"DELETE FROM vectors WHERE passage IN ({gone})")
    for table in ("passages", "arrivals", "unjudged"):
        db.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT number FROM memories)")
