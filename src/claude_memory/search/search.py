"""Answers a question with memories and exchanges: rank passages, weigh what is known of each, drop twins.

One exchange is one hit, whatever was understood from it. Never fails for any question. Writes nothing;
time is an argument.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from claude_memory.embed import Embedder
from claude_memory.model import (
    Hit,
    Kind,
    MemoryFilter,
    MemoryId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.search import ranking as scores
from claude_memory.search.excerpts import one_line, snippet, weight_of
from claude_memory.search.ranking import KIND_BONUS, Ranking, Scored, bonuses, rank, relevance, validity
from claude_memory.store.base import Store
from claude_memory.text.words import index_terms, query_terms, shorten
from claude_memory.understand.model import places_of

NOTHING = 0.005  # a relevance up to it speaks for no connection at all
NEAREST = 3
AROUND = 0.3  # of the best match by words, with those of the neighbours
_TITLE_WIDTH = 120
_STEP = 1e-6  # enough to keep two hits in order
_JUDGED = 40  # fixed for common limits, so that a longer list begins with the shorter one
_DEEPEST = 2000  # passages; a memory of several megabytes may still crowd out others
_SPARE = 20  # candidates beyond the limit, so that twins and priors do not leave a page short


@dataclass(slots=True, eq=False)
class Judged:
    """A memory with its best passage and its score, which each rule may change."""

    memory: StoredMemory
    best: Scored
    score: float
    session_bonus: float = 0.0  # part of the score
    in_place_of: Scored | None = None  # what it replaced, where that is what the question met

    def relevance(self, ranking: Ranking) -> float:
        """As relevant as its best passage, or as what it replaced where that was found."""
        own = relevance(ranking, self.best)
        return max(own, relevance(ranking, self.in_place_of)) if self.in_place_of else own


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
    boosts: Mapping[MemoryId, float] | None = None,
    stale: Callable[[StoredMemory], str] = lambda _: "",
) -> list[Hit]:
    """The memories that answer best, best first; an empty list if nothing speaks for any.

    Without a `min_relevance` the list ends where relevance falls to nothing. `stale` tells what is outdated.
    """
    if limit <= 0 or not query.strip():
        return []
    now = min(now, filter_.until) if filter_.until else now  # what was recent then
    ranking = rank(store, query, scope, filter_, embedder, depth=limit + _SPARE)
    memories = {item.passage.memory for item in ranking.scored}
    if len(memories) < limit and len(ranking.scored) >= max(limit + _SPARE, scores.TEXT_CANDIDATES):
        # A few long memories took all the places.
        ranking = rank(store, query, scope, filter_, embedder, depth=_DEEPEST)
    keep = max(limit + _SPARE, _JUDGED)
    hits: list[Hit] = []
    ceiling = 1.0
    for item in judged_by(store, ranking, now, boost_files, keep=keep, boosts=boosts)[:limit]:
        # Never more than the hit above: the list reads from most to least relevant.
        ceiling = min(ceiling, item.relevance(ranking))
        pads = min_relevance is None and ceiling <= NOTHING and _only_pads(ranking, item, hits)
        if pads or ceiling < (min_relevance or 0.0):
            break
        memory, origin = item.memory, item.memory.provenance
        in_file = origin.get("source") == "file" and origin.get("file") and origin.get("line")
        line = snippet(item.best.passage.text, ranking.weights, title=memory.title, whole=memory.body)
        hits.append(
            Hit(
                id=memory.id,
                kind=memory.kind,
                title=shorten(one_line(memory.title), _TITLE_WIDTH),
                snippet=line,
                relevance=round(ceiling, 4),
                session=memory.session,
                project=memory.project,
                timestamp=memory.created_at,
                files=memory.files,
                status=memory.status,
                trust=memory.trust,
                superseded_by=memory.superseded_by,
                score=round(item.score, 6),
                place=f"{origin['file']}:{origin['line']}" if in_file else "",
                stale=stale(memory),
            )
        )
    return hits


def _only_pads(ranking: Ranking, item: Judged, hits: Sequence[Hit]) -> bool:
    """Whether a hit that tells nothing by itself only fills the list.

    Where none is relevant, a few show what there is. A short reply may answer for what was said around it.
    """
    if not any(hit.relevance > NOTHING for hit in hits):
        return len(hits) >= NEAREST
    best = max(other.plain_lexical for other in ranking.scored)
    return item.best.plain_lexical < AROUND * best or not best


def judged_by(
    store: Store,
    ranking: Ranking,
    now: datetime,
    boost_files: Sequence[str],
    *,
    keep: int,
    boosts: Mapping[MemoryId, float] | None = None,
) -> list[Judged]:
    """Memories in their final order; each counts as much as its best passage."""
    best: dict[MemoryId, Scored] = {}
    for item in ranking.scored:
        best.setdefault(item.passage.memory, item)
    judged: list[Judged] = []
    for memory in store.memories.find(ranking.scope, ranking.filter_, ids=list(best)[:keep]):
        bonus = sum(bonuses(memory, now, boost_files).values()) + (boosts or {}).get(memory.id, 0.0)
        judged.append(Judged(memory, best[memory.id], (best[memory.id].fused + bonus) * validity(memory)))
    _lift_sessions(judged)
    judged += _successors(store, ranking, judged)
    _lift_successors(judged)
    judged.sort(key=lambda item: -item.score)
    judged = _latest_first(judged, ranking)
    return list(_once(_newer_twin_first(store, judged, ranking.model)))


# Work that answers in several places of one session is likelier what is meant. With each repository left out
# of the choice: questions @5 77 → 83 (n 83), prompts @10 85 → 89 (n 125), commits −2 and 0 of 331.
SESSION_SHARPNESS = 20.0
SESSION_EXCHANGES = 5


def _lift_sessions(judged: Sequence[Judged]) -> None:
    """Exchanges stand a bit higher for others of their session: by ln Σ exp(20·score), at most .08."""
    exchanges: dict[SessionId, list[Judged]] = {}
    for item in judged:
        if item.memory.kind is Kind.OBSERVATION and item.memory.session:
            exchanges.setdefault(item.memory.session, []).append(item)
    for items in exchanges.values():
        best = sorted(item.score for item in items)[-SESSION_EXCHANGES:]
        total = sum(math.exp(SESSION_SHARPNESS * (score - best[-1])) for score in best)
        for item in items:
            item.session_bonus = math.log(total) / SESSION_SHARPNESS
            item.score += item.session_bonus


# --- what was replaced, and what took its place


def _successors(store: Store, ranking: Ranking, judged: Sequence[Judged]) -> list[Judged]:
    """What took the place of a memory that was found, also where it shares nothing with the question."""
    known = {item.memory.id for item in judged}
    added: list[Judged] = []
    latest = list(judged)
    while latest and len(added) < _JUDGED:
        replaced = {item.memory.superseded_by: item.best for item in latest if item.memory.superseded_by}
        missing = [id_ for id_ in replaced if id_ not in known]
        newer = store.memories.find(ranking.scope, ranking.filter_, ids=missing)
        latest = []
        for memory in newer:
            old, text = replaced[memory.id], memory.body
            passage = replace(old.passage, memory=memory.id, text=text, own=(), near=(), far=(), date=())
            cosine = None if old.cosine is None else 0.0
            latest.append(Judged(memory, Scored(passage, 0.0, 0.0, cosine, 0.0), 0.0))
        known.update(memory.id for memory in newer)
        added += latest
    return added


def _lift_successors(judged: Sequence[Judged]) -> None:
    """What took the place of an answer stands there in its stead, and the old one below it."""
    by_id = {item.memory.id: item for item in judged}

    def later(item: Judged) -> Iterator[Judged]:
        newer = by_id.get(item.memory.superseded_by) if item.memory.superseded_by else None
        for _ in by_id:  # a chain is no longer, unless it is a circle
            if newer is None:
                return
            yield newer
            newer = by_id.get(newer.memory.superseded_by) if newer.memory.superseded_by else None

    for old in sorted(judged, key=lambda item: -item.score):
        for newer in later(old):
            if newer.score >= old.score:
                break
            newer.score, newer.in_place_of = old.score, old.best
    for item in judged:
        item.score -= _STEP * sum(1 for _ in later(item))  # how often it was replaced


def _once(judged: Sequence[Judged]) -> Iterator[Judged]:
    """Each text once, and of what was understood from the same messages the best alone.

    A session's record tells of all its exchanges: it stands where none of them does.
    """
    texts: set[str] = set()
    shown: dict[str, list[tuple[int, int]]] = {}
    talks = {talk for item in judged for talk, _, _ in places_of(item.memory)}
    for item in judged:
        text = " ".join(item.memory.body.casefold().split())
        places, origin = places_of(item.memory), item.memory.provenance
        if text in texts or (origin.get("source") == "session" and str(origin.get("conversation")) in talks):
            continue
        if any(first <= b and a <= last for talk, first, last in places for a, b in shown.get(talk, ())):
            continue
        texts.add(text)
        for talk, first, last in places:
            shown.setdefault(talk, []).append((first, last))
        yield item


# --- of two statements on one subject, the newer first

# On an Integrity set of 40 topics (bench/integrity.py), which both were chosen on, the current value is first
# in .70 with it and .45 without.
TWIN_COSINE = 0.75
TWIN_SCORE = 0.75  # of the best answer's
TWINS = 10


def _newer_twin_first(store: Store, judged: list[Judged], model: str | None) -> list[Judged]:
    """Where a newer statement says nearly the same and answers nearly as well, it leads before the older."""
    if model is None or not judged or not judged[0].memory.is_statement:
        return judged
    lead = judged[0]
    newer = [
        item
        for item in judged[1:TWINS]
        if item.memory.is_statement
        and item.memory.status is lead.memory.status
        and item.memory.trust in (lead.memory.trust, Trust.USER)  # what is planted replaces nobody's word
        and item.memory.created_at > lead.memory.created_at
        and item.score >= TWIN_SCORE * lead.score
    ]
    passages = [item.best.passage.id for item in newer]
    cosines = store.memories.cosines(lead.best.passage.id, model, passages) if newer else {}
    twins = [item for item in newer if cosines.get(item.best.passage.id, 0.0) >= TWIN_COSINE]
    if not twins:
        return judged
    newest = max(twins, key=lambda item: item.memory.created_at)
    newest.score, newest.in_place_of = lead.score + _STEP, lead.best
    return [newest, *(item for item in judged if item is not newest)]


# --- what holds now: of the texts whose best sentence answers nearly best, the newest first

# On MemoryCode (`bench/quality.py --sets memorycode`) the current rule is first in 71%, a stale one in 8%.
# A question about the present holds one of these.
_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|now|latest|newest|still|at the moment|these days|today|nowadays|in force|up to date"
    r"|at present|presently)\b",
    re.IGNORECASE,
)
# What such a question is called, not what it is about.
_KIND_WORDS = """current currently now latest newest still moment days today nowadays force date present
    presently convention conventions rule rules policy policies standard standards guideline guidelines
    style decision decide decided practice our we us use using when writing write code
    what which how"""
LOOKED_AT = 40
NEAR_THE_BEST = 0.7
LEADING = 5
_LEAD = 0.001
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|\n+")  # a rule may end at a semicolon
_READ = 20_000


def _latest_first(judged: list[Judged], ranking: Ranking) -> list[Judged]:
    """Those with a sentence nearly as good as the best one at the top, newest first; the rest as it was.

    What was said and done in a session is of its day: the last to speak of a thing did not decide it.
    """
    named = set(query_terms(_KIND_WORDS))
    wanted = {term: ranking.weights.get(term, 1.0) for term in query_terms(ranking.text) if term not in named}
    if len(judged) < 2 or not wanted or not _PRESENT.search(ranking.text):
        return judged
    holding = {
        item.memory.id: max(
            weight_of(wanted, index_terms(sentence)) for sentence in _CLAUSE.split(item.memory.body[:_READ])
        )
        for item in judged[:LOOKED_AT]
        if item.memory.kind not in KIND_BONUS
    }
    least = NEAR_THE_BEST * max(holding.values(), default=0.0)
    best = [item for item in judged if least and holding.get(item.memory.id, 0.0) >= least]
    leading = sorted(best, key=lambda item: item.memory.created_at, reverse=True)[:LEADING]
    top = judged[0].score
    for place, item in enumerate(leading):
        item.score = top + _LEAD * (LEADING - place)
    return [*leading, *(item for item in judged if item not in leading)]


# --- why a memory was found, or was not: the numbers of the same computation, and words for them

_DEPTH = 200
_CLOSE, _FAIRLY_CLOSE = 0.75, 0.65
_LIKELY, _POSSIBLE = 0.6, 0.2
_LIFTS = 0.01  # a bonus from which it is told


class Explanation(NamedTuple):
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
    ranking = rank(store, query, scope, MemoryFilter(), embedder, depth=_DEPTH)
    judged = judged_by(store, ranking, now, (), keep=_DEPTH)
    place = next((place for place, item in enumerate(judged, 1) if item.memory.id == memory), 0)
    if not place:
        absence = f"is not among the best {_DEPTH} answers: other memories share more with the question"
        if not ranking.terms and ranking.scan is None:
            absence = "the question holds no words to search for"
        return Explanation(memory, query, {}, (absence,))
    item = judged[place - 1]
    best, scan = item.best, ranking.scan
    parts = scores.contributions(best.passage, ranking.weights, ranking.statistics.mean_length)
    shared = sorted(parts, key=lambda term: -parts[term])
    numbers = {
        "rank": float(place),
        "relevance": round(item.relevance(ranking), 4),
        "words_covered": scores.coverage(ranking, best),
        "score": item.score,
        "fused": best.fused,
        "bm25": best.plain_lexical,
        "bm25_best": max(other.plain_lexical for other in ranking.scored),
        "bm25_with_feedback": best.lexical,
        "words_shared": float(len(shared)),
        "words_asked": float(len(ranking.terms)),
        "session": item.session_bonus,
        "validity": validity(item.memory),
    }
    if best.cosine is not None and scan is not None:
        numbers |= {"cosine": best.cosine, "cosine_mean": scan.mean}
        numbers |= {"cosine_deviation": scan.deviation, "cosine_minimum": scan.minimum}
    numbers |= bonuses(item.memory, now)
    return Explanation(memory, query, numbers, tuple(_told(item, numbers, shared)))


def _told(item: Judged, numbers: Mapping[str, float], shared: Sequence[str]) -> Iterator[str]:
    asked, relevant, cosine = int(numbers["words_asked"]), numbers["relevance"], item.best.cosine
    around = "" if {*shared} & {*item.best.passage.own} else " (all in its neighbours or its date)"
    if shared:
        yield f"shares {len(shared)} of {asked} words with the question: {', '.join(shared[:8])}{around}"
    else:
        yield f"shares none of the {asked} words of the question"
    if cosine is None:
        yield "was compared by words only: no vector of question or memory at hand"
    else:
        close = "close" if cosine >= _CLOSE else "fairly close" if cosine >= _FAIRLY_CLOSE else "not close"
        yield f"is {close} in meaning ({cosine:.2f})"
    if numbers["bm25_with_feedback"] > numbers["bm25"]:
        yield "shares further words with the best answers found first"
    if item.memory.status is Status.SUPERSEDED:
        yield f"was replaced by {item.memory.superseded_by}, so it sinks"
    if item.in_place_of is not None:
        yield "stands before an older memory on the same subject"
    if numbers.get("recency", 0.0) > _LIFTS:
        yield "is recent, which lifts it a little"
    if numbers["session"] > _LIFTS:
        yield "other exchanges of its session answer, too"
    unlikely = "may be the answer" if relevant >= _POSSIBLE else "probably about something else"
    yield f"is {'likely the answer' if relevant >= _LIKELY else unlikely} ({relevant:.2f})"
    yield f"comes at place {int(numbers['rank'])} for this question"
