"""The store in one SQLite file: passages found by words and by vectors, within a bounded amount of work.

FTS5 finds and scores words; the lexicon says beforehand what that will cost. Vectors are scanned exactly;
numpy is loaded with the first scan, not with the store. Ranking is not done here.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.errors import StoreBusy
from claude_memory.model import MemoryFilter, PassageId, ProjectId, SearchScope
from claude_memory.store.base import Store, counted
from claude_memory.store.model import TermStatistics, VectorScan
from claude_memory.store.sql import rows
from claude_memory.store.sql.memories import Memories
from claude_memory.store.sql.rows import to_json
from claude_memory.store.sqlite.connection import Connections
from claude_memory.store.sqlite.schema import key

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from claude_memory.store.base import Database
    from claude_memory.store.model import Integrity, StoreStats
    from claude_memory.store.sqlite.matrix import Matrices

# Scored per query, at about 1 µs each; stores of some thousand passages are searched exhaustively. On
# 20,000 passages of unrelated words this keeps 95% of the exact ten best; four times as many, 96%.
POSTINGS_BUDGET = 5_000
_MAX_TERMS = 400
_COMMON_TERMS = 3  # of those the budget cannot pay, read for the newest passages only
_SCORED = """SELECT rowid, bm25(text_index, 1.0, 1.0, 0.5, 0.5) * :factor{n} AS score FROM text_index
    WHERE text_index MATCH :match{n}{allowed}"""
# bm25() counts a term's postings first, which for a common one is the very cost to be avoided.
_NOTED = """SELECT rowid, -:factor{n} AS score FROM text_index
    WHERE text_index MATCH :match{n} AND rowid >= :floor{n}"""
_SUMMED = """SELECT rowid, sum(score) FROM ({parts}) GROUP BY rowid ORDER BY sum(score), rowid DESC
    LIMIT :limit"""
_ONE_BY_ONE = 2_000  # nearest passages; after that the filter is so narrow that a list is shorter
_VECTOR = """SELECT vector FROM vectors
    WHERE passage = ? AND model = (SELECT number FROM models WHERE id = ?)"""
_VECTORS = """SELECT v.passage, v.vector FROM vectors v JOIN models n ON n.number = v.model AND n.id = ?
    WHERE v.passage IN (SELECT value FROM json_each(?)) AND length(v.vector) = ?"""
_NOTHING_NEAR = VectorScan((), 0, 0.0, 0.0, 0.0)
_ALLOWED = " AND +rowid IN (SELECT value FROM json_each(:allowed))"  # + keeps MATCH the only way in


class Posting(NamedTuple):
    """One term in one space: how many passages hold it there, what it counts, from where it is read."""

    passages: int
    key: str
    weight: float
    floor: int = 0


class SqliteMemories(Memories):
    """Memories, found by FTS5 and by a scan of all vectors."""

    def __init__(self, connections: Connections, cache: Path) -> None:
        super().__init__(connections)
        self._file = connections
        self._cache = cache
        connections.when_replaced = self.close

    @cached_property
    def _matrices(self) -> Matrices:
        from claude_memory.store.sqlite.matrix import Matrices

        return Matrices(self._cache)

    def close(self) -> None:
        """Let go of vectors: of a file that was replaced, they stand under numbers of other passages."""
        self.__dict__.pop("_matrices", None)

    def scrub(self) -> None:
        """Clean files of what was erased. A reader that needs old pages delays it to the next pruning."""
        with contextlib.suppress(StoreBusy):
            self._file.scrub()
        self._discard_outdated_caches()

    def _discard_outdated_caches(self) -> None:
        if self._cache.is_dir():
            from claude_memory.store.sqlite import matrix

            with self._connections.reading() as db:
                matrix.discard_outdated(db, self._cache)

    def drop_vectors(self, *, keep: str | None) -> int:
        dropped = super().drop_vectors(keep=keep)
        self._write("DELETE FROM dead_vectors WHERE model NOT IN (SELECT number FROM models)")
        return dropped

    def rebuild_index(self) -> int:
        made = super().rebuild_index()
        self._discard_outdated_caches()
        return made

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        with self._connections.reading() as db:
            look = _Look(db, scope, MemoryFilter())
            passages, length = look.totals()
            frequency = {term: sum(places.values()) for term, places in look.counts(terms).items()}
        return TermStatistics(passages, length / passages if passages else 0.0, frequency)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        if limit <= 0 or not terms:
            return []
        with self._connections.reading() as db:
            return _Look(db, scope, filter_).by_words(dict(islice(terms.items(), _MAX_TERMS)), limit)

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        with self._connections.reading() as db:
            vector = _vector_of(db, near, model)
            return _Look(db, scope, filter_).by_vector(self._matrices, vector, model, limit)

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        with self._connections.reading() as db:
            vector = _vector_of(db, near, model)
            held = rows.fetch(db, _VECTORS, (model, rows.id_list(ids), len(vector))) if vector else []
        if not held:
            return {}
        import numpy as np

        from claude_memory.store.sqlite import matrix

        made = matrix.rows_of([id_ for id_, _ in held], b"".join(row for _, row in held), len(vector))
        scores = matrix.cosines(made, made["norm"], np.frombuffer(vector, np.int8))
        return {PassageId(id_): score for (id_, _), score in zip(held, scores.tolist(), strict=True)}


class SqliteStore(Store):
    memories: SqliteMemories

    def __init__(
        self, path: Path, home: Path, *, keep_backups: int = 5, patience_ms: int | None = None
    ) -> None:
        """Open, make or migrate the store; an existing one is backed up before it is migrated.

        `patience_ms` is how long a call waits for another process that writes.
        """
        self.path = path
        self._cache = home / "cache" / "vectors"
        self._connections = Connections(path, home / "backups", keep_backups, patience_ms)
        super().__init__(self._connections, SqliteMemories(self._connections, self._cache))

    def check(self) -> Integrity:
        from claude_memory.store.sqlite import inspection

        with self._connections.reading() as db:
            return inspection.check(db, self._cache)

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        beside = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        size = sum(part.stat().st_size for part in beside if part.exists())
        with self._connections.reading() as db:
            return counted(db, project, version=int(db.pragma("user_version")), size_bytes=size)

    def export(self, target: Path) -> int:
        from claude_memory.store.sqlite import inspection

        with self._connections.reading() as db:
            return inspection.copy(db, target)

    def close(self) -> None:
        self.memories.close()
        self._connections.close()


def _vector_of(db: Database, near: bytes | PassageId, model: str) -> bytes:
    """A vector as it is given, or that of a passage; empty if it has none of this model."""
    return near if isinstance(near, bytes) else bytes(db.execute(_VECTOR, (near, model)).get or b"")


class _Look:
    """One question within one transaction: the spaces it may see, and what its filter lets through."""

    def __init__(self, db: Database, scope: SearchScope, filter_: MemoryFilter) -> None:
        self._db = db
        self.spaces = rows.spaces_of(db, scope)
        self._restricts = filter_.restricts
        self._condition, self._values = rows.filter_sql(filter_)

    def _passing(self, ids: Sequence[int]) -> list[int]:
        """Those of some passages that the filter lets through, in their order."""
        statement = f"""SELECT q.id FROM json_each(:ids) wanted JOIN passages q ON q.id = wanted.value
            JOIN memories m ON m.number = q.memory WHERE {self._condition}"""
        found = self._db.execute(statement, {**self._values, "ids": rows.id_list(ids)})
        through = {id_ for (id_,) in found}
        return [id_ for id_ in ids if id_ in through]

    def _all_passing(self) -> list[int]:
        statement = f"""SELECT q.id FROM memories m JOIN passages q ON q.memory = m.number
            WHERE m.space IN (SELECT value FROM json_each(:spaces)) AND {self._condition}"""
        values = {**self._values, "spaces": rows.id_list(self.spaces)}
        return [id_ for (id_,) in self._db.execute(statement, values)]

    # --- words

    def totals(self) -> Any:
        """How many passages there are in scope, and their summed length."""
        statement = """SELECT coalesce(sum(passages), 0), coalesce(sum(length), 0.0) FROM spaces
            WHERE number IN (SELECT value FROM json_each(?))"""
        return next(self._db.execute(statement, (rows.id_list(self.spaces),)))

    def counts(self, terms: Iterable[str]) -> dict[str, dict[int, int]]:
        """How many passages hold each term, by the spaces in which any holds it."""
        keys = {key(space, term): (term, space) for term in terms for space in self.spaces}
        statement = "SELECT term, passages FROM lexicon WHERE term IN (SELECT value FROM json_each(?))"
        counted: dict[str, dict[int, int]] = {term: {} for term, _ in keys.values()}
        for name, count in self._db.execute(statement, (to_json(list(keys)),)):
            term, space = keys[name]
            counted[term][space] = count
        return counted

    def by_words(self, terms: Mapping[str, float], limit: int) -> list[PassageId]:
        postings = self._postings(terms)
        plan = {space: self._affordable(of_space) for space, of_space in postings.items()}
        enough = -1 if self._restricts else 2 * limit + 64
        ranked = self._ranked(plan, enough)
        chosen = self._first_passing(ranked, limit)
        if len(chosen) < limit and len(ranked) == enough:  # many of the best are forgotten
            chosen = self._first_passing(self._ranked(plan, -1), limit)
        if len(chosen) < limit and self._restricts and plan != postings:
            # The filter leaves few rows with the rare terms: every posting is read, only its rows are scored.
            chosen = self._ranked(postings, limit, self._all_passing())
        return [PassageId(id_) for id_ in chosen]

    def _postings(self, terms: Mapping[str, float]) -> dict[int, list[Posting]]:
        """Per space the terms that occur there, rarest first, with their weight in the whole scope."""
        passages, _ = self.totals()
        by_space: defaultdict[int, list[Posting]] = defaultdict(list)
        for term, counts in self.counts(terms).items():
            holding = sum(counts.values())
            weight = terms[term] * math.log(1 + (passages - holding + 0.5) / (holding + 0.5))
            for space, count in counts.items():
                by_space[space].append(Posting(count, key(space, term), weight))
        return {space: sorted(postings) for space, postings in by_space.items()}

    def _affordable(self, postings: Sequence[Posting]) -> list[Posting]:
        """The rarest terms, as many as the budget allows: they decide a ranking anyway.

        What is left goes to the next ones, read for the newest passages only: words that are everywhere
        tell little, and where all are such, the newest stand for the rest.
        """
        left = POSTINGS_BUDGET
        taken = []
        for posting in postings:
            if posting.passages > left:
                break
            left -= posting.passages
            taken.append(posting)
        common = postings[len(taken) :][:_COMMON_TERMS]
        if common:
            share = left / sum(posting.passages for posting in common)
            last = int(self._db.execute("SELECT coalesce(max(id), 0) FROM passages").get)
            taken += [posting._replace(floor=int(last * (1 - share))) for posting in common]
        return taken

    def _ranked(
        self, plan: Mapping[int, list[Posting]], limit: int, allowed: Sequence[int] | None = None
    ) -> list[int]:
        """Passages by their summed scores over all spaces; equal ones newest first."""
        total = int(self._db.execute("SELECT coalesce(sum(passages), 0) FROM spaces").get)
        scored = chain(*(self._scored(postings, total, limit, allowed) for postings in plan.values()))
        ranked = sorted(scored, key=lambda pair: (pair[1], -pair[0]))
        return [rowid for rowid, _ in ranked][: limit if limit >= 0 else None]

    def _scored(
        self, postings: Sequence[Posting], total: int, limit: int, allowed: Sequence[int] | None
    ) -> list[tuple[Any, ...]]:
        values: dict[str, Any] = {"limit": limit}
        parts = []
        for place, (passages, name, weight, floor) in enumerate(postings):
            values |= {f"match{place}": f'"{name}"', f"factor{place}": weight}
            if floor:
                values[f"floor{place}"] = floor
                parts.append(_NOTED.format(n=place))
            else:
                # bm25() multiplies with the rarity in the whole table; it is divided out again.
                odds = (total - passages + 0.5) / (passages + 0.5)
                values[f"factor{place}"] /= math.log(odds) if odds > 1 else 1e-6
                parts.append(_SCORED.format(n=place, allowed="" if allowed is None else _ALLOWED))
        if allowed is not None:
            values["allowed"] = rows.id_list(allowed)
        # The empty part keeps SQLite from merging a single part into the sum, where bm25() cannot work.
        statement = _SUMMED.format(parts=" UNION ALL ".join([*parts, "SELECT 0, 0.0 WHERE 0"]))
        return rows.fetch(self._db, statement, values)

    def _first_passing(self, ranked: Sequence[int], limit: int) -> list[int]:
        found: list[int] = []
        start, size = 0, 2 * limit
        while len(found) < limit and start < len(ranked):
            found += self._passing(ranked[start : start + size])
            start, size = start + size, size * 4
        return found[:limit]

    # --- vectors

    def by_vector(self, matrices: Matrices, vector: bytes, model: str, limit: int) -> VectorScan:
        import numpy as np

        query = np.frombuffer(vector, np.int8)
        number = self._db.execute("SELECT number FROM models WHERE id = ?", (model,)).get
        if number is None or not query.any():
            return _NOTHING_NEAR
        found = (matrices.of(self._db, space, number, len(vector)) for space in self.spaces)
        held = [matrix for matrix in found if len(matrix)]
        if not held:
            return _NOTHING_NEAR
        scores, passages = [matrix.scores(query) for matrix in held], [matrix.passages for matrix in held]
        # The usual single space is not copied, which at a million rows costs as much as the scan.
        score = scores[0] if len(held) == 1 else np.concatenate(scores)
        passage = passages[0] if len(held) == 1 else np.concatenate(passages)
        if any(matrix.dead for matrix in held):
            living = ~np.isnan(score)
            score, passage = score[living], passage[living]
        if not len(score):
            return _NOTHING_NEAR
        best = tuple(self._nearest(passage, score, limit))
        return VectorScan(best, len(score), float(score.min()), float(score.mean()), float(score.std()))

    def _nearest(
        self, passages: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], limit: int
    ) -> list[tuple[PassageId, float]]:
        """The `limit` best that pass, with their scores; equal scores go to the newer passage."""
        import numpy as np

        size = 2 * limit + 16
        best: list[tuple[PassageId, float]] = []
        while limit > 0:
            top = np.argpartition(-scores, size - 1)[:size] if size < len(scores) else np.arange(len(scores))
            top = top[np.lexsort((-passages[top], -scores[top]))]
            score_of = dict(zip(passages[top].tolist(), scores[top].tolist(), strict=True))
            best = [(PassageId(id_), score_of[id_]) for id_ in self._passing(list(score_of))[:limit]]
            if len(best) == limit or size >= len(passages):
                break
            size *= 4
            if size > _ONE_BY_ONE:
                allowed = np.isin(passages, self._all_passing())
                passages, scores, size = passages[allowed], scores[allowed], limit
        return best
