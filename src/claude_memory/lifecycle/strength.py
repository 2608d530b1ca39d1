"""How firmly memories are held: FSRS-6, one curve everywhere, moved by real use only; what they relate to.

Time is an argument. Reading a strength needs arithmetic alone; only a review loads `fsrs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from claude_memory.model import Kind, MemoryId, StoredMemory, Trust
from claude_memory.store.base import Store
from claude_memory.store.model import Relation, Review, Strength
from claude_memory.store.sql.lifecycle import Lifecycle

# FSRS-6's default decay; the factor follows from the definition that recall is 90% after one stability.
DECAY = -0.1542
FACTOR = 0.9 ** (1 / DECAY) - 1
# What a memory starts with, in FSRS's own first stabilities: what was merely seen counts as `again`,
# what was noted as `good`, what was settled as `easy`.
FIRST_STABILITY = {"seen": 0.212, "noted": 2.3065, "settled": 8.2956}
_SETTLED = (Kind.DECISION, Kind.CONVENTION, Kind.CORRECTION, Kind.PREFERENCE, Kind.LESSON, Kind.FIX)
_SEEN = (Kind.OBSERVATION, Kind.SUMMARY)
_FIRST_DIFFICULTY = 5.0
_NEVER = datetime.min.replace(tzinfo=UTC)
# By these a note nobody uses is dormant after three weeks, silent after seven months; what was only
# seen after two days and three weeks; what was settled after eleven weeks and two years.
ACTIVE_FROM = 0.7
DORMANT_FROM = 0.5
SILENT_FROM = 0.3
DEMOTED_STABILITY = 0.05  # days: a demoted memory is dormant within the day and silent within five

_RATINGS = {"opened": 3, "used": 3, "repeated": 3, "confirmed": 4, "promoted": 4, "demoted": 1}


class State(StrEnum):
    """How present a memory is; derived from its strength, never stored."""

    ACTIVE = "active"
    DORMANT = "dormant"
    SILENT = "silent"
    UNAVAILABLE = "unavailable"


def recall_probability(stability: float, days: float) -> float:
    """The forgetting curve: the chance of recall after so many days without use."""
    return float((1.0 + FACTOR * max(days, 0.0) / stability) ** DECAY)


def first_strength(memory: StoredMemory, arrived: datetime | None = None) -> Strength:
    """What a memory is worth before anybody used it; it cannot fade before it came."""
    group = "settled" if memory.kind in _SETTLED else "seen" if memory.kind in _SEEN else "noted"
    return Strength(FIRST_STABILITY[group], _FIRST_DIFFICULTY, max(memory.created_at, arrived or _NEVER))


def held(kept: Lifecycle, memories: Sequence[StoredMemory]) -> dict[MemoryId, Strength]:
    """The strength of every memory: as its uses left it, or as it came."""
    ids = [memory.id for memory in memories]
    known, arrived = kept.strengths(ids), kept.arrivals(ids)
    return {
        memory.id: known.get(memory.id) or first_strength(memory, arrived.get(memory.id))
        for memory in memories
    }


def strength_at(memory: StoredMemory, known: Strength | None, now: datetime) -> float:
    """The memory's strength from 0 to 1. What is pinned or a person's own stays active unless demoted."""
    held = known or first_strength(memory)
    days = (now - held.reviewed_at).total_seconds() / 86_400.0
    faded = recall_probability(held.stability, days)
    lasting = memory.pinned or (memory.trust is Trust.USER and memory.kind not in _SEEN)
    return max(faded, ACTIVE_FROM) if lasting and not held.demoted else faded


def state_of(strength: float) -> State:
    """The state that a strength stands for."""
    if strength >= ACTIVE_FROM:
        return State.ACTIVE
    if strength >= DORMANT_FROM:
        return State.DORMANT
    return State.SILENT if strength >= SILENT_FROM else State.UNAVAILABLE


def reviewed(memory: StoredMemory, known: Strength | None, reason: str, now: datetime) -> Strength:
    """The strength after one use: opened, used, repeated, confirmed, promoted; or demoted, a lapse."""
    held = known or first_strength(memory)
    at = max(now.astimezone(UTC), held.reviewed_at.astimezone(UTC))
    rating = _RATINGS[reason]
    stability, difficulty = _fsrs(held, rating, at)
    lapse = rating == 1
    return held._replace(
        stability=min(stability, DEMOTED_STABILITY) if lapse else max(stability, held.stability),
        difficulty=difficulty,
        reviewed_at=at,
        reviews=held.reviews + 1,
        lapses=held.lapses + lapse,
        # A demotion is a person's word: being seen again does not undo it, saying so does.
        demoted=lapse or (held.demoted and reason not in ("confirmed", "promoted")),
    )


def _fsrs(held: Strength, rating: int, at: datetime) -> tuple[float, float]:
    from fsrs import Card, Rating, Scheduler
    from fsrs import State as CardState

    # No steps and no fuzz: every use is one review on the long-term curve, the same on every machine.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card = Card(
        card_id=1,
        state=CardState.Review,
        stability=held.stability,
        difficulty=held.difficulty,
        due=at,
        last_review=held.reviewed_at.astimezone(UTC),
    )
    card, _ = scheduler.review_card(card, Rating(rating), review_datetime=at)
    return float(card.stability or held.stability), float(card.difficulty or held.difficulty)


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

    def __init__(self, store: Store) -> None:
        self._kept = store.lifecycle

    def review(
        self, memories: Sequence[StoredMemory], reason: str, *, now: datetime | None = None
    ) -> list[Standing]:
        """Note one use of memories: opened, used, repeated, confirmed, promoted, demoted."""
        at = now or datetime.now(UTC)
        known = held(self._kept, memories)
        moved = {memory.id: reviewed(memory, known[memory.id], reason, at) for memory in memories}
        if moved:
            self._kept.put_strengths(moved, [Review(id_, at, reason) for id_ in moved])
        return self.standing(memories, now=at)

    def standing(self, memories: Sequence[StoredMemory], *, now: datetime | None = None) -> list[Standing]:
        """How firmly memories are held at a moment."""
        known, standings = held(self._kept, memories), []
        for memory in memories:
            own = known[memory.id]
            value = strength_at(memory, own, now or datetime.now(UTC))
            counts = (own.stability, own.reviews, own.lapses, own.demoted)
            standings.append(Standing(memory.id, value, state_of(value), *counts))
        return standings

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
