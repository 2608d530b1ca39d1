"""How likely a hit is the right answer, 0 to 1, and the same in words. Pure arithmetic on a ranking.

Says what it knows: a passage without a vector is judged by its own words alone, never by its neighbours', and
words alone make nobody sure. A filter changes nothing: the whole store is the measure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from claude_memory.search.ranking import Ranking, Scored
from claude_memory.search.scoring import idf

# Fitted on the hits of 55 readers' questions to four real repositories and of 120 developer notes' questions,
# own and foreign weighing alike (bench/real.py, bench/quality.py). Each left out in turn: of hits shown at
# .3 to .5, 49% are the right exchange or note (n 59), at .5 to .65 65% (n 20), at .65 to .8 64%; below .1 3%.
# A near miss cannot be told from the answer by scores, so that little comes above .8: nearly the same words.
INTERCEPT, COSINE, COVERAGE, BEHIND = -11.2, 12.3, 2.7, -5.6
# The nearest of a thousand is near by chance, the nearest of three is not: a fit on 410 stores of 1 to 20
# memories put the difference at .03 to .045 of the cosine for each factor e.
SMALL_STORE, USUAL_STORE = 0.4, 1000
# By words alone the same way: no question foreign or own came above .7, and right are 27% at .1 to .3.
WORDS_INTERCEPT, WORDS_COVERAGE, WORDS_BEHIND = -4.1, 4.2, -2.5
# At and above it a memory may be offered unasked: at most 1.5% of foreign questions pass (4,170 in the public
# sets, 165 in real repositories).
INJECTION_THRESHOLD = 0.35
LIKELY, POSSIBLE = 0.6, 0.2
# Rarity is judged as if a hundred other passages stood beside the store's own: in a store of one
# memory every word is "common", and still a shared word says as much as it does elsewhere.
_BACKGROUND_PASSAGES = 100


def relevance(ranking: Ranking, item: Scored) -> float:
    """The chance that this hit is the answer."""
    covered, behind = coverage(ranking, item), ranking.best - item.fused
    if item.cosine is None:
        log_odds = WORDS_INTERCEPT + WORDS_COVERAGE * covered + WORDS_BEHIND * behind
    else:
        log_odds = INTERCEPT + COSINE * item.cosine + COVERAGE * covered + BEHIND * behind
        log_odds += SMALL_STORE * max(0.0, math.log(USUAL_STORE / max(ranking.statistics.passages, 1)))
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, log_odds))))


def verdict(relevant: float) -> str:
    """The same for a person."""
    if relevant >= LIKELY:
        return "likely the answer"
    return "may be the answer" if relevant >= POSSIBLE else "probably about something else"


def coverage(ranking: Ranking, item: Scored) -> float:
    """The share of what the question's words tell that the passage itself has."""
    told = information(ranking)
    return _total(told, frozenset(item.passage.own)) / (sum(told.values()) or 1.0)


def information(ranking: Ranking) -> dict[str, float]:
    """What each term of the question tells, whether the store knows it or not."""
    statistics = ranking.statistics
    passages = statistics.passages + _BACKGROUND_PASSAGES
    frequency = statistics.document_frequency
    return {term: idf(passages, frequency.get(term, 0)) for term in ranking.question.terms}


def _total(told: Mapping[str, float], terms: Collection[str]) -> float:
    return sum(weight for term, weight in told.items() if term in terms)
