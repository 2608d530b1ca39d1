"""The part `memories` in SQLite: what each method promises stands in `store.protocol`.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from claude_memory.errors import InvalidInput, StoreBusy
from claude_memory.model import (
    MemoryFilter,
    MemoryId,
    Passage,
    PassageId,
    ProjectId,
    SearchScope,
    StoredMemory,
)
from claude_memory.store.model import Added, Erased, TermStatistics, VectorScan
from claude_memory.store.passages import searchable
from claude_memory.store.records import moment_text, to_json
from claude_memory.store.sqlite import candidates, rows
from claude_memory.store.sqlite.connection import Connections
from claude_memory.text.characters import clean

if TYPE_CHECKING:
    from claude_memory.redact.erasure import Holder
    from claude_memory.store.sqlite.matrix import Matrices

_MOST_WALKS = 400  # SQLite joins at most 500 selects
_BY_IDS = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    WHERE m.id IN (SELECT value FROM json_each(:ids))
      AND m.space IN (SELECT value FROM json_each(:spaces)) AND """
_COMPLETE = """SELECT id FROM memories WHERE id >= ?1 AND id < ?1 || char(1114111)
    AND space IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT 20"""
_PASSAGES = """SELECT q.id, m.id, p.id, q.ordinal, m.title, m.body, q.start, q.stop, q.own, q.near, q.far,
    q.dates FROM passages q JOIN memories m ON m.number = q.memory JOIN projects p ON p.number = m.project"""
# Chosen without a look at their texts: there may be a hundred thousand, for a few hundred that are read.
_UNEMBEDDED = f"""{_PASSAGES} JOIN (SELECT w.id, row_number() OVER () AS place FROM (
      SELECT q.id FROM passages q JOIN memories m ON m.number = q.memory
        JOIN projects p ON p.number = m.project
      WHERE q.id > :through AND (:project IS NULL OR p.id = :project)
        AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model)
      ORDER BY m.status = 'forgotten', m.kind = 'observation', m.created_at DESC, m.number DESC, q.ordinal
      LIMIT :limit) w) w ON w.id = q.id ORDER BY w.place"""
_COVERAGE = """SELECT (SELECT coalesce(sum(passages), 0) FROM spaces),
    (SELECT coalesce(max(id), 0) > :through FROM passages)"""
_ADD_VECTOR = """INSERT INTO vectors (passage, model, space, vector) SELECT id, :model, space, :vector
    FROM passages WHERE id = :passage ON CONFLICT (passage, model) DO NOTHING"""
_FIRST_MISSING = """SELECT min(id) FROM (SELECT q.id FROM passages q WHERE q.id > :through AND NOT EXISTS
    (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model) ORDER BY q.id LIMIT 1)"""


class SqliteMemories:
    """Memories, their passages and vectors in one SQLite file."""

    def __init__(self, connections: Connections, cache: Path) -> None:
        self._connections = connections
        self._cache = cache
        self._matrices: Matrices | None = None
        self._guard = threading.Lock()
        connections.when_replaced = self.close

    def add(self, memories: Sequence[StoredMemory]) -> Added:
        from claude_memory.store.sqlite import write

        if not memories:
            return Added()
        with self._connections.writing() as db:
            return write.add(db, memories)

    def update(self, memory: StoredMemory) -> None:
        from claude_memory.store.sqlite import write

        with self._connections.writing() as db:
            write.update(db, memory)

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        from claude_memory.store.sqlite import erase

        with self._connections.writing() as db:
            erased = erase.erase(db, ids, _now(), texts=texts)
        if erased.memories:
            self.scrub()
        return erased

    def apply_tombstones(self) -> Erased:
        from claude_memory.store.sqlite import erase

        with self._connections.writing() as db:
            erased = erase.apply_tombstones(db, _now())
        self.scrub()
        return erased

    def scrub(self) -> None:
        """Clean files of what was erased. A reader that needs old pages delays it to the next pruning."""
        from claude_memory.store.sqlite import erase

        with contextlib.suppress(StoreBusy):
            self._connections.checked(erase.scrub)
        self._discard_outdated_caches()

    def _discard_outdated_caches(self) -> None:
        if self._cache.is_dir():
            from claude_memory.store.sqlite import matrix

            with self._connections.reading() as db:
                matrix.discard_outdated(db, self._cache)

    def erased_sentences(self, project: ProjectId | None = None) -> Holder:
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
        condition, values = rows.filter_sql(filter_)
        with self._connections.reading() as db:
            spaces = rows.spaces_of(db, scope)
            values["spaces"] = rows.id_list(spaces)
            if ids is None:
                values["limit"] = -1 if limit is None else limit
                statement = _by_time(spaces, condition, "DESC" if newest_first else "ASC")
                return [rows.memory_from_row(row) for row in db.execute(statement, values)]
            values["ids"] = to_json(list(ids))
            known = {row[0]: rows.memory_from_row(row) for row in db.execute(_BY_IDS + condition, values)}
        return [known[id_] for id_ in dict.fromkeys(ids) if id_ in known][:limit]

    def complete_id(self, scope: SearchScope, prefix: str) -> list[MemoryId]:
        prefix = clean(prefix)
        if not prefix:
            return []
        with self._connections.reading() as db:
            near = db.execute(_COMPLETE, (prefix, rows.id_list(rows.spaces_of(db, scope))))
            return [MemoryId(id_) for (id_,) in near if id_.startswith(prefix)]

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        with self._connections.reading() as db:
            return candidates.term_statistics(db, scope, terms)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        with self._connections.reading() as db:
            return candidates.by_words(db, scope, filter_, terms, limit)

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        with self._connections.reading() as db:
            return candidates.by_vector(db, self._loaded_matrices(), scope, filter_, near, model, limit)

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        with self._connections.reading() as db:
            return candidates.cosines(db, near, model, ids)

    def _loaded_matrices(self) -> Matrices:
        from claude_memory.store.sqlite.matrix import Matrices

        with self._guard:
            if self._matrices is None:
                self._matrices = Matrices(self._cache)
            return self._matrices

    def close(self) -> None:
        """Let go of vectors: of a file that was replaced, they stand under numbers of other passages."""
        with self._guard:
            if self._matrices is not None:
                self._matrices.close()
                self._matrices = None

    def passages(self, ids: Sequence[PassageId]) -> list[Passage]:
        statement = f"{_PASSAGES} WHERE q.id IN (SELECT value FROM json_each(?))"
        with self._connections.reading() as db:
            known = {row[0]: _passage(row) for row in db.execute(statement, (rows.id_list(ids),))}
        return [known[id_] for id_ in dict.fromkeys(ids) if id_ in known]

    def unembedded(self, model: str, limit: int, *, project: ProjectId | None = None) -> list[Passage]:
        """Newest memories first, but bulk observations after the rest."""
        with self._connections.reading() as db:
            number, through = _model(db, model)
            values = {"through": through, "project": project, "model": number, "limit": limit}
            return [_passage(row) for row in db.execute(_UNEMBEDDED, values)]

    def coverage(self, model: str) -> tuple[int, int]:
        with self._connections.reading() as db:
            number, through = _model(db, model)
            passages, behind = next(db.execute(_COVERAGE, {"through": through}))
            if not behind:
                return int(passages), 0
            vectors = db.execute("SELECT count(*) FROM vectors WHERE model = ?", (number,)).get
        return int(passages), int(passages) - int(vectors)

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        if not vectors:
            return 0
        with self._connections.writing() as db:
            db.execute("INSERT INTO models (id) VALUES (?) ON CONFLICT DO NOTHING", (model,))
            number, through = _model(db, model)
            usual = db.execute("SELECT length(vector) FROM vectors WHERE model = ? LIMIT 1", (number,)).get
            lengths = {len(vector) for _, vector in vectors} | ({usual} if usual else set())
            if len(lengths) > 1 or not lengths.pop():
                raise InvalidInput(f"vectors of {model} must all have the same length")
            before = db.total_changes()
            values = ({"model": number, "vector": vector, "passage": passage} for passage, vector in vectors)
            db.executemany(_ADD_VECTOR, values)
            stored = db.total_changes() - before
            _note_completeness(db, number, through)
            return stored

    def drop_vectors(self, *, keep: str | None) -> int:
        others = "model IN (SELECT number FROM models WHERE id IS NOT ?)"
        with self._connections.writing() as db:
            db.execute(f"DELETE FROM vectors WHERE {others}", (keep,))
            dropped = db.changes()
            db.execute(f"DELETE FROM dead_vectors WHERE {others}", (keep,))
            db.execute("DELETE FROM models WHERE id IS NOT ?", (keep,))
        return dropped

    def rebuild_index(self) -> int:
        from claude_memory.store.sqlite import text_index

        with self._connections.writing() as db:
            made = text_index.rebuild(db)
        self._discard_outdated_caches()
        return made


def _now() -> str:
    return moment_text(datetime.now(UTC))


def _by_time(spaces: Sequence[int], condition: str, order: str) -> str:
    """One ordered walk per space: a common `IN` would sort the whole project for ten rows."""
    where = [f"m.space = {space:d}" for space in spaces]
    if len(spaces) > _MOST_WALKS:
        where = ["m.space IN (SELECT value FROM json_each(:spaces))"]
    walks = " UNION ALL ".join(
        f"""SELECT * FROM (SELECT m.number, m.created_at FROM memories m WHERE {place}
            AND {condition} ORDER BY m.created_at {order}, m.number {order} LIMIT :limit)"""
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


def _model(db: apsw.Connection, id_: str) -> tuple[int | None, int]:
    """A model's number, and up to which passage all have its vector."""
    statement = "SELECT number, complete_through FROM models WHERE id = ?"
    number, through = next(db.execute(statement, (id_,)), (None, 0))
    return number, through


def _note_completeness(db: apsw.Connection, model: int | None, through: int) -> None:
    """Remember up to which passage all have their vector, so that looking for gaps stays cheap."""
    missing = db.execute(_FIRST_MISSING, {"through": through, "model": model}).get
    if missing is None:
        missing = int(db.execute("SELECT coalesce(max(id), 0) FROM passages").get) + 1
    if missing - 1 > through:
        db.execute("UPDATE models SET complete_through = ? WHERE number = ?", (missing - 1, model))
