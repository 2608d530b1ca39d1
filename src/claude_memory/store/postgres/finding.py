"""Finding passages in PostgreSQL: by their words through the GIN index, by their vectors through pgvector.

Words give more candidates than are asked for, by the rarity of the terms that they hold; the best of those
are told by BM25 over their terms, as FTS5 does in SQLite. Ranking is not done here.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from claude_memory.errors import StoreBusy
from claude_memory.model import MemoryFilter, MemoryId, PassageId, SearchScope
from claude_memory.store.model import TermStatistics, VectorScan
from claude_memory.store.postgres.team_server import LONGEST_TERM, key
from claude_memory.store.sql import rows
from claude_memory.store.sql.memories import Memories

if TYPE_CHECKING:
    from claude_memory.store.base import Database
    from claude_memory.store.model import Erased

# Postings that are scored for one question; the rarest terms first, which decide a ranking anyway.
POSTINGS_BUDGET = 5_000
# Vectors in scope that are compared one by one; above, the index of the model finds the nearest.
EXACT_THROUGH = 50_000
_EF_SEARCH = 200  # candidates that the index keeps at hand: with 100 every tenth of the nearest is missed
_SAMPLE = 1_000  # vectors from which the spread is told where not all are compared
_MAX_TERMS = 400
_LIGHTER = 3.0  # the most that a word said often counts, over the least that one said once does
_K1, _B = 1.2, 0.75  # FTS5's own, so that both backends give the same candidates
_FIELDS = (1.0, 1.0, 0.5, 0.5)  # own, near, far, dates

# The lexicon of a space counts its terms up to a passage; those after it, a few hundred, are looked at.
_LEXICONS = """SELECT space, through, passages, length FROM lexicons
    WHERE space = ANY(CAST(:spaces AS bigint[]))"""
_TAIL = """unnest(CAST(:spaces AS bigint[]), CAST(:throughs AS bigint[])) s (number, through)
    JOIN passages q ON q.space = s.number AND q.id > s.through"""
_TOTALS = f"SELECT count(*), coalesce(sum(q.length), 0.0) FROM {_TAIL}"
_FREQUENCIES = f"""SELECT key, CAST(sum(passages) AS bigint) FROM (
    SELECT space || '_' || term AS key, passages FROM lexicon
        WHERE space = ANY(CAST(:spaces AS bigint[])) AND term = ANY(CAST(:terms AS text[]))
    UNION ALL SELECT k.key, count(*) FROM {_TAIL}, unnest(q.terms) k (key)
        WHERE k.key = ANY(CAST(:keys AS text[])) GROUP BY k.key) c GROUP BY key"""
_RENEWED_AFTER, _RENEWED_SHARE = 200, 16  # passages, and a share of those that were counted
_IS_GROWN = f"""SELECT count(*) > {_RENEWED_AFTER} + coalesce(max(x.passages), 0) / {_RENEWED_SHARE}
    FROM passages q LEFT JOIN lexicons x ON x.space = q.space
    WHERE q.space = :space AND q.id > coalesce(x.through, 0)"""
_COUNT_TERMS = """INSERT INTO lexicon (space, term, passages)
    SELECT :space, substr(k.key, :head), count(*) FROM passages q, unnest(q.terms) k (key)
    WHERE q.space = :space AND q.id <= :through GROUP BY k.key"""
_COUNT_PASSAGES = """INSERT INTO lexicons (space, through, passages, length)
    SELECT :space, :through, count(*), coalesce(sum(length), 0.0) FROM passages
    WHERE space = :space AND id <= :through"""
_HOLDING = """SELECT q.id, h.score, q.own, q.near, q.far, q.dates
    FROM passages_holding(CAST(:keys AS text[]), CAST(:weights AS float8[])) h
    JOIN passages q ON q.id = h.id JOIN memories m ON m.number = q.memory WHERE {condition}
    ORDER BY h.score DESC, q.id DESC LIMIT :limit"""
_VECTOR = """SELECT CAST(v.vector AS text) FROM vectors v JOIN models n ON n.number = v.model AND n.id = ?
    WHERE v.passage = ?"""
# Spaces as a constant: the planner knows how few vectors they have, and does not read those of all projects.
_SCOPE = "v.model = :model AND v.space = ANY(CAST(:spaces AS bigint[]))"
_NEAR = "(1 - (v.vector <=> CAST(:near AS halfvec)))"
_ALL = f"""WITH scored AS MATERIALIZED (SELECT v.passage, {_NEAR} AS score FROM vectors v
        WHERE {_SCOPE} AND vector_dims(v.vector) = :length)
    SELECT s.passage, s.score, f.scanned, f.least, f.middle, f.spread FROM (SELECT count(*) AS scanned,
        min(score) AS least, avg(score) AS middle, stddev_pop(score) AS spread FROM scored) f
    LEFT JOIN LATERAL (SELECT s.passage, s.score FROM (SELECT * FROM scored
        ORDER BY score DESC, passage DESC LIMIT :looked_at) s JOIN passages q ON q.id = s.passage
        JOIN memories m ON m.number = q.memory WHERE {{condition}}
        ORDER BY s.score DESC, s.passage DESC LIMIT :limit) s ON TRUE ORDER BY s.score DESC, s.passage DESC"""
_INDEXED = f"""SELECT v.passage, {_NEAR} FROM vectors v JOIN passages q ON q.id = v.passage
    JOIN memories m ON m.number = q.memory WHERE v.model = {{model}} AND v.team = {{team}} AND {_SCOPE}
      AND {{condition}}
    ORDER BY CAST(v.vector AS halfvec({{length}})) <=> CAST(:near AS halfvec({{length}})) LIMIT :limit"""
# Evenly over the passages of each space: the figures are of a few, and of the same ones each time.
_SPREAD = f"""SELECT min(score), avg(score), stddev_pop(score) FROM (SELECT {_NEAR} AS score
    FROM unnest(CAST(:spaces AS bigint[])) s (number)
    CROSS JOIN LATERAL (SELECT min(passage) AS first, max(passage) AS last FROM vectors
        WHERE model = :model AND space = s.number) b
    CROSS JOIN LATERAL generate_series(b.first, b.last, greatest(1, (b.last - b.first) / :sample)) g (place)
    CROSS JOIN LATERAL (SELECT v.vector FROM vectors v WHERE v.model = :model AND v.space = s.number
        AND v.passage >= g.place ORDER BY v.passage LIMIT 1) v) s"""
_COSINES = f"""SELECT v.passage, {_NEAR} FROM vectors v WHERE v.model = :model
    AND v.passage IN (SELECT +value FROM json_each(:ids)) AND vector_dims(v.vector) = :length"""
_NOTHING_NEAR = VectorScan((), 0, 0.0, 0.0, 0.0)
# Models without an index, and how many vectors the team has of each; making it for a few takes no time.
UNINDEXED = """SELECT n.number, n.id,
        (SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = n.number LIMIT ?) v) FROM models n
    WHERE to_regclass('vectors_near_' || memory_team() || '_' || n.number) IS NULL"""
_MAKE_INDEX = "SELECT memory_vector_index(?, ?)"
_INDEXED_AT_ONCE, _INDEX_PATIENCE_MS = 1_000, 200
_MODELS = "SELECT model, max(vector_dims(vector)) FROM vectors GROUP BY model"
_BEYOND = (
    "the server's write-ahead log and its archives, its backups, replicas until they catch up and pages that"
    " it has not vacuumed yet may still hold it: ask whoever runs it how long those are kept;"
    " members' own copies lose it with their next sync"
)


class PostgresMemories(Memories):
    """Memories, found by their terms in a GIN index and by pgvector."""

    _vector = "CAST(:vector AS halfvec)"
    _vector_length = "vector_dims(vector)"
    # Each member makes the vectors of what they said; what nobody made within an hour is anybody's.
    _mine = """(m.author = (SELECT memory_person())
        OR m.updated_at < (extract(epoch FROM now()) - 3600) * 1000000)"""
    # Whoever else is writing may have taken lower numbers for passages that nobody sees yet.
    _settled = """NOT EXISTS (SELECT 1 FROM pg_snapshot_xip(pg_current_snapshot()) x
        WHERE x <> pg_current_xact_id())"""

    def _vector_value(self, vector: bytes) -> Any:
        return written(vector)

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        """And make the model's index while that takes no time; who finds the table in use leaves it."""
        stored, pool = super().add_vectors(model, vectors), self._connections
        for number, name, count in self._read(UNINDEXED, (_INDEXED_AT_ONCE,)) if vectors else ():
            if name == model and count < _INDEXED_AT_ONCE:
                with contextlib.suppress(StoreBusy), pool.hurried(_INDEX_PATIENCE_MS), pool.writing() as db:
                    db.execute(_MAKE_INDEX, (number, len(vectors[0][1])))
        return stored

    def rebuild_index(self) -> int:
        made = super().rebuild_index()
        with self._connections.writing() as db:
            db.execute("SET LOCAL statement_timeout = 0")  # minutes, where there are very many
            for model, length in db.execute(_MODELS).fetchall():
                db.execute(_MAKE_INDEX, (model, length))
        return made

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        return replace(super().erase(ids, texts=texts), beyond=_BEYOND)

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        with self._connections.reading() as db:
            counts = _Counts(db, scope)
            frequency = {term: sum(places.values()) for term, places in counts.of(terms).items()}
            return TermStatistics(counts.passages, counts.mean_length, frequency)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        if limit <= 0 or not terms:
            return []
        condition, values = rows.filter_sql(filter_)
        asked, most = dict(islice(terms.items(), _MAX_TERMS)), 4 * limit + 64
        with self._connections.reading() as db:
            counted = _Counts(db, scope)
            counts = counted.of(asked)
            weights = {}
            for term, places in counts.items():
                holding = sum(places.values())
                odds = (counted.passages - holding + 0.5) / (holding + 0.5)
                weights[term] = asked[term] * math.log(1 + odds)
            keys = _affordable(counts, weights, most)
            values |= {"keys": list(keys), "weights": list(keys.values()), "limit": most}
            found = rows.fetch(db, _HOLDING.format(condition=condition), values) if keys else []
        scored = [(_bm25(row[2:6], weights, counted.mean_length), row[0]) for row in found]
        scored.sort(reverse=True)
        return [PassageId(id_) for _, id_ in scored[:limit]]

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        with self._connections.reading() as db:
            asked = _asked(db, near, model)
            found = rows.fetch(db, _COSINES, {**asked, "ids": rows.id_list(ids)}) if asked else []
        return {PassageId(id_): _finite(score) for id_, score in found}

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        """The figures are of all vectors in scope, the candidates pass the filter."""
        condition, values = rows.filter_sql(filter_)
        with self._connections.reading() as db:
            asked = _asked(db, near, model)
            if not asked or not asked["near"].strip("[]0, "):
                return _NOTHING_NEAR
            values |= {**asked, "spaces": rows.spaces_of(db, scope), "limit": max(limit, 0)}
            passages = sum(row[2] for row in db.execute(_LEXICONS, {"spaces": values["spaces"]}))
            # A filter that lets few through needs a look at all.
            if passages > EXACT_THROUGH and not filter_.restricts:
                best = _by_index(db, condition, values)
                if len(best) == limit:  # else few have vectors
                    sample = max(8, _SAMPLE // len(values["spaces"]))
                    figures = next(db.execute(_SPREAD, {**values, "sample": sample}))
                    return VectorScan(best, passages, *map(_finite, figures))
            # Most pass: the rest of the way is only for filters that let few through.
            values["looked_at"] = rows.EVERYTHING if filter_.restricts else 2 * values["limit"] + 64
            found = rows.fetch(db, _ALL.format(condition=condition), values)
            if len(found) < values["limit"] and found[0][2] > values["looked_at"]:
                values["looked_at"] = rows.EVERYTHING
                found = rows.fetch(db, _ALL.format(condition=condition), values)
        if not found or not found[0][2]:
            return _NOTHING_NEAR
        nearest = tuple((PassageId(id_), _finite(score)) for id_, score, *_ in found if id_ is not None)
        scanned, *of_all = found[0][2:]
        return VectorScan(nearest, int(scanned), *map(_finite, of_all))


class _Counts:
    """How many passages some spaces have, how long those are, and how many hold a term."""

    def __init__(self, db: Database, scope: SearchScope) -> None:
        self._db = db
        self.spaces = rows.spaces_of(db, scope)
        counted = {space: row for space, *row in db.execute(_LEXICONS, {"spaces": self.spaces})}
        throughs = [counted[space][0] if space in counted else 0 for space in self.spaces]
        self._tail: dict[str, Any] = {"spaces": self.spaces, "throughs": throughs}
        passages, length = next(db.execute(_TOTALS, self._tail))
        self.passages = passages + sum(row[1] for row in counted.values())
        self.mean_length = (length + sum(row[2] for row in counted.values())) / max(self.passages, 1)

    def of(self, terms: Iterable[str]) -> dict[str, dict[str, int]]:
        """Of each term its keys in the index, one a space, and how many passages hold them."""
        keys = {term: [key(space, term) for space in self.spaces] for term in terms}
        asked = {"terms": [term[:LONGEST_TERM] for term in keys], "keys": list(chain(*keys.values()))}
        known = dict(self._db.execute(_FREQUENCIES, {**self._tail, **asked})) if keys else {}
        return {term: {one: known.get(one, 0) for one in places} for term, places in keys.items()}


def renew_lexicon(db: Database, space: int) -> None:
    """Count the terms of a space anew where it has grown by much, unless somebody else is at it."""
    values = {"space": space, "head": len(f"{space}_") + 1}
    if not db.execute(_IS_GROWN, values).get:
        return
    if not db.execute("SELECT pg_try_advisory_xact_lock(memory_team(), CAST(? AS integer))", (space,)).get:
        return
    for table in ("lexicon", "lexicons"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
    values["through"] = db.execute("SELECT max(id) FROM passages WHERE space = :space", values).get
    db.execute(_COUNT_PASSAGES, values)
    db.execute(_COUNT_TERMS, values)


def _affordable(
    counts: Mapping[str, Mapping[str, int]], weights: Mapping[str, float], enough: int
) -> dict[str, float]:
    """The keys of the rarest terms, as many as the budget allows, and at least the rarest one.

    With enough passages at hand, what all the rest together could add to one decides no more.
    """
    read, rest = 0, sum(weights.values())
    taken: dict[str, float] = {}
    for term in sorted(counts, key=lambda term: sum(counts[term].values())):
        there = {one: weights[term] for one, count in counts[term].items() if count}
        if read >= enough and _LIGHTER * rest <= min(taken.values()):
            break
        rest -= weights[term]
        if not there:
            continue
        read += sum(counts[term].values())
        if read > POSTINGS_BUDGET and taken:
            break
        taken.update(there)
    return taken


def _bm25(columns: Sequence[str], weights: Mapping[str, float], mean: float) -> float:
    frequency: defaultdict[str, float] = defaultdict(float)
    length = 0
    for column, worth in zip(columns, _FIELDS, strict=True):
        words = column.split()
        length += len(words)
        for word in words:
            if word in weights:
                frequency[word] += worth
    norm = _K1 * (1 - _B + _B * length / mean) if mean else _K1
    return sum(weights[term] * tf * (_K1 + 1) / (tf + norm) for term, tf in frequency.items())


def written(vector: bytes) -> str:
    """A vector as pgvector reads it; halves of floats hold its whole numbers exactly."""
    return str(memoryview(vector).cast("b").tolist())


def read_vector(text: str) -> bytes:
    return bytes(int(part) % 256 for part in text.strip("[]").split(","))


def _asked(db: Database, near: bytes | PassageId, model: str) -> dict[str, Any]:
    """A vector as it is given, or that of a passage, its model and length; nothing if there is none."""
    vector = written(near) if isinstance(near, bytes) else str(db.execute(_VECTOR, (model, near)).get or "")
    number = db.execute("SELECT number FROM models WHERE id = ?", (model,)).get
    return {"near": vector, "model": number, "length": vector.count(",") + 1} if vector and number else {}


def _by_index(db: Database, condition: str, values: dict[str, Any]) -> tuple[tuple[PassageId, float], ...]:
    """By the HNSW index, which goes on until enough are in scope, or it has seen enough."""
    db.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
    db.execute(f"SET LOCAL hnsw.ef_search = {min(1000, max(_EF_SEARCH, 2 * values['limit'])):d}")
    team = int(db.execute("SELECT memory_team()").get)
    statement = _INDEXED.format(
        condition=condition, model=int(values["model"]), team=team, length=int(values["length"])
    )
    return tuple((PassageId(id_), _finite(score)) for id_, score in db.execute(statement, values))


def _finite(score: Any) -> float:
    """A vector of zeros is near to nothing."""
    value = float(score or 0.0)
    return value if math.isfinite(value) else 0.0
