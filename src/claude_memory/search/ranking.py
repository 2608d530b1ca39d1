"""From a question to scored passages: candidates, exact scores, one round of feedback, how likely each is it.

Reads the store, never writes it. Knows passages; what is known of a memory besides stands at the end, and
what comes of both is `search`'s part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from claude_memory.embed import Embedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    Passage,
    PassageId,
    SearchScope,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.store.base import Store
from claude_memory.store.model import TermStatistics, VectorScan
from claude_memory.text.words import QUERY_CHARACTERS, is_stop_term, query_terms
from claude_memory.understand.calls import same_file

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from claude_memory.store.sql.memories import Memories

_Score = TypeVar("_Score", float, float | None)

# From 50 and 50 on, only the sessions of LoCoMo still gain from more (fraction@10 +0.2).
TEXT_CANDIDATES = 60
VECTOR_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class Scored:
    passage: Passage
    lexical: float
    plain_lexical: float
    cosine: float | None
    fused: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What is asked of which part of the store, and every candidate passage, best first."""

    text: str
    scope: SearchScope
    filter_: MemoryFilter
    terms: tuple[str, ...]
    model: str | None  # None: by words alone
    weights: Mapping[str, float]
    statistics: TermStatistics
    scan: VectorScan | None
    scored: tuple[Scored, ...]
    best: float


def rank(
    store: Store,
    text: str,
    scope: SearchScope,
    filter_: MemoryFilter,
    embedder: Embedder | None,
    *,
    depth: int = 0,
) -> Ranking:
    """Score the union of what words and meaning find.

    A filter narrows what is answered, not what it is measured against: its passages are scored beside
    the best of the whole scope, so that a score means the same with and without it.
    """
    head = text[:QUERY_CHARACTERS]
    terms, memories = tuple(query_terms(head)), store.memories
    filters = tuple(dict.fromkeys([filter_, MemoryFilter(statuses=filter_.statuses)]))
    look_up = partial(_by_words, memories, scope, filters, terms, max(TEXT_CANDIDATES, depth))
    # Words are looked up while the model reads the question: neither holds the interpreter's lock.
    words = _second_thread().submit(look_up).result if embedder is not None else look_up
    vector = model = None
    with suppress(EmbedderUnavailable):  # words alone still answer; `search_mode` and `doctor` say why
        if embedder is not None and head.strip():
            [vector] = embedder.embed([head], query=True)
            model = embedder.model
    scan, answers, cosine = None, set[PassageId](), dict[PassageId, float]()
    if vector is not None and model is not None:
        limit = max(VECTOR_CANDIDATES, depth)
        scans = [memories.vector_candidates(scope, each, vector, model, limit) for each in filters]
        answers = {id_ for id_, _ in scans[0].candidates}
        scan = scans[0] if scans[0].scanned else None
        cosine = dict(chain.from_iterable(each.candidates for each in scans)) if scan else {}
    statistics, weights, passages, plain, with_words = words()
    known = {passage.id for passage in passages}
    others = memories.passages([id_ for id_ in cosine if id_ not in known])
    if vector is not None and model is not None and scan is not None:
        cosine |= memories.cosines(vector, model, [id_ for id_ in known if id_ not in cosine])
    passages = [*passages, *others]
    plain += [score(passage, weights, statistics.mean_length) for passage in others]
    cosines = [cosine.get(passage.id) for passage in passages]
    # The head of a long memory says what it is about.
    lowered = [
        near - LATER_SLICE if near is not None and passage.ordinal else near
        for passage, near in zip(passages, cosines, strict=True)
    ]
    owners = [passage.memory for passage in passages]
    fuse = partial(
        fused,
        cosines=best_of_each(owners, lowered) if scan else None,
        cosine_minimum=scan.minimum if scan else 0.0,
        lexical_floor=lexical_floor(statistics),
    )
    lexical, together = plain, fuse(best_of_each(owners, plain))
    if scan is not None and statistics.passages >= FEEDBACK_STORE:
        places = nlargest(FEEDBACK_SOURCES, range(len(passages)), key=together.__getitem__)
        best = [passages[place] for place in places]
        told = memories.term_statistics(scope, feedback_sources(best))
        more = term_weights(feedback_terms(dict.fromkeys(terms, 1.0), best, told), told)
        # BM25 is linear in the question, so the added terms' scores are added to the plain ones. No new
        # candidates are fetched for them: on all sets that changed no figure.
        added = [score(passage, more, told.mean_length) for passage in passages]
        lexical = [own + more for own, more in zip(plain, added, strict=True)]
        together = fuse(best_of_each(owners, lexical))
    # Equal scores keep a stable order: the later passage first, as the newer is the likelier.
    scored = map(Scored, passages, lexical, plain, cosines, together)
    order = sorted(scored, key=lambda item: (-item.fused, -item.lexical, -item.passage.id))
    inside = tuple(item for item in order if item.passage.id in with_words | answers)
    top = order[0].fused if order else 0.0
    return Ranking(text, scope, filter_, terms, model, weights, statistics, scan, inside, top)


def _by_words(
    memories: Memories,
    scope: SearchScope,
    filters: Sequence[MemoryFilter],
    terms: Sequence[str],
    limit: int,
) -> tuple[TermStatistics, Mapping[str, float], list[Passage], list[float], set[PassageId]]:
    """What words find with its scores; those named last pass the first filter, the others are a yardstick."""
    statistics = memories.term_statistics(scope, terms)
    known = {term: 1.0 for term in terms if statistics.document_frequency.get(term)}
    weights = term_weights(known, statistics)
    lists = [memories.text_candidates(scope, filter_, known, limit) for filter_ in filters]
    passages = memories.passages([*chain.from_iterable(lists)])
    scores = [score(passage, weights, statistics.mean_length) for passage in passages]
    return statistics, weights, passages, scores, set(lists[0])


@cache
def _second_thread() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # words alone are found without it

    return ThreadPoolExecutor(1, thread_name_prefix="words")


# --- BM25 over words

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


# --- how likely a hit is the right answer

# Says what it knows: a passage without a vector is judged by its own words alone, never by its neighbours',
# and words alone make nobody sure. A filter changes nothing: the whole store is the measure.
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
# What one rare word tells in a store of a thousand: a question that tells less cannot be covered in full.
TELLING = 7.0
# Rarity is judged as if a hundred other passages stood beside the store's own: in a store of one
# memory every word is "common", and still a shared word says as much as it does elsewhere.
_BACKGROUND_PASSAGES = 100


def relevance(ranking: Ranking, item: Scored) -> float:
    """The chance that this passage is the answer, 0 to 1."""
    covered, behind = coverage(ranking, item), ranking.best - item.fused
    if item.cosine is None:
        log_odds = WORDS_INTERCEPT + WORDS_COVERAGE * covered + WORDS_BEHIND * behind
    else:
        log_odds = INTERCEPT + COSINE * item.cosine + COVERAGE * covered + BEHIND * behind
        log_odds += SMALL_STORE * max(0.0, math.log(USUAL_STORE / max(ranking.statistics.passages, 1)))
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, log_odds))))


def coverage(ranking: Ranking, item: Scored) -> float:
    """The share of what the question's words tell that the passage has; "ok, do it" has little to cover."""
    passages = ranking.statistics.passages + _BACKGROUND_PASSAGES
    frequency = ranking.statistics.document_frequency
    tells = {term: idf(passages, frequency.get(term, 0)) for term in ranking.terms}
    own = frozenset(item.passage.own)
    return sum(weight for term, weight in tells.items() if term in own) / max(sum(tells.values()), TELLING)


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
