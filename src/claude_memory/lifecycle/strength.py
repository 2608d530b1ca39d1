"""How firmly memories are held: FSRS-6, one curve everywhere, moved by real use only; what they relate to.

Time is an argument. Reading a strength needs arithmetic alone; only a review loads `fsrs`. What hooks gave
and what sessions then did with it is read from events only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

from claude_memory.model import (
    Event,
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    Project,
    SearchScope,
    SessionId,
    StoredMemory,
    Trust,
)
from claude_memory.store.base import Store
from claude_memory.store.model import EventFilter, Relation, Review, Strength
from claude_memory.store.sql.lifecycle import Lifecycle
from claude_memory.text.words import query_terms, strings_in
from claude_memory.understand.calls import same_file

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
    least = {State.ACTIVE: ACTIVE_FROM, State.DORMANT: DORMANT_FROM, State.SILENT: SILENT_FROM}
    return next((state for state, at in least.items() if strength >= at), State.UNAVAILABLE)


def reviewed(memory: StoredMemory, known: Strength | None, reason: str, now: datetime) -> Strength:
    """The strength after one use: opened, used, repeated, confirmed, promoted; or demoted, a lapse."""
    from fsrs import Card, Rating, Scheduler
    from fsrs import State as CardState

    held, rating = known or first_strength(memory), _RATINGS[reason]
    at, last = max(now.astimezone(UTC), held.reviewed_at.astimezone(UTC)), held.reviewed_at.astimezone(UTC)
    # No steps and no fuzz: every use is one review on the long-term curve, the same on every machine.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card = Card(1, CardState.Review, None, held.stability, held.difficulty, due=at, last_review=last)
    card, _ = scheduler.review_card(card, Rating(rating), review_datetime=at)
    stability, lapse = card.stability or held.stability, rating == 1
    return held._replace(
        stability=min(stability, DEMOTED_STABILITY) if lapse else max(stability, held.stability),
        difficulty=card.difficulty or held.difficulty,
        reviewed_at=at,
        reviews=held.reviews + 1,
        lapses=held.lapses + lapse,
        # A demotion is a person's word: being seen again does not undo it, saying so does.
        demoted=lapse or (held.demoted and reason not in ("confirmed", "promoted")),
    )


def keep_uses(kept: Lifecycle, memories: Mapping[MemoryId, StoredMemory], uses: Sequence[Review]) -> None:
    """Move the strengths of memories by their uses, in order, and keep both."""
    known = held(kept, list(memories.values()))
    for use in uses:
        known[use.memory] = reviewed(memories[use.memory], known[use.memory], use.reason, use.at)
    if uses:
        kept.put_strengths({use.memory: known[use.memory] for use in uses}, uses)


_TOLD = {  # from here, and of the other
    "supersedes": ("takes the place of", "was replaced by"),
    "contradicts": ("contradicts", "is contradicted by"),
    "repeats": ("repeats", "is repeated by"),
    "similar": ("is much like", "is much like"),
}


@dataclass(frozen=True, slots=True)
class Standing:
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
        used = {memory.id: memory for memory in memories}
        keep_uses(self._kept, used, [Review(id_, at, reason) for id_ in used])
        return self.standing(memories, now=at)

    def standing(self, memories: Sequence[StoredMemory], *, now: datetime | None = None) -> list[Standing]:
        known, standings = held(self._kept, memories), []
        for memory in memories:
            own = known[memory.id]
            value = strength_at(memory, own, now or datetime.now(UTC))
            counts = (own.stability, own.reviews, own.lapses, own.demoted)
            standings.append(Standing(memory.id, value, state_of(value), *counts))
        return standings

    def relations(self, *memories: MemoryId) -> list[Relation]:
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
            words = _TOLD.get(relation.kind, (relation.kind, relation.kind))
            yield f"{words[not from_here]} {other}: {relation.evidence}"


# --- what hooks gave to agents, and what their sessions did with it: told in the ledger, counted as a use

_LEDGER_EVENTS, _MOST_EVENTS = 100_000, 2_000
# A reply that shares this many of a memory's words, and half of them, was made with it in mind.
FEWEST_WORDS = 4
LEAST_SHARE = 0.5
_READERS = ("Read", "NotebookRead")
_CALLS = (EventKind.TOOL_USE, EventKind.TOOL_FAILURE)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One day, session and kind of hook: how often context was given, how much of it, what of it was used."""

    day: date
    session: SessionId | None
    given_at: str
    times: int
    tokens: int
    memories: int
    used: tuple[str, ...] = ()  # by the session: "edited src/a.py", "opened m4x…", "ran make fmt"


@dataclass(frozen=True, slots=True)
class Given:
    timestamp: datetime
    session: SessionId | None
    given_at: str


def given(store: Store, scope: SearchScope, memory: str, *, limit: int = 5) -> list[Given]:
    events = store.archive.events(scope, EventFilter(kinds=(EventKind.INJECTION,)), limit=_MOST_EVENTS)
    mine = [event for event in events if memory in _memories(event)]
    return [
        Given(event.timestamp, event.session, str(event.payload.get("given_at", "?")))
        for event in mine[:limit]
    ]


def ledger(store: Store, scope: SearchScope, *, since: datetime | None = None) -> list[LedgerLine]:
    wanted = EventFilter(kinds=(EventKind.INJECTION, *_CALLS), since=since)
    sums: dict[tuple[date, SessionId | None, str], list[Event]] = {}
    calls: dict[SessionId | None, list[Event]] = {}
    for event in reversed(store.archive.events(scope, wanted, limit=_LEDGER_EVENTS)):
        if event.kind is EventKind.INJECTION:
            sums.setdefault(
                (event.timestamp.date(), event.session, str(event.payload.get("given_at", "?"))), []
            ).append(event)
        else:
            calls.setdefault(event.session, []).append(event)
    memories = _find(store, scope, (event for injected in sums.values() for event in injected))
    lines = [
        LedgerLine(
            *key,
            times=len(injected),
            tokens=sum(int(event.payload.get("tokens") or 0) for event in injected),
            memories=sum(len(_memories(event)) for event in injected),
            used=_used(injected, calls.get(key[1], ()), memories),
        )
        for key, injected in sums.items()
    ]
    return sorted(lines, key=lambda line: (line.day, line.session or "", line.given_at), reverse=True)


def note_uses(store: Store, project: Project, since: datetime) -> int:
    """Count given memories that were then used as reviews; each once per session and giving."""
    scope = SearchScope((project.id,))
    wanted = EventFilter(kinds=(EventKind.INJECTION, EventKind.TOOL_USE, EventKind.REPLY), since=since)
    events = store.archive.events(scope, wanted, limit=_MOST_EVENTS)[::-1]
    memories = _find(store, scope, events)
    given: dict[SessionId | None, dict[MemoryId, bool]] = {}  # each memory, and whether it was used
    uses: list[Review] = []  # the first of each memory after it was given, session by session
    for event in events:
        mine = given.setdefault(event.session, {})
        mine.update((id_, False) for id_ in _memories(event) if id_ in memories and id_ not in mine)
        for id_ in [id_ for id_, used in mine.items() if not used and _uses(event, memories[id_])]:
            mine[id_] = True
            uses.append(Review(id_, event.timestamp, "used"))
    noted = [use for use in uses if use not in store.lifecycle.reviews(use.memory)]
    keep_uses(store.lifecycle, memories, noted)
    return len(noted)


def _find(store: Store, scope: SearchScope, events: Iterable[Event]) -> Mapping[MemoryId, StoredMemory]:
    ids = sorted({id_ for event in events for id_ in _memories(event)})
    return {memory.id: memory for memory in store.memories.find(scope, MemoryFilter(), ids=ids)}


def _memories(event: Event) -> list[MemoryId]:
    named = event.payload.get("memories") if event.kind is EventKind.INJECTION else None
    return [MemoryId(str(id_)) for id_ in named] if isinstance(named, list) else []


def _used(
    injected: Sequence[Event], calls: Sequence[Event], memories: Mapping[MemoryId, StoredMemory]
) -> tuple[str, ...]:
    """Each use once, in the order they came."""
    found: dict[str, None] = {}
    for event in injected:
        lines = event.payload.get("lines")
        for line in filter(lambda line: isinstance(line, dict), lines if isinstance(lines, list) else ()):
            known = memories.get(line.get("id", ""))
            files = (line["file"],) if line.get("file") else known.files if known else ()
            for call in calls:
                use = _how_used(call, line.get("id", ""), files, line.get("command", ""))
                if use and call.timestamp > event.timestamp:
                    found[use] = None
    return tuple(found)


def _uses(event: Event, memory: StoredMemory) -> bool:
    if event.kind is not EventKind.REPLY:
        return event.kind is EventKind.TOOL_USE and bool(_how_used(event, memory.id, memory.files))
    said = set(query_terms(" ".join(strings_in(event.payload))[:20_000]))
    words = set(query_terms(memory.body[:2_000]))
    shared = len(said & words)
    return shared >= FEWEST_WORDS and shared >= LEAST_SHARE * len(words)


def _how_used(event: Event, id_: str, files: Sequence[str], command: str = "") -> str:
    """What a call of a tool did with something that was given: in a few words, empty if nothing."""
    inputs = event.payload.get("tool_input")
    inputs = inputs if isinstance(inputs, dict) else {}
    if id_ and any(id_ in text for text in strings_in(inputs)):
        return f"opened {id_}"
    touched, ran = inputs.get("file_path") or inputs.get("notebook_path"), inputs.get("command")
    if isinstance(touched, str) and event.payload.get("tool_name") not in _READERS:
        return next((f"edited {file}" for file in files if same_file(touched, file)), "")
    if command and isinstance(ran, str) and " ".join(command.split()) in " ".join(ran.split()):
        return f"ran {command}"
    return ""
