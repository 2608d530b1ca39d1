"""How likely a hit belongs to the question, 0 to 1. Pure arithmetic on a ranking's own figures.

A question that is foreign to the store also has a best hit; only a calibrated figure tells it apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from claude_memory.recall.bm25 import idf
from claude_memory.recall.ranking import Ranking, Scored
from claude_memory.store.protocol import VectorScan

# At and above it a memory may be offered unasked.
INJECTION_THRESHOLD = 0.6

# Rarity is judged as if a hundred other passages stood beside the store's own: in a store of one
# memory every word is "common", and still a shared word says as much as it does elsewhere.
_BACKGROUND_PASSAGES = 100
# A store of a few passages has no distribution of its own: five made-up cosines steady it.
_PRIOR_SCANNED, _PRIOR_MEAN, _PRIOR_DEVIATION = 5, 0.50, 0.05
_LEAST_DEVIATION = 0.02
# Log-odds lost per point of fused score behind the best hit, fitted on gold among the top ten.
_BEHIND = 9.0


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model by named features."""

    intercept: float
    coefficients: Mapping[str, float]

    def log_odds(self, features: Mapping[str, float]) -> float:
        """Where the features stand, from certainly foreign (negative) to certainly at home."""
        return self.intercept + sum(weight * features[name] for name, weight in self.coefficients.items())


WORDS_AND_MEANING = Logistic(
    -15.91, {"cosine": 22.06, "known": 2.59, "own_information": 1.40, "coverage": 3.20, "surprise": -1.08}
)
WORDS_ONLY = Logistic(-3.91, {"coverage": 10.1, "known": 2.18})


def features(ranking: Ranking, item: Scored) -> dict[str, float]:
    """The figures a judgement of one hit rests on."""
    told = information(ranking)
    whole = sum(told.values()) or 1.0
    passage = item.passage
    entry = frozenset(chain(passage.own, passage.near, passage.far, passage.date))
    known = [term for term in told if ranking.statistics.document_frequency.get(term)]
    found = {
        "coverage": _total(told, entry) / whole,
        "known": _total(told, known) / whole,
        "own_information": math.log1p(_total(told, frozenset(passage.own))),
    }
    if item.cosine is not None and ranking.scan is not None:
        found["cosine"] = item.cosine
        found["surprise"] = surprise(ranking.scan, item.cosine)
    return found


def information(ranking: Ranking) -> dict[str, float]:
    """What each term of the question tells, whether the store knows it or not."""
    statistics = ranking.statistics
    passages = statistics.passages + _BACKGROUND_PASSAGES
    frequency = statistics.document_frequency
    return {term: idf(passages, frequency.get(term, 0)) for term in ranking.question.terms}


def surprise(scan: VectorScan, cosine: float) -> float:
    """How many deviations a cosine stands above all the store's, steadied for small stores."""
    total = scan.scanned + _PRIOR_SCANNED
    mean = (scan.scanned * scan.mean + _PRIOR_SCANNED * _PRIOR_MEAN) / total
    own = scan.scanned * (scan.deviation**2 + (scan.mean - mean) ** 2)
    deviation = math.sqrt((own + _PRIOR_SCANNED * _PRIOR_DEVIATION**2) / total)
    return (cosine - mean) / max(deviation, _LEAST_DEVIATION)


def relevance(ranking: Ranking, item: Scored) -> float:
    """The calibrated probability that this hit belongs to the question."""
    found = features(ranking, item)
    model = WORDS_AND_MEANING if "cosine" in found else WORDS_ONLY
    behind = ranking.scored[0].fused - item.fused
    return _probability(model.log_odds(found) - _BEHIND * behind)


def _total(told: Mapping[str, float], terms: Collection[str]) -> float:
    return sum(weight for term, weight in told.items() if term in terms)


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, log_odds))))
