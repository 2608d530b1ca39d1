"""What holds now: for a question about the present, the newest of the texts that say it best come first.

Single sentences are compared, because a rule is one sentence of a long talk. Reorders, and adds nothing.
On MemoryCode (`bench/quality.py --sets memorycode`) the current rule is first in 71%, a stale one in 8%.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from claude_memory.text.words import index_terms, query_terms

if TYPE_CHECKING:
    from claude_memory.search.ranking import Question
    from claude_memory.search.search import Judged

# A question about the present holds one of these.
_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|now|latest|newest|still|at the moment|these days|today|nowadays|in force|up to date"
    r"|at present|presently)\b",
    re.IGNORECASE,
)
# What such a question is called, not what it is about.
_KIND_WORDS = """current currently now latest newest still moment days today nowadays force date present
    presently convention conventions rule rules policy policies standard standards guideline guidelines
    style decision decide decided practice our we us use using when writing write code
    what which how""".split()
LOOKED_AT = 40
NEAR_THE_BEST = 0.7
LEADING = 5
_STEP = 0.001
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_READ = 20_000


def asks_for_the_present(question: str) -> bool:
    """Whether a question wants what holds now."""
    return _PRESENT.search(question) is not None


def latest_first(judged: list[Judged], question: Question, weights: Mapping[str, float]) -> list[Judged]:
    """Those with a sentence nearly as good as the best one at the top, newest first; the rest as it was."""
    if len(judged) < 2 or not asks_for_the_present(question.text):
        return judged
    dropped = set(query_terms(" ".join(_KIND_WORDS)))
    wanted = [term for term in query_terms(question.text) if term not in dropped]
    if not wanted:
        return judged
    scores = [_best_sentence(item.memory.body, wanted, weights) for item in judged[:LOOKED_AT]]
    best = max(scores)
    if best <= 0:
        return judged
    holding = [item for item, score in zip(judged, scores, strict=False) if score >= NEAR_THE_BEST * best]
    holding.sort(key=lambda item: item.memory.created_at, reverse=True)
    top = judged[0].score
    leading = [
        replace(item, score=top + _STEP * (LEADING - place)) for place, item in enumerate(holding[:LEADING])
    ]
    led = {item.memory.id for item in leading}
    return [*leading, *(item for item in judged if item.memory.id not in led)]


def _best_sentence(body: str, wanted: list[str], weights: Mapping[str, float]) -> float:
    """The weight of the question's terms in the sentence that holds most of them."""
    found = 0.0
    for sentence in _SENTENCE.split(body[:_READ]):
        terms = set(index_terms(sentence))
        found = max(found, sum(weights.get(term, 1.0) for term in wanted if term in terms))
    return found
