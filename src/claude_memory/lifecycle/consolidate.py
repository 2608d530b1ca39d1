"""Consolidation: read what was not read yet, link what is alike, note what was used, archive what faded.

Nothing is merged, rewritten or deleted; every step is noted and can be undone. With the same store and
the same time a second run finds nothing left to do.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TypeVar

from claude_memory.errors import NotFound
from claude_memory.lifecycle import strength
from claude_memory.lifecycle.entry import derive_pending
from claude_memory.lifecycle.staleness import refreshed
from claude_memory.lifecycle.strength import State, note_uses
from claude_memory.model import Kind, MemoryFilter, MemoryId, Project, SearchScope, Status, StoredMemory
from claude_memory.store.base import Store
from claude_memory.store.model import Relation, Step
from claude_memory.text.times import deadline
from claude_memory.text.words import index_terms, is_stop_term

# Two texts are alike from nine shared words of ten; a shorter text must be the same.
ALIKE = 0.9
FEWEST_WORDS = 8
_CROWD = 50  # texts that share a rare word and are compared: more are boilerplate
_EVIDENCE = {"repeats": "says the same, word for word", "similar": "shares nine words of ten"}
_PATTERN_SESSIONS = 3
_BATCH = 1_000
_Item = TypeVar("_Item")
# Archived ones, too: were they left out, the next run would see another set and find other twins.
_COMPARED = MemoryFilter(statuses=(Status.ACTIVE, Status.ARCHIVED))


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
    read = 0
    while not dry_run and not out_of_time() and (more := derive_pending(store, project.id)):
        read += more
    found = store.memories.find(SearchScope((project.id,)), _COMPARED, newest_first=False)
    memories = [memory for memory in found if memory.project == project.id]
    links = list(_fresh(store, _alike(memories, out_of_time), now))
    faded = [] if out_of_time() else _faded(store, memories, now)
    repeated = sum(link.kind == "repeats" for link in links)
    run = None if dry_run else _carry_out(store, project, links, faded, now)
    patterns = tuple(_patterns(store, memories))
    similar, complete = len(links) - repeated, not out_of_time()
    return Consolidated(read, repeated, similar, len(faded), patterns, run, complete)


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


def tend(store: Store, *, now: datetime, budget_seconds: float = 2.0) -> list[Project]:
    """Tend the projects that want it while nobody waits, as long as the time lasts; returns those tended.

    One wants it when fifty memories have come since its last run, or any, and a day has passed.
    """
    end = time.monotonic() + budget_seconds
    tended = []
    for project in store.projects():
        left = end - time.monotonic()
        if left <= 0:
            break
        _, at, fresh = store.lifecycle.last_run(project.id) or (0, now - timedelta(days=7), 50)
        if fresh >= 50 or (fresh and now - at >= timedelta(days=1)):
            note_uses(store, project, at)
            if Path(project.path).is_dir():
                refreshed(store, project, Path(project.path))
            consolidate(store, project, now=now, budget_seconds=left)
            tended.append(project)
    return tended


def _carry_out(
    store: Store, project: Project, links: Sequence[Relation], faded: Sequence[MemoryId], now: datetime
) -> int | None:
    """Do and note the steps; a run that changes nothing leaves no trace."""
    kept = store.lifecycle
    if not links and not faded and (last := kept.last_run(project.id)):
        return last[0]
    kept.relate(links)
    kept.archive(faded)
    steps = [Step(link.kind, link.source, link.target) for link in links]
    return kept.consolidated(project.id, now, [*steps, *(Step("archive", id_) for id_ in faded)])


def _alike(
    memories: Iterable[StoredMemory], out_of_time: Callable[[], bool]
) -> Iterator[tuple[MemoryId, MemoryId, str]]:
    """Later memories with the first one that says the same or nearly so."""
    bodies: dict[str, MemoryId] = {}
    texts: list[tuple[MemoryId, frozenset[str]]] = []
    for memory in memories:
        if out_of_time():
            return
        if memory.kind in (Kind.OBSERVATION, Kind.SUMMARY):
            continue
        first = bodies.setdefault(" ".join(memory.body.casefold().split()), memory.id)
        if first != memory.id:
            yield memory.id, first, "repeats"
            continue
        words = frozenset(term for term in index_terms(memory.body[:4000]) if not is_stop_term(term))
        if len(words) >= FEWEST_WORDS:
            texts.append((memory.id, words))
    counts = Counter(word for _, words in texts for word in words)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, (id_, words) in enumerate(texts):
        if out_of_time():
            return
        # Two texts that share nine words of ten share one of the rarest tenth of either.
        rare = sorted(words, key=lambda word: (counts[word], word))[
            : len(words) - math.ceil(ALIKE * len(words)) + 1
        ]
        for other in sorted({other for word in rare for other in holders[word][:_CROWD]}):
            if len(words & texts[other][1]) >= ALIKE * len(words | texts[other][1]):
                yield id_, texts[other][0], "similar"
                break
        for word in rare:
            holders[word].append(place)


def _fresh(
    store: Store, found: Iterable[tuple[MemoryId, MemoryId, str]], now: datetime
) -> Iterator[Relation]:
    """Links that are not there yet, whoever made them."""
    for pairs in _batches(found):
        related = store.lifecycle.relations([source for source, _, _ in pairs])
        known = {frozenset((item.source, item.target)) for item in related}
        for source, target, kind in pairs:
            if frozenset((source, target)) not in known:
                yield Relation(source, target, kind, _EVIDENCE[kind], now)


def _faded(store: Store, memories: Iterable[StoredMemory], now: datetime) -> list[MemoryId]:
    """What has become silent and is nobody's own."""
    faded = []
    for batch in _batches(memory for memory in memories if memory.status is Status.ACTIVE):
        known = strength.held(store.lifecycle, batch)
        for memory in batch:
            state = strength.state_of(strength.strength_at(memory, known[memory.id], now))
            faded += [memory.id] if state in (State.SILENT, State.UNAVAILABLE) else []
    return faded


def _patterns(store: Store, memories: Sequence[StoredMemory]) -> Iterator[MemoryId]:
    """Memories that were said again in three sessions or more: what `knowledge` calls a pattern."""
    sessions = {memory.id: memory.session or memory.id for memory in memories}
    again: defaultdict[MemoryId, set[str]] = defaultdict(set)
    for ids in _batches(sessions):
        for item in store.lifecycle.relations(ids, kinds=("repeats",)):
            again[item.target].update((sessions.get(item.source, item.source), sessions.get(item.target, "")))
    yield from sorted(id_ for id_, found in again.items() if len(found - {""}) >= _PATTERN_SESSIONS)


def _batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """So many at a time as one question to the store may name."""
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch
