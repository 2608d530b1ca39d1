"""Why a memory was found, or was not: the numbers of the same computation, and words for them.

Computes nothing of its own: `rank` and `judged_by` are the search itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from claude_memory.embed import Embedder
from claude_memory.model import MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.search.ranking import Ranking, ask, coverage, rank
from claude_memory.search.scoring import bonuses, contributions, validity
from claude_memory.search.search import Judged, judged_by
from claude_memory.store.base import Store

_DEPTH = 200
_CLOSE, _FAIRLY_CLOSE = 0.75, 0.65
_LIKELY, _POSSIBLE = 0.6, 0.2
_LIFTS = 0.01  # a bonus from which it is told


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
    memory: MemoryId,
    *,
    now: datetime,
) -> Explanation:
    """The place of one memory among the answers, and what put it there."""
    ranking = rank(store, ask(query, scope, MemoryFilter(), embedder), depth=_DEPTH)
    judged = judged_by(store, ranking, now, (), keep=_DEPTH)
    place, item = next(
        ((place, item) for place, item in enumerate(judged, 1) if item.memory.id == memory), (0, None)
    )
    if item is None:
        nothing = not ranking.question.terms and ranking.scan is None
        absence = (
            "the question holds no words to search for"
            if nothing
            else f"is not among the best {_DEPTH} answers: other memories share more with the question"
        )
        return Explanation(memory, query, {}, (absence,))
    parts = contributions(item.best.passage, ranking.weights, ranking.statistics.mean_length)
    shared = sorted(parts, key=lambda term: -parts[term])
    numbers = _numbers(ranking, item, place, len(shared)) | bonuses(item.memory, now)
    return Explanation(memory, query, numbers, _words(ranking, item, numbers, shared))


def _numbers(ranking: Ranking, item: Judged, place: int, shared: int) -> dict[str, float]:
    best = item.best
    numbers = {
        "rank": float(place),
        "relevance": round(item.relevance(ranking), 4),
        "words_covered": coverage(ranking, best),
        "score": item.score,
        "fused": best.fused,
        "bm25": best.plain_lexical,
        "bm25_best": max(other.plain_lexical for other in ranking.scored),
        "bm25_with_feedback": best.lexical,
        "words_shared": float(shared),
        "words_asked": float(len(ranking.question.terms)),
        "session": item.session_bonus,
        "validity": validity(item.memory),
    }
    if best.cosine is not None and ranking.scan is not None:
        numbers |= {
            "cosine": best.cosine,
            "cosine_mean": ranking.scan.mean,
            "cosine_deviation": ranking.scan.deviation,
            "cosine_minimum": ranking.scan.minimum,
        }
    return numbers


def _words(
    ranking: Ranking, item: Judged, numbers: Mapping[str, float], shared: list[str]
) -> tuple[str, ...]:
    asked = len(ranking.question.terms)
    around = "" if {*shared} & {*item.best.passage.own} else " (all in its neighbours or its date)"
    relevant, place = numbers["relevance"], int(numbers["rank"])
    lines = {
        f"shares none of the {asked} words of the question": not shared,
        f"shares {len(shared)} of {asked} words with the question: {', '.join(shared[:8])}{around}": shared,
        _closeness(item.best.cosine): True,
        "shares further words with the best answers found first": (
            numbers["bm25_with_feedback"] > numbers["bm25"]
        ),
        f"was replaced by {item.memory.superseded_by}, so it sinks": item.memory.status is Status.SUPERSEDED,
        "stands before an older memory on the same subject": item.in_place_of is not None,
        "is recent, which lifts it a little": numbers.get("recency", 0.0) > _LIFTS,
        "other exchanges of its session answer, too": numbers["session"] > _LIFTS,
        f"is {_verdict(relevant)} ({relevant:.2f})": True,
        f"comes {_ordinal(place)} for this question": True,
    }
    return tuple(line for line, holds in lines.items() if holds)


def _closeness(cosine: float | None) -> str:
    if cosine is None:
        return "was compared by words only: no vector of question or memory at hand"
    close = "close" if cosine >= _CLOSE else "fairly close" if cosine >= _FAIRLY_CLOSE else "not close"
    return f"is {close} in meaning ({cosine:.2f})"


def _verdict(relevant: float) -> str:
    if relevant >= _LIKELY:
        return "likely the answer"
    return "may be the answer" if relevant >= _POSSIBLE else "probably about something else"


def _ordinal(number: int) -> str:
    tens = 10 < number % 100 < 14
    ending = "th" if tens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
