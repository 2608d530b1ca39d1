"""From a question to scored passages: candidates, exact scores, one round of feedback, how likely each is it.

Reads the store, never writes it. Knows passages only; what a memory is worth is `search`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from claude_memory.embed import Embedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.model import MemoryFilter, Passage, PassageId, SearchScope
from claude_memory.search import scoring
from claude_memory.store.base import Store
from claude_memory.store.model import TermStatistics, VectorScan
from claude_memory.text.words import QUERY_CHARACTERS, query_terms

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# From 50 and 50 on, only the sessions of LoCoMo still gain from more (fraction@10 +0.2).
TEXT_CANDIDATES = 60
VECTOR_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which part of the store."""

    text: str
    scope: SearchScope
    filter_: MemoryFilter
    terms: tuple[str, ...]
    embedder: Embedder | None = None
    vector: bytes | None = None
    model: str | None = None

    @property
    def filters(self) -> tuple[MemoryFilter, ...]:
        """Its own filter and, where that narrows the scope, the one that does not."""
        whole_scope = MemoryFilter(statuses=self.filter_.statuses)
        return tuple(dict.fromkeys([self.filter_, whole_scope]))


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with its exact scores."""

    passage: Passage
    lexical: float
    plain_lexical: float
    cosine: float | None
    fused: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every candidate passage, best first, with what is needed to judge and explain the scores."""

    question: Question
    weights: Mapping[str, float]
    statistics: TermStatistics
    scan: VectorScan | None
    scored: tuple[Scored, ...]
    best: float


def ask(text: str, scope: SearchScope, filter_: MemoryFilter, embedder: Embedder | None) -> Question:
    """The question in words; `rank` adds its meaning where a model can be had."""
    return Question(text, scope, filter_, tuple(query_terms(text[:QUERY_CHARACTERS])), embedder)


def rank(store: Store, question: Question, *, depth: int = 0) -> Ranking:
    """Score the union of what words and meaning find.

    A filter narrows what is answered, not what it is measured against: its passages are scored beside
    the best of the whole scope, so that a score means the same with and without it.
    """
    look_up = partial(_by_words, store, question, max(TEXT_CANDIDATES, depth))
    # Words are looked up while the model reads the question: neither holds the interpreter's lock.
    words = _second_thread().submit(look_up).result if question.embedder is not None else look_up
    question = _with_meaning(question)
    scan, near_answers = _scan(store, question, max(VECTOR_CANDIDATES, depth))
    statistics, weights, passages, plain, answers = words()
    known = {passage.id for passage in passages}
    near = [id_ for id_, _ in scan.candidates if id_ not in known] if scan is not None else []
    others = store.memories.passages(near) if near else []
    passages = [*passages, *others]
    plain = plain + [scoring.score(passage, weights, statistics.mean_length) for passage in others]
    cosines = _cosines(store, question, passages, scan)
    memories = [passage.memory for passage in passages]
    fuse = partial(
        scoring.fused,
        cosines=scoring.best_of_each(memories, _slices_lowered(passages, cosines)) if scan else None,
        cosine_minimum=scan.minimum if scan else 0.0,
        lexical_floor=scoring.lexical_floor(statistics),
    )
    lexical, together = plain, fuse(scoring.best_of_each(memories, plain))
    if scan is not None and statistics.passages >= scoring.FEEDBACK_STORE:
        best = nlargest(scoring.FEEDBACK_SOURCES, range(len(passages)), key=together.__getitem__)
        lexical = _with_feedback(store, question, [passages[i] for i in best], passages, plain)
        together = fuse(scoring.best_of_each(memories, lexical))
    # Equal scores keep a stable order: the later passage first, as the newer is the likelier.
    scored = map(Scored, passages, lexical, plain, cosines, together)
    order = sorted(scored, key=lambda item: (-item.fused, -item.lexical, -item.passage.id))
    inside = tuple(item for item in order if item.passage.id in answers | near_answers)
    return Ranking(question, weights, statistics, scan, inside, order[0].fused if order else 0.0)


class _ByWords(NamedTuple):
    """What words find, already scored; `answers` pass the question's filter, the others are a yardstick."""

    statistics: TermStatistics
    weights: Mapping[str, float]
    passages: list[Passage]
    scores: list[float]
    answers: set[PassageId]


def _by_words(store: Store, question: Question, limit: int) -> _ByWords:
    statistics = store.memories.term_statistics(question.scope, question.terms)
    weights = scoring.term_weights(dict.fromkeys(question.terms, 1.0), statistics)
    known = {term: 1.0 for term in question.terms if statistics.document_frequency.get(term)}
    filters = question.filters if known else ()
    lists = [store.memories.text_candidates(question.scope, filter_, known, limit) for filter_ in filters]
    ids = list(dict.fromkeys(chain.from_iterable(lists)))
    passages = store.memories.passages(ids) if ids else []
    scores = [scoring.score(passage, weights, statistics.mean_length) for passage in passages]
    return _ByWords(statistics, weights, passages, scores, set(lists[0]) if lists else set())


@cache
def _second_thread() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # words alone are found without it

    return ThreadPoolExecutor(1, thread_name_prefix="words")


def _with_meaning(question: Question) -> Question:
    head, embedder = question.text[:QUERY_CHARACTERS], question.embedder
    if embedder is None or not head.strip():
        return question
    try:
        [vector] = embedder.embed([head], query=True)
    except EmbedderUnavailable:
        return question  # words alone still answer; `search_mode` and `doctor` say why
    return replace(question, vector=vector, model=embedder.model)


def _scan(store: Store, question: Question, limit: int) -> tuple[VectorScan | None, set[PassageId]]:
    """The nearest of the whole scope and of those that pass the filter; and which ones pass."""
    if question.vector is None or question.model is None:
        return None, set()
    scans = [
        store.memories.vector_candidates(question.scope, filter_, question.vector, question.model, limit)
        for filter_ in question.filters
    ]
    own = scans[0]
    nearest = tuple(dict.fromkeys(chain.from_iterable(scan.candidates for scan in scans)))
    answers = {id_ for id_, _ in own.candidates}
    return (own._replace(candidates=nearest) if own.scanned else None), answers


def _cosines(
    store: Store, question: Question, passages: list[Passage], scan: VectorScan | None
) -> list[float | None]:
    if scan is None or question.vector is None or question.model is None:
        return [None] * len(passages)
    known = dict(scan.candidates)
    missing = [passage.id for passage in passages if passage.id not in known]
    known.update(store.memories.cosines(question.vector, question.model, missing))
    return [known.get(passage.id) for passage in passages]


def _slices_lowered(passages: list[Passage], cosines: list[float | None]) -> list[float | None]:
    return [
        cosine - scoring.LATER_SLICE if cosine is not None and passage.ordinal else cosine
        for passage, cosine in zip(passages, cosines, strict=True)
    ]


def _with_feedback(
    store: Store, question: Question, best: list[Passage], passages: list[Passage], plain: list[float]
) -> list[float]:
    """BM25 is linear in the question, so the added terms' scores are added to the plain ones.

    No new candidates are fetched for them: on all sets that changed no figure.
    """
    statistics = store.memories.term_statistics(question.scope, scoring.feedback_sources(best))
    more = scoring.feedback_terms(dict.fromkeys(question.terms, 1.0), best, statistics)
    weights = scoring.term_weights(more, statistics)
    return [
        score + scoring.score(passage, weights, statistics.mean_length)
        for passage, score in zip(passages, plain, strict=True)
    ]


# --- how likely a hit is the right answer

# Says what it knows: a passage without a vector is judged by its own words alone, never by its neighbours',
# and words alone make nobody sure. A filter changes nothing: the whole store is the measure.
# Fitted by bench/relevance.py on the hits of 83 readers' questions to four real repositories and of 120
# developer notes' questions, own and foreign weighing alike. With each left out in turn, of hits shown at .1
# to .3 22% are right (n 214), at .3 to .5 49% (74), at .5 to .65 47% (45), at .65 to .8 74% (27), above that
# 86% (22); no foreign question comes above .5.
INTERCEPT, COSINE, COVERAGE, BEHIND = -15.2, 17.7, 3.8, -8.0
# The nearest of a thousand is near by chance, the nearest of three is not: a fit on 410 stores of 1 to 20
# memories put the difference at .03 to .045 of the cosine for each factor e.
SMALL_STORE, USUAL_STORE = 0.55, 1000
# By words alone the same way: right are 25% at .1 to .3 (n 226), 67% at .5 to .65 (27). The fit's own 6.1
# would show all words of a question at .87, and too few such hits were seen to be that sure.
WORDS_INTERCEPT, WORDS_COVERAGE, WORDS_BEHIND = -4.2, 5.5, -6.0
# At and above it a memory may be offered unasked: at most 1.5% of foreign questions pass (4,170 in the public
# sets, 332 in real repositories).
INJECTION_THRESHOLD = 0.48
# What one rare word tells in a store of a thousand: a question that tells less cannot be covered in full.
TELLING = 7.0
# Rarity is judged as if a hundred other passages stood beside the store's own: in a store of one
# memory every word is "common", and still a shared word says as much as it does elsewhere.
_BACKGROUND_PASSAGES = 100


def relevance(ranking: Ranking, item: Scored) -> float:
    """The chance that this passage is the answer, 0 to 1."""
    covered, behind = coverage(ranking, item), ranking.best - item.fused
    if item.cosine is None:
        log_odds = WORDS_INTERCEPT + WORDS_COVERAGE * covered + WORDS_BEHIND * behind
    else:
        log_odds = INTERCEPT + COSINE * item.cosine + COVERAGE * covered + BEHIND * behind
        log_odds += SMALL_STORE * max(0.0, math.log(USUAL_STORE / max(ranking.statistics.passages, 1)))
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, log_odds))))


def coverage(ranking: Ranking, item: Scored) -> float:
    """The share of what the question's words tell that the passage has; "ok, do it" has little to cover."""
    passages = ranking.statistics.passages + _BACKGROUND_PASSAGES
    frequency = ranking.statistics.document_frequency
    tells = {term: scoring.idf(passages, frequency.get(term, 0)) for term in ranking.question.terms}
    own = frozenset(item.passage.own)
    return sum(weight for term, weight in tells.items() if term in own) / max(sum(tells.values()), TELLING)
