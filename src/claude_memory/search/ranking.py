"""From a question to scored passages: candidates, exact scores, one round of feedback.

Reads the store, never writes it. Knows passages only; what a memory is worth is `search`'s part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING

from claude_memory.embed.protocol import Embedder
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
    words = _beside(question, partial(_by_words, store, question, max(TEXT_CANDIDATES, depth)))
    question = _with_meaning(question)
    scan, near_answers = _scan(store, question, max(VECTOR_CANDIDATES, depth))
    found = words()
    statistics, weights = found.statistics, found.weights
    known = {passage.id for passage in found.passages}
    near = [id_ for id_, _ in scan.candidates if id_ not in known] if scan is not None else []
    others = store.memories.passages(near) if near else []
    passages = [*found.passages, *others]
    plain = found.scores + [scoring.score(passage, weights, statistics.mean_length) for passage in others]
    cosines = _cosines(store, question, passages, scan)
    memories = [passage.memory for passage in passages]
    lowered = _slices_lowered(passages, cosines)
    fuse = partial(
        scoring.fused,
        cosines=None if lowered is None else scoring.best_of_each(memories, lowered),
        cosine_minimum=scan.minimum if scan else 0.0,
        lexical_floor=_floor(statistics),
    )
    lexical, together = plain, fuse(scoring.best_of_each(memories, plain))
    if scan is not None and statistics.passages >= scoring.FEEDBACK_STORE:
        best = nlargest(scoring.FEEDBACK_SOURCES, range(len(passages)), key=together.__getitem__)
        lexical = _with_feedback(store, question, [passages[i] for i in best], passages, plain)
        together = fuse(scoring.best_of_each(memories, lexical))
    scored = map(Scored, passages, lexical, plain, cosines or [None] * len(passages), together)
    # Equal scores keep a stable order: the later passage first, as the newer is the likelier.
    order = sorted(scored, key=lambda item: (-item.fused, -item.lexical, -item.passage.id))
    answers = found.answers | near_answers
    inside = tuple(item for item in order if item.passage.id in answers)
    top = order[0].fused if order else 0.0
    return Ranking(question, weights, statistics, scan, inside, top)


def _filters(question: Question) -> tuple[MemoryFilter, ...]:
    """The question's own filter and, where that narrows the scope, the one that does not."""
    whole_scope = MemoryFilter(statuses=question.filter_.statuses)
    return tuple(dict.fromkeys([question.filter_, whole_scope]))


def _floor(statistics: TermStatistics) -> float:
    rarities = [scoring.idf(statistics.passages, count) for count in statistics.document_frequency.values()]
    return scoring.lexical_floor((scoring.K1 + 1.0) * sum(rarities), scoring.idf(statistics.passages, 0))


@dataclass(frozen=True, slots=True)
class _Found:
    """What words find, already scored."""

    statistics: TermStatistics
    weights: Mapping[str, float]
    passages: list[Passage]
    scores: list[float]
    answers: set[PassageId]  # those that pass the question's filter; the others are a yardstick


def _by_words(store: Store, question: Question, limit: int) -> _Found:
    statistics = store.memories.term_statistics(question.scope, question.terms)
    weights = scoring.term_weights(dict.fromkeys(question.terms, 1.0), statistics)
    known = {term: 1.0 for term in question.terms if statistics.document_frequency.get(term)}
    filters = _filters(question) if known else ()
    lists = [store.memories.text_candidates(question.scope, filter_, known, limit) for filter_ in filters]
    ids = list(dict.fromkeys(chain.from_iterable(lists)))
    passages = store.memories.passages(ids) if ids else []
    scores = [scoring.score(passage, weights, statistics.mean_length) for passage in passages]
    return _Found(statistics, weights, passages, scores, set(lists[0]) if lists else set())


def _beside(question: Question, look_up: Callable[[], _Found]) -> Callable[[], _Found]:
    """Words are looked up while the model reads the question: neither holds the interpreter's lock."""
    if question.embedder is None:
        return look_up
    return _second_thread().submit(look_up).result


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


def _with_feedback(
    store: Store,
    question: Question,
    best: list[Passage],
    passages: list[Passage],
    plain: list[float],
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


def _scan(store: Store, question: Question, limit: int) -> tuple[VectorScan | None, set[PassageId]]:
    """The nearest of the whole scope and of those that pass the filter; and which ones pass."""
    if question.vector is None or question.model is None:
        return None, set()
    vector, model = question.vector, question.model
    scans = [
        store.memories.vector_candidates(question.scope, filter_, vector, model, limit)
        for filter_ in _filters(question)
    ]
    own = scans[0]
    nearest = tuple(dict.fromkeys(chain.from_iterable(scan.candidates for scan in scans)))
    answers = {id_ for id_, _ in own.candidates}
    return (own._replace(candidates=nearest) if own.scanned else None), answers


def _cosines(
    store: Store, question: Question, passages: list[Passage], scan: VectorScan | None
) -> list[float | None] | None:
    if scan is None or question.vector is None or question.model is None:
        return None
    known = dict(scan.candidates)
    missing = [passage.id for passage in passages if passage.id not in known]
    known.update(store.memories.cosines(question.vector, question.model, missing))
    return [known.get(passage.id) for passage in passages]


def _slices_lowered(passages: list[Passage], cosines: list[float | None] | None) -> list[float | None] | None:
    if cosines is None:
        return None
    return [
        cosine - scoring.LATER_SLICE if cosine is not None and passage.ordinal else cosine
        for passage, cosine in zip(passages, cosines, strict=True)
    ]
