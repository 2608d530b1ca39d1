"""From a question to scored passages: candidates, exact scores, one round of feedback.

Reads the store, never writes it. Knows passages only; what a memory is worth is `search`'s part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from claude_memory.embed.protocol import Embedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.model import MemoryFilter, Passage, PassageId, SearchScope
from claude_memory.recall import bm25, feedback
from claude_memory.recall.fuse import fused
from claude_memory.store.protocol import Store, TermStatistics, VectorScan
from claude_memory.text import QUERY_CHARACTERS, query_terms

TEXT_CANDIDATES = 100
VECTOR_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which part of the store."""

    text: str
    scope: SearchScope
    filter_: MemoryFilter
    terms: tuple[str, ...]
    vector: bytes | None
    model: str | None


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


def ask(text: str, scope: SearchScope, filter_: MemoryFilter, embedder: Embedder | None) -> Question:
    """The question in words and, where a model can be had, in meaning."""
    head = text[:QUERY_CHARACTERS]
    vector = None
    if embedder is not None and head.strip():
        try:
            vector = embedder.embed([head], query=True)[0]
        except EmbedderUnavailable:
            vector = None  # words alone still answer; `search_mode` and `doctor` say why
    model = embedder.model if embedder is not None and vector is not None else None
    return Question(text, scope, filter_, tuple(query_terms(head)), vector, model)


def rank(store: Store, question: Question, *, depth: int = 0, extra: tuple[PassageId, ...] = ()) -> Ranking:
    """Score the union of what words and meaning find; `extra` passages are scored with them."""
    query = dict.fromkeys(question.terms, 1.0)
    statistics = store.term_statistics(question.scope, question.terms)
    scan = _scan(store, question, max(VECTOR_CANDIDATES, depth))
    found = dict.fromkeys(extra)
    found.update(dict.fromkeys(_by_words(store, question, query, statistics, depth)))
    if scan is not None:
        found.update((passage, None) for passage, _ in scan.candidates)
    passages = {passage.id: passage for passage in store.passages(list(found), model=question.model)}
    weights = bm25.term_weights(query, statistics)
    scored = _score(question, passages, weights, weights, mean_length=statistics.mean_length, scan=scan)
    if scan is None or statistics.passages < feedback.SMALLEST_STORE or not scored:
        return Ranking(question, weights, statistics, scan, scored)
    best = [item.passage for item in scored[: feedback.SOURCES]]
    wider = _merged(statistics, store.term_statistics(question.scope, feedback.source_terms(best)))
    query = feedback.expanded(query, best, wider)
    new = [id_ for id_ in _by_words(store, question, query, wider, depth) if id_ not in passages]
    passages.update((passage.id, passage) for passage in store.passages(new, model=question.model))
    plain, weights = weights, bm25.term_weights(query, wider)
    scored = _score(question, passages, weights, plain, mean_length=statistics.mean_length, scan=scan)
    return Ranking(question, plain, statistics, scan, scored)


def _by_words(
    store: Store, question: Question, query: Mapping[str, float], statistics: TermStatistics, depth: int
) -> list[PassageId]:
    # The store knows how rare a term is; it wants the question's own weights.
    known = {term: weight for term, weight in query.items() if statistics.document_frequency.get(term)}
    if not known:
        return []
    return store.text_candidates(question.scope, question.filter_, known, max(TEXT_CANDIDATES, depth))


def _scan(store: Store, question: Question, limit: int) -> VectorScan | None:
    if question.vector is None or question.model is None:
        return None
    scan = store.vector_candidates(question.scope, question.filter_, question.vector, question.model, limit)
    return scan if scan.scanned else None


def _score(
    question: Question,
    passages: Mapping[PassageId, Passage],
    weights: Mapping[str, float],
    plain: Mapping[str, float],
    *,
    mean_length: float,
    scan: VectorScan | None,
) -> tuple[Scored, ...]:
    items = list(passages.values())
    lexical = [bm25.score(passage, weights, mean_length) for passage in items]
    plain_lexical = (
        lexical if plain is weights else [bm25.score(passage, plain, mean_length) for passage in items]
    )
    cosines = _cosines(question, items, scan)
    together = fused(lexical, cosines, scan.minimum if scan else 0.0)
    scored = [
        Scored(passage, lexical[i], plain_lexical[i], cosines[i] if cosines else None, together[i])
        for i, passage in enumerate(items)
    ]
    # Equal scores keep a stable order: the later passage first, as the newer is the likelier.
    return tuple(sorted(scored, key=lambda item: (-item.fused, -item.passage.id)))


def _cosines(
    question: Question, passages: list[Passage], scan: VectorScan | None
) -> list[float | None] | None:
    if scan is None or question.vector is None:
        return None
    known = dict(scan.candidates)
    missing = [passage for passage in passages if passage.id not in known and passage.vector is not None]
    known.update(_exact(question.vector, missing))
    return [known.get(passage.id) for passage in passages]


def _exact(asked: bytes, passages: list[Passage]) -> dict[PassageId, float]:
    import numpy as np  # the scan needed it already; without an embedder nobody comes here

    usable = [passage for passage in passages if passage.vector and len(passage.vector) == len(asked)]
    if not usable:
        return {}
    query = np.frombuffer(asked, np.int8).astype(np.float32)
    rows = np.frombuffer(b"".join(p.vector or b"" for p in usable), np.int8).astype(np.float32)
    rows = rows.reshape(len(usable), -1)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosines = (rows @ query) / np.maximum(norms, 1e-9)
    return {passage.id: float(cosine) for passage, cosine in zip(usable, cosines, strict=True)}


def _merged(first: TermStatistics, second: TermStatistics) -> TermStatistics:
    together = {**second.document_frequency, **first.document_frequency}
    return TermStatistics(first.passages, first.mean_length, together)
