"""Finding passages by their words: figures for BM25, and candidates within a bounded amount of work.

FTS5 finds and scores; the lexicon says beforehand what that will cost. Ranking is not done here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import apsw

from claude_memory.model import MemoryFilter, PassageId, SearchScope
from claude_memory.store.protocol import TermStatistics
from claude_memory.store.sqlite import keys as index_keys
from claude_memory.store.sqlite import rows, visible

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
_ALLOWED = " AND +rowid IN (SELECT value FROM json_each(:allowed))"  # + keeps MATCH the only way in


class Posting(NamedTuple):
    """One term in one space: how many passages hold it there, what it counts, from where it is read."""

    passages: int
    key: str
    weight: float
    floor: int = 0


def term_statistics(db: apsw.Connection, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
    """How many passages there are, how long they are, and how many hold each term."""
    spaces = rows.spaces_of(db, scope)
    passages, length = _totals(db, spaces)
    keys = {term: [index_keys.key(space, term) for space in spaces] for term in terms}
    known = _frequencies(db, list(chain.from_iterable(keys.values())))
    frequency = {term: sum(known.get(key, 0) for key in places) for term, places in keys.items()}
    return TermStatistics(passages, length / passages if passages else 0.0, frequency)


def _totals(db: apsw.Connection, spaces: Sequence[int]) -> tuple[int, float]:
    statement = """SELECT coalesce(sum(passages), 0), coalesce(sum(length), 0.0) FROM spaces
        WHERE number IN (SELECT value FROM json_each(?))"""
    passages, length = next(db.execute(statement, (rows.id_list(spaces),)))
    return int(passages), float(length)


def _frequencies(db: apsw.Connection, keys: Sequence[str]) -> dict[str, int]:
    statement = "SELECT term, passages FROM lexicon WHERE term IN (SELECT value FROM json_each(?))"
    return dict(db.execute(statement, (rows.to_json(keys),)))


def candidates(
    db: apsw.Connection, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
) -> list[PassageId]:
    """Passages that hold at least one term, likeliest first."""
    if limit <= 0 or not terms:
        return []
    spaces = rows.spaces_of(db, scope)
    found = _postings(db, spaces, dict(list(terms.items())[:_MAX_TERMS]))
    plan = {space: _affordable(db, postings) for space, postings in found.items()}
    enough = -1 if filter_.restricts else 2 * limit + 64
    ranked = _ranked(db, plan, enough)
    chosen = _first_passing(db, filter_, ranked, limit)
    if len(chosen) < limit and len(ranked) == enough:  # many of the best are forgotten
        chosen = _first_passing(db, filter_, _ranked(db, plan, -1), limit)
    if len(chosen) < limit and filter_.restricts and plan != found:
        chosen = _within_filter(db, spaces, filter_, found, limit)
    return chosen


def _within_filter(
    db: apsw.Connection,
    spaces: Sequence[int],
    filter_: MemoryFilter,
    found: Mapping[int, list[Posting]],
    limit: int,
) -> list[PassageId]:
    """The filter leaves few rows with the rare terms: every posting is read, only its rows are scored."""
    allowed = visible.all_passing(db, spaces, filter_)
    return [PassageId(id_) for id_ in _ranked(db, found, limit, allowed)]


def _postings(
    db: apsw.Connection, spaces: Sequence[int], terms: Mapping[str, float]
) -> dict[int, list[Posting]]:
    """Per space the terms that occur there, rarest first, with their weight in the whole scope."""
    keys = {(space, term): index_keys.key(space, term) for term in terms for space in spaces}
    known = _frequencies(db, list(keys.values()))
    passages, _ = _totals(db, spaces)
    holding: defaultdict[str, int] = defaultdict(int)
    for (_, term), key in keys.items():
        holding[term] += known.get(key, 0)
    found: defaultdict[int, list[Posting]] = defaultdict(list)
    for (space, term), key in keys.items():
        if known.get(key, 0) > 0:
            found[space].append(Posting(known[key], key, terms[term] * _idf(passages, holding[term])))
    return {space: sorted(postings) for space, postings in found.items()}


def _affordable(db: apsw.Connection, postings: Sequence[Posting]) -> list[Posting]:
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
        last = int(db.execute("SELECT coalesce(max(id), 0) FROM passages").get)
        taken += [posting._replace(floor=int(last * (1 - share))) for posting in common]
    return taken


def _ranked(
    db: apsw.Connection, plan: Mapping[int, list[Posting]], limit: int, allowed: Sequence[int] | None = None
) -> list[int]:
    """Passages by their summed scores over all spaces; equal ones newest first."""
    total = int(db.execute("SELECT coalesce(sum(passages), 0) FROM spaces").get)
    scored: list[tuple[float, int]] = []
    for postings in plan.values():
        scored += _scored(db, postings, total, limit, allowed)
    scored.sort(key=lambda pair: (pair[0], -pair[1]))
    return [rowid for _, rowid in scored][: limit if limit >= 0 else None]


def _scored(
    db: apsw.Connection, postings: Sequence[Posting], total: int, limit: int, allowed: Sequence[int] | None
) -> list[tuple[float, int]]:
    values: dict[str, Any] = {"limit": limit}
    parts = []
    for place, posting in enumerate(postings):
        values[f"match{place}"] = f'"{posting.key}"'
        if posting.floor:
            values[f"floor{place}"] = posting.floor
            values[f"factor{place}"] = posting.weight
            parts.append(_NOTED.format(n=place))
        else:
            values[f"factor{place}"] = posting.weight / _fts5_idf(total, posting.passages)
            parts.append(_SCORED.format(n=place, allowed="" if allowed is None else _ALLOWED))
    if allowed is not None:
        values["allowed"] = rows.id_list(allowed)
    # The empty part keeps SQLite from merging a single part into the sum, where bm25() cannot work.
    statement = _SUMMED.format(parts=" UNION ALL ".join([*parts, "SELECT 0, 0.0 WHERE 0"]))
    return [(score, rowid) for rowid, score in rows.fetch(db, statement, values)]


def _idf(passages: int, holding: int) -> float:
    return math.log(1 + (passages - holding + 0.5) / (holding + 0.5))


def _fts5_idf(passages: int, holding: int) -> float:
    """What bm25() multiplies with, over the whole table; divided out again."""
    value = math.log((passages - holding + 0.5) / (holding + 0.5)) if passages >= holding else 0.0
    return value if value > 0 else 1e-6


def _first_passing(
    db: apsw.Connection, filter_: MemoryFilter, ranked: Sequence[int], limit: int
) -> list[PassageId]:
    """The first `limit` that the filter lets through."""
    found: list[PassageId] = []
    start, size = 0, 2 * limit
    while len(found) < limit and start < len(ranked):
        chunk = ranked[start : start + size]
        through = visible.passing(db, filter_, chunk)
        found += [PassageId(id_) for id_ in chunk if id_ in through]
        start, size = start + size, size * 4
    return found[:limit]
