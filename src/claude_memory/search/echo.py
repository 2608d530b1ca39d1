"""A prompt that was captured is no answer to the very question it asks.

Moves such echoes below what answers; drops none, for where nothing answers, that it was asked is of use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from claude_memory.model import Kind, MemoryFilter, MemoryId, Passage, StoredMemory, Trust
from claude_memory.text.words import is_stop_term

if TYPE_CHECKING:
    from claude_memory.search.ranking import Ranking
    from claude_memory.search.search import Judged
    from claude_memory.store.protocol import Store

ANSWERS_FROM = 0.5  # a hit of this relevance is likelier an answer than not
# Of all terms of both, how many a question must share to be the same question: one in three may differ.
# A prompt that asks nothing may tell what is asked for with one word more, so that it must share all.
SAME_QUESTION = 0.6
SAME_WORDS = 1.0
_STEP = 1e-6
_LONGEST = 500  # characters; a longer prompt says more than a question
_ASKING = frozenset(
    """what which who whom whose where when why how is are was were do does did can could should would will
    has have am""".split()
)


def settled(
    store: Store, ranking: Ranking, judged: list[Judged], relevance: Callable[[Ranking, Judged], float]
) -> tuple[Ranking, list[Judged]]:
    """The order with echoes below the answers, and the ranking measured as if nobody had asked before."""
    asked = frozenset(ranking.question.terms)
    inside = {
        item.memory.id
        for item in judged
        if _is_prompt(item.memory) and _says_the_same(item.best.passage, asked)
    }
    echoes = inside | _beyond(store, ranking, asked)
    if not echoes:
        return ranking, judged
    ranking = _without(ranking, echoes)
    others = [item for item in judged if item.memory.id not in inside]
    answers = [item.score for item in others if relevance(ranking, item) >= ANSWERS_FROM]
    if not answers:
        return ranking, judged
    highest = min(answers) - _STEP
    sunk = [
        replace(item, score=min(item.score, highest)) if item.memory.id in inside else item for item in judged
    ]
    return ranking, sorted(sunk, key=lambda item: -item.score)


def asks(text: str) -> bool:
    """Whether a text reads as a question."""
    words = text.split(maxsplit=1)
    return text.rstrip().endswith(("?", "\uff1f")) or bool(words and words[0].lower() in _ASKING)


def _without(ranking: Ranking, echoes: Collection[MemoryId]) -> Ranking:
    """The best of the others is the measure, and what only the echoes say is unknown to the store."""
    everything = (*ranking.scored, *ranking.beyond)
    heard = [item.fused for item in everything if item.passage.memory not in echoes]
    said = [set(item.passage.own) for item in everything if item.passage.memory in echoes]
    known = ranking.statistics.document_frequency
    frequency = {term: count - sum(term in terms for terms in said) for term, count in known.items()}
    statistics = replace(ranking.statistics, document_frequency=frequency)
    return replace(ranking, best=max(heard, default=ranking.best), statistics=statistics)


def _beyond(store: Store, ranking: Ranking, asked: frozenset[str]) -> set[MemoryId]:
    """Echoes that a filter leaves out of the answers, but not out of what these are measured by."""
    question = ranking.question
    alike = {item.passage.memory for item in ranking.beyond if _says_the_same(item.passage, asked)}
    everything = MemoryFilter(statuses=question.filter_.statuses)
    found = store.memories(question.scope, everything, ids=list(alike)) if alike else []
    return {memory.id for memory in found if _is_prompt(memory)}


def _is_prompt(memory: StoredMemory) -> bool:
    return memory.kind is Kind.OBSERVATION and memory.trust is Trust.USER


def _says_the_same(passage: Passage, asked: frozenset[str]) -> bool:
    """Whether a passage holds the question's words and, but for a few, no others."""
    terms = set(passage.own)
    shared = len(terms & asked)
    if shared < SAME_QUESTION * len(asked) or len(passage.text) > _LONGEST:
        return False  # nearly all: no need to look closer
    either = len(asked) + sum(not is_stop_term(term) for term in terms - asked)
    return shared / (either or 1) >= (SAME_QUESTION if asks(passage.text) else SAME_WORDS)
