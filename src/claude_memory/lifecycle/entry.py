"""A new memory meets its nearest neighbours: what it means for each is linked and explained.

The same words again strengthen what is known; a text close in meaning is linked as the newer one on the same
subject, and both stay. Nothing is refused, merged or replaced: only a person replaces a memory. Runs after
the memory is stored, so that nothing can be lost here. Only memories of the same project and scope ever meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from claude_memory.graph.extract import mentions
from claude_memory.lifecycle import strength
from claude_memory.lifecycle.staleness import tied
from claude_memory.model import (
    STATEMENT_CHARACTERS,
    MemoryFilter,
    MemoryId,
    ProjectId,
    SearchScope,
    Status,
    StoredMemory,
)
from claude_memory.store.base import Store
from claude_memory.store.model import Relation, Review
from claude_memory.text.words import query_terms

# Cosine from which two statements are about the same thing. A denial is as close as an agreement, so
# nothing more than a link follows from it.
NEAR = 0.9


class Action(StrEnum):
    """What the gate does with a new memory."""

    ADDED = "added"
    REINFORCED = "reinforced"
    LINKED = "linked"


class Judgement(NamedTuple):
    """One pair judged: how close the two are, and why in words."""

    action: Action
    closeness: float
    words: str


class Admission(NamedTuple):
    """What became of a new memory."""

    memory: MemoryId
    action: Action
    other: MemoryId | None = None
    words: str = ""


# A bulk is an import: its memories are compared by consolidation, not while somebody waits.
AT_ONCE = 100
NEIGHBOURS = 12
BATCH = 50
_RELATION = {Action.REINFORCED: "repeats", Action.LINKED: "newer"}
_ACTIVE = MemoryFilter(statuses=(Status.ACTIVE,))


def admit_new(
    store: Store, memories: Sequence[StoredMemory], root: Path, model: str | None
) -> list[Admission]:
    """Let what was just kept meet its neighbours, in its order; it stays kept whatever comes of it.

    Without vectors only the same words are recognised; the rest waits for `admit_waiting`.
    """
    now = datetime.now(UTC)
    # What an agent would put in a person's place is tied to what it speaks against.
    proposed = {memory.id: memory.provenance.get("proposed_for") for memory in memories}
    relations = [
        Relation(id_, MemoryId(other), "contradicts", "proposed in its place", now)
        for id_, other in proposed.items()
        if isinstance(other, str)
    ]
    if relations:
        store.lifecycle.relate(relations)
    if any(memory.files for memory in memories):
        store.lifecycle.put_file_states(tied(memories, root))
    if len(memories) > AT_ONCE:
        return [Admission(memory.id, Action.ADDED) for memory in memories]
    store.graph.put({memory.id: mentions(memory) for memory in memories})
    later = {memory.id for memory in memories}
    verdicts = []
    for memory in memories:
        verdicts.append(_admitted(store, memory, model, frozenset(later)))
        later.discard(memory.id)
    store.lifecycle.judged([one.memory for one in verdicts if one.other is not None or model is not None])
    return verdicts


def admit_waiting(store: Store, model: str | None, out_of_time: Callable[[], bool]) -> list[Admission]:
    """Judge what came in without vectors at hand, oldest first, as long as the time lasts."""
    kept = store.lifecycle
    verdicts: list[Admission] = []
    while not out_of_time() and (waiting := kept.unjudged(BATCH)):
        for memory in waiting:
            if out_of_time():
                break
            after = (memory.created_at, memory.id)
            later = frozenset(other.id for other in waiting if (other.created_at, other.id) > after)
            verdicts.append(_admitted(store, memory, model, later))
            kept.judged([memory.id])
    return verdicts


def _admitted(store: Store, new: StoredMemory, model: str | None, later: frozenset[MemoryId]) -> Admission:
    if not new.is_statement or new.supersedes is not None or new.status is not Status.ACTIVE:
        return Admission(new.id, Action.ADDED)
    found = [
        (old, judgement)
        for old, cosine in _neighbours(store, new, model, later)
        if (judgement := judged(old.body, new.body, cosine)).action is not Action.ADDED
    ]
    if not found:
        return Admission(new.id, Action.ADDED)
    # Among equals the oldest: what is said a third time repeats the first, not the second.
    old, judgement = max(found, key=lambda pair: (pair[1].closeness, -pair[0].created_at.timestamp()))
    verdict = Admission(new.id, judgement.action, old.id, judgement.words)
    _apply(store, old, new, verdict)
    return verdict


def _neighbours(
    store: Store, memory: StoredMemory, model: str | None, left_out: frozenset[MemoryId]
) -> list[tuple[StoredMemory, float | None]]:
    """The nearest memories of the same project by words, and by meaning where vectors are at hand."""
    scope = SearchScope((memory.project,))
    terms = dict.fromkeys(query_terms(memory.body), 1.0)
    ids = store.memories.text_candidates(scope, _ACTIVE, terms, NEIGHBOURS + 1)
    passages = store.memories.passages(ids)
    own = next((item.id for item in passages if item.memory == memory.id), None)
    cosines: dict[MemoryId, float] = {}
    if own is not None and model is not None:
        scan = store.memories.vector_candidates(scope, _ACTIVE, own, model, NEIGHBOURS // 2)
        known = {passage.id for passage in passages}
        passages += store.memories.passages([id_ for id_, _ in scan.candidates if id_ not in known])
        near = store.memories.cosines(own, model, [passage.id for passage in passages])
        for item in passages:
            if item.id in near:
                cosines[item.memory] = max(cosines.get(item.memory, -1.0), near[item.id])
    wanted = [item.memory for item in passages if item.memory != memory.id and item.memory not in left_out]
    found = store.memories.find(scope, _ACTIVE, ids=wanted)
    return [
        (other, cosines.get(other.id))
        for other in found
        if other.project == memory.project and other.scope is memory.scope and other.is_statement
    ]


def _apply(store: Store, old: StoredMemory, new: StoredMemory, verdict: Admission) -> None:
    kept = store.lifecycle
    now = datetime.now(UTC)
    newer, older = (new, old) if new.created_at >= old.created_at else (old, new)
    kept.relate([Relation(newer.id, older.id, _RELATION[verdict.action], verdict.words, now)])
    if verdict.action is Action.REINFORCED:
        again = strength.reviewed(old, strength.held(kept, [old])[old.id], "repeated", now)
        kept.put_strengths({old.id: again}, [Review(old.id, now, "repeated")])


def judged(old: str, new: str, cosine: float | None = None) -> Judgement:
    """What a new text means for an old one of the same project."""
    if _plain(old) == _plain(new):
        return Judgement(Action.REINFORCED, 1.0, "says the same, word for word")
    if cosine is None or cosine < NEAR or max(len(old), len(new)) > STATEMENT_CHARACTERS:
        return Judgement(Action.ADDED, cosine or 0.0, "they are about different things")
    return Judgement(Action.LINKED, cosine, "newer on the same subject; both are kept")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!")


def derive_pending(store: Store, project: ProjectId, *, limit: int = 500) -> int:
    """Catch up with memories that came by other ways or changed; returns how many were read."""
    waiting = store.graph.unread(project, limit)
    store.graph.put({memory.id: mentions(memory) for memory in waiting})
    return len(waiting)
