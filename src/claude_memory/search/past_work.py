"""What was done, found by the work itself: who shaped a file, what followed an error, which commands worked.

Reads archived messages and the parts of exchanges; nothing here guesses from wording. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from claude_memory.model import Kind, MemoryFilter, MemoryId, SearchScope
from claude_memory.search import excerpts
from claude_memory.search.conversations import asked_of
from claude_memory.search.excerpts import one_line
from claude_memory.store.base import Store
from claude_memory.store.model import ConversationFilter, Message
from claude_memory.text.words import STOP_WORDS, index_terms, shorten
from claude_memory.understand.calls import command_of, relative, same_file
from claude_memory.understand.commands import checks_of, error_lines, segments
from claude_memory.understand.model import Command, Exchange
from claude_memory.understand.sessions import from_json
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
SINGLE_WORDS = 4
NEARLY = 0.75  # of the best match of words, from which a command is told
# Stand beside the command that is meant.
_BESIDE = frozenset("cd tail head echo sleep export source true wc".split())


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
    match: float = field(default=0.0)


@dataclass(frozen=True, slots=True)
class CommandRuns:
    """A command that was run here, and how it went."""

    command: str
    worked: int
    failed: int
    last: datetime
    id: MemoryId  # the exchange that ran it last
    title: str
    error: str = ""  # of its last run, where that failed
    match: float = field(default=0.0)


# --- which exchanges shaped a file


def _shaped(id_: MemoryId, exchange: Exchange, file: str, writers: set[MemoryId]) -> Shaped | None:
    edits = sum(count for name, count in exchange.files_edited if same_file(name, file))
    if not edits:
        return None
    return Shaped(
        id=id_,
        title=title(exchange),
        why=_line(exchange.request or exchange.plan or exchange.handed),
        ended=_line(exchange.closing),
        session=exchange.session,
        branch=exchange.branch,
        timestamp=exchange.ended,
        edits=edits,
        commits=tuple(f"{one.hash} {one.subject}".strip() for one in exchange.commits),
        line=id_ in writers,
    )


# --- what was done after an error


def _fixed(
    id_: MemoryId,
    share: float,
    message: Message,
    record: Mapping[str, Any],
    asked: excerpts.Wording,
    moments: Iterable[tuple[datetime, MemoryId]],
) -> Fixed:
    exchange = from_json(record)
    failed = _command_before(exchange.commands, message.ordinal)
    later = [one for one in exchange.commands if one.ordinal > message.ordinal]
    return Fixed(
        id=id_,
        title=title(exchange),
        error=excerpts.quote(asked, message.text) or _line(error_lines(message.text)),
        command=_line(failed.command) if failed else "",
        after=_steps(exchange, later),
        ended=_line(exchange.closing),
        session=exchange.session,
        timestamp=message.at,
        outcome=_outcome(failed, later),
        came_back=min((at for at, other in moments if other != id_ and at > message.at), default=None),
        match=round(share, 4),
    )


def _command_before(commands: Sequence[Command], ordinal: int) -> Command | None:
    return next((one for one in reversed(commands) if one.ordinal < ordinal), None)


def _steps(exchange: Exchange, later: Sequence[Command]) -> tuple[str, ...]:
    """The files of the exchange, then the commands that came after the error."""
    edited = [name for name, _ in exchange.files_edited[:STEPS]]
    ran = dict.fromkeys(_line(one.command) for one in later if not one.failed)
    return (*([f"edited {', '.join(edited)}"] if edited else []), *list(ran)[:STEPS])


def _outcome(failed: Command | None, later: Sequence[Command]) -> str:
    """Whether the same command, or the same check, passed afterwards."""
    if failed is None:
        return "unknown"
    names = {name for name, _ in checks_of(failed.command)} or set(segments(failed.command))
    again = [
        one
        for one in later
        if names & ({name for name, _ in checks_of(one.command)} | set(segments(one.command)))
    ]
    return ("failing" if again[-1].failed else "passed") if again else "unknown"


# --- commands that worked


def _command_at(record: Mapping[str, Any], ordinal: int) -> Command | None:
    for one in record.get("commands", ()):
        if one["ordinal"] == ordinal:
            return Command(ordinal, one["command"], one.get("failed", False), one.get("error", ""))
    return None


def _telling_segments(command: str, wanted: set[str]) -> list[str]:
    """The parts of a command line that hold the words; else the first that does something."""
    parts = [part for part in segments(command) if part.split()[0] not in _BESIDE]
    named = [part for part in parts if wanted.intersection(index_terms(part))]
    telling = [
        part for part in parts if len(part.split()) > 1
    ]  # a bare `cat` fed by a document tells nothing
    return [shorten(one_line(part), LINE_WIDTH) for part in named or telling[:1]]


def _counted(
    known: CommandRuns | None,
    segment: str,
    ran: Command,
    at: datetime,
    id_: MemoryId,
    match: float,
) -> CommandRuns:
    if known is None:
        known = CommandRuns(segment, 0, 0, at, id_, "", _line(ran.error), match)
    elif at > known.last:
        known = replace(known, last=at, id=id_, error=_line(ran.error))
    return replace(
        known,
        worked=known.worked + (not ran.failed),
        failed=known.failed + ran.failed,
        match=max(known.match, match),
    )


def _is_commit(commit: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    hash_, subject = commit.get("hash", ""), commit.get("subject", "").casefold()
    if len(wanted) == 1 and hash_ and (hash_.startswith(wanted[0]) or wanted[0].startswith(hash_)):
        return True
    return all(word in subject for word in wanted)


def _line(text: str) -> str:
    return shorten(one_line(text), LINE_WIDTH)


@dataclass(frozen=True, slots=True)
class WorkBook:
    """What was done, for `memory.work`."""

    store: Store
    scope: SearchScope

    def blame(self, file: str, *, line: str | None = None, limit: int = 10) -> list[Shaped]:
        """Which exchanges shaped a file and why, newest first; those that wrote `line` come before others."""
        wanted = MemoryFilter(kinds=(Kind.OBSERVATION,), files=(file,))
        memories = self.store.memories.find(self.scope, wanted, limit=NARROWED)
        parts = self.store.archive.exchange_parts([memory.id for memory in memories])
        writers = self._writers(file, line) if line is not None else set()
        told = (_shaped(id_, from_json(record), file, writers) for id_, record in parts.items())
        shaped = [one for one in told if one is not None]
        return sorted(shaped, key=lambda one: (one.line, one.timestamp), reverse=True)[:limit]

    def fix(self, error: str, *, limit: int = 5) -> list[Fixed]:
        """The times this error was met, best match first, then newest; what was done, and whether it held."""
        asked = asked_of(self.store.archive, error)
        met: dict[MemoryId, tuple[float, Message, Mapping[str, Any]]] = {}
        moments: list[tuple[datetime, MemoryId]] = []
        found = self.store.archive.candidates(self.scope, asked.words, CANDIDATES, FAILURES)
        for message, id_, record in self._held(found):
            share = min(1.0, excerpts.match(asked, message.text) / excerpts.WORDS_AT_MOST)
            if share < SAME_ERROR:
                continue
            moments.append((message.at, id_))
            if id_ not in met or met[id_][0] < share:
                met[id_] = (share, message, record)
        best = sorted(met, key=lambda id_: (round(met[id_][0], 1), met[id_][1].at), reverse=True)[:limit]
        return [_fixed(id_, *met[id_], asked, moments) for id_ in best]

    def how(self, words: str, *, limit: int = 10) -> list[CommandRuns]:
        """Commands with these words, in themselves or in their description; those that worked come first."""
        wanted = {term for term in index_terms(words) if term not in STOP_WORDS} or set(index_terms(words))
        runs: dict[str, CommandRuns] = {}
        for message, id_, record in self._held(self._calls(asked_of(self.store.archive, words).words)):
            ran = _command_at(record, message.ordinal)
            if ran is None:
                continue
            match = len(wanted.intersection(index_terms(message.text))) / max(len(wanted), 1)
            for segment in _telling_segments(command_of(message.text), wanted):
                runs[segment] = _counted(runs.get(segment), segment, ran, message.at, id_, match)
        best = max((one.match for one in runs.values()), default=0.0)
        near = [one for one in runs.values() if one.match >= NEARLY * best]
        near.sort(key=lambda one: (one.worked > 0, one.match, one.worked, one.last), reverse=True)
        records = self.store.archive.exchange_parts([one.id for one in near[:limit]])
        return [replace(one, title=title(from_json(records[one.id]))) for one in near[:limit]]

    def among(self, command: str | None, commit: str | None, *, failed: bool) -> tuple[MemoryId, ...] | None:
        """The exchanges that ran a command and made a commit; None where neither is asked for."""
        named: list[tuple[MemoryId, ...]] = []
        if command is not None:
            named.append(self._with_command(command, failed=failed))
        if commit is not None:
            named.append(self._with_commit(commit))
        return tuple(id_ for id_ in named[0] if id_ in named[-1]) if named else None

    def _held(self, found: Sequence[Message]) -> Iterator[tuple[Message, MemoryId, Mapping[str, Any]]]:
        """Messages with the exchange that each stands in; those that stand in none are left out."""
        places = [(message.conversation, message.ordinal) for message in found]
        for message, held in zip(found, self.store.archive.exchanges_at(places), strict=True):
            if held is not None:
                yield message, held[0], held[4]

    def _writers(self, file: str, line: str) -> set[MemoryId]:
        """Exchanges whose edit of the file holds the line as it stands now."""
        text = " ".join(line.split())
        if sum(letter.isalnum() for letter in text) < TELLING_LINE:
            return set()
        name = relative(file, "").rpartition("/")[2]

        def holds(message: str) -> bool:
            return name in message and text in " ".join(message.split())

        archive = self.store.archive
        found = archive.matching(self.scope, [text], CALLS, holds, limit=CANDIDATES, depth=NARROWED)
        return {id_ for _, id_, _ in self._held(found)}

    def _calls(self, words: Sequence[str]) -> list[Message]:
        """Calls that hold the words together, else some of them."""
        look_up = partial(self.store.archive.candidates, self.scope)
        found = {one.number: one for one in look_up(words, CANDIDATES, CALLS)}
        for word in [word for word in words if word not in STOP_WORDS][:SINGLE_WORDS]:
            if len(found) < CANDIDATES:
                found.update((one.number, one) for one in look_up([word], CANDIDATES // SINGLE_WORDS, CALLS))
        return list(found.values())

    def _with_command(self, words: str, *, failed: bool) -> tuple[MemoryId, ...]:
        """Exchanges that ran a command with all these words; with `failed`, where it failed."""
        wanted = words.casefold().split()

        def holds(text: str) -> bool:
            command = command_of(text).casefold()
            return all(word in command for word in wanted)

        archive = self.store.archive
        found = archive.matching(self.scope, [words], CALLS, holds, limit=NARROWED, depth=2 * NARROWED)
        ran = ((id_, _command_at(record, message.ordinal)) for message, id_, record in self._held(found))
        return tuple(dict.fromkeys(id_ for id_, one in ran if one and (one.failed or not failed)))

    def _with_commit(self, named: str) -> tuple[MemoryId, ...]:
        """Exchanges that made a commit of this hash, or whose subject holds these words."""
        wanted = named.casefold().split()
        found = self.store.archive.candidates(self.scope, [named], NARROWED, CALLS_AND_RESULTS)
        made = ((id_, record.get("commits", ())) for _, id_, record in self._held(found))
        return tuple(
            dict.fromkeys(id_ for id_, commits in made if any(_is_commit(one, wanted) for one in commits))
        )
