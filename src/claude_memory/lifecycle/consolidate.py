"""Consolidation: read what was not read yet, link what is alike, note what was used, archive what faded.

Nothing is merged, rewritten or deleted; every step is noted and can be undone. With the same store and
the same time a second run finds nothing left to do.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path

from claude_memory.errors import NotFound
from claude_memory.lifecycle import strength
from claude_memory.lifecycle.entry import derive_pending
from claude_memory.lifecycle.staleness import refreshed
from claude_memory.lifecycle.strength import State
from claude_memory.lifecycle.use import note_uses
from claude_memory.model import Kind, MemoryFilter, MemoryId, Project, SearchScope, Status, StoredMemory
from claude_memory.store.lifecycle_model import Relation, Step
from claude_memory.store.protocol import Store
from claude_memory.text.times import deadline
from claude_memory.text.words import index_terms, is_stop_term

# Two texts are alike from nine shared words of ten; a shorter text must be the same.
ALIKE = 0.9
FEWEST_WORDS = 8
_BANDS, _ROWS = 8, 3  # minhash: texts that share 90% meet in a band with 99.9%, 50% with 66%
_CROWD = 50  # a band that more than so many share says nothing (boilerplate)
_PATTERN_SESSIONS = 3
# Archived ones, too: were they left out, the next run would see another set and find other twins.
_COMPARED = MemoryFilter(statuses=(Status.ACTIVE, Status.ARCHIVED))
_FADED = (State.SILENT, State.UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a run did, or would do."""

    read: int
    repeated: int
    similar: int
    archived: int
    patterns: tuple[MemoryId, ...]
    run: int | None
    complete: bool


def consolidate(
    store: Store,
    project: Project,
    *,
    now: datetime,
    dry_run: bool = False,
    budget_seconds: float | None = None,
) -> Consolidated:
    """One run over a project; within a budget it does what it can and says that it is not complete."""
    out_of_time = deadline(budget_seconds)
    read = 0 if dry_run else _read_all(store, project, out_of_time)
    scope = SearchScope((project.id,))
    memories = [
        memory
        for memory in store.memories.find(scope, _COMPARED, newest_first=False)
        if memory.project == project.id
    ]
    links = [] if out_of_time() else list(_fresh(store, _alike(memories, out_of_time), now))
    faded = [] if out_of_time() else _faded(store, memories, now)
    repeated = sum(link.kind == "repeats" for link in links)
    run = None if dry_run else _carried_out(store, project, links, faded, now)
    return Consolidated(
        read,
        repeated,
        len(links) - repeated,
        len(faded),
        tuple(_patterns(store, memories)),
        run,
        complete=not out_of_time(),
    )


def undo(store: Store, project: Project) -> int:
    """Take back the last run that stands."""
    kept = store.lifecycle
    last = kept.last_run(project.id)
    if last is None:
        raise NotFound("there is no consolidation to undo here")
    steps = kept.steps(last[0])
    kept.unarchive([step.memory for step in steps if step.action == "archive"])
    for step in steps:
        if step.other is not None:
            kept.unrelate(step.memory, step.other, step.action)
    kept.undone(last[0])
    return len(steps)


def is_wanted(store: Store, project: Project, now: datetime) -> bool:
    """Whether a run in slack is worth it: a day has passed, or fifty memories have come."""
    last = store.lifecycle.last_run(project.id)
    if last is None:
        return True
    _, at, fresh = last
    return fresh >= 50 or (fresh > 0 and (now - at).total_seconds() >= 86_400)


def _read_all(store: Store, project: Project, out_of_time: Callable[[], bool]) -> int:
    read = 0
    while not out_of_time() and (more := derive_pending(store, project.id)):
        read += more
    return read


def _carried_out(
    store: Store, project: Project, links: Sequence[Relation], faded: Sequence[MemoryId], now: datetime
) -> int | None:
    """Do and note the steps; a run that changes nothing leaves no trace."""
    kept = store.lifecycle
    if not links and not faded:
        last = kept.last_run(project.id)
        return last[0] if last else kept.consolidated(project.id, now, [])
    kept.relate(links)
    kept.archive(faded)
    steps = [Step(link.kind, link.source, link.target) for link in links]
    return kept.consolidated(project.id, now, [*steps, *(Step("archive", id_) for id_ in faded)])


def _alike(
    memories: Sequence[StoredMemory], out_of_time: Callable[[], bool]
) -> Iterator[tuple[MemoryId, MemoryId, str]]:
    """Later memories with the first one that says the same or nearly so."""
    exact: dict[bytes, MemoryId] = {}
    bands: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    words: dict[int, frozenset[int]] = {}
    for place, memory in enumerate(memories):
        if place % 256 == 0 and out_of_time():
            return
        if memory.kind in (Kind.OBSERVATION, Kind.SUMMARY):
            continue
        key = blake2b(
            " ".join(memory.body.casefold().split()).encode("utf-8", "replace"), digest_size=12
        ).digest()
        if key in exact:
            yield memory.id, exact[key], "repeats"
            continue
        exact[key] = memory.id
        terms = frozenset(hash_of(term) for term in index_terms(memory.body[:4000]) if not is_stop_term(term))
        if len(terms) < FEWEST_WORDS:
            continue
        other = _nearest(terms, place, bands, words)
        if other is not None:
            yield memory.id, memories[other].id, "similar"


def _nearest(
    terms: frozenset[int],
    place: int,
    bands: defaultdict[tuple[int, int], list[int]],
    words: dict[int, frozenset[int]],
) -> int | None:
    """The first earlier text that shares nine words of ten; this one is then known, too."""
    keys = list(_band_keys(terms))
    candidates = sorted({other for key in keys if len(bands[key]) <= _CROWD for other in bands[key]})
    for key in keys:
        bands[key].append(place)
    words[place] = terms
    for other in candidates:
        if len(terms & words[other]) >= ALIKE * len(terms | words[other]):
            return other
    return None


def _band_keys(terms: Iterable[int]) -> Iterator[tuple[int, int]]:
    minima = [min((term * factor + 1) & 0xFFFFFFFFFFFF for term in terms) for factor in _FACTORS]
    for band in range(_BANDS):
        yield band, hash(tuple(minima[band * _ROWS : (band + 1) * _ROWS]))


def hash_of(term: str) -> int:
    """The same number for a word on every machine and run."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=6).digest(), "big")


_FACTORS = [hash_of(f"minhash {place}") | 1 for place in range(_BANDS * _ROWS)]


def _fresh(
    store: Store, found: Iterable[tuple[MemoryId, MemoryId, str]], now: datetime
) -> Iterator[Relation]:
    """Links that are not there yet, whoever made them."""
    pairs = list(found)
    known: set[tuple[MemoryId, MemoryId]] = set()
    for start in range(0, len(pairs), 1_000):
        sources = [source for source, _, _ in pairs[start : start + 1_000]]
        known.update((item.source, item.target) for item in store.lifecycle.relations(sources))
    words = {"repeats": "says the same, word for word", "similar": "shares nine words of ten"}
    for source, target, kind in pairs:
        if (source, target) not in known and (target, source) not in known:
            yield Relation(source, target, kind, words[kind], now)


def _faded(store: Store, memories: Sequence[StoredMemory], now: datetime) -> list[MemoryId]:
    """What has become silent and is nobody's own."""
    kept = store.lifecycle
    found = []
    for start in range(0, len(memories), 1_000):
        batch = [item for item in memories[start : start + 1_000] if item.status is Status.ACTIVE]
        known = strength.held(kept, batch)
        for memory in batch:
            if strength.state_of(strength.strength_at(memory, known[memory.id], now)) in _FADED:
                found.append(memory.id)
    return found


def _patterns(store: Store, memories: Sequence[StoredMemory]) -> Iterator[MemoryId]:
    """Memories that were said again in three sessions or more: what `knowledge` calls a pattern."""
    sessions = {memory.id: memory.session or memory.id for memory in memories}
    again: defaultdict[MemoryId, set[str]] = defaultdict(set)
    ids = list(sessions)
    for start in range(0, len(ids), 1_000):
        for item in store.lifecycle.relations(ids[start : start + 1_000], kinds=("repeats",)):
            again[item.target].update((sessions.get(item.source, item.source), sessions.get(item.target, "")))
    yield from sorted(id_ for id_, found in again.items() if len(found - {""}) >= _PATTERN_SESSIONS)


# --- what is done when nobody waits


def tend(store: Store, *, now: datetime, budget_seconds: float = 2.0) -> list[Project]:
    """Tend the projects that want it, as long as the time lasts; returns those that were tended."""
    end = time.monotonic() + budget_seconds
    tended = []
    for project in store.projects():
        left = end - time.monotonic()
        if left <= 0:
            break
        if is_wanted(store, project, now):
            last = store.lifecycle.last_run(project.id)
            note_uses(store, project, last[1] if last else now - timedelta(days=7))
            if Path(project.path).is_dir():
                refreshed(store, project, Path(project.path))
            consolidate(store, project, now=now, budget_seconds=left)
            tended.append(project)
    return tended
