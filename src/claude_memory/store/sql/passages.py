"""How a memory becomes passages, which words each is found by, and their entries in the text index.

A passage is found by its own words, its neighbours' and its day's; each backend finds the same. Entries are
kept in step with their rows and their neighbours, whatever the index is. Every term carries the number of its
space there, so that a query of one project cannot meet a row of another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from claude_memory.store.sql import rows
from claude_memory.text import words

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database, Entries

REACH = 2  # neighbours of the same session whose words count, on either side
NEIGHBOUR_TERMS = 200  # of each neighbour: enough for a turn, little enough that a paste drowns nobody
_REBUILT = 2_000  # memories whose entries are made anew at once
_INSERT_PASSAGE = """INSERT INTO passages (memory, space, ordinal, start, stop, own, near, far, dates)
    VALUES (?, ?, ?, ?, ?, ?, '', '', ?)"""

Place = tuple[int, int]  # of a memory in its session: time and number


class Terms(NamedTuple):
    """The terms of one passage, each column a text of terms between spaces."""

    own: str
    near: str  # of the neighbours at distance one
    far: str  # and two
    dates: str

    @property
    def length(self) -> float:
        """As BM25 counts it: own and near terms whole, far ones half."""
        own, near, far = (column.count(" ") + 1 if column else 0 for column in self[:3])
        return own + near + 0.5 * far


class Cut(NamedTuple):
    """One passage to be: where it stands in the memory's text, and its own terms."""

    start: int
    stop: int
    own: str


def searchable(title: str, body: str) -> str:
    """What is searched and embedded of a memory; a title that only repeats the beginning adds nothing."""
    head = title.strip().rstrip("…").rstrip()
    return body if not head or body.lstrip().startswith(head) else f"{title}\n{body}"


def cuts(title: str, body: str) -> Iterator[Cut]:
    """The passages of a memory; later ones are found by the words of its title, too."""
    whole = searchable(title, body)
    start = 0
    for ordinal, part in enumerate(words.passages(whole)):
        # Slices overlap, so each is found from where the last one began.
        start = whole.index(part, start + 1 if ordinal else 0)
        terms = words.index_terms(part)
        if ordinal:
            terms = words.index_terms(title) + terms
        yield Cut(start, start + len(part), " ".join(terms))


def date_terms(at: datetime) -> str:
    """The words for the day that a memory is from."""
    return " ".join(words.date_terms(at))


def head_terms(own: str) -> str:
    """Those of a first passage's terms that its neighbours are found by."""
    return " ".join(own.split(" ", NEIGHBOUR_TERMS)[:NEIGHBOUR_TERMS])


def beside(
    chain: Sequence[Place], heads: Mapping[int, str], places: Sequence[Place]
) -> dict[int, tuple[str, str]]:
    """The near and the far terms of the memories at and around some places of a session.

    `chain` has all memories from twice the reach before the first place to as many after the last, in
    order. A place may be empty: that is the gap of a memory that is gone, or seen no longer.
    """
    terms = [heads.get(number, "") for _, number in chain]
    around: set[int] = set()
    for place in places:
        at = bisect_left(chain, place)
        around.update(range(max(0, at - REACH), min(len(chain), at + REACH + 1)))
    # Forgotten and personal memories stand outside the chain, and have no neighbours.
    found = dict.fromkeys((number for _, number in places), ("", ""))
    for at in around:
        found[chain[at][1]] = (_joined(terms, at - 1, at + 1), _joined(terms, at - 2, at + 2))
    return found


def _joined(terms: Sequence[str], *places: int) -> str:
    return " ".join(terms[place] for place in places if 0 <= place < len(terms) and terms[place])


# --- rows and entries


def make_passages(db: Database, number: int) -> None:
    """Cut a memory into passages. Their entries follow with `refresh`."""
    title, body, created_at, space = _source(db, number)
    dates = date_terms(rows.moment(created_at))
    cut = enumerate(cuts(title, body))
    db.executemany(_INSERT_PASSAGE, [(number, space, ordinal, *part, dates) for ordinal, part in cut])


def _recut(db: Database, writer: Entries, number: int) -> None:
    """Cut a memory again, while the index is empty; where the cuts are the same, vectors stay."""
    title, body, created_at, space = _source(db, number)
    cut = list(cuts(title, body))
    present = db.execute(
        "SELECT start, stop FROM passages WHERE memory = ? AND space = ? ORDER BY ordinal", (number, space)
    ).fetchall()
    if present != [(part.start, part.stop) for part in cut]:
        _remove_passages(db, writer, number)
        make_passages(db, number)
        return
    dates = date_terms(rows.moment(created_at))
    db.executemany(
        "UPDATE passages SET own = ?, near = '', far = '', dates = ? WHERE memory = ? AND ordinal = ?",
        [(part.own, dates, number, ordinal) for ordinal, part in enumerate(cut)],
    )


def _source(db: Database, number: int) -> tuple[str, str, int, int]:
    statement = "SELECT title, body, created_at, space FROM memories WHERE number = ?"
    title, body, created_at, space = next(db.execute(statement, (number,)))
    return title, body, created_at, space


def drop_passages(db: Database, writer: Entries, number: int) -> tuple[int, int]:
    """Remove a memory's passages with their entries and vectors; returns how many of each."""
    statement = "SELECT id, space, own, near, far, dates FROM passages WHERE memory = ?"
    present = rows.fetch(db, statement, (number,))
    for id_, space, *columns in present:
        writer.drop(id_, space, Terms(*columns))
    return len(present), _remove_passages(db, writer, number)


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
    heads = {memory: head_terms(terms) for memory, terms in own}
    _write_entries(db, writer, beside(chain, heads, places), fresh)


def _chain(db: Database, session: int, first: Place, last: Place) -> list[Place]:
    """The memories of a session from four before `first` to four after `last`, in order.

    A whole exchange speaks for itself: with its neighbours' words the right one comes first less often
    (question → exchange @1 46 with them, 54 without; bench/real.py).
    """
    seen = """SELECT created_at, number FROM memories
        WHERE session = ? AND space > 0 AND status <> 'forgotten' AND kind NOT IN ('observation', 'summary')
        AND (created_at, number)"""
    forward, back = "ORDER BY created_at, number", "ORDER BY created_at DESC, number DESC"
    reach = f"LIMIT {2 * REACH}"
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
