"""Answers a question with memories: rank passages, weigh what is known of each memory, drop twins.

Never fails for any question. Writes nothing; time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from claude_memory.embed.protocol import Embedder
from claude_memory.model import (
    Hit,
    MemoryFilter,
    MemoryId,
    SearchScope,
    Status,
    StoredMemory,
)
from claude_memory.recall import priors
from claude_memory.recall.ranking import Ranking, Scored, ask, rank
from claude_memory.recall.relevance import relevance
from claude_memory.recall.snippet import one_line, shorten, snippet
from claude_memory.store.protocol import Store

_TITLE_WIDTH = 120
_JUDGED = 60  # fixed for common limits, so that a longer list begins with the shorter one
_SPARE = 20  # candidates beyond the limit, so that twins and priors do not leave a page short


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory with its best passage and its final score."""

    memory: StoredMemory
    best: Scored
    score: float


def search(
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    *,
    filter_: MemoryFilter,
    limit: int,
    min_relevance: float,
    now: datetime,
    boost_files: Sequence[str] = (),
) -> list[Hit]:
    """The memories that answer best, best first; an empty list if nothing speaks for any."""
    if limit <= 0 or not query.strip():
        return []
    ranking = rank(store, ask(query, scope, filter_, embedder), depth=limit + _SPARE)
    judged = judge(store, ranking, now, boost_files, keep=max(limit + _SPARE, _JUDGED))
    hits = []
    ceiling = 1.0
    for item in islice(_distinct(judged), limit):
        # Never more than the hit above: the list reads from most to least relevant.
        ceiling = min(ceiling, relevance(ranking, item.best))
        if ceiling < min_relevance:
            break
        hits.append(_hit(ranking, item, ceiling))
    return hits


def judge(
    store: Store, ranking: Ranking, now: datetime, boost_files: Sequence[str], *, keep: int
) -> list[Judged]:
    """Memories by final score; a memory counts as much as its best passage."""
    best: dict[MemoryId, Scored] = {}
    for item in ranking.scored:
        best.setdefault(item.passage.memory, item)
    wanted = list(best)[:keep]
    question = ranking.question
    found = store.memories(question.scope, question.filter_, ids=wanted)
    judged = [_judged(memory, best[memory.id], now, boost_files) for memory in found]
    return _sink_replaced(sorted(judged, key=lambda item: -item.score))


def _judged(memory: StoredMemory, best: Scored, now: datetime, boost_files: Sequence[str]) -> Judged:
    bonus = sum(priors.bonuses(memory, now, boost_files).values())
    return Judged(memory, best, (best.fused + bonus) * priors.validity(memory))


def _sink_replaced(judged: list[Judged]) -> list[Judged]:
    """Put a replaced memory below the one that replaced it, whatever their scores."""
    scores: dict[MemoryId, float] = {}
    for item in sorted(judged, key=lambda item: item.memory.status is Status.SUPERSEDED):
        newer = item.memory.superseded_by
        ceiling = scores.get(newer, item.score) if newer is not None else item.score
        scores[item.memory.id] = min(item.score, ceiling)
    order = sorted(
        judged, key=lambda item: (-scores[item.memory.id], item.memory.status is Status.SUPERSEDED)
    )
    return [Judged(item.memory, item.best, scores[item.memory.id]) for item in order]


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
    )
