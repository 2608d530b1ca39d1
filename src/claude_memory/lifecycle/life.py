"""The life of one project's memories: how strong they are, what uses do to them, what they relate to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from claude_memory.lifecycle import strength
from claude_memory.lifecycle.strength import State
from claude_memory.model import MemoryId, Project, StoredMemory
from claude_memory.store.lifecycle_protocol import Relation, Review, Strength, lifecycle_of
from claude_memory.store.protocol import Store

_TOLD = {
    ("supersedes", True): "takes the place of",
    ("supersedes", False): "was replaced by",
    ("contradicts", True): "contradicts",
    ("contradicts", False): "is contradicted by",
    ("repeats", True): "repeats",
    ("repeats", False): "is repeated by",
    ("similar", True): "is much like",
    ("similar", False): "is much like",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How firmly a memory is held."""

    memory: MemoryId
    strength: float
    state: State
    stability_days: float
    reviews: int
    lapses: int
    demoted: bool


class Life:
    """Strength and relations of memories, over any store that keeps them."""

    def __init__(self, store: Store, project: Project) -> None:
        self._kept = lifecycle_of(store)
        self._project = project

    def review(
        self, memories: Sequence[StoredMemory], reason: str, *, now: datetime | None = None
    ) -> list[Standing]:
        """Note one use of memories: opened, used, repeated, confirmed, promoted, demoted."""
        at = now or datetime.now(UTC)
        known = strength.held(self._kept, memories)
        moved = {memory.id: strength.reviewed(memory, known[memory.id], reason, at) for memory in memories}
        if moved:
            self._kept.put_strengths(moved, [Review(id_, at, reason) for id_ in moved])
        return self.standing(memories, now=at)

    def standing(self, memories: Sequence[StoredMemory], *, now: datetime | None = None) -> list[Standing]:
        """How firmly memories are held at a moment."""
        at = now or datetime.now(UTC)
        known = strength.held(self._kept, memories)
        return [self._standing(memory, known[memory.id], at) for memory in memories]

    def _standing(self, memory: StoredMemory, held: Strength, at: datetime) -> Standing:
        value = strength.strength_at(memory, held, at)
        return Standing(
            memory.id,
            value,
            strength.state_of(value),
            held.stability,
            held.reviews,
            held.lapses,
            held.demoted,
        )

    def relations(self, *memories: MemoryId) -> list[Relation]:
        """What memories supersede, contradict, repeat, and the other way round."""
        return self._kept.relations(memories)

    def told(self, memory: StoredMemory, *, now: datetime) -> Iterator[str]:
        """What `why` says of a memory's life."""
        [standing] = self.standing([memory], now=now)
        yield f"is {standing.state} (strength {standing.strength:.2f}, {standing.reviews} uses)"
        if memory.provenance.get("stale"):
            yield f"may be out of date: {memory.provenance['stale']}"
        for relation in self.relations(memory.id):
            from_here = relation.source == memory.id
            other = relation.target if from_here else relation.source
            words = _TOLD.get((relation.kind, from_here), relation.kind)
            yield f"{words} {other}: {relation.evidence}"
