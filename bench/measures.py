"""Retrieval measures over answers. Each gives one value per question, so that intervals can be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from claude_memory.model import Hit
from claude_memory.search.conversations import together
from claude_memory.search.ranking import INJECTION_THRESHOLD
from sets.corpus import Corpus, Question

Values = dict[str, list[float]]


@dataclass(frozen=True)
class Answer:
    """What a store gave to a question; `question` is None for one that is foreign to it."""

    corpus: Corpus
    question: Question | None
    hits: list[Hit]
    keys: dict[str, str]

    @property
    def found(self) -> list[str]:
        return [self.keys[hit.id] for hit in self.hits]


def any_at(found: Sequence[str], gold: frozenset[str], k: int) -> float:
    return float(bool(gold & set(found[:k])))


def all_at(found: Sequence[str], gold: frozenset[str], k: int) -> float:
    return float(gold <= set(found[:k]))


def fraction_at(found: Sequence[str], gold: frozenset[str], k: int) -> float:
    return len(gold & set(found[:k])) / len(gold)


def ndcg_at(found: Sequence[str], gold: frozenset[str], k: int) -> float:
    gain = sum(1 / math.log2(place + 2) for place, key in enumerate(found[:k]) if key in gold)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(k, len(gold))))


def reciprocal_rank(found: Sequence[str], gold: frozenset[str]) -> float:
    return next((1 / place for place, key in enumerate(found, 1) if key in gold), 0.0)


def measured(answers: Sequence[Answer]) -> Values:
    """Every measure of every set, over the questions that belong to their store."""
    values: Values = {}
    for answer in answers:
        if answer.question is not None:
            family = answer.corpus.name.split()[0]
            for name, value in _BY_FAMILY[family](answer, answer.question).items():
                values.setdefault(name, []).append(value)
    return values


def _notes(answer: Answer, question: Question) -> dict[str, float]:
    head = f"developer notes, {question.kind}:"
    found = answer.found
    figures = {f"{head} R@{k}": any_at(found, question.gold, k) for k in (1, 5, 10)}
    return figures | {f"{head} MRR": reciprocal_rank(found, question.gold)}


def _locomo(answer: Answer, question: Question) -> dict[str, float]:
    found, gold = answer.found, question.gold
    session_of = {unit.key: unit.session or "" for unit in answer.corpus.units}
    sessions = frozenset(session_of[key] for key in gold)
    first = list(dict.fromkeys(session_of[key] for key in found))
    scores: dict[str, list[float]] = {}
    for hit in answer.hits:
        scores.setdefault(hit.session or "", []).append(hit.score)
    summed = sorted(filter(None, scores), key=lambda session: -together(scores[session]))
    return {
        **{f"LoCoMo turn any@{k}": any_at(found, gold, k) for k in (5, 10, 20)},
        **{f"LoCoMo turn all@{k}": all_at(found, gold, k) for k in (5, 10)},
        "LoCoMo turn fraction@10": fraction_at(found, gold, 10),
        "LoCoMo session fraction@10, by their hits together": fraction_at(summed, sessions, 10),
        "LoCoMo session fraction@10, by first hit": fraction_at(first, sessions, 10),
    }


def _longmemeval(answer: Answer, question: Question) -> dict[str, float]:
    found, gold = answer.found, question.gold
    figures = {
        "any@5": any_at(found, gold, 5),
        "all@5": all_at(found, gold, 5),
        "fraction@5": fraction_at(found, gold, 5),
        "NDCG@10": ndcg_at(found, gold, 10),
    }
    named = {f"LongMemEval {name}, with abstention": value for name, value in figures.items()}
    if question.kind == "abstention":
        return named
    return {f"LongMemEval {name}": value for name, value in figures.items()} | named


def _memorycode(answer: Answer, question: Question) -> dict[str, float]:
    found = answer.found
    places = {key: place for place, key in enumerate(found)}
    last = len(found)
    current = min(places.get(key, last) for key in question.gold)
    stale = min(places.get(key, last) for key in question.stale)
    return {
        "MemoryCode current@1": any_at(found, question.gold, 1),
        "MemoryCode current@5": any_at(found, question.gold, 5),
        "MemoryCode stale first (lower is better)": float(stale < current),
    }


_BY_FAMILY = {
    "developer": _notes,
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "memorycode": _memorycode,
}


def off_topic(answers: Sequence[Answer]) -> Values:
    """How often a foreign question would have been answered, at the threshold in use and at 90% recall."""
    own = [_confidence(answer) for answer in answers if answer.question is not None]
    foreign = [_confidence(answer) for answer in answers if answer.question is None]
    if not own or not foreign:
        return {}
    strict = sorted(own)[len(own) // 10]
    return {
        f"own questions answered at relevance {INJECTION_THRESHOLD}": [
            float(value >= INJECTION_THRESHOLD) for value in own
        ],
        f"foreign questions answered at relevance {INJECTION_THRESHOLD}": [
            float(value >= INJECTION_THRESHOLD) for value in foreign
        ],
        f"foreign questions answered at 90% recall ({strict:.2f})": [
            float(value >= strict) for value in foreign
        ],
    }


def _confidence(answer: Answer) -> float:
    return answer.hits[0].relevance if answer.hits else 0.0
