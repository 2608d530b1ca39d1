"""The text index: one entry per passage, kept in step with its row, its lexicon and its neighbours.

Terms come ready from `claude_memory.text.words`; FTS5 only splits them at spaces. Every term carries the
number of its space, so that a query of one project cannot meet a row of another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from claude_memory.store.sqlite import rows
from claude_memory.store.sqlite.keys import escaped
from claude_memory.text import words as text

NEIGHBOUR_TERMS = 200  # of each neighbour: enough for a turn, little enough that a paste drowns nobody
_REACH = 2
_PUTS = 500  # entries that wait to be written together


class Entry(NamedTuple):
    """The terms of one passage, each column a text of terms between spaces."""

    own: str
    near: str
    far: str
    dates: str


def encode(space: int, terms: str) -> str:
    """Terms in characters that FTS5's ascii tokenizer keeps: letters, digits, `_` and non-ASCII.

    Each is headed by its space: `jwt c++` in space 12 becomes `12_jwt 12_c_2b_2b`.
    """
    if not terms:
        return ""
    return f"{space}_" + escaped(terms).replace(" ", f" {space}_")


def length(entry: Entry) -> float:
    """An entry's length as BM25 counts it: own and near terms whole, far ones half."""
    own, near, far = (column.count(" ") + 1 if column else 0 for column in entry[:3])
    return own + near + 0.5 * far


class IndexWriter:
    """Collects what one transaction changes in the text index; `flush` settles counts at the end."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._frequency: Counter[str] = Counter()
        self._passages: Counter[int] = Counter()
        self._length: defaultdict[int, float] = defaultdict(float)
        self._puts: list[tuple[int | str, ...]] = []

    def put(self, passage: int, space: int, entry: Entry) -> None:
        """Enter a passage that is not in the index."""
        self._puts.append((passage, *self._count(space, entry, 1)))
        if len(self._puts) >= _PUTS:
            self._write()

    def _write(self) -> None:
        """Enter what waits: in order, because the index begins a new piece whenever numbers go back."""
        self._db.executemany(
            "INSERT INTO text_index (rowid, own, near, far, dates) VALUES (?, ?, ?, ?, ?)",
            sorted(self._puts),
        )
        self._puts.clear()

    def drop(self, passage: int, space: int, entry: Entry) -> None:
        """Take a passage out of the index; `entry` must be what was put."""
        if self._puts:
            self._write()
        columns = self._count(space, entry, -1)
        self._db.execute(
            """INSERT INTO text_index (text_index, rowid, own, near, far, dates)
               VALUES ('delete', ?, ?, ?, ?, ?)""",
            (passage, *columns),
        )

    def _count(self, space: int, entry: Entry, sign: int) -> list[str]:
        columns = [encode(space, column) for column in entry]
        keys = set(" ".join(columns).split())
        if sign > 0:
            self._frequency.update(keys)
        else:
            self._frequency.subtract(keys)
        self._passages[space] += sign
        self._length[space] += sign * length(entry)
        return columns

    def flush(self) -> None:
        """Write what waits, and bring lexicon and totals up to date."""
        self._write()
        deltas = [(term, delta) for term, delta in sorted(self._frequency.items()) if delta]
        self._db.executemany(
            """INSERT INTO lexicon VALUES (?, ?)
               ON CONFLICT DO UPDATE SET passages = passages + excluded.passages""",
            deltas,
        )
        gone = ((term,) for term, delta in deltas if delta < 0)
        self._db.executemany("DELETE FROM lexicon WHERE term = ? AND passages <= 0", gone)
        self._db.executemany(
            """INSERT INTO spaces (number, passages, length) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
               SET passages = passages + excluded.passages, length = length + excluded.length""",
            [(space, delta, self._length[space]) for space, delta in self._passages.items()],
        )
        self._frequency.clear()
        self._passages.clear()
        self._length.clear()


def searchable(title: str, body: str) -> str:
    """What is searched and embedded of a memory; a title that only repeats the beginning adds nothing."""
    head = title.strip().rstrip("…").rstrip()
    return body if not head or body.lstrip().startswith(head) else f"{title}\n{body}"


class Cut(NamedTuple):
    """One passage to be: where it stands in the memory's text, and its own terms."""

    start: int
    stop: int
    own: str


def make_passages(db: apsw.Connection, number: int) -> None:
    """Cut a memory into passages. Their entries follow with `refresh`."""
    title, body, created_at, space = _source(db, number)
    dates = " ".join(text.date_terms(rows.moment(created_at)))
    db.executemany(
        """INSERT INTO passages (memory, space, ordinal, start, stop, own, near, far, dates)
           VALUES (?, ?, ?, ?, ?, ?, '', '', ?)""",
        [(number, space, ordinal, *cut, dates) for ordinal, cut in enumerate(_cuts(title, body))],
    )


def recut(db: apsw.Connection, number: int) -> None:
    """Cut a memory again, while the index is empty; where the cuts are the same, vectors stay."""
    title, body, created_at, space = _source(db, number)
    cuts = list(_cuts(title, body))
    present = db.execute(
        "SELECT start, stop FROM passages WHERE memory = ? AND space = ? ORDER BY ordinal", (number, space)
    ).fetchall()
    if present != [(cut.start, cut.stop) for cut in cuts]:
        _remove_passages(db, number)
        make_passages(db, number)
        return
    dates = " ".join(text.date_terms(rows.moment(created_at)))
    db.executemany(
        "UPDATE passages SET own = ?, near = '', far = '', dates = ? WHERE memory = ? AND ordinal = ?",
        [(cut.own, dates, number, ordinal) for ordinal, cut in enumerate(cuts)],
    )


def _source(db: apsw.Connection, number: int) -> tuple[str, str, int, int]:
    statement = "SELECT title, body, created_at, space FROM memories WHERE number = ?"
    title, body, created_at, space = next(db.execute(statement, (number,)))
    return title, body, created_at, space


def _cuts(title: str, body: str) -> Iterator[Cut]:
    whole = searchable(title, body)
    start = 0
    for ordinal, part in enumerate(text.passages(whole)):
        # Slices overlap, so each is found from where the last one began.
        start = whole.index(part, start + 1 if ordinal else 0)
        terms = text.index_terms(part)
        if ordinal:
            terms = text.index_terms(title) + terms
        yield Cut(start, start + len(part), " ".join(terms))


class Dropped(NamedTuple):
    """How much `drop_passages` removed."""

    passages: int
    vectors: int


def drop_passages(db: apsw.Connection, writer: IndexWriter, number: int) -> Dropped:
    """Remove a memory's passages with their entries and vectors."""
    found = rows.fetch(
        db, "SELECT id, space, own, near, far, dates FROM passages WHERE memory = ?", (number,)
    )
    for id_, space, *columns in found:
        writer.drop(id_, space, Entry(*columns))
    return Dropped(len(found), _remove_passages(db, number))


def _remove_passages(db: apsw.Connection, number: int) -> int:
    """Delete the rows and their vectors; returns how many vectors went."""
    mine = "passage IN (SELECT id FROM passages WHERE memory = ?)"
    db.execute(
        f"""INSERT INTO dead_vectors (model, space, passage)
            SELECT model, space, passage FROM vectors WHERE {mine}""",
        (number,),
    )
    db.execute(f"DELETE FROM vectors WHERE {mine}", (number,))
    vectors = db.changes()
    db.execute("DELETE FROM passages WHERE memory = ?", (number,))
    return vectors


def index(db: apsw.Connection, writer: IndexWriter, numbers: Sequence[int]) -> None:
    """Enter new memories, and tell their neighbours."""
    for number in numbers:
        make_passages(db, number)
    refresh(db, writer, numbers, fresh=set(numbers))


def refresh(db: apsw.Connection, writer: IndexWriter, numbers: Iterable[int], *, fresh: set[int]) -> None:
    """Bring the entries of these memories and of those beside them up to date.

    `fresh` are memories whose passages have no entry yet; each leaves the set when it gets one.
    """
    sessions: defaultdict[int | None, list[tuple[int, int]]] = defaultdict(list)
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
    db: apsw.Connection,
    writer: IndexWriter,
    session: int,
    places: list[tuple[int, int]],
    fresh: set[int],
) -> None:
    """Bring the entries at and around places (time, number) of a session up to date.

    A place may be empty: that is the gap of a memory that is gone, or seen no longer.
    """
    chain = _chain(db, session, places[0], places[-1])
    heads = _head_terms(db, [number for _, number in chain])
    terms = [heads.get(number, "") for _, number in chain]
    affected: set[int] = set()
    for place in places:
        at = bisect_left(chain, place)
        affected.update(range(max(0, at - _REACH), min(len(chain), at + _REACH + 1)))
    # Forgotten and personal memories stand outside the chain.
    beside = dict.fromkeys((number for _, number in places), ("", ""))
    for at in affected:
        beside[chain[at][1]] = (_join(terms, at - 1, at + 1), _join(terms, at - 2, at + 2))
    _write_entries(db, writer, beside, fresh)


def _chain(
    db: apsw.Connection, session: int, first: tuple[int, int], last: tuple[int, int]
) -> list[tuple[int, int]]:
    """The memories of a session from four before `first` to four after `last`, in order."""
    seen = "session = ? AND space <> 0 AND status <> 'forgotten'"
    reach = 2 * _REACH
    before = db.execute(
        f"""SELECT created_at, number FROM memories WHERE {seen} AND (created_at, number) < (?, ?)
            ORDER BY created_at DESC, number DESC LIMIT {reach}""",
        (session, *first),
    ).fetchall()
    middle = db.execute(
        f"""SELECT created_at, number FROM memories
            WHERE {seen} AND (created_at, number) BETWEEN (?, ?) AND (?, ?) ORDER BY created_at, number""",
        (session, *first, *last),
    ).fetchall()
    after = db.execute(
        f"""SELECT created_at, number FROM memories WHERE {seen} AND (created_at, number) > (?, ?)
            ORDER BY created_at, number LIMIT {reach}""",
        (session, *last),
    ).fetchall()
    return [*reversed(before), *middle, *after]


def _head_terms(db: apsw.Connection, numbers: Sequence[int]) -> dict[int, str]:
    found = rows.fetch(
        db,
        """SELECT memory, own FROM passages
           WHERE ordinal = 0 AND memory IN (SELECT value FROM json_each(?))""",
        (rows.id_list(numbers),),
    )
    cut = NEIGHBOUR_TERMS
    return {memory: " ".join(own.split(" ", cut)[:cut]) for memory, own in found}


def _join(terms: list[str], *places: int) -> str:
    return " ".join(terms[place] for place in places if 0 <= place < len(terms) and terms[place])


def _write_entries(
    db: apsw.Connection, writer: IndexWriter, beside: Mapping[int, tuple[str, str]], fresh: set[int]
) -> None:
    """Bring the entries of memories up to date, each with the terms near it and far from it."""
    found = rows.fetch(
        db,
        """SELECT memory, id, space, own, near, far, dates FROM passages
           WHERE memory IN (SELECT value FROM json_each(?)) ORDER BY id""",
        (rows.id_list(list(beside)),),
    )
    changed = {row[1] for row in found if beside[row[0]] != row[4:6]}
    db.executemany(
        "UPDATE passages SET near = ?, far = ? WHERE id = ?",
        [(*beside[row[0]], row[1]) for row in found if row[1] in changed],
    )
    for memory, id_, space, own, near, far, dates in found:
        if id_ in changed and memory not in fresh:
            writer.drop(id_, space, Entry(own, near, far, dates))
    for memory, id_, space, own, _, _, dates in found:
        if id_ in changed or memory in fresh:
            writer.put(id_, space, Entry(own, *beside[memory], dates))
    fresh.difference_update(beside)
