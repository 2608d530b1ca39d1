"""Why a memory was found, or was not: the numbers of the same computation, and words for them.

Computes nothing of its own: `rank` and `judge` are the search itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from claude_memory.embed.protocol import Embedder
from claude_memory.errors import NotFound
from claude_memory.model import MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.search import scoring
from claude_memory.search.ranking import Ranking, Scored, ask, rank
from claude_memory.search.relevance import coverage, verdict
from claude_memory.search.search import Judged, bonuses, judged_by, relevance_of, validity
from claude_memory.store.base import Store

_DEPTH = 200
_CLOSE = 0.75
_FAIRLY_CLOSE = 0.65


@dataclass(frozen=True, slots=True)
class Explanation:
    """One memory against one question."""

    memory: MemoryId
    query: str
    numbers: Mapping[str, float]
    words: tuple[str, ...]


def explain(
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    memory_id: MemoryId,
    *,
    now: datetime,
) -> Explanation:
    """The place of one memory among the answers, and what put it there."""
    filter_ = MemoryFilter(statuses=tuple(Status))
    if not store.memories.find(scope, filter_, ids=[memory_id]):
        raise NotFound(f"no memory {memory_id} here")
    ranking = rank(store, ask(query, scope, MemoryFilter(), embedder), depth=_DEPTH)
    judged = judged_by(store, ranking, now, (), keep=_DEPTH)
    places = [place for place, item in enumerate(judged, 1) if item.memory.id == memory_id]
    if not places:
        return Explanation(memory_id, query, {}, (_absence(ranking),))
    item = judged[places[0] - 1]
    numbers = _numbers(ranking, item, places[0], now)
    return Explanation(memory_id, query, numbers, _words(ranking, item, numbers, now))


def _numbers(ranking: Ranking, item: Judged, place: int, now: datetime) -> dict[str, float]:
    best = item.best
    numbers = {
        "rank": float(place),
        "relevance": round(relevance_of(ranking, item), 4),
        "words_covered": coverage(ranking, best),
        "score": item.score,
        "fused": best.fused,
        "bm25": best.plain_lexical,
        "bm25_best": max(other.plain_lexical for other in ranking.scored),
        "bm25_with_feedback": best.lexical,
        "words_shared": float(len(_shared(ranking, best))),
        "words_asked": float(len(ranking.question.terms)),
        "validity": validity(item.memory),
    }
    if best.cosine is not None and ranking.scan is not None:
        numbers |= {
            "cosine": best.cosine,
            "cosine_mean": ranking.scan.mean,
            "cosine_deviation": ranking.scan.deviation,
            "cosine_minimum": ranking.scan.minimum,
        }
    return numbers | bonuses(item.memory, now)


def _shared(ranking: Ranking, best: Scored) -> list[str]:
    found = scoring.contributions(best.passage, ranking.weights, ranking.statistics.mean_length)
    return sorted(found, key=lambda term: -found[term])


def _words(ranking: Ranking, item: Judged, numbers: Mapping[str, float], now: datetime) -> tuple[str, ...]:
    lines = [_words_line(ranking, item.best), _meaning_line(item.best)]
    if numbers["bm25_with_feedback"] > numbers["bm25"]:
        lines.append("shares further words with the best answers found first")
    if item.memory.status is Status.SUPERSEDED:
        lines.append(f"was replaced by {item.memory.superseded_by}, so it sinks")
    if item.in_place_of is not None:
        lines.append("stands before an older memory on the same subject")
    if "recency" in bonuses(item.memory, now) and numbers.get("recency", 0.0) > 0.01:
        lines.append("is recent, which lifts it a little")
    lines.append(f"is {verdict(numbers['relevance'])} ({numbers['relevance']:.2f})")
    lines.append(f"comes {_ordinal(int(numbers['rank']))} for this question")
    return tuple(lines)


def _words_line(ranking: Ranking, best: Scored) -> str:
    shared = _shared(ranking, best)
    asked = len(ranking.question.terms)
    if not shared:
        return f"shares none of the {asked} words of the question"
    own = set(best.passage.own)
    around = "" if any(term in own for term in shared) else " (all in its neighbours or its date)"
    return f"shares {len(shared)} of {asked} words with the question: {', '.join(shared[:8])}{around}"


def _meaning_line(best: Scored) -> str:
    if best.cosine is None:
        return "was compared by words only: no vector of question or memory at hand"
    how = (
        "close" if best.cosine >= _CLOSE else "fairly close" if best.cosine >= _FAIRLY_CLOSE else "not close"
    )
    return f"is {how} in meaning ({best.cosine:.2f})"


def _absence(ranking: Ranking) -> str:
    if not ranking.question.terms and ranking.scan is None:
        return "the question holds no words to search for"
    return f"is not among the best {_DEPTH} answers: other memories share more with the question"


def _ordinal(number: int) -> str:
    tens = 10 < number % 100 < 14
    ending = "th" if tens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
