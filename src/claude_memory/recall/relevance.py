"""How likely a hit answers the question, 0 to 1. Pure arithmetic on a ranking's own figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from claude_memory.recall.ranking import Ranking, Scored

INJECTION_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model by named features."""

    intercept: float
    coefficients: Mapping[str, float]

    def __call__(self, features: Mapping[str, float]) -> float:
        total = self.intercept + sum(weight * features[name] for name, weight in self.coefficients.items())
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, total))))


WORDS_AND_MEANING = Logistic(-13.0, {"cosine": 16.0, "coverage": 3.0})
WORDS_ONLY = Logistic(-3.0, {"coverage": 6.0})


def features(ranking: Ranking, item: Scored) -> dict[str, float]:
    """The figures a judgement of one hit rests on."""
    whole = sum(ranking.weights.values())
    found = {"coverage": min(item.plain_lexical / whole, 2.0) / 2.0 if whole > 0 else 0.0}
    if item.cosine is not None and ranking.scan is not None:
        spread = max(ranking.scan.deviation, 0.02)
        found["cosine"] = item.cosine
        found["surprise"] = (item.cosine - ranking.scan.mean) / spread
    return found


def relevance(ranking: Ranking, item: Scored) -> float:
    """The calibrated probability that this hit is what was asked for."""
    found = features(ranking, item)
    return (WORDS_AND_MEANING if "cosine" in found else WORDS_ONLY)(found)
