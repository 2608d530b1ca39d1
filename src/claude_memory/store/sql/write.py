"""Adding and changing rows, with their text entries and what the mirrors are told, in one transaction.

A memory becomes passages. Each is found by its own words, its neighbours' and its day's, in every backend the
same; entries are kept in step with their rows and their neighbours, whatever the index is. Every term carries
the number of its space there, so that a query of one project cannot meet a row of another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.errors import NotFound
from claude_memory.model import Event, Kind, PersonId, ProjectId, Scope, SessionId, Status, StoredMemory
from claude_memory.store.model import Added
from claude_memory.store.sql import changes, projects, rows
from claude_memory.store.sql.memories import searchable
from claude_memory.store.sql.rows import kept, kept_whole, to_json
from claude_memory.text import words
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database, Entries

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
_SESSION = """INSERT INTO sessions (project, id, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)
    ON CONFLICT (project, id) DO UPDATE SET first_seen = min(sessions.first_seen, ?3),
        last_seen = max(sessions.last_seen, ?3)
    RETURNING number"""
_CHANGES = {Status.FORGOTTEN: "forget", Status.SUPERSEDED: "supersede", Status.ARCHIVED: "archive"}


class Places:
    """Numbers of projects, sessions and people, looked up once per transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._projects: dict[ProjectId, int] = {}
        self._sessions: dict[tuple[int, SessionId], tuple[int, int, int]] = {}

    def project(self, id_: ProjectId) -> int:
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

    @cached_property
    def person(self) -> PersonId:
        return PersonId(str(rows.noted(self._db, "person")))

    def owned(self, memory: StoredMemory) -> StoredMemory:
        """The memory with its owner: the person of this store, unless it names another."""
        person = (memory.person or self.person) if memory.scope is Scope.USER else None
        return memory if person == memory.person else replace(memory, person=person)

    def columns(self, memory: StoredMemory) -> dict[str, Any]:
        """A memory's columns, with numbers for what they name, and the space that it is searched in."""
        person, space = None, self.project(memory.project)
        session = self.session(space, memory.session, memory.created_at)
        numbers = {"project": space, "session": session}
        if memory.person is not None:
            named = (kept(memory.person),)
            person = self._db.execute("SELECT number FROM people WHERE id = ?", named).get
            if person is None:
                made = "INSERT INTO people (id, name) VALUES (?, '') RETURNING number"
                person = self._db.execute(made, named).get
            space = self._db.user_space if memory.person == self.person else -person
        return {**rows.columns(memory), **numbers, "person": person, "space": space}


def add_events(db: Database, events: Sequence[Event]) -> int:
    places, tombstones = Places(db), rows.tombstones(db)
    stored = 0
    for event in map(kept_whole, events):
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
    for offered in map(kept_whole, memories):
        memory = tombstones.admitted(places.owned(offered))
        if memory is None:
            tombstoned += 1
            continue
        if db.is_shared and memory.person not in (None, places.person):
            continue  # what is a person's alone only they can bring
        number = db.execute(_INSERT_MEMORY, places.columns(memory)).get
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
            _supersede(db, memory)
    now = datetime.now(UTC)
    late = [(number, rows.stamp(now)) for number, memory in stored if now - memory.created_at > _LATE]
    db.executemany("INSERT INTO arrivals (memory, at) VALUES (?, ?) ON CONFLICT DO NOTHING", late)
    writer, numbers = db.entries(), [number for number, _ in stored]
    for number in numbers:
        make_passages(db, writer, number)
    refresh(db, writer, numbers, fresh=set(numbers))
    writer.flush()
    return Added(len(stored), duplicates, tombstoned)


def _write_sides(db: Database, number: int, memory: StoredMemory) -> None:
    topics = {clean(topic).casefold() for topic in memory.topics}
    paths = [(*pair, number) for pair in rows.named_paths(memory.files) if pair[1]]
    named = "INSERT INTO memory_topics (topic, memory) VALUES (?, ?)"
    db.executemany(named, [(topic, number) for topic in topics])
    db.executemany("INSERT INTO memory_files (name, path, memory) VALUES (?, ?, ?)", paths)


def _supersede(db: Database, newer: StoredMemory) -> None:
    """The old one stays, says what replaced it, and sinks. Another project's memory is out of reach."""
    values = (newer.id, rows.stamp(newer.created_at), newer.supersedes)
    number = db.execute(_SINK, values).get if newer.supersedes else None
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
    """Replace a row; what is searched of it is made anew only if that changed. `counts`: see `changes`."""
    before = next(db.execute(_BEFORE, (memory.id,)), None)
    if before is None:
        raise NotFound(f"no memory {memory.id}")
    number, session, created_at, *said = before
    was = {"created_at": created_at, **dict(zip(_SAID, said, strict=True))}
    places = Places(db)
    memory = rows.tombstones(db).left_of(places.owned(kept_whole(memory)))
    values, status = places.columns(memory), memory.status
    db.execute(_UPDATE_MEMORY, values)
    for table in ("memory_topics", "memory_files"):
        db.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
    _write_sides(db, number, memory)
    hidden = (was["status"] == Status.FORGOTTEN) != (status is Status.FORGOTTEN)
    if mirrored:
        counts = counts and any(was[name] != values[name] for name in _SAID)
        change = "update" if was["status"] == status else _CHANGES.get(status, "restore")
        changes.record_states(db, change, [(number, memory)], counts=counts)
        if counts and hidden:
            statement = "UPDATE memories SET hidden_clock = clock, hidden_home = home WHERE number = ?"
            db.execute(statement, (number,))
        if change == "supersede" and memory.superseded_by:
            _sink_twins(db, number)
    cut_anew = any(was[name] != values[name] for name in ("space", "created_at", "title", "body"))
    if not (cut_anew or hidden or session != values["session"]):
        return
    writer = db.entries()
    if cut_anew:
        drop_passages(db, writer, number)
        make_passages(db, writer, number)
    fresh = {number} if cut_anew else set()
    if session is not None:
        refresh_session(db, writer, session, [(created_at, 0)], fresh)
    refresh(db, writer, [number], fresh=fresh)
    writer.flush()


# --- passages and their entries in the text index

REACH = 2  # neighbours of the same session whose words count, on either side
NEIGHBOUR_TERMS = 200  # of each neighbour: enough for a turn, little enough that a paste drowns nobody
_REBUILT = 2_000  # memories whose entries are made anew at once
_INSERT_PASSAGE = """INSERT INTO passages (memory, space, ordinal, start, stop, own, near, far, dates)
    VALUES (?, ?, ?, ?, ?, ?, '', '', ?)"""
_OWN_TERMS = """SELECT memory, own FROM passages
    WHERE ordinal = 0 AND memory IN (SELECT +value FROM json_each(?))"""
# A whole exchange speaks for itself: with its neighbours' words the right one comes first less often
# (question → exchange @1 46 with them, 54 without; bench/real.py).
_SEEN = """SELECT created_at, number FROM memories
    WHERE session = ? AND space > 0 AND status <> 'forgotten' AND kind NOT IN ('observation', 'summary')
    AND (created_at, number)"""

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


def _cuts(title: str, body: str) -> Iterator[tuple[int, int, str]]:
    """Where each passage begins and ends, and its terms; later ones are found by the title's words, too."""
    whole = searchable(title, body)
    start = 0
    for ordinal, part in enumerate(words.passages(whole)):
        # Slices overlap, so each is found from where the last one began.
        start = whole.index(part, start + 1 if ordinal else 0)
        terms = words.index_terms(part)
        yield start, start + len(part), " ".join(words.index_terms(title) + terms if ordinal else terms)


def make_passages(db: Database, writer: Entries, number: int, *, anew: bool = False) -> None:
    """Cut a memory into passages, whose entries follow with `refresh`; `anew`, while the index is empty,
    vectors stay where the cuts do."""
    statement = "SELECT title, body, created_at, space FROM memories WHERE number = ?"
    title, body, created_at, space = next(db.execute(statement, (number,)))
    cuts, dates = list(_cuts(title, body)), " ".join(words.date_terms(rows.moment(created_at)))
    if anew:
        before = "SELECT start, stop FROM passages WHERE memory = ? AND space = ? ORDER BY ordinal"
        if rows.fetch(db, before, (number, space)) == [(start, stop) for start, stop, _ in cuts]:
            same = (
                "UPDATE passages SET own = ?, near = '', far = '', dates = ? WHERE memory = ? AND ordinal = ?"
            )
            values = [(own, dates, number, ordinal) for ordinal, (*_, own) in enumerate(cuts)]
            db.executemany(same, values)
            return
        _remove_passages(db, writer, number)
    db.executemany(
        _INSERT_PASSAGE, [(number, space, ordinal, *cut, dates) for ordinal, cut in enumerate(cuts)]
    )


def drop_passages(db: Database, writer: Entries, number: int) -> tuple[int, int]:
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


def refresh(db: Database, writer: Entries, numbers: Iterable[int], *, fresh: set[int]) -> None:
    """Bring the entries of these memories and of those beside them up to date.

    `fresh` are memories whose passages have no entry yet; each leaves the set when it gets one.
    """
    sessions: defaultdict[int | None, list[Place]] = defaultdict(list)
    for number in numbers:
        statement = "SELECT session, created_at FROM memories WHERE number = ?"
        session, created_at = next(db.execute(statement, (number,)))
        sessions[session].append((created_at, number))
    for session, places in sessions.items():
        refresh_session(db, writer, session, sorted(places), fresh)


def refresh_session(
    db: Database, writer: Entries, session: int | None, places: list[Place], fresh: set[int]
) -> None:
    """Bring the entries at and around places of a session up to date; without one, each stands alone.

    A place may be empty: that is the gap of a memory that is gone, or seen no longer.
    """
    chain = _chain(db, session, places[0], places[-1]) if session is not None else []
    own = dict(rows.fetch(db, _OWN_TERMS, (rows.id_list(number for _, number in chain),)))
    terms = (own.get(number, "").split(" ", NEIGHBOUR_TERMS)[:NEIGHBOUR_TERMS] for _, number in chain)
    heads = [" ".join(head) for head in terms]

    def joined(*at: int) -> str:
        return " ".join(heads[place] for place in at if 0 <= place < len(heads) and heads[place])

    around: set[int] = set()
    for place in places:
        at = bisect_left(chain, place)
        around.update(range(max(0, at - REACH), min(len(chain), at + REACH + 1)))
    # Forgotten and personal memories stand outside the chain, and have no neighbours.
    beside = dict.fromkeys((number for _, number in places), ("", ""))
    beside |= {chain[at][1]: (joined(at - 1, at + 1), joined(at - 2, at + 2)) for at in around}
    _write_entries(db, writer, beside, fresh)


def _chain(db: Database, session: int, first: Place, last: Place) -> list[Place]:
    """The memories of a session from four before `first` to four after `last`, in order."""
    forward, back = "ORDER BY created_at, number", "ORDER BY created_at DESC, number DESC"
    reach = f"LIMIT {2 * REACH}"
    before = rows.fetch(db, f"{_SEEN} < (?, ?) {back} {reach}", (session, *first))
    middle = rows.fetch(db, f"{_SEEN} BETWEEN (?, ?) AND (?, ?) {forward}", (session, *first, *last))
    after = rows.fetch(db, f"{_SEEN} > (?, ?) {forward} {reach}", (session, *last))
    return [(at, number) for at, number in (*reversed(before), *middle, *after)]


def _write_entries(
    db: Database, writer: Entries, beside: Mapping[int, tuple[str, str]], fresh: set[int]
) -> None:
    statement = """SELECT memory, id, space, own, near, far, dates FROM passages
        WHERE memory IN (SELECT +value FROM json_each(?)) ORDER BY id"""
    present = rows.fetch(db, statement, (rows.id_list(beside),))
    changed = {row[1] for row in present if beside[row[0]] != row[4:6]}
    moved = [(*beside[row[0]], row[1]) for row in present if row[1] in changed]
    db.executemany("UPDATE passages SET near = ?, far = ? WHERE id = ?", moved)
    for memory, id_, space, *columns in present:
        if id_ in changed and memory not in fresh:
            writer.drop(id_, space, Terms(*columns))
    for memory, id_, space, own, _, _, dates in present:
        if id_ in changed or memory in fresh:
            writer.put(id_, space, Terms(own, *beside[memory], dates))
    fresh.difference_update(beside)


def rebuild(db: Database) -> int:
    """Make all entries anew from the memories; returns the passages there are.

    In one transaction, so that no row falls between two passes. Unchanged passages keep ids and vectors.
    """
    writer = db.entries()
    writer.clear()
    for table in ("passages", "arrivals", "unjudged"):
        db.execute(f"DELETE FROM {table} WHERE memory NOT IN (SELECT number FROM memories)")
    in_order = "SELECT number FROM memories ORDER BY session, created_at, number"
    numbers = [number for (number,) in rows.fetch(db, in_order)]
    for number in numbers:
        make_passages(db, writer, number, anew=True)
    fresh = set(numbers)
    for start in range(0, len(numbers), _REBUILT):
        refresh(db, writer, numbers[start : start + _REBUILT], fresh=fresh)
        writer.flush()
    return int(db.execute("SELECT count(*) FROM passages").get)
