"""Finding passages by their words: figures for BM25, and candidates within a bounded amount of work.

FTS5 finds and scores; the lexicon says beforehand what that will cost. Ranking is not done here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from claude_memory.model import MemoryFilter, PassageId, SearchScope
from claude_memory.store.protocol import TermStatistics
from claude_memory.store.sqlite import rows, text_index, visible

POSTINGS_BUDGET = 20_000  # scored per query; smaller stores are searched exhaustively
_MAX_TERMS = 400
_SCORED = """SELECT rowid, bm25(text_index, 1.0, 1.0, 0.5, 0.5) FROM text_index WHERE text_index MATCH ?"""


class Posting(NamedTuple):
    """One term in one space, and how many passages hold it."""

    passages: int
    key: str
    weight: float


def term_statistics(db: apsw.Connection, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
    """How many passages there are, how long they are, and how many hold each term."""
    spaces = rows.spaces_of(db, scope)
    passages, length = _totals(db, spaces)
    wanted = list(dict.fromkeys(terms))
    known = _frequencies(db, [text_index.key(space, term) for term in wanted for space in spaces])
    frequency = {term: sum(known.get(text_index.key(space, term), 0) for space in spaces) for term in wanted}
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
    postings = _postings(db, spaces, dict(list(terms.items())[:_MAX_TERMS]))
    total = int(db.execute("SELECT coalesce(sum(passages), 0) FROM spaces").get)
    in_scope, _ = _totals(db, spaces)
    scores: defaultdict[int, float] = defaultdict(float)
    for posting in _drivers(postings):
        factor = posting.weight * _idf(in_scope, posting.passages) / _fts5_idf(total, posting.passages)
        for rowid, score in db.execute(_SCORED, (f'"{posting.key}"',)):
            scores[rowid] -= score * factor
    ranked = sorted(scores, key=lambda rowid: (-scores[rowid], -rowid))
    return _first_passing(db, filter_, ranked, limit)


def _postings(db: apsw.Connection, spaces: Sequence[int], terms: Mapping[str, float]) -> list[Posting]:
    weights = {text_index.key(space, term): weight for term, weight in terms.items() for space in spaces}
    known = _frequencies(db, list(weights))
    return sorted(Posting(passages, key, weights[key]) for key, passages in known.items() if passages > 0)


def _drivers(postings: Sequence[Posting]) -> list[Posting]:
    """The rarest terms, as many as the budget allows; rare terms decide a ranking anyway."""
    taken: list[Posting] = []
    spent = 0
    for posting in postings:
        spent += posting.passages
        if taken and spent > POSTINGS_BUDGET:
            break
        taken.append(posting)
    return taken


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
