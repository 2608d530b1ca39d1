"""Archived conversations: those that answer a question with their best passages, by id, and how to go on.

Words and phrases are looked for in every message, meaning in the memories that conversations left.
Never fails for any question, writes nothing; time is an argument.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from claude_memory.embed import Embedder
from claude_memory.errors import InvalidInput
from claude_memory.model import Hit, MemoryFilter, ProjectId, SearchScope
from claude_memory.platform.agents import BY_NAME, canonical
from claude_memory.search import excerpts
from claude_memory.search.excerpts import Wording, one_line, quote
from claude_memory.search.ranking import recency
from claude_memory.search.search import search
from claude_memory.store.base import Store
from claude_memory.store.model import Conversation, ConversationFilter, Message
from claude_memory.store.sql.archive import Archive
from claude_memory.text.quotation import meant
from claude_memory.text.words import STOP_WORDS, shorten, stem
from claude_memory.understand.model import from_json

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
EVERYWHERE = SearchScope(None)


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


Found = dict[int, dict[int | str, Quote]]  # by conversation, and by the message or the memory


def recall(
    store: Store,
    embedder: Embedder | None,
    scope: SearchScope,
    query: str,
    *,
    within: ConversationFilter,
    limit: int,
    now: datetime,
    own: ProjectId | None,
    thorough: bool,
) -> list[Recalled]:
    """The conversations that answer best; without a question, the newest. `own` ones stand a bit ahead.

    `thorough` reads old messages too for the question as it stands, where many share its words.
    """
    archive = store.archive
    if limit <= 0:
        return []
    if not query.strip():
        newest = archive.conversations(scope, within, limit=4 * limit + 20)
        # Sub-agents work for a conversation that is listed itself.
        return [Recalled(item, 0.0) for item in newest if not item.parent and item.messages][:limit]
    asked, found, depth = asked_of(archive, query), Found(), DEPTH if thorough else 0
    for message in messages_with(archive, scope, asked, within, limit=CANDIDATES, enough=FEW, depth=depth):
        _add(found, message, excerpts.match(asked, message.text, message.role))
    filter_ = MemoryFilter(since=within.since, until=within.until)
    files = [part for part in query.split() if "/" in part or "." in part.strip(".")]
    hits = search(
        store, embedder, scope, query, filter_=filter_, limit=MEMORY_HITS, min_relevance=LEAST_RELEVANCE,
        now=now, boost_files=files,
    )  # fmt: skip
    _add_memories(found, store, scope, hits)
    passages = {
        number: sorted(quotes.values(), key=lambda item: (-item.score, item.ordinal))
        for number, quotes in found.items()
    }
    least = LEAST_SHARE * max((best[0].score for best in passages.values()), default=0.0)
    ranked: list[Recalled] = []
    for item in archive.by_numbers(list(passages)):
        best = passages[item.number]
        # A memory may lead to one that was not asked for.
        below = (f"{within.folder}/", f"{within.folder}\\")
        inside = not within.folder or f"{item.cwd}/".startswith(below)
        if best[0].score < least or not inside or within.agent not in (None, item.agent):
            continue
        bonus = recency(item.last, now) + (OWN_PROJECT_BONUS if item.project == own else 0.0)
        score = together(quote.score for quote in best[:COUNTED]) + SHARPNESS * bonus
        worth_a_look = PLACE_SHARE * best[0].score
        places = tuple(quote.ordinal for quote in best if quote.ordinal and quote.score >= worth_a_look)
        ranked.append(Recalled(item, round(score, 4), tuple(best), places))
    ranked.sort(key=lambda item: -item.score)
    return [replace(item, quotes=_shown(asked, item.quotes)) for item in ranked[:limit]]


def asked_of(archive: Archive, query: str) -> Wording:
    """The question taken apart; a word that nobody said stands for words that begin like it."""
    words = list(dict.fromkeys(excerpts.words_of(query)))[: excerpts.QUESTION_WORDS]
    messages, counts = archive.word_counts(words)
    unknown = [word for word in words if not counts.get(word) and word not in STOP_WORDS and len(word) > 1]
    stands_for: dict[str, str] = {}
    for word in unknown[-UNKNOWN_WORDS:]:
        alike = archive.words_beginning(word, ALIKE)  # what an unfinished word may become
        if not alike and len(stem(word)) > 2:
            alike = archive.words_beginning(stem(word), ALIKE)  # else other forms of it
        stands_for.update((other, word) for other in alike if other not in counts)
    return excerpts.question(query, messages, counts, stands_for)


def messages_with(
    archive: Archive,
    scope: SearchScope,
    asked: Wording,
    within: ConversationFilter,
    *,
    limit: int,
    enough: int,
    depth: int = 0,
) -> list[Message]:
    """Messages with the question's words together; with its single words where those are not enough.

    Where there are more than the limit, `depth` of them are read for the question as it stands.
    """
    # Each word that nobody said is replaced by the most common one that it may stand for.
    replaced = {word: alike for alike, word in reversed(list(asked.meant.items())) if alike != word}
    words = [replaced.get(word, word) for word in asked.weights]
    messages = {message.number: message for message in archive.candidates(scope, words, limit, within)}
    if len(messages) >= limit and depth and len(words) > 1:
        exact = archive.matching(scope, words, within, asked.holds_phrase, limit=EXACT, depth=depth)
        messages.update((message.number, message) for message in exact)
    if len(messages) < enough:
        weight = {word: asked.weights[asked.meant[word]] for word in words if word not in STOP_WORDS}
        for word in sorted(weight, key=lambda word: -weight[word])[:SINGLE_WORDS]:
            more = archive.candidates(scope, [word], limit // SINGLE_WORDS, within)
            messages.update((message.number, message) for message in more)
    return list(messages.values())


def _add(found: Found, message: Message, score: float) -> None:
    quotes = found.setdefault(message.conversation, {})
    if message.ordinal not in quotes or quotes[message.ordinal].score < score:
        quotes[message.ordinal] = Quote(
            message.ordinal, message.role, message.at, message.text, score, message.tool, message.failed
        )


def _add_memories(found: Found, store: Store, scope: SearchScope, hits: Sequence[Hit]) -> None:
    """Each memory that answers speaks for the message it came from, else for its session."""
    archive = store.archive
    stored = store.memories.find(EVERYWHERE, MemoryFilter(), ids=[hit.id for hit in hits])
    events = {memory.id: str(memory.provenance.get("event") or "") for memory in stored}
    messages = {message.event: message for message in archive.of_events([*filter(None, events.values())])}
    sessions = [hit.session for hit in hits if hit.session]
    numbers = {item.session: item.number for item in reversed(archive.by_sessions(scope, sessions))}
    for hit in hits:
        score = MEANING_WEIGHT * min(1.0, hit.score)
        if message := messages.get(events.get(hit.id, "")):
            _add(found, message, score)
        elif hit.session is not None and hit.session in numbers:
            passage = Quote(0, hit.kind, hit.timestamp, hit.snippet or hit.title, score)
            found.setdefault(numbers[hit.session], {})[hit.id] = passage


def _shown(asked: Wording, passages: Sequence[Quote]) -> tuple[Quote, ...]:
    """The best few, each with the line that answers; no line twice."""
    chosen: dict[str, Quote] = {}
    for passage in passages:
        if len(chosen) == SHOWN:
            break
        if line := quote(asked, passage.text):
            chosen.setdefault(line.casefold(), replace(passage, text=line))
    return tuple(chosen.values())


# Several fair passages outweigh one good one, but not by their mere number: ln Σ exp(10·score).
SHARPNESS = 10.0


def together(scores: Iterable[float]) -> float:
    """What several scores in one session come to."""
    return math.log(sum(math.exp(SHARPNESS * min(score, 1.0)) for score in scores))


# --- by id, and going on: the agent's own command, in the conversation's folder

HANDED_EXCHANGES = 5
HANDED_CHARACTERS = 700
_BEGIN_WITH_TEXT = frozenset(("claude-code", "codex"))  # agents that take a first prompt as their argument
# An id comes from a file that anybody may have written: it must not read as an option or a path.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_RANGE = re.compile(r"(?P<first>\d+)?(?P<dash>-)?(?P<last>\d+)?")


@dataclass(frozen=True, slots=True)
class Resume:
    """A command and the folder to run it in; `handed` where it begins anew with what the archive holds."""

    arguments: tuple[str, ...]
    folder: str
    handed: bool = False

    @property
    def line(self) -> str:
        command = shlex.join(self.arguments)
        return f"cd {shlex.quote(self.folder)} && {command}" if self.folder else command

    @property
    def has_folder(self) -> bool:
        return bool(self.folder) and Path(self.folder).is_dir()


def resume(conversation: Conversation, archive: Archive | None = None) -> Resume | None:
    """How to go on; None where the agent has no command for it. A sub-agent's work goes on in its session.

    Where the agent has deleted its own file, it begins anew with what the `archive` holds.
    """
    known = BY_NAME.get(canonical(conversation.agent))
    template = known.resume if known else ""
    session = conversation.parent or conversation.session
    if not template or not _ID.fullmatch(session):
        return None
    arguments = tuple(part.format(session=session) for part in template.split())
    gone = bool(conversation.path) and not Path(conversation.path).exists()
    if gone and archive is not None and conversation.agent in _BEGIN_WITH_TEXT:
        return Resume((arguments[0], _handoff(archive, conversation)), conversation.cwd, handed=True)
    return Resume(arguments, conversation.cwd)


def _handoff(archive: Archive, conversation: Conversation) -> str:
    """A conversation in brief, for an agent that is to go on with it: its record and its last exchanges."""
    lines = [f"Go on with this earlier conversation of {conversation.last:%Y-%m-%d}: {conversation.name}"]
    if conversation.branch:
        lines.append(f"Branch: {conversation.branch}")
    for _, _, _, record in archive.exchanges(conversation.number)[-HANDED_EXCHANGES:]:
        exchange = from_json(record)
        files = ", ".join(name for name, _ in exchange.files_edited[:8])
        lines += [
            f"\nAsked: {shorten(one_line(exchange.request or exchange.handed), HANDED_CHARACTERS)}",
            *([f"Edited: {files}"] if files else []),
            *[f"Commit {one.hash} {one.subject}" for one in exchange.commits],
            *[f"Open: {one.title}" for one in exchange.tasks if one.status in ("pending", "in_progress")],
            f"Answered: {shorten(one_line(exchange.closing), HANDED_CHARACTERS)}",
        ]
    lines.append(f"\nThe whole of it: claude-memory conversation {conversation.session}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ConversationBook:
    """What agents and people said, message by message, in every project."""

    archive: Archive

    def named(self, id_: str) -> Conversation:
        prefix = id_.strip()
        known = self.archive.conversations(EVERYWHERE, prefix=prefix, limit=20) if prefix else []
        names: list[str] = [item.session for item in known]
        session = meant(id_, names, f"conversation {id_!r}; `claude-memory import` reads what agents keep")
        if names.count(session) > 1:  # two agents may use the same id
            raise InvalidInput(f"{id_!r} could be {', '.join(names[:4])}: give more of the id")
        return known[names.index(session)]

    def asked(self, query: str) -> Wording:
        """A question taken apart, to mark in messages what answers it."""
        return asked_of(self.archive, query)

    def resume(self, conversation: Conversation) -> Resume | None:
        """How a person goes on with it; None where its agent has no command for that."""
        return resume(conversation, self.archive)

    @staticmethod
    def range_of(named: str) -> tuple[str, int, int | None]:
        """`ID`, `ID:7`, `ID:5-9`, `ID:5-`, `ID:-9`: the id, the first and the last message wanted."""
        id_, colon, text = named.rpartition(":")
        if not colon:
            return named, 1, None
        match = _RANGE.fullmatch(text)
        if not id_ or match is None or text in ("", "-"):
            raise InvalidInput(f"cannot read the range {text!r}: try ID:7, ID:5-9, ID:5- or ID:-9")
        first, last = match["first"], match["last"] if match["dash"] else match["first"]
        return id_, int(first or 1), int(last) if last else None
