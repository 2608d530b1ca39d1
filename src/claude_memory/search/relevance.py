"""How likely a hit is the right answer, 0 to 1, and the same in words. Pure arithmetic on a ranking.

Says what it knows: a passage without a vector is judged by its own words alone, never by its neighbours', and
words alone make nobody sure. A filter changes nothing: the whole store is the measure.
"""

from __future__ import annotations

import math

from claude_memory.search.ranking import Ranking, Scored
from claude_memory.search.scoring import idf

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
LIKELY, POSSIBLE = 0.6, 0.2
# What one rare word tells in a store of a thousand: a question that tells less cannot be covered in full.
TELLING = 7.0
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
    """The share of what the question's words tell that the passage has; "ok, do it" has little to cover."""
    told = information(ranking)
    own = frozenset(item.passage.own)
    return sum(weight for term, weight in told.items() if term in own) / max(sum(told.values()), TELLING)


def information(ranking: Ranking) -> dict[str, float]:
    """What each term of the question tells, whether the store knows it or not."""
    statistics = ranking.statistics
    passages = statistics.passages + _BACKGROUND_PASSAGES
    frequency = statistics.document_frequency
    return {term: idf(passages, frequency.get(term, 0)) for term in ranking.question.terms}
