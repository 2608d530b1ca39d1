"""The text entries of passages: kept in step with their rows and their neighbours, whatever the index is.

Terms come ready from `store.passages`. Every term carries the number of its space in the index, so that a
query of one project cannot meet a row of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from claude_memory.store import passages
from claude_memory.store.passages import Place, Terms
from claude_memory.store.sql import rows

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database, Entries

_REBUILT = 2_000  # memories whose entries are made anew at once
_INSERT_PASSAGE = """INSERT INTO passages (memory, space, ordinal, start, stop, own, near, far, dates)
    VALUES (?, ?, ?, ?, ?, ?, '', '', ?)"""


def make_passages(db: Database, number: int) -> None:
    """Cut a memory into passages. Their entries follow with `refresh`."""
    title, body, created_at, space = _source(db, number)
    dates = passages.date_terms(rows.moment(created_at))
    cut = enumerate(passages.cuts(title, body))
    db.executemany(_INSERT_PASSAGE, [(number, space, ordinal, *part, dates) for ordinal, part in cut])


def _recut(db: Database, writer: Entries, number: int) -> None:
    """Cut a memory again, while the index is empty; where the cuts are the same, vectors stay."""
    title, body, created_at, space = _source(db, number)
    cut = list(passages.cuts(title, body))
    present = db.execute(
        "SELECT start, stop FROM passages WHERE memory = ? AND space = ? ORDER BY ordinal", (number, space)
    ).fetchall()
    if present != [(part.start, part.stop) for part in cut]:
        _remove_passages(db, writer, number)
        make_passages(db, number)
        return
    dates = passages.date_terms(rows.moment(created_at))
    db.executemany(
        "UPDATE passages SET own = ?, near = '', far = '', dates = ? WHERE memory = ? AND ordinal = ?",
        [(part.own, dates, number, ordinal) for ordinal, part in enumerate(cut)],
    )


def _source(db: Database, number: int) -> tuple[str, str, int, int]:
    statement = "SELECT title, body, created_at, space FROM memories WHERE number = ?"
    title, body, created_at, space = next(db.execute(statement, (number,)))
    return title, body, created_at, space


class Dropped(NamedTuple):
    """How much `drop_passages` removed."""

    passages: int
    vectors: int


def drop_passages(db: Database, writer: Entries, number: int) -> Dropped:
    """Remove a memory's passages with their entries and vectors."""
    statement = "SELECT id, space, own, near, far, dates FROM passages WHERE memory = ?"
    present = rows.fetch(db, statement, (number,))
    for id_, space, *columns in present:
        writer.drop(id_, space, Terms(*columns))
    return Dropped(len(present), _remove_passages(db, writer, number))


def _remove_passages(db: Database, writer: Entries, number: int) -> int:
    """Delete the rows and their vectors; returns how many vectors went."""
    vectors = writer.drop_vectors(number)
    db.execute("DELETE FROM passages WHERE memory = ?", (number,))
    return vectors


def index(db: Database, numbers: Sequence[int]) -> None:
    """Enter new memories, and tell their neighbours."""
    writer = db.entries()
    for number in numbers:
        make_passages(db, number)
    refresh(db, writer, numbers, fresh=set(numbers))
    writer.flush()


def refresh(db: Database, writer: Entries, numbers: Iterable[int], *, fresh: set[int]) -> None:
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
    db: Database, writer: Entries, session: int, places: list[Place], fresh: set[int]
) -> None:
    """Bring the entries at and around places of a session up to date; a place may be empty by now."""
    chain = _chain(db, session, places[0], places[-1])
    statement = """SELECT memory, own FROM passages
        WHERE ordinal = 0 AND memory IN (SELECT +value FROM json_each(?))"""
    own = rows.fetch(db, statement, (rows.id_list(number for _, number in chain),))
    heads = {memory: passages.head_terms(terms) for memory, terms in own}
    _write_entries(db, writer, passages.beside(chain, heads, places), fresh)


def _chain(db: Database, session: int, first: Place, last: Place) -> list[Place]:
    """The memories of a session from four before `first` to four after `last`, in order.

    A whole exchange speaks for itself: with its neighbours' words the right one comes first less often
    (question → exchange @1 46 with them, 54 without; bench/real.py).
    """
    seen = """SELECT created_at, number FROM memories
        WHERE session = ? AND space > 0 AND status <> 'forgotten' AND kind NOT IN ('observation', 'summary')
        AND (created_at, number)"""
    forward, back = "ORDER BY created_at, number", "ORDER BY created_at DESC, number DESC"
    reach = f"LIMIT {2 * passages.REACH}"
    before = db.execute(f"{seen} < (?, ?) {back} {reach}", (session, *first)).fetchall()
    middle = db.execute(f"{seen} BETWEEN (?, ?) AND (?, ?) {forward}", (session, *first, *last)).fetchall()
    after = db.execute(f"{seen} > (?, ?) {forward} {reach}", (session, *last)).fetchall()
    return [*reversed(before), *middle, *after]


def _write_entries(
    db: Database, writer: Entries, beside: Mapping[int, tuple[str, str]], fresh: set[int]
) -> None:
    """Bring the entries of memories up to date, each with the terms near it and far from it."""
    statement = """SELECT memory, id, space, own, near, far, dates FROM passages
        WHERE memory IN (SELECT +value FROM json_each(?)) ORDER BY id"""
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


def rebuild(db: Database) -> int:
    """Make all entries anew from the memories; returns the passages there are.

    In one transaction: readers keep the old index until it commits, writers wait or come back, and so no
    row can fall between two passes. Passages whose cut did not change keep their ids and their vectors.
    """
    writer = db.entries()
    writer.clear()
    for table in ("passages", "arrivals", "unjudged"):
        db.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT number FROM memories)")
    in_order = "SELECT number FROM memories ORDER BY session, created_at, number"
    numbers = [number for (number,) in db.execute(in_order)]
    for number in numbers:
        _recut(db, writer, number)
    fresh = set(numbers)
    for start in range(0, len(numbers), _REBUILT):
        refresh(db, writer, numbers[start : start + _REBUILT], fresh=fresh)
        writer.flush()
    return int(db.execute("SELECT count(*) FROM passages").get)
