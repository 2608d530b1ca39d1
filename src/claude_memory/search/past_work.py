"""What was done: who shaped a file, what followed an error, which commands worked, what came around a moment.

Reads archived messages and the parts of exchanges; nothing here guesses from wording. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from claude_memory.model import EventKind, Kind, MemoryFilter, MemoryId, SearchScope, SessionId, StoredMemory
from claude_memory.search import excerpts
from claude_memory.search.conversations import asked_of, messages_with
from claude_memory.search.excerpts import one_line
from claude_memory.store.base import Store
from claude_memory.store.model import ConversationFilter, EventFilter, Message
from claude_memory.text.words import STOP_WORDS, index_terms, shorten
from claude_memory.understand.calls import command_of, relative, same_file
from claude_memory.understand.commands import checks_of, error_lines, segments
from claude_memory.understand.model import Command, Commit, Exchange, from_json
from claude_memory.understand.titles import title

CALLS = ConversationFilter(roles=("call",))
CALLS_AND_RESULTS = ConversationFilter(roles=("call", "result"))
FAILURES = ConversationFilter(roles=("result",), failed=True)
CANDIDATES = 200  # messages looked at; the newest that share the rarest words
NARROWED = 2_000  # exchanges a filter by work can name
TELLING_LINE = 8  # letters and digits from which a line of a file can be told from others
SAME_ERROR = 0.6  # of the words of an error, by worth, from which it is the same one
LINE_WIDTH = 200
STEPS = 6
NEARLY = 0.75  # of the best match of words, from which a command is told
# Stand beside the command that is meant.
_BESIDE = frozenset("cd tail head echo sleep export source true wc".split())
# What a timeline shows, where the text of an event stands, and that of the call of a tool.
SHOWN_EVENTS = (
    EventKind.PROMPT,
    EventKind.TOOL_USE,
    EventKind.TOOL_FAILURE,
    EventKind.REPLY,
    EventKind.SUBAGENT_RESULT,
    EventKind.COMPACTION,
)
_TEXTS = ("prompt", "error", "last_assistant_message", "compact_summary")
_INPUTS = ("command", "file_path", "pattern", "query", "description")
EVENT_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Shaped:
    """One exchange that edited a file, and why."""

    id: MemoryId
    title: str
    why: str  # what the person asked for
    ended: str  # how it ended, in the agent's words
    session: str
    branch: str
    timestamp: datetime
    edits: int
    commits: tuple[str, ...] = ()
    line: bool = False  # whether it wrote the very line that was asked about


@dataclass(frozen=True, slots=True)
class Fixed:
    """One time that an error was met, what was done after it, and whether that held."""

    id: MemoryId
    title: str
    error: str
    command: str
    after: tuple[str, ...]  # what was done next, in order
    ended: str
    session: str
    timestamp: datetime
    outcome: str  # passed, failing or unknown
    came_back: datetime | None = None
    match: float = 0.0


@dataclass(frozen=True, slots=True)
class CommandRuns:
    command: str
    worked: int
    failed: int
    last: datetime
    id: MemoryId  # the exchange that ran it last
    title: str
    error: str = ""  # of its last run, where that failed
    match: float = 0.0


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of a timeline: a memory, or an event that has no memory of its own."""

    id: str
    kind: str
    title: str
    timestamp: datetime
    session: SessionId | None
    is_event: bool = False
    anchor: bool = False


@dataclass(frozen=True, slots=True)
class WorkBook:
    store: Store
    scope: SearchScope

    def blame(self, file: str, *, line: str | None = None, limit: int = 10) -> list[Shaped]:
        """Which exchanges shaped a file and why, newest first; those that wrote `line` come before others."""
        wanted = MemoryFilter(kinds=(Kind.OBSERVATION,), files=(file,))
        memories = self.store.memories.find(self.scope, wanted, limit=NARROWED)
        records = self.store.archive.exchange_parts([memory.id for memory in memories])
        writers: set[MemoryId] = set()  # those whose edit of the file holds the line as it stands now
        text, name = " ".join((line or "").split()), relative(file, "").rpartition("/")[2]
        if sum(letter.isalnum() for letter in text) >= TELLING_LINE:
            calls = self._calls(text, lambda call: name in call and text in " ".join(call.split()))
            writers = {id_ for _, id_, _ in self._exchanges(calls)}
        shaped = []
        for id_, record in records.items():
            exchange = from_json(record)
            if edits := sum(count for name, count in exchange.files_edited if same_file(name, file)):
                why = _line(exchange.request or exchange.plan or exchange.handed)
                ended = _line(exchange.closing)
                told = (title(exchange), why, ended, exchange.session, exchange.branch, exchange.ended)
                commits = tuple(f"{one.hash} {one.subject}".strip() for one in exchange.commits)
                shaped.append(Shaped(id_, *told, edits, commits, line=id_ in writers))
        return sorted(shaped, key=lambda one: (one.line, one.timestamp), reverse=True)[:limit]

    def fix(self, error: str, *, limit: int = 5) -> list[Fixed]:
        """The times this error was met, best match first, then newest; what was done, and whether it held."""
        asked = asked_of(self.store.archive, error)
        met: dict[MemoryId, Fixed] = {}
        moments: list[tuple[datetime, MemoryId]] = []
        failures = self.store.archive.candidates(self.scope, list(asked.weights), CANDIDATES, FAILURES)
        for message, id_, exchange in self._exchanges(failures):
            share = min(1.0, excerpts.match(asked, message.text) / excerpts.WORDS_AT_MOST)
            if share < SAME_ERROR:
                continue
            moments.append((message.at, id_))
            if id_ not in met or met[id_].match < share:
                met[id_] = _fixed(id_, exchange, message, asked, share)
        best = sorted(met.values(), key=lambda one: (round(one.match, 1), one.timestamp), reverse=True)
        found = []
        for one in best[:limit]:
            later = [at for at, id_ in moments if id_ != one.id and at > one.timestamp]
            found.append(replace(one, came_back=min(later, default=None)))
        return found

    def how(self, words: str, *, limit: int = 10) -> list[CommandRuns]:
        """Commands with these words, in themselves or in their description; those that worked come first."""
        wanted = {term for term in index_terms(words) if term not in STOP_WORDS} or set(index_terms(words))
        runs: dict[str, CommandRuns] = {}
        exchanges: dict[MemoryId, Exchange] = {}
        archive = self.store.archive
        asked = asked_of(archive, words)
        calls = messages_with(archive, self.scope, asked, CALLS, limit=CANDIDATES, enough=CANDIDATES)
        for message, id_, exchange in self._exchanges(calls):
            ran = _command_at(exchange, message)
            if ran is None:
                continue
            exchanges[id_] = exchange
            match = len(wanted.intersection(index_terms(message.text))) / max(len(wanted), 1)
            for segment in _telling_segments(command_of(message.text), wanted):
                new = CommandRuns(segment, 0, 0, message.at, id_, "", _line(ran.error), match)
                old = runs.get(segment, new)
                latest = new if new.last > old.last else old
                worked, failed = old.worked + (not ran.failed), old.failed + ran.failed
                most = max(old.match, match)
                runs[segment] = replace(latest, worked=worked, failed=failed, match=most)
        best = max((run.match for run in runs.values()), default=0.0)
        near = [run for run in runs.values() if run.match >= NEARLY * best]
        near.sort(key=lambda run: (run.worked > 0, run.match, run.worked, run.last), reverse=True)
        return [replace(run, title=title(exchanges[run.id])) for run in near[:limit]]

    def among(self, command: str | None, commit: str | None, *, failed: bool) -> tuple[MemoryId, ...]:
        """The exchanges that ran a command with all these words, and made a commit of a hash or subject.

        With `failed`, where the command failed.
        """
        ran, made = dict[MemoryId, None](), dict[MemoryId, None]()
        if command:
            asked = command.casefold().split()
            calls = self._calls(command, lambda text: _has_words(command_of(text), asked))
            for message, id_, exchange in self._exchanges(calls):
                if (run := _command_at(exchange, message)) and (run.failed or not failed):
                    ran[id_] = None
        if commit:
            wanted = commit.casefold().split()
            messages = self.store.archive.candidates(self.scope, [commit], NARROWED, CALLS_AND_RESULTS)
            for _, id_, exchange in self._exchanges(messages):
                if any(_is_meant(wanted, one) for one in exchange.commits):
                    made[id_] = None
        return tuple(
            id_ for id_ in ran or made if (not command or id_ in ran) and (not commit or id_ in made)
        )

    def around(
        self, anchor: StoredMemory | None, *, before: int, after: int, session: SessionId | None
    ) -> list[TimelineEntry]:
        """Entries before and after the anchor, oldest first; without an anchor, the most recent ones."""
        recent = MemoryFilter(session=session)
        if anchor is None:
            return self._entries(recent, before + after, newest_first=True)
        earlier = self._entries(replace(recent, until=anchor.created_at), before + 1, newest_first=True)
        later = self._entries(replace(recent, since=anchor.created_at), after + 1, newest_first=False)
        earlier = [entry for entry in earlier if entry.id != anchor.id]
        later = [entry for entry in later if entry.id != anchor.id and entry not in earlier]
        own = replace(_from_memory(anchor), anchor=True)
        return [*earlier[max(len(earlier) - before, 0) :], own, *later[:after]]

    def _entries(self, wanted: MemoryFilter, count: int, *, newest_first: bool) -> list[TimelineEntry]:
        store, scope = self.store, self.scope
        memories = store.memories.find(scope, wanted, limit=count, newest_first=newest_first)
        shown = EventFilter(
            session=wanted.session, kinds=SHOWN_EVENTS, since=wanted.since, until=wanted.until
        )
        events = store.archive.events(scope, shown, limit=2 * count, newest_first=newest_first)
        # Exchanges tell already of the events of conversations that were understood to their end.
        talks = store.archive.by_sessions(scope, list({event.session for event in events if event.session}))
        understood = {talk.session for talk in talks if talk.understood >= talk.messages}
        own = {memory.provenance.get("event") for memory in memories}
        # The record of a session of one exchange says the same as that exchange.
        alone = {_span(memory) for memory in memories if memory.kind is Kind.OBSERVATION}
        entries = [
            _from_memory(memory)
            for memory in memories
            if memory.provenance.get("source") != "session" or _span(memory) not in alone
        ]
        for event in events:
            if event.id not in own and event.session not in understood:
                said = next((event.payload[name] for name in _TEXTS if event.payload.get(name)), "")
                inputs = event.payload.get("tool_input")
                inputs = inputs if isinstance(inputs, dict) else {}
                given = next((inputs[name] for name in _INPUTS if inputs.get(name)), "")
                called = f"{event.payload.get('tool_name', event.kind)}: {given}".removesuffix(": ")
                line = str(said or called).strip().partition("\n")[0][:EVENT_WIDTH]
                what = (event.id, event.kind, line, event.timestamp, event.session)
                entries.append(TimelineEntry(*what, is_event=True))
        entries.sort(key=lambda entry: entry.timestamp, reverse=newest_first)
        return sorted(entries[:count], key=lambda entry: entry.timestamp)

    def _exchanges(self, messages: Sequence[Message]) -> Iterator[tuple[Message, MemoryId, Exchange]]:
        """Messages with the exchange that each stands in; those that stand in none are left out."""
        places = [(message.conversation, message.ordinal) for message in messages]
        exchanges: dict[MemoryId, Exchange] = {}  # each read once: many messages stand in one
        for message, place in zip(messages, self.store.archive.exchanges_at(places), strict=True):
            if place is not None:
                if place[0] not in exchanges:
                    exchanges[place[0]] = from_json(place[4])
                yield message, place[0], exchanges[place[0]]

    def _calls(self, words: str, holds: Callable[[str], bool]) -> list[Message]:
        archive = self.store.archive
        return archive.matching(self.scope, [words], CALLS, holds, limit=NARROWED, depth=2 * NARROWED)


def _has_words(text: str, wanted: Sequence[str]) -> bool:
    return all(word in text.casefold() for word in wanted)


def _is_meant(wanted: Sequence[str], commit: Commit) -> bool:
    """Whether a commit has all these words in its subject, or this hash, shorter or longer."""
    word, hash_ = wanted[0] if len(wanted) == 1 else "", commit.hash
    by_hash = bool(word and hash_) and (hash_.startswith(word) or word.startswith(hash_))
    return by_hash or _has_words(commit.subject, wanted)


def _fixed(
    id_: MemoryId, exchange: Exchange, message: Message, asked: excerpts.Wording, share: float
) -> Fixed:
    before = [command for command in exchange.commands if command.ordinal < message.ordinal]
    later = [command for command in exchange.commands if command.ordinal > message.ordinal]
    edited = ", ".join(name for name, _ in exchange.files_edited[:STEPS])
    ran = dict.fromkeys(_line(command.command) for command in later if not command.failed)
    # Whether the same command, or the same check, passed afterwards.
    wanted = (_checks(before[-1]) or set(segments(before[-1].command))) if before else set()
    again = [command for command in later if wanted & {*_checks(command), *segments(command.command)}]
    return Fixed(
        id=id_,
        title=title(exchange),
        error=excerpts.quote(asked, message.text) or _line(error_lines(message.text)),
        command=_line(before[-1].command) if before else "",
        after=(*([f"edited {edited}"] if edited else []), *list(ran)[:STEPS]),
        ended=_line(exchange.closing),
        session=exchange.session,
        timestamp=message.at,
        outcome=("failing" if again[-1].failed else "passed") if again else "unknown",
        match=round(share, 4),
    )


def _checks(command: Command) -> set[str]:
    return {name for name, _ in checks_of(command.command)}


def _command_at(exchange: Exchange, message: Message) -> Command | None:
    return next((command for command in exchange.commands if command.ordinal == message.ordinal), None)


def _telling_segments(command: str, wanted: set[str]) -> list[str]:
    """The parts of a command line that hold the words; else the first that does something."""
    parts = [part for part in segments(command) if part.split()[0] not in _BESIDE]
    named = [part for part in parts if wanted.intersection(index_terms(part))]
    telling = [part for part in parts if " " in part]  # a bare `cat` fed by a document tells nothing
    return [_line(part) for part in named or telling[:1]]


def _line(text: str) -> str:
    return shorten(one_line(text), LINE_WIDTH)


def _span(memory: StoredMemory) -> tuple[SessionId | None, datetime, datetime]:
    return memory.session, memory.created_at, memory.updated_at


def _from_memory(memory: StoredMemory) -> TimelineEntry:
    return TimelineEntry(memory.id, memory.kind, memory.title, memory.created_at, memory.session)
