"""How likely a hit belongs to the question, 0 to 1. Pure arithmetic on a ranking's own figures.

A question that is foreign to the store also has a best hit; only a calibrated figure tells it apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from claude_memory.search.bm25 import idf
from claude_memory.search.ranking import Ranking, Scored

# At and above it a memory may be offered unasked: nine of ten own questions pass, and 1.5% of foreign
# ones (developer notes, LoCoMo and LongMemEval weighing alike, on the questions of the fit itself).
INJECTION_THRESHOLD = 0.8

# Rarity is judged as if a hundred other passages stood beside the store's own: in a store of one
# memory every word is "common", and still a shared word says as much as it does elsewhere.
_BACKGROUND_PASSAGES = 100
# Log-odds lost per point of fused score behind the best hit: fitted on gold among the top ten, where
# 46% of first hits are gold, 37% of those within .05 of it, 9% at .1 to .2, 2% beyond .3.
_BEHIND = 9.0


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model by named features."""

    intercept: float
    coefficients: Mapping[str, float]

    def log_odds(self, features: Mapping[str, float]) -> float:
        """Where the features stand, from certainly foreign (negative) to certainly at home."""
        return self.intercept + sum(weight * features[name] for name, weight in self.coefficients.items())


# Fitted by bench/relevance.py on 2,630 questions, own and foreign, in 56 whole stores and 410 of 1 to 20
# memories; every set and side weighs alike. False injections where 90% of own questions pass, all pooled:
# 1.1%, also when the set judged was left out of the fit; but one threshold for all sets then lets 4% of
# foreign questions through in LoCoMo. Features were chosen on these figures. By words alone it is 6%.
WORDS_AND_MEANING = Logistic(
    -14.79,
    {"cosine": 15.89, "own_coverage": 3.58, "coverage": 1.97, "known": 5.27, "size": -0.71, "mean": 7.02},
)
# One unit of log-odds is taken off: for LoCoMo left out, that halves the 8.5% it would let through.
MEANING_ONLY = Logistic(-16.10 - 1.0, {"cosine": 27.53, "size": -0.36})
WORDS_ONLY = Logistic(-4.23, {"coverage": 9.83, "known": 2.16})


def features(ranking: Ranking, item: Scored) -> dict[str, float]:
    """The figures a judgement of one hit rests on.

    coverage: the share of what the question's words tell that the passage has, itself or around it;
    known: the share that the store has anywhere; size: among many passages one is near by chance;
    mean: how near the whole store is to the question.
    """
    told = information(ranking)
    whole = sum(told.values()) or 1.0
    passage = item.passage
    own = frozenset(passage.own)
    entry = own.union(passage.near, passage.far, passage.date)
    known = [term for term in told if ranking.statistics.document_frequency.get(term)]
    found = {
        "own_coverage": _total(told, own) / whole,
        "coverage": _total(told, entry) / whole,
        "known": _total(told, known) / whole,
        "size": math.log(max(ranking.statistics.passages, 1)),
    }
    if item.cosine is not None and ranking.scan is not None:
        found["cosine"] = item.cosine
        found["mean"] = ranking.scan.mean
    return found


def information(ranking: Ranking) -> dict[str, float]:
    """What each term of the question tells, whether the store knows it or not."""
    statistics = ranking.statistics
    passages = statistics.passages + _BACKGROUND_PASSAGES
    frequency = statistics.document_frequency
    return {term: idf(passages, frequency.get(term, 0)) for term in ranking.question.terms}


def relevance(ranking: Ranking, item: Scored) -> float:
    """The calibrated probability that this hit belongs to the question."""
    found = features(ranking, item)
    # Two witnesses, and the better one counts: a paraphrase shares no word and is still an answer.
    models = (WORDS_AND_MEANING, MEANING_ONLY) if "cosine" in found else (WORDS_ONLY,)
    behind = ranking.best - item.fused
    return _probability(max(model.log_odds(found) for model in models) - _BEHIND * behind)


def _total(told: Mapping[str, float], terms: Collection[str]) -> float:
    return sum(weight for term, weight in told.items() if term in terms)


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, log_odds))))
