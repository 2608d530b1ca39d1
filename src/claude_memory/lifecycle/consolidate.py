"""How memories meet: the gate for new ones, and consolidation of all.

A new memory meets its nearest neighbours: the same words again strengthen what is known, a text close in
meaning is linked as the newer one on the same subject. Consolidation reads what was not read yet, links what
is alike, notes what was used, archives what faded; with the same store and time a second run finds nothing to
do. Nothing is refused, merged, rewritten or deleted: only a person replaces a memory. Only memories of the
same project and scope ever meet.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import NotFound
from claude_memory.graph.extract import mentions
from claude_memory.lifecycle.staleness import refreshed, tied
from claude_memory.lifecycle.strength import DORMANT_FROM, held, keep_uses, note_uses, strength_at
from claude_memory.model import (
    STATEMENT_CHARACTERS,
    Kind,
    MemoryFilter,
    MemoryId,
    Project,
    ProjectId,
    SearchScope,
    Status,
    StoredMemory,
)
from claude_memory.store.base import Store
from claude_memory.store.model import Relation, Review, Step
from claude_memory.store.sql.lifecycle import Lifecycle
from claude_memory.text.times import deadline
from claude_memory.text.words import index_terms, is_stop_term, query_terms

# --- the gate

# Cosine from which two statements are about the same thing. A denial is as close as an agreement, so
# nothing more than a link follows from it.
NEAR = 0.9


class Action(StrEnum):
    ADDED = "added"
    REINFORCED = "reinforced"
    LINKED = "linked"


class Admission(NamedTuple):
    memory: MemoryId
    action: Action
    other: MemoryId | None = None
    words: str = ""


# A bulk is an import: its memories are compared by consolidation, not while somebody waits.
AT_ONCE = 100
NEIGHBOURS = 12
BATCH = 50
_SAME = "says the same, word for word"
_NEWER = "newer on the same subject; both are kept"
_ACTIVE = MemoryFilter(statuses=(Status.ACTIVE,))


def admit_new(
    store: Store, memories: Sequence[StoredMemory], root: Path, model: str | None
) -> list[Admission]:
    """Let what was just kept meet its neighbours, in its order; it stays kept whatever comes of it.

    Without vectors only the same words are recognised; the rest waits for `admit_waiting`.
    """
    now = datetime.now(UTC)
    for memory in memories:
        # What an agent would put in a person's place is tied to what it speaks against.
        if other := memory.provenance.get("proposed_for"):
            against = Relation(memory.id, MemoryId(str(other)), "contradicts", "proposed in its place", now)
            store.lifecycle.relate([against])
    if any(memory.files for memory in memories):
        store.lifecycle.put_file_states(tied(memories, root))
    if len(memories) > AT_ONCE:
        return [Admission(memory.id, Action.ADDED) for memory in memories]
    store.graph.put({memory.id: mentions(memory) for memory in memories})
    ids = [memory.id for memory in memories]
    verdicts = [
        _admitted(store, memory, model, frozenset(ids[place:])) for place, memory in enumerate(memories)
    ]
    store.lifecycle.judged([one.memory for one in verdicts if one.other is not None or model is not None])
    return verdicts


def admit_waiting(store: Store, model: str | None, out_of_time: Callable[[], bool]) -> int:
    """Judge what came in without vectors at hand, oldest first, while there is time; returns how many met."""
    met = 0
    while not out_of_time() and (waiting := store.lifecycle.unjudged(BATCH)):
        for memory in waiting:
            if out_of_time():
                break
            after = (memory.created_at, memory.id)
            later = frozenset(other.id for other in waiting if (other.created_at, other.id) > after)
            met += _admitted(store, memory, model, later).other is not None
            store.lifecycle.judged([memory.id])
    return met


def _admitted(store: Store, new: StoredMemory, model: str | None, later: frozenset[MemoryId]) -> Admission:
    if not new.is_statement or new.supersedes is not None or new.status is not Status.ACTIVE:
        return Admission(new.id, Action.ADDED)
    near = _neighbours(store, new, model, later)
    found = [(*judged(old.body, new.body, cosine), old) for old, cosine in near]
    close = [one for one in found if one[0] is not Action.ADDED]
    if not close:
        return Admission(new.id, Action.ADDED)
    # Among equals the oldest: what is said a third time repeats the first, not the second.
    action, _, old = max(reversed(close), key=lambda one: (one[1], -one[2].created_at.timestamp()))
    now, kept = datetime.now(UTC), store.lifecycle
    kind, words = ("repeats", _SAME) if action is Action.REINFORCED else ("newer", _NEWER)
    newer, older = (new, old) if new.created_at >= old.created_at else (old, new)
    kept.relate([Relation(newer.id, older.id, kind, words, now)])
    if action is Action.REINFORCED:
        keep_uses(kept, {old.id: old}, [Review(old.id, now, "repeated")])
    return Admission(new.id, action, old.id, words)


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


def judged(old: str, new: str, cosine: float | None = None) -> tuple[Action, float]:
    """What a new text means for an old one of the same project, and how close the two are."""
    one, other = (" ".join(text.casefold().split()).rstrip(" .!") for text in (old, new))
    if one == other:
        return Action.REINFORCED, 1.0
    is_near = cosine is not None and cosine >= NEAR and max(len(old), len(new)) <= STATEMENT_CHARACTERS
    return Action.LINKED if is_near else Action.ADDED, cosine or 0.0


def derive_pending(store: Store, project: ProjectId, *, limit: int = 500) -> int:
    """Catch up with memories that came by other ways or changed; returns how many were read."""
    waiting = store.graph.unread(project, limit)
    store.graph.put({memory.id: mentions(memory) for memory in waiting})
    return len(waiting)


# --- consolidation

# Two texts are alike from nine shared words of ten; a shorter text must be the same.
ALIKE = 0.9
FEWEST_WORDS = 8
_CROWD = 50  # texts that share a rare word and are compared: more are boilerplate
_EVIDENCE = {"repeats": _SAME, "similar": "shares nine words of ten"}
_PATTERN_SESSIONS = 3
SLACK_SECONDS = 2.0
# Archived ones, too: were they left out, the next run would see another set and find other twins.
_COMPARED = MemoryFilter(statuses=(Status.ACTIVE, Status.ARCHIVED))


@dataclass(frozen=True, slots=True)
class Consolidated:
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
    here = store.memories.find(SearchScope((project.id,)), _COMPARED, newest_first=False)
    memories = [memory for memory in here if memory.project == project.id]
    found = list(_alike(memories, out_of_time))
    related = store.lifecycle.relations([source for source, _, _ in found])
    known = {frozenset((item.source, item.target)) for item in related}  # whoever made them
    links = [
        Relation(source, target, kind, _EVIDENCE[kind], now)
        for source, target, kind in found
        if frozenset((source, target)) not in known
    ]
    faded: list[MemoryId] = []  # what has become silent and is nobody's own
    if not out_of_time():
        active = [memory for memory in memories if memory.status is Status.ACTIVE]
        strengths = held(store.lifecycle, active)
        faded = [one.id for one in active if strength_at(one, strengths[one.id], now) < DORMANT_FROM]
    run = None if dry_run else _carry_out(store.lifecycle, project, links, faded, now)
    repeated = sum(link.kind == "repeats" for link in links)
    patterns, complete = _patterns(store, memories), not out_of_time()
    return Consolidated(read, repeated, len(links) - repeated, len(faded), patterns, run, complete)


def _carry_out(
    kept: Lifecycle, project: Project, links: Sequence[Relation], faded: Sequence[MemoryId], now: datetime
) -> int | None:
    """Do and note the steps; a run that changes nothing leaves no trace."""
    if not links and not faded and (last := kept.last_run(project.id)):
        return last[0]
    kept.relate(links)
    kept.archive(faded)
    steps = [Step(link.kind, link.source, link.target) for link in links]
    return kept.consolidated(project.id, now, [*steps, *(Step("archive", id_) for id_ in faded)])


def _patterns(store: Store, memories: Sequence[StoredMemory]) -> tuple[MemoryId, ...]:
    """Memories that were said again in three sessions or more: what `knowledge` calls a pattern."""
    sessions = {memory.id: memory.session or memory.id for memory in memories}
    again: defaultdict[MemoryId, set[str]] = defaultdict(set)
    for item in store.lifecycle.relations(list(sessions), kinds=("repeats",)):
        again[item.target].update((sessions.get(item.source, item.source), sessions.get(item.target, "")))
    return tuple(sorted(id_ for id_, said in again.items() if len(said - {""}) >= _PATTERN_SESSIONS))


def undo(store: Store, project: Project) -> int:
    last = store.lifecycle.last_run(project.id)
    if last is None:
        raise NotFound("there is no consolidation to undo here")
    return len(store.lifecycle.undo(last[0]))


def tend(store: Store, *, now: datetime) -> list[Project]:
    """Tend the projects that want it while nobody waits, as long as the time lasts; returns those tended.

    One wants it when fifty memories have come since its last run, or any, and a day has passed.
    """
    end = time.monotonic() + SLACK_SECONDS
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
