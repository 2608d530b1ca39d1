"""BM25 over a passage's own words, its neighbours' and its date. Pure arithmetic; reads no store."""

from __future__ import annotations

import math
from collections.abc import Mapping

from claude_memory.model import Passage
from claude_memory.store.protocol import TermStatistics

# Notes and turns are short and of like length, so repeated words and length say little: against the
# usual 1.2 and .75 this is worth 2 points of R@5 on developer notes and 1 of turn any@10 on LoCoMo.
K1 = 0.9
B = 0.4
# A turn answers the one before it: without neighbours LoCoMo turn any@10 falls from 80 to 70 (words
# only). The date is weak, because most questions that hold a number do not name a day.
NEAR_WEIGHT = 1.0
FAR_WEIGHT = 0.5
DATE_WEIGHT = 0.5


def idf(passages: int, frequency: int) -> float:
    """How much a term tells; never negative, so that a common word cannot push a passage down."""
    frequency = min(frequency, passages)
    return math.log(1.0 + (passages - frequency + 0.5) / (frequency + 0.5))


def term_weights(query: Mapping[str, float], statistics: TermStatistics) -> dict[str, float]:
    """Each known query term with its weight in the question times its rarity in the store."""
    frequency = statistics.document_frequency
    return {
        term: weight * idf(statistics.passages, frequency[term])
        for term, weight in query.items()
        if frequency.get(term)
    }


def length(passage: Passage) -> float:
    """A passage's length in words, each field counted with its weight."""
    return (
        len(passage.own)
        + NEAR_WEIGHT * len(passage.near)
        + FAR_WEIGHT * len(passage.far)
        + DATE_WEIGHT * len(passage.date)
    )


def contributions(passage: Passage, weights: Mapping[str, float], mean_length: float) -> dict[str, float]:
    """What each query term adds to the passage's score; terms it lacks are left out."""
    frequencies: dict[str, float] = {}
    wanted = weights.__contains__
    for words, field_weight in (
        (passage.own, 1.0),
        (passage.near, NEAR_WEIGHT),
        (passage.far, FAR_WEIGHT),
        (passage.date, DATE_WEIGHT),
    ):
        for term in filter(wanted, words):
            frequencies[term] = frequencies.get(term, 0.0) + field_weight
    if not frequencies:
        return {}
    norm = K1 * (1.0 - B + B * length(passage) / mean_length) if mean_length > 0 else K1
    return {term: weights[term] * tf * (K1 + 1.0) / (tf + norm) for term, tf in frequencies.items()}


def score(passage: Passage, weights: Mapping[str, float], mean_length: float) -> float:
    """The passage's BM25 score for weights made by `term_weights`."""
    return sum(contributions(passage, weights, mean_length).values())
