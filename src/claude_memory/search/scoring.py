"""Scores: BM25 over words, words and meaning joined, words of the best passages added, what is known besides.

Pure arithmetic; reads no store.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from claude_memory.model import Kind, MemoryId, Passage, Status, StoredMemory, Trust
from claude_memory.store.model import TermStatistics
from claude_memory.text.words import is_stop_term
from claude_memory.understand.calls import same_file

_Score = TypeVar("_Score", float, float | None)

# Notes and turns are short and of like length, so repeated words and length say little: against the
# usual 1.2 and .75 this is worth 2 points of R@5 on developer notes and 1 of turn any@10 on LoCoMo.
K1 = 0.9
B = 0.4
# A turn answers the one before it: without neighbours LoCoMo turn any@10 falls from 80 to 70 (words only).
# The date is weak, because most questions that hold a number do not name a day.
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


def contributions(passage: Passage, weights: Mapping[str, float], mean_length: float) -> dict[str, float]:
    """What each query term adds to the passage's score; terms it lacks are left out."""
    fields = (
        (passage.own, 1.0),
        (passage.near, NEAR_WEIGHT),
        (passage.far, FAR_WEIGHT),
        (passage.date, DATE_WEIGHT),
    )
    frequencies: dict[str, float] = {}
    wanted = weights.__contains__
    for words, field_weight in fields:
        for term in filter(wanted, words):
            frequencies[term] = frequencies.get(term, 0.0) + field_weight
    if not frequencies:
        return {}
    length = sum(field_weight * len(words) for words, field_weight in fields)
    norm = K1 * (1.0 - B + B * length / mean_length) if mean_length > 0 else K1
    return {term: weights[term] * tf * (K1 + 1.0) / (tf + norm) for term, tf in frequencies.items()}


def score(passage: Passage, weights: Mapping[str, float], mean_length: float) -> float:
    """The passage's BM25 score for weights made by `term_weights`."""
    return sum(contributions(passage, weights, mean_length).values())


# --- words and meaning

# Flat between .3 and .5 on developer notes, LongMemEval and commits; readers' questions about real
# work find their exchange among the first five in 78% at .3, 76% at .35 and 73% at .4 (n 83), but LoCoMo turn
# any@10 falls from 84.9 at .4 to 82.2 at .3.
LEXICAL_SHARE = 0.35
# The best match by words counts in full only from a seventh of all that the question's words could
# tell, or the worth of one rare word and a bit: in a small store one chance word otherwise outweighs
# meaning (first place for 14 of 20 paraphrased questions without the floor, 17 with it; tests/quality).
# It was chosen on those 20 questions; it moves no figure of the public sets by more than 0.2.
FLOOR_OF_QUESTION = 0.15
FLOOR_IN_RARE_WORDS = 1.25
# The head of a long memory says what it is about; a later slice must be nearer than that to count as much.
# Without it long exchanges crowd out short ones: question → exchange @5 74.5, with it 80.0 (bench/real.py).
LATER_SLICE = 0.05
# Between the nearest and the farthest text of a large store; the farther of two memories is not the farthest.
LEAST_WIDTH = 0.3


def best_of_each(memories: Sequence[MemoryId], scores: Sequence[_Score]) -> list[_Score]:
    """Each passage with the best score of its memory: one slice may hold the words, another the meaning."""
    best: dict[MemoryId, _Score] = {}
    for memory, score in zip(memories, scores, strict=True):
        known = best.get(memory)
        best[memory] = score if known is None or (score is not None and score > known) else known
    return [best[memory] for memory in memories]


def lexical_floor(statistics: TermStatistics) -> float:
    """The BM25 score from which a match by words is a full one, given what the question's words tell."""
    passages, frequency = statistics.passages, statistics.document_frequency
    information = (K1 + 1.0) * sum(idf(passages, count) for count in frequency.values())
    return min(FLOOR_OF_QUESTION * information, FLOOR_IN_RARE_WORDS * idf(passages, 0))


def fused(
    lexical: Sequence[float],
    cosines: Sequence[float | None] | None,
    cosine_minimum: float,
    *,
    lexical_floor: float = 0.0,
) -> list[float]:
    """Scores in 0 to 1, by convex combination of both signals, each scaled by its true extremes.

    The true minimum of BM25 is 0 and that of the cosine is the scan's, over the whole scope: minima
    of the candidates alone would stretch noise (−6 points). A best BM25 below `lexical_floor` does not
    count as a full match. `cosines` is None without an embedder.
    """
    if cosines is None:
        return _scaled(lexical, 0.0)
    words = _scaled([*lexical, lexical_floor], 0.0)[:-1]
    known = [value for value in cosines if value is not None]
    lowest = min([cosine_minimum, *known, max(known, default=0.0) - LEAST_WIDTH])
    meaning = iter(_scaled(known, lowest))
    # A passage that has no vector yet is judged by its words alone, not sunk for being new.
    return [
        word if cosine is None else LEXICAL_SHARE * word + (1.0 - LEXICAL_SHARE) * next(meaning)
        for word, cosine in zip(words, cosines, strict=True)
    ]


def _scaled(values: Sequence[float], minimum: float) -> list[float]:
    width = max(values, default=minimum) - minimum
    if width <= 0.0:
        # All alike: one vector alone in its store is the nearest there is, no words at all are none.
        return [1.0 if minimum > 0.0 else 0.0] * len(values)
    return [(value - minimum) / width for value in values]


# --- words that the best passages add to the question

# One round pays where words and meaning agreed on the best passages (developer notes R@5 76.7 → 81.7,
# R@10 80.0 → 86.7), in stores large enough that these have relatives: with feedback in stores of 50,
# LongMemEval all@5 falls from 94 to 90. By words alone it costs (reworded R@1 66.7 → 53.3).
# R@5 and R@10 are flat for masses of .15 to .25, 5 to 20 terms and 2 to 5 sources; R@1 is not (37 to 47).
FEEDBACK_STORE = 200
FEEDBACK_SOURCES = 3
FEEDBACK_TERMS = 10
FEEDBACK_MASS = 0.2


def feedback_sources(best: Iterable[Passage]) -> list[str]:
    """The terms of the best passages that could be added; their statistics are wanted next."""
    return list(dict.fromkeys(term for passage in best for term in passage.own if not is_stop_term(term)))


def feedback_terms(
    query: Mapping[str, float], best: Sequence[Passage], statistics: TermStatistics
) -> dict[str, float]:
    """The most telling terms of the best passages, with their small share of the question's mass."""
    telling: dict[str, float] = {}
    for passage in best:
        for term, count in Counter(passage.own).items():
            if not is_stop_term(term):
                rarity = idf(statistics.passages, statistics.document_frequency.get(term, 0))
                telling[term] = telling.get(term, 0.0) + count / len(passage.own) * rarity
    chosen = sorted(telling.items(), key=lambda pair: (-pair[1], pair[0]))[:FEEDBACK_TERMS]
    total = sum(weight for _, weight in chosen)
    if total <= 0.0:
        return {}
    scale = FEEDBACK_MASS / (1.0 - FEEDBACK_MASS) * sum(query.values()) / total
    return {term: scale * weight for term, weight in chosen}


# --- what is known of a memory apart from the question: weak next to the match, neutral where unknown

# Tie-breakers by design: together they move a score less than one more shared word does, so that no
# measured set changes by more than its noise (tests/quality, bench/quality.py).
RECENCY_BONUS = 0.02
RECENCY_HALF_LIFE_DAYS = 30.0
# Work goes on where it was: of earlier sessions that edited the files a prompt led to, one is among the first
# three in 72% with it and 67% without (n 125, bench/real.py).
WORK_BONUS = 0.05
WORK_HALF_LIFE_DAYS = 7.0
FILE_BONUS = 0.08
SUPERSEDED_FACTOR = 0.85
STALE_FACTOR = 0.9  # its files changed a lot since: likely still true, less likely than others
VALIDITY = {Status.SUPERSEDED: SUPERSEDED_FACTOR, Status.ARCHIVED: 0.85, Status.PROPOSED: 0.85}
KIND_BONUS = {Kind.OBSERVATION: -0.02, Kind.SUMMARY: -0.04}  # a summary touches much and answers little
TRUST_BONUS = {Trust.TOOL: -0.01, Trust.IMPORTED: -0.01}


def bonuses(memory: StoredMemory, now: datetime, boost_files: Sequence[str] = ()) -> dict[str, float]:
    """What is added to the fused score, by name; zero entries are left out."""
    values = {
        "recency": recency(memory.created_at, now, work=memory.kind in KIND_BONUS),
        "files": FILE_BONUS * shares_file(memory.files, boost_files),
        "kind": KIND_BONUS.get(memory.kind, 0.0),
        "trust": TRUST_BONUS.get(memory.trust, 0.0),
    }
    return {name: value for name, value in values.items() if value}


def validity(memory: StoredMemory) -> float:
    """The factor by which a memory that was replaced or has faded sinks."""
    stale = STALE_FACTOR if memory.provenance.get("stale") else 1.0
    return VALIDITY.get(memory.status, 1.0) * stale


def recency(created_at: datetime, now: datetime, *, work: bool = False) -> float:
    """A bonus that halves with age; a memory from the future counts as new."""
    days = max((now - created_at).total_seconds() / 86_400.0, 0.0)
    more = WORK_BONUS * math.exp2(-days / WORK_HALF_LIFE_DAYS) if work else 0.0
    return RECENCY_BONUS * math.exp2(-days / RECENCY_HALF_LIFE_DAYS) + more


def shares_file(files: Sequence[str], wanted: Sequence[str]) -> float:
    """1 for the same path, half for the same name elsewhere, 0 otherwise."""
    if any(same_file(one, other) for one in files for other in wanted):
        return 1.0
    names, asked = ({file.replace("\\", "/").rpartition("/")[2] for file in each} for each in (files, wanted))
    return 0.5 if names & asked else 0.0
