"""The part `memories`: rows and passages. How words and vectors are found is the backend's part.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from claude_memory.errors import InvalidInput
from claude_memory.model import MemoryId, Passage, PassageId, ProjectId, StoredMemory
from claude_memory.store.base import StorePart
from claude_memory.store.model import Added, Erased
from claude_memory.store.sql import rows
from claude_memory.store.sql.rows import to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.model import MemoryFilter, SearchScope
    from claude_memory.redact.erasure import Holder
    from claude_memory.store.base import Database
    from claude_memory.store.model import TermStatistics, VectorScan

_MOST_WALKS = 50  # of more spaces than that, all rows are sorted
_BY_IDS = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    WHERE m.id IN (SELECT value FROM json_each(:ids))
      AND m.space IN (SELECT +value FROM json_each(:spaces)) AND """
_COMPLETE = """SELECT id FROM memories WHERE id >= ? AND id < ?
    AND space IN (SELECT +value FROM json_each(?)) ORDER BY id LIMIT 20"""
_PASSAGES = """SELECT q.id, m.id, p.id, q.ordinal, m.title, m.body, q.start, q.stop, q.own, q.near, q.far,
    q.dates FROM passages q JOIN memories m ON m.number = q.memory JOIN projects p ON p.number = m.project"""
# Chosen without a look at their texts: there may be a hundred thousand, for a few hundred that are read.
_UNEMBEDDED = f"""{_PASSAGES} JOIN (SELECT w.id, row_number() OVER () AS place FROM (
      SELECT q.id FROM passages q JOIN memories m ON m.number = q.memory
      WHERE q.id > :through AND {{mine}}
        AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model)
      ORDER BY m.status = 'forgotten', m.kind = 'observation', m.created_at DESC, m.number DESC, q.ordinal
      LIMIT :limit) w) w ON w.id = q.id ORDER BY w.place"""
_COVERAGE = """SELECT (SELECT coalesce(sum(passages), 0) FROM spaces),
    (SELECT coalesce(max(id), 0) > :through FROM passages)"""
_ADD_VECTOR = """INSERT INTO vectors (passage, model, space, vector) SELECT id, :model, space, {vector}
    FROM passages WHERE id = :passage ON CONFLICT (passage, model) DO NOTHING"""
_COMPLETE_THROUGH = """SELECT coalesce((SELECT q.id FROM passages q WHERE q.id > :through AND NOT EXISTS
        (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model) ORDER BY q.id LIMIT 1) - 1,
    (SELECT coalesce(max(id), 0) FROM passages)) WHERE {settled}"""


class Memories(StorePart, ABC):
    """What is worth recalling, with its passages, words and vectors."""

    _vector = ":vector"  # as a statement takes one, and how long it is
    _vector_length = "length(vector)"
    _mine = _settled = "1 = 1"  # memories `m` this home makes vectors for; whether no passage may come below

    def scrub(self) -> None:
        """Clean the backend's own files of what was erased, where it has any."""

    def _vector_value(self, vector: bytes) -> Any:
        return vector

    def add(self, memories: Sequence[StoredMemory]) -> Added:
        """Store a batch with its text entries; known ids and erased content are passed over.

        One that says what it supersedes lets that one sink, within the project. A memory of scope `user`
        belongs to the person it names, else to the person of this store.
        """
        from claude_memory.store.sql import write

        if not memories:
            return Added()
        with self._connections.writing() as db:
            return write.add(db, memories)

    def update(self, memory: StoredMemory) -> None:
        """Replace a memory, and its passages if title or body changed. NotFound if there is none."""
        from claude_memory.store.sql import write

        with self._connections.writing() as db:
            write.update(db, memory)

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        """Remove memories, the events they came from, text, vectors and file pages; leave tombstones.

        The sentences `texts`, by default what the memories say, are taken out of everything else, too, in
        every project.
        """
        from claude_memory.store.sql import erase

        with self._connections.writing() as db:
            erased = erase.erase(db, ids, texts=texts)
        if erased.memories:
            self.scrub()
        return erased

    def apply_tombstones(self) -> Erased:
        """Remove what tombstones name that came from elsewhere, as `erase` would have."""
        from claude_memory.store.sql import erase

        with self._connections.writing() as db:
            erased = erase.apply_tombstones(db)
        self.scrub()
        return erased

    def erased_sentences(self, project: ProjectId | None = None) -> Holder:
        """What was erased from a project, or from any, by its hashes: tells which texts hold it."""
        with self._connections.reading() as db:
            return rows.tombstones(db).sentences(project)

    def find(
        self,
        scope: SearchScope,
        filter_: MemoryFilter,
        *,
        ids: Sequence[MemoryId] | None = None,
        limit: int | None = None,
        newest_first: bool = True,
    ) -> list[StoredMemory]:
        """The memories that fit, by time; with `ids`, only those, in that order."""
        condition, values = rows.filter_sql(filter_)
        with self._connections.reading() as db:
            spaces = rows.spaces_of(db, scope)
            values |= {"spaces": rows.id_list(spaces), "ids": to_json(list(ids or ()))}
            values["limit"] = rows.EVERYTHING if limit is None else limit
            by_time = _by_time(spaces, condition, "DESC" if newest_first else "ASC")
            statement = by_time if ids is None else _BY_IDS + condition
            found = [rows.read(StoredMemory, row) for row in db.execute(statement, values)]
        if ids is None:
            return found
        known = {memory.id: memory for memory in found}
        return [known[id_] for id_ in dict.fromkeys(ids) if id_ in known][:limit]

    def complete_id(self, scope: SearchScope, prefix: str) -> list[MemoryId]:
        """Ids that begin with what a person typed, at most 20; nothing typed names nothing."""
        prefix = clean(prefix)
        with self._connections.reading() as db:
            values = (prefix, f"{prefix}\U0010ffff", rows.id_list(rows.spaces_of(db, scope)))
            near = [MemoryId(id_) for (id_,) in db.execute(_COMPLETE, values)]
        return [id_ for id_ in near if prefix and id_.startswith(prefix)]

    @abstractmethod
    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        """How many passages there are, how long they are, and how many hold each term."""

    @abstractmethod
    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        """Passages that hold at least one term, likeliest first. Never fails, whatever the terms."""

    @abstractmethod
    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        """The nearest passages to a vector, or to a passage, by exact cosine over vectors of this model.

        The figures are of all vectors in scope, the candidates pass the filter.
        """

    @abstractmethod
    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        """How near passages are to a vector, or to a passage; those without a vector are left out."""

    def passages(self, ids: Sequence[PassageId]) -> list[Passage]:
        """Whole passages in the order asked for; one that is gone is left out."""
        statement = f"{_PASSAGES} WHERE q.id IN (SELECT +value FROM json_each(?))"
        by_id = {row[0]: _passage(row) for row in self._read(statement, (rows.id_list(ids),))}
        return [by_id[id_] for id_ in dict.fromkeys(ids) if id_ in by_id]

    def unembedded(self, model: str, limit: int) -> list[Passage]:
        """Passages that have no vector of this model yet, newest memories first, bulk observations last."""
        with self._connections.reading() as db:
            number, through = _model(db, model)
            values = {"through": through, "model": number, "limit": limit}
            return [_passage(row) for row in db.execute(_UNEMBEDDED.format(mine=self._mine), values)]

    def coverage(self, model: str) -> tuple[int, int]:
        """How many passages there are, and how many have no vector of this model."""
        with self._connections.reading() as db:
            number, through = _model(db, model)
            passages, behind = next(db.execute(_COVERAGE, {"through": through}))
            count = "SELECT count(*) FROM vectors WHERE model = ?"  # takes long, and rarely is needed
            missing = int(passages) - int(db.execute(count, (number,)).get) if behind else 0
        return int(passages), missing

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        """Attach vectors; a passage that is gone by now, or has one, is passed over."""
        if not vectors:
            return 0
        with self._connections.writing() as db:
            number, through = _model(db, model)
            if number is None:
                db.execute("INSERT INTO models (id) VALUES (?) ON CONFLICT DO NOTHING", (model,))
                number, through = _model(db, model)
            usual = f"SELECT {self._vector_length} FROM vectors WHERE model = ? LIMIT 1"
            lengths = {len(vector) for _, vector in vectors} | {db.execute(usual, (number,)).get} - {None}
            if len(lengths) > 1 or not lengths.pop():
                raise InvalidInput(f"vectors of {model} must all have the same length")
            stored = 0
            for passage, vector in vectors:
                values = {"model": number, "vector": self._vector_value(vector), "passage": passage}
                db.execute(_ADD_VECTOR.format(vector=self._vector), values)
                stored += db.changes()
            # Up to which passage all have their vector is noted: so looking for gaps stays cheap.
            complete = _COMPLETE_THROUGH.format(settled=self._settled)
            reached = db.execute(complete, {"through": through, "model": number}).get
            if reached is not None and reached > through:
                db.execute("UPDATE models SET complete_through = ? WHERE number = ?", (reached, number))
            return stored

    def drop_vectors(self, *, keep: str | None) -> int:
        """Remove vectors of every other model (after a change of model)."""
        others = "model IN (SELECT number FROM models WHERE id IS DISTINCT FROM ?)"
        with self._connections.writing() as db:
            db.execute(f"DELETE FROM vectors WHERE {others}", (keep,))
            dropped = db.changes()
            db.execute("DELETE FROM models WHERE id IS DISTINCT FROM ?", (keep,))
        return dropped

    def rebuild_index(self) -> int:
        """Make passages and text entries anew from the memories; returns the passages there are."""
        from claude_memory.store.sql import write

        with self._connections.writing() as db:
            return write.rebuild(db)


def searchable(title: str, body: str) -> str:
    """What is searched and embedded of a memory; a title that only repeats the beginning adds nothing."""
    head = title.strip().rstrip("…").rstrip()
    return body if not head or body.lstrip().startswith(head) else f"{title}\n{body}"


def _by_time(spaces: Sequence[int], condition: str, order: str) -> str:
    """One ordered walk per space: a common `IN` would sort the whole project for ten rows."""
    where = [f"m.space = {space:d}" for space in spaces]
    if len(spaces) > _MOST_WALKS:
        where = ["m.space IN (SELECT +value FROM json_each(:spaces))"]
    walks = " UNION ALL ".join(
        f"""SELECT * FROM (SELECT m.number, m.created_at FROM memories m WHERE {place}
            AND {condition} ORDER BY m.created_at {order}, m.number {order} LIMIT :limit) w"""
        for place in where
    )
    return f"""SELECT {rows.MEMORY_COLUMNS} FROM ({walks}) walked
        JOIN memories m ON m.number = walked.number JOIN projects p ON p.number = m.project
        LEFT JOIN sessions s ON s.number = m.session
        ORDER BY m.created_at {order}, m.number {order} LIMIT :limit"""


def _passage(row: Sequence[Any]) -> Passage:
    id_, memory, project, ordinal, title, body, start, stop, *terms = row
    own, near, far, dates = (tuple(column.split()) for column in terms)
    text = searchable(title, body)[start:stop]
    return Passage(PassageId(id_), MemoryId(memory), ProjectId(project), ordinal, text, own, near, far, dates)


def _model(db: Database, id_: str) -> tuple[int | None, int]:
    """A model's number, and up to which passage all have its vector."""
    statement = "SELECT number, complete_through FROM models WHERE id = ?"
    number, through = next(db.execute(statement, (id_,)), (None, 0))
    return number, through
