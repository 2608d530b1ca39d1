"""Answers a question with whole conversations and their best passages, best first.

Words and phrases are looked for in every message, meaning in the memories that conversations left.
Never fails for any question, writes nothing; time is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from claude_memory.embed.protocol import Embedder
from claude_memory.model import Hit, MemoryFilter, ProjectId, SearchScope, SessionId
from claude_memory.search import excerpts
from claude_memory.search.excerpts import Wording, quote
from claude_memory.search.search import recency, search
from claude_memory.store.base import Store
from claude_memory.store.model import ANY_CONVERSATION, Conversation, ConversationFilter, Message
from claude_memory.store.sql.archive import Archive
from claude_memory.text.words import STOP_WORDS, stem

CANDIDATES = 400
# Candidates are the newest; where there are more, a phrase is looked for among so many that share its words.
DEPTH = 5_000
EXACT = 100
FEW = 40  # messages; with fewer, single words of the question are looked for too
SINGLE_WORDS = 4
MEMORY_HITS = 60
# The memory that answers best weighs less than all of the question's words side by side, more than
# some of them.
MEANING_WEIGHT = 0.7
LEAST_RELEVANCE = 0.05
# ln Σ exp(10·f): with more than five passages, a long conversation that has all the words somewhere
# would pass a short one that has the very phrase.
COUNTED = 5
SHOWN = 3
LEAST_SHARE = 0.4  # of the best passage of all; what shares less is another matter
PLACE_SHARE = 0.5  # of the best passage's score, from which a place is worth a look
OWN_PROJECT_BONUS = 0.02  # as much as being of today
UNKNOWN_WORDS = 4  # of a question, for which words that begin alike are tried
ALIKE = 3


@dataclass(frozen=True, slots=True)
class Quote:
    """One passage of a conversation; `ordinal` 0 stands for a memory without a message."""

    ordinal: int
    role: str
    at: datetime
    text: str
    score: float
    tool: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """A conversation that answers, with its best passages, best first, and all places to look at."""

    conversation: Conversation
    score: float
    quotes: tuple[Quote, ...] = ()
    ordinals: tuple[int, ...] = ()


@dataclass(slots=True)
class _Heap:
    """What was found of one conversation."""

    messages: dict[int, tuple[float, Message]] = field(default_factory=dict)
    memories: list[Quote] = field(default_factory=list)

    def hear(self, message: Message, score: float) -> None:
        known = self.messages.get(message.ordinal)
        if known is None or known[0] < score:
            self.messages[message.ordinal] = (score, message)

    def scores(self) -> list[float]:
        found = [score for score, _ in self.messages.values()] + [item.score for item in self.memories]
        return sorted(found, reverse=True)[:COUNTED]


def recall(
    archive: Archive,
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    *,
    within: ConversationFilter = ANY_CONVERSATION,
    limit: int,
    now: datetime,
    own: ProjectId | None = None,
    thorough: bool = True,
) -> list[Recalled]:
    """The conversations that answer best; without a question, the newest. `own` ones stand a bit ahead.

    `thorough` reads old messages too for the question as it stands, where many share its words.
    """
    if limit <= 0:
        return []
    if not query.strip():
        return _newest(archive, scope, within, limit)
    asked = asked_of(archive, query)
    heaps: dict[int, _Heap] = {}
    for message in _messages(archive, scope, asked, within, thorough=thorough):
        score = excerpts.match(asked, message.text, message.role)
        heaps.setdefault(message.conversation, _Heap()).hear(message, score)
    _add_memories(heaps, archive, store, embedder, scope, query, within, now)
    found = archive.by_numbers(list(heaps))
    ranked = [
        _recalled(item, heaps[item.number], now, own)
        for item in found
        if _fits(item, within) and heaps[item.number].scores()
    ]
    top = max((heap.scores()[0] for heap in heaps.values() if heap.scores()), default=0.0)
    near = [item for item in ranked if heaps[item.conversation.number].scores()[0] >= LEAST_SHARE * top]
    best = sorted(near, key=lambda item: -item.score)[:limit]
    return [replace(item, quotes=_quotes(asked, heaps[item.conversation.number])) for item in best]


def asked_of(archive: Archive, query: str) -> Wording:
    """The question taken apart; a word that nobody said stands for words that begin like it."""
    words = list(dict.fromkeys(excerpts.words_of(query)))[: excerpts.QUESTION_WORDS]
    messages, counts = archive.word_counts(words)
    unknown = [word for word in words if not counts.get(word) and word not in STOP_WORDS and len(word) > 1]
    stands_for = {
        alike: word
        for word in unknown[-UNKNOWN_WORDS:]
        for alike in _alike(archive, word)
        if alike not in counts
    }
    return excerpts.question(query, messages, counts, stands_for)


def _alike(archive: Archive, word: str) -> list[str]:
    """What an unfinished word may become, else other forms of it."""
    return archive.words_beginning(word, ALIKE) or (
        archive.words_beginning(stem(word), ALIKE) if len(stem(word)) > 2 else []
    )


def _newest(archive: Archive, scope: SearchScope, within: ConversationFilter, limit: int) -> list[Recalled]:
    found = archive.conversations(scope, within, limit=4 * limit + 20)
    # Sub-agents work for a conversation that is listed itself.
    return [Recalled(item, 0.0) for item in found if not item.parent and item.messages][:limit]


def _messages(
    archive: Archive, scope: SearchScope, asked: Wording, within: ConversationFilter, *, thorough: bool
) -> Iterable[Message]:
    known = _in_the_archive(asked)
    found = {message.number: message for message in archive.candidates(scope, known, CANDIDATES, within)}
    if len(found) >= CANDIDATES and thorough and len(known) > 1:
        accept = excerpts.holds_phrase(asked)
        exact = archive.matching(scope, known, within, accept, limit=EXACT, depth=DEPTH)
        found.update((message.number, message) for message in exact)
    if len(found) < FEW:
        telling = sorted(
            (word for word in known if word not in STOP_WORDS), key=lambda word: -_worth(asked, word)
        )
        for word in telling[:SINGLE_WORDS]:
            more = archive.candidates(scope, [word], CANDIDATES // 4, within)
            found.update((message.number, message) for message in more)
    return found.values()


def _in_the_archive(asked: Wording) -> list[str]:
    """The question's words, each unknown one replaced by the most common word it may stand for."""
    replaced: dict[str, str] = {}
    for alike, word in asked.meant.items():
        if alike != word:
            replaced.setdefault(word, alike)
    return [replaced.get(word, word) for word in asked.words]


def _worth(asked: Wording, word: str) -> float:
    return asked.weights.get(asked.meant.get(word, word), 0.0)


def _add_memories(
    heaps: dict[int, _Heap],
    archive: Archive,
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    within: ConversationFilter,
    now: datetime,
) -> None:
    """Hear memories by words and meaning; each speaks for the message it came from, else its session."""
    hits = search(
        store,
        embedder,
        scope,
        query,
        filter_=MemoryFilter(since=within.since, until=within.until),
        limit=MEMORY_HITS,
        min_relevance=LEAST_RELEVANCE,
        now=now,
        boost_files=[part for part in query.split() if "/" in part or "." in part.strip(".")],
    )
    by_id = {hit.id: hit for hit in hits}
    stored = store.memories.find(SearchScope(None), MemoryFilter(), ids=list(by_id)) if by_id else []
    events = {memory.id: str(memory.provenance.get("event") or "") for memory in stored}
    messages = _by_event(archive, events.values())
    sessions = _by_session(archive, scope, [hit.session for hit in hits if hit.session])
    for hit in hits:
        score = MEANING_WEIGHT * min(1.0, hit.score)
        message = messages.get(events.get(hit.id, ""))
        if message is not None:
            heaps.setdefault(message.conversation, _Heap()).hear(message, score)
        elif hit.session is not None and hit.session in sessions:
            heard = Quote(0, hit.kind, hit.timestamp, hit.snippet or hit.title, score)
            heaps.setdefault(sessions[hit.session], _Heap()).memories.append(heard)


def _by_event(archive: Archive, events: Iterable[str]) -> dict[str, Message]:
    wanted = [event for event in events if event]
    return {message.event: message for message in archive.of_events(wanted)} if wanted else {}


def _by_session(archive: Archive, scope: SearchScope, sessions: Sequence[str]) -> Mapping[str, int]:
    if not sessions:
        return {}
    return {item.session: item.number for item in reversed(archive.by_sessions(scope, sessions))}


def _fits(item: Conversation, within: ConversationFilter) -> bool:
    """Whether a conversation that a memory led to is one that was asked for."""
    folder = within.folder
    inside = not folder or item.cwd == folder or item.cwd.startswith((f"{folder}/", f"{folder}\\"))
    return inside and within.agent in (None, item.agent)


def _recalled(item: Conversation, heap: _Heap, now: datetime, own: ProjectId | None) -> Recalled:
    bonus = recency(item.last, now) + (OWN_PROJECT_BONUS if item.project == own else 0.0)
    least = PLACE_SHARE * heap.scores()[0]
    told = sorted(heap.messages.items(), key=lambda pair: (-pair[1][0], pair[0]))
    places = [ordinal for ordinal, (score, _) in told if score >= least]
    return Recalled(item, round(together(heap.scores()) + SHARPNESS * bonus, 4), (), tuple(places))


def _quotes(asked: Wording, heap: _Heap) -> tuple[Quote, ...]:
    told = [
        Quote(message.ordinal, message.role, message.at, message.text, score, message.tool, message.failed)
        for score, message in heap.messages.values()
    ]
    best = sorted([*told, *heap.memories], key=lambda item: (-item.score, item.ordinal))
    chosen: dict[str, Quote] = {}
    for item in best:
        if len(chosen) == SHOWN:
            break
        if line := quote(asked, item.text):
            chosen.setdefault(line.casefold(), replace(item, text=line))
    return tuple(chosen.values())


# --- which sessions a list of hits speaks of

# Several fair hits outweigh one good hit, but not by their mere number: ln Σ exp(10·score).
SHARPNESS = 10.0


def rank_sessions(hits: Iterable[Hit]) -> list[tuple[SessionId, float]]:
    """Sessions with their score, best first; hits without a session are left out."""
    sums: dict[SessionId, float] = {}
    for hit in hits:
        if hit.session is not None:
            sums[hit.session] = sums.get(hit.session, 0.0) + math.exp(SHARPNESS * min(hit.score, 1.0))
    ranked = [(session, math.log(total)) for session, total in sums.items()]
    return sorted(ranked, key=lambda pair: -pair[1])


def together(scores: Iterable[float]) -> float:
    """What several scores in one session come to, on the same scale as `rank_sessions`."""
    return math.log(sum(math.exp(SHARPNESS * min(score, 1.0)) for score in scores))
