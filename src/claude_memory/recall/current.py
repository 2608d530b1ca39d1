"""What holds now: for a question about the present, the latest memory that lays something down comes first.

Reads subject keys that were found when memories were written; reorders, and adds nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from claude_memory.errors import StoreFault
from claude_memory.model import MemoryId

if TYPE_CHECKING:
    from claude_memory.recall.ranking import Question
    from claude_memory.recall.search import Judged
    from claude_memory.store.protocol import Store

# The latest few lead, for the very latest may have been found by mistake; what they replaced sinks.
# MemoryCode, the set's own wording: the current rule's session comes first in 14% without, 98% with.
LEADING = 3
OUTDATED_FACTOR = 0.6
_STEP = 0.001
# A question about the present holds one of these; any other is answered without loading what follows.
_PRESENT = (
    "current",
    "now",
    "latest",
    "newest",
    "moment",
    "these days",
    "today",
    "in force",
    "up to date",
    "present",
)
# ... and asks for what is laid down.
_LAID_DOWN = (
    "convention", "rule", "standard", "polic", "style", "guideline", "nam", "form", "look", "should", "must",
    "supposed", "applies", "holds",
)  # fmt: skip


def holders(store: Store, question: Question) -> list[MemoryId]:
    """Memories that lay down what the question asks for, newest first; none if it does not ask so."""
    lowered = question.text.lower()
    if not all(any(word in lowered for word in words) for words in (_PRESENT, _LAID_DOWN)):
        return []
    from claude_memory.lifecycle.subject import asked_for

    keys = asked_for(question.text)
    if not keys:
        return []
    from claude_memory.store.lifecycle_protocol import lifecycle_of

    try:
        found = lifecycle_of(store).with_subjects(question.scope, keys)
    except StoreFault:
        return []
    return list(dict.fromkeys(memory for memory, _, _, _ in found))


def latest_first(judged: list[Judged], holding: Collection[MemoryId]) -> list[Judged]:
    """The latest holders at the top in order of time, older ones sunk, the rest as it was."""
    if not holding:
        return judged
    place = {memory: number for number, memory in enumerate(holding)}
    known = sorted((item for item in judged if item.memory.id in place), key=lambda i: place[i.memory.id])
    top = judged[0].score if judged else 0.0
    leading = known[:LEADING]
    lifted = [
        replace(item, score=top + _STEP * (len(leading) - number)) for number, item in enumerate(leading)
    ]
    sunk = [replace(item, score=item.score * OUTDATED_FACTOR) for item in known[LEADING:]]
    rest = [item for item in judged if item.memory.id not in place]
    return lifted + sorted([*rest, *sunk], key=lambda item: -item.score)
