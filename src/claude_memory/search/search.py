"""Answers a question with memories: rank passages, weigh what is known of each memory, drop twins.

Never fails for any question. Writes nothing; time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from types import MappingProxyType

from claude_memory.embed.protocol import Embedder
from claude_memory.model import Hit, MemoryFilter, MemoryId, SearchScope, StoredMemory
from claude_memory.search import current, echo, priors
from claude_memory.search.ranking import TEXT_CANDIDATES, Question, Ranking, Scored, ask, rank
from claude_memory.search.relevance import relevance
from claude_memory.search.snippet import one_line, shorten, snippet
from claude_memory.store.protocol import Store

NO_BOOSTS: Mapping[MemoryId, float] = MappingProxyType({})
NOTHING = 0.02  # a relevance up to it speaks for no connection at all
NEAREST = 3
_TITLE_WIDTH = 120
_STEP = 1e-6  # enough to keep two hits in order
_JUDGED = 40  # fixed for common limits, so that a longer list begins with the shorter one
_DEEPEST = 2000  # passages; a memory of several megabytes may still crowd out others
_SPARE = 20  # candidates beyond the limit, so that twins and priors do not leave a page short


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory with its best passage and its final score."""

    memory: StoredMemory
    best: Scored
    score: float
    in_place_of: Scored | None = None  # what it replaced, where that is what the question met


def search(
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    *,
    filter_: MemoryFilter,
    limit: int,
    min_relevance: float | None,
    now: datetime,
    boost_files: Sequence[str] = (),
    boosts: Mapping[MemoryId, float] = NO_BOOSTS,
) -> list[Hit]:
    """The memories that answer best, best first; an empty list if nothing speaks for any.

    Without a `min_relevance` the list ends where relevance falls to nothing.
    """
    if limit <= 0 or not query.strip():
        return []
    ranking = _ranked(store, ask(query, scope, filter_, embedder), limit)
    keep = max(limit + _SPARE, _JUDGED)
    ranking, judged = judged_by(store, ranking, now, boost_files, keep=keep, boosts=boosts)
    hits: list[Hit] = []
    ceiling = 1.0
    for item in islice(_distinct(judged), limit):
        # Never more than the hit above: the list reads from most to least relevant.
        ceiling = min(ceiling, relevance_of(ranking, item))
        if ceiling < (min_relevance or 0.0) or (min_relevance is None and _pads(ceiling, hits)):
            break
        hits.append(_hit(ranking, item, ceiling))
    return hits


def _pads(relevant: float, hits: Sequence[Hit]) -> bool:
    """Whether a hit would only fill the list; where none is relevant, a few show what there is."""
    return relevant <= NOTHING and (len(hits) >= NEAREST or any(hit.relevance > NOTHING for hit in hits))


def relevance_of(ranking: Ranking, item: Judged) -> float:
    """A memory is as relevant as its best passage, or as what it replaced where that was found."""
    own = relevance(ranking, item.best)
    return max(own, relevance(ranking, item.in_place_of)) if item.in_place_of else own


def _ranked(store: Store, question: Question, limit: int) -> Ranking:
    """Rank deeper where a few long memories took all the places for passages."""
    depth = limit + _SPARE
    ranking = rank(store, question, depth=depth)
    while depth < _DEEPEST:
        memories = {item.passage.memory for item in ranking.scored}
        cut_off = len(ranking.scored) >= max(depth, TEXT_CANDIDATES)
        if len(memories) >= limit or not cut_off:
            break
        depth *= 8
        ranking = rank(store, question, depth=depth)
    return ranking


def judged_by(
    store: Store,
    ranking: Ranking,
    now: datetime,
    boost_files: Sequence[str],
    *,
    keep: int,
    boosts: Mapping[MemoryId, float] = NO_BOOSTS,
) -> tuple[Ranking, list[Judged]]:
    """Memories in their final order, and the ranking by which their relevance is measured.

    A memory counts as much as its best passage.
    """
    best: dict[MemoryId, Scored] = {}
    for item in ranking.scored:
        best.setdefault(item.passage.memory, item)
    question = ranking.question
    found = store.memories(question.scope, question.filter_, ids=list(best)[:keep])
    judged = [
        _judged(memory, best[memory.id], now, boost_files, boosts.get(memory.id, 0.0)) for memory in found
    ]
    judged += _successors(store, question, judged)
    judged = _with_replaced(sorted(judged, key=lambda item: -item.score))
    newest = current.latest_first(judged, question, ranking.weights)
    return echo.settled(store, ranking, newest, relevance_of)


def _judged(
    memory: StoredMemory, best: Scored, now: datetime, boost_files: Sequence[str], boost: float
) -> Judged:
    bonus = sum(priors.bonuses(memory, now, boost_files).values()) + boost
    return Judged(memory, best, (best.fused + bonus) * priors.validity(memory))


def _successors(store: Store, question: Question, judged: list[Judged]) -> list[Judged]:
    """What took the place of a memory that was found, also where it shares nothing with the question."""
    known = {item.memory.id: item for item in judged}
    added: list[Judged] = []
    latest = judged
    while latest and len(added) < _JUDGED:
        replaced = {item.memory.superseded_by: item for item in latest if item.memory.superseded_by}
        missing = [id_ for id_ in replaced if id_ not in known]
        found = store.memories(question.scope, question.filter_, ids=missing) if missing else []
        latest = [Judged(memory, _standing_for(memory, replaced[memory.id].best), 0.0) for memory in found]
        known.update((item.memory.id, item) for item in latest)
        added += latest
    return added


def _standing_for(memory: StoredMemory, old: Scored) -> Scored:
    passage = replace(old.passage, memory=memory.id, text=memory.body, own=(), near=(), far=(), date=())
    return Scored(passage, 0.0, 0.0, None if old.cosine is None else 0.0, 0.0)


def _with_replaced(judged: list[Judged]) -> list[Judged]:
    """A question that meets what was replaced is answered by what took its place; the old stands below it."""
    by_id = {item.memory.id: item for item in judged}
    older: dict[MemoryId, list[MemoryId]] = {}
    for item in judged:
        if item.memory.superseded_by:
            older.setdefault(item.memory.superseded_by, []).append(item.memory.id)
    for item in judged:
        if item.memory.superseded_by not in by_id:
            _settle(by_id, older, item.memory.id)
    return sorted(by_id.values(), key=lambda item: -item.score)


def _settle(by_id: dict[MemoryId, Judged], older: dict[MemoryId, list[MemoryId]], newest: MemoryId) -> None:
    """Lift what came after the best of a line to its place, and put each older one below what replaced it."""
    newer_of: dict[MemoryId, MemoryId] = {}
    line = [newest]
    for newer in line:  # grows as it goes: one memory may have replaced several
        for before in older.pop(newer, ()):
            newer_of[before] = newer
            line.append(before)
    best = max((by_id[id_] for id_ in line), key=lambda item: item.score)
    lifted = best.memory.id
    while lifted in newer_of:
        lifted = newer_of[lifted]
        by_id[lifted] = replace(by_id[lifted], score=best.score, in_place_of=best.best)
    for id_ in line[1:]:
        limit = by_id[newer_of[id_]].score - _STEP
        by_id[id_] = replace(by_id[id_], score=min(by_id[id_].score, limit))


def _distinct(judged: Iterable[Judged]) -> Iterable[Judged]:
    seen = set()
    for item in judged:
        text = " ".join(item.memory.body.casefold().split())
        if text not in seen:
            seen.add(text)
            yield item


def _hit(ranking: Ranking, item: Judged, relevant: float) -> Hit:
    memory = item.memory
    return Hit(
        id=memory.id,
        kind=memory.kind,
        title=shorten(one_line(memory.title), _TITLE_WIDTH),
        snippet=snippet(item.best.passage.text, ranking.weights),
        relevance=round(relevant, 4),
        session=memory.session,
        project=memory.project,
        timestamp=memory.created_at,
        files=memory.files,
        status=memory.status,
        trust=memory.trust,
        superseded_by=memory.superseded_by,
        score=round(item.score, 6),
        place=_place(memory),
    )


def _place(memory: StoredMemory) -> str:
    file, line = memory.provenance.get("file"), memory.provenance.get("line")
    return f"{file}:{line}" if file and line and memory.provenance.get("source") == "file" else ""
