"""Answers a question with memories and exchanges: rank passages, weigh what is known of each, drop twins.

One exchange is one hit, whatever was understood from it. Never fails for any question. Writes nothing;
time is an argument.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from types import MappingProxyType

from claude_memory.embed.protocol import Embedder
from claude_memory.model import Hit, Kind, MemoryFilter, MemoryId, SearchScope, Status, StoredMemory, Trust
from claude_memory.search.excerpts import one_line, snippet
from claude_memory.search.ranking import TEXT_CANDIDATES, Question, Ranking, Scored, ask, rank
from claude_memory.search.relevance import relevance
from claude_memory.store.base import Store
from claude_memory.text.words import index_terms, query_terms, shorten
from claude_memory.understand.model import places_of

NO_BOOSTS: Mapping[MemoryId, float] = MappingProxyType({})
NOTHING = 0.005  # a relevance up to it speaks for no connection at all
NEAREST = 3
AROUND = 0.3  # of the best match by words, with those of the neighbours
_TITLE_WIDTH = 120
_STEP = 1e-6  # enough to keep two hits in order
_JUDGED = 40  # fixed for common limits, so that a longer list begins with the shorter one
_DEEPEST = 2000  # passages; a memory of several megabytes may still crowd out others
_SPARE = 20  # candidates beyond the limit, so that twins and priors do not leave a page short


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory with its best passage and its final score."""

    memory: StoredMemory
    best: Scored
    score: float
    in_place_of: Scored | None = None  # what it replaced, where that is what the question met


def search(
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    *,
    filter_: MemoryFilter,
    limit: int,
    min_relevance: float | None,
    now: datetime,
    boost_files: Sequence[str] = (),
    boosts: Mapping[MemoryId, float] = NO_BOOSTS,
    stale: Callable[[StoredMemory], str] = lambda _: "",
) -> list[Hit]:
    """The memories that answer best, best first; an empty list if nothing speaks for any.

    Without a `min_relevance` the list ends where relevance falls to nothing. `stale` tells what is outdated.
    """
    if limit <= 0 or not query.strip():
        return []
    now = min(now, filter_.until) if filter_.until else now  # what was recent then
    ranking = _ranked(store, ask(query, scope, filter_, embedder), limit)
    keep = max(limit + _SPARE, _JUDGED)
    judged = judged_by(store, ranking, now, boost_files, keep=keep, boosts=boosts)
    hits: list[Hit] = []
    ceiling = 1.0
    for item in islice(judged, limit):
        # Never more than the hit above: the list reads from most to least relevant.
        ceiling = min(ceiling, relevance_of(ranking, item))
        if ceiling < (min_relevance or 0.0):
            break
        if min_relevance is None and ceiling <= NOTHING and _pads(ranking, item, hits):
            break
        hits.append(_hit(ranking, item, ceiling, stale(item.memory)))
    return hits


def _pads(ranking: Ranking, item: Judged, hits: Sequence[Hit]) -> bool:
    """Whether a hit that tells nothing by itself only fills the list.

    Where none is relevant, a few show what there is. A short reply may answer for what was said around it.
    """
    if not any(hit.relevance > NOTHING for hit in hits):
        return len(hits) >= NEAREST
    best = max(other.plain_lexical for other in ranking.scored)
    return item.best.plain_lexical < AROUND * best or not best


def relevance_of(ranking: Ranking, item: Judged) -> float:
    """A memory is as relevant as its best passage, or as what it replaced where that was found."""
    own = relevance(ranking, item.best)
    return max(own, relevance(ranking, item.in_place_of)) if item.in_place_of else own


def _ranked(store: Store, question: Question, limit: int) -> Ranking:
    """Rank deeper where a few long memories took all the places for passages."""
    depth = limit + _SPARE
    ranking = rank(store, question, depth=depth)
    while depth < _DEEPEST:
        memories = {item.passage.memory for item in ranking.scored}
        cut_off = len(ranking.scored) >= max(depth, TEXT_CANDIDATES)
        if len(memories) >= limit or not cut_off:
            break
        depth *= 8
        ranking = rank(store, question, depth=depth)
    return ranking


def judged_by(
    store: Store,
    ranking: Ranking,
    now: datetime,
    boost_files: Sequence[str],
    *,
    keep: int,
    boosts: Mapping[MemoryId, float] = NO_BOOSTS,
) -> list[Judged]:
    """Memories in their final order; each counts as much as its best passage."""
    best: dict[MemoryId, Scored] = {}
    for item in ranking.scored:
        best.setdefault(item.passage.memory, item)
    question = ranking.question
    found = store.memories.find(question.scope, question.filter_, ids=list(best)[:keep])
    judged = [
        _judged(memory, best[memory.id], now, boost_files, boosts.get(memory.id, 0.0)) for memory in found
    ]
    judged += _successors(store, question, judged)
    judged = _with_replaced(sorted(judged, key=lambda item: -item.score))
    judged = latest_first(judged, question, ranking.weights)
    return list(_once(newer_twin_first(store, judged, question.model)))


def _judged(
    memory: StoredMemory, best: Scored, now: datetime, boost_files: Sequence[str], boost: float
) -> Judged:
    bonus = sum(bonuses(memory, now, boost_files).values()) + boost
    return Judged(memory, best, (best.fused + bonus) * validity(memory))


def _successors(store: Store, question: Question, judged: list[Judged]) -> list[Judged]:
    """What took the place of a memory that was found, also where it shares nothing with the question."""
    known = {item.memory.id: item for item in judged}
    added: list[Judged] = []
    latest = judged
    while latest and len(added) < _JUDGED:
        replaced = {item.memory.superseded_by: item for item in latest if item.memory.superseded_by}
        missing = [id_ for id_ in replaced if id_ not in known]
        found = store.memories.find(question.scope, question.filter_, ids=missing) if missing else []
        latest = [Judged(memory, _standing_for(memory, replaced[memory.id].best), 0.0) for memory in found]
        known.update((item.memory.id, item) for item in latest)
        added += latest
    return added


def _standing_for(memory: StoredMemory, old: Scored) -> Scored:
    passage = replace(old.passage, memory=memory.id, text=memory.body, own=(), near=(), far=(), date=())
    return Scored(passage, 0.0, 0.0, None if old.cosine is None else 0.0, 0.0)


def _with_replaced(judged: list[Judged]) -> list[Judged]:
    """A question that meets what was replaced is answered by what took its place; the old stands below it."""
    by_id = {item.memory.id: item for item in judged}
    older: dict[MemoryId, list[MemoryId]] = {}
    for item in judged:
        if item.memory.superseded_by:
            older.setdefault(item.memory.superseded_by, []).append(item.memory.id)
    for item in judged:
        if item.memory.superseded_by not in by_id:
            _settle(by_id, older, item.memory.id)
    return sorted(by_id.values(), key=lambda item: -item.score)


def _settle(by_id: dict[MemoryId, Judged], older: dict[MemoryId, list[MemoryId]], newest: MemoryId) -> None:
    """Lift what came after the best of a line to its place, and put each older one below what replaced it."""
    newer_of: dict[MemoryId, MemoryId] = {}
    line = [newest]
    for newer in line:  # grows as it goes: one memory may have replaced several
        for before in older.pop(newer, ()):
            newer_of[before] = newer
            line.append(before)
    best = max((by_id[id_] for id_ in line), key=lambda item: item.score)
    lifted = best.memory.id
    while lifted in newer_of:
        lifted = newer_of[lifted]
        by_id[lifted] = replace(by_id[lifted], score=best.score, in_place_of=best.best)
    for id_ in line[1:]:
        limit = by_id[newer_of[id_]].score - _STEP
        by_id[id_] = replace(by_id[id_], score=min(by_id[id_].score, limit))


def _once(judged: Sequence[Judged]) -> Iterable[Judged]:
    """Each text once, and of what was understood from the same messages the best alone.

    A session's record tells of all its exchanges: it stands where none of them does.
    """
    texts: set[str] = set()
    shown: dict[str, list[tuple[int, int]]] = {}
    talks = {talk for item in judged for talk, _, _ in places_of(item.memory)}
    for item in judged:
        text = " ".join(item.memory.body.casefold().split())
        places = places_of(item.memory)
        if text in texts or _conversation_of_record(item.memory) in talks:
            continue
        if any(first <= b and a <= last for talk, first, last in places for a, b in shown.get(talk, ())):
            continue
        texts.add(text)
        for talk, first, last in places:
            shown.setdefault(talk, []).append((first, last))
        yield item


def _conversation_of_record(memory: StoredMemory) -> str:
    told = memory.provenance
    return str(told.get("conversation")) if told.get("source") == "session" else ""


def _hit(ranking: Ranking, item: Judged, relevant: float, stale: str) -> Hit:
    memory = item.memory
    return Hit(
        id=memory.id,
        kind=memory.kind,
        title=shorten(one_line(memory.title), _TITLE_WIDTH),
        snippet=snippet(item.best.passage.text, ranking.weights, title=memory.title),
        relevance=round(relevant, 4),
        session=memory.session,
        project=memory.project,
        timestamp=memory.created_at,
        files=memory.files,
        status=memory.status,
        trust=memory.trust,
        superseded_by=memory.superseded_by,
        score=round(item.score, 6),
        place=_place(memory),
        stale=stale,
    )


def _place(memory: StoredMemory) -> str:
    file, line = memory.provenance.get("file"), memory.provenance.get("line")
    return f"{file}:{line}" if file and line and memory.provenance.get("source") == "file" else ""


# --- what is known of a memory apart from the question: weak next to the match, neutral where unknown

# Tie-breakers by design: together they move a score less than one more shared word does, so that no
# measured set changes by more than its noise (tests/quality, bench/quality.py).
RECENCY_BONUS = 0.02
RECENCY_HALF_LIFE_DAYS = 30.0
# Work goes on where it was: of earlier sessions that edited the files a prompt led to, one is among the first
# three in 66% with it and 57% without, and questions lose one in fifty of the first five (bench/real.py).
WORK_BONUS = 0.08
WORK_HALF_LIFE_DAYS = 7.0
FILE_BONUS = 0.08
SUPERSEDED_FACTOR = 0.85
STALE_FACTOR = 0.9  # its files changed a lot since: likely still true, less likely than others
VALIDITY = {Status.SUPERSEDED: SUPERSEDED_FACTOR, Status.ARCHIVED: 0.85, Status.PROPOSED: 0.85}
KIND_BONUS = {Kind.OBSERVATION: -0.02, Kind.SUMMARY: -0.04}  # a summary touches much and answers little
TRUST_BONUS = {Trust.TOOL: -0.01, Trust.IMPORTED: -0.01}


def bonuses(memory: StoredMemory, now: datetime, boost_files: Sequence[str] = ()) -> dict[str, float]:
    """What is added to the fused score, by name; zero entries are left out."""
    found = {
        "recency": recency(memory.created_at, now, work=memory.kind in KIND_BONUS),
        "files": FILE_BONUS * shares_file(memory.files, boost_files),
        "kind": KIND_BONUS.get(memory.kind, 0.0),
        "trust": TRUST_BONUS.get(memory.trust, 0.0),
    }
    return {name: value for name, value in found.items() if value}


def validity(memory: StoredMemory) -> float:
    """The factor by which a memory that was replaced or has faded sinks."""
    stale = STALE_FACTOR if memory.provenance.get("stale") else 1.0
    return VALIDITY.get(memory.status, 1.0) * stale


def recency(created_at: datetime, now: datetime, *, work: bool = False) -> float:
    """A bonus that halves with age; a memory from the future counts as new."""
    days = max((now - created_at).total_seconds() / 86_400.0, 0.0)
    more = WORK_BONUS * math.exp2(-days / WORK_HALF_LIFE_DAYS) if work else 0.0
    return RECENCY_BONUS * math.exp2(-days / RECENCY_HALF_LIFE_DAYS) + more


def shares_file(files: Sequence[str], wanted: Sequence[str]) -> float:
    """1 for the same path, half for the same name elsewhere, 0 otherwise."""
    if not files or not wanted:
        return 0.0
    ours, theirs = {_path(file) for file in files}, {_path(file) for file in wanted}
    if any(_same(one, other) for one in ours for other in theirs):
        return 1.0
    return 0.5 if {path.name for path in ours} & {path.name for path in theirs} else 0.0


def _path(file: str) -> PurePosixPath:
    return PurePosixPath(file.replace("\\", "/"))


def _same(one: PurePosixPath, other: PurePosixPath) -> bool:
    # One may be absolute and the other relative to the project: the shorter ends the longer.
    short, long = sorted((one.parts, other.parts), key=len)
    return len(short) > 0 and long[-len(short) :] == short and (len(short) > 1 or len(long) == 1)


# --- of two statements on one subject, the newer first

# On an Integrity set of 40 topics (bench/integrity.py), which both were chosen on, the current value is first
# in .70 with it and .45 without.
TWIN_COSINE = 0.75
TWIN_SCORE = 0.75  # of the best answer's
TWINS = 10


def newer_twin_first(store: Store, judged: list[Judged], model: str | None) -> list[Judged]:
    """Where a newer statement says nearly the same and answers nearly as well, it leads before the older."""
    if model is None or not judged or not judged[0].memory.is_statement:
        return judged
    lead = judged[0]
    newer = [
        item
        for item in judged[1:TWINS]
        if item.memory.is_statement
        and item.memory.status is lead.memory.status
        and item.memory.trust in (lead.memory.trust, Trust.USER)  # what is planted replaces nobody's word
        and item.memory.created_at > lead.memory.created_at
        and item.score >= TWIN_SCORE * lead.score
    ]
    passages = [item.best.passage.id for item in newer]
    cosines = store.memories.cosines(lead.best.passage.id, model, passages) if newer else {}
    twins = [item for item in newer if cosines.get(item.best.passage.id, 0.0) >= TWIN_COSINE]
    if not twins:
        return judged
    newest = max(twins, key=lambda item: item.memory.created_at)
    leading = replace(newest, score=lead.score + _STEP, in_place_of=lead.best)
    return [leading, *(item for item in judged if item is not newest)]


# --- what holds now: of the texts whose best sentence answers nearly best, the newest first

# On MemoryCode (`bench/quality.py --sets memorycode`) the current rule is first in 71%, a stale one in 8%.
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
_LEAD = 0.001
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
        replace(item, score=top + _LEAD * (LEADING - place)) for place, item in enumerate(holding[:LEADING])
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
