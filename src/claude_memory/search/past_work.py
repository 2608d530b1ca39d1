"""What was done, found by the work itself: who shaped a file, what followed an error, which commands worked.

Reads archived messages and the parts of exchanges; nothing here guesses from wording. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from claude_memory.model import Kind, MemoryFilter, MemoryId, SearchScope
from claude_memory.search import excerpts
from claude_memory.search.conversations import asked_of
from claude_memory.search.excerpts import one_line
from claude_memory.store.archive_model import ConversationFilter, Message
from claude_memory.store.protocol import Archive, Store
from claude_memory.text.words import STOP_WORDS, index_terms, shorten
from claude_memory.understand.commands import checks_of, error_lines, segments
from claude_memory.understand.model import Command, Exchange
from claude_memory.understand.sessions import from_json
from claude_memory.understand.titles import title
from claude_memory.understand.tools import command_of, relative, same_file

CALLS = ConversationFilter(roles=("call",))
FAILURES = ConversationFilter(roles=("result",), failed=True)
CANDIDATES = 200  # messages looked at; the newest that share the rarest words
NARROWED = 2_000  # exchanges a filter by work can name
TELLING_LINE = 8  # letters and digits from which a line of a file can be told from others
SAME_ERROR = 0.6  # of the words of an error, by worth, from which it is the same one
LINE_WIDTH = 200
STEPS = 6
SINGLE_WORDS = 4
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


def blame(
    store: Store, archive: Archive, scope: SearchScope, file: str, line: str | None, limit: int
) -> list[Shaped]:
    """Exchanges that edited a file, newest first; those that wrote the line before all others."""
    wanted = MemoryFilter(kinds=(Kind.OBSERVATION,), files=(file,))
    memories = store.memories.find(scope, wanted, limit=NARROWED)
    parts = archive.exchange_parts([memory.id for memory in memories])
    writers = _writers(archive, scope, file, line) if line is not None else set()
    shaped = [
        made
        for memory in memories
        if memory.id in parts and (made := _shaped(memory.id, from_json(parts[memory.id]), file, writers))
    ]
    return sorted(shaped, key=lambda one: (one.line, one.timestamp), reverse=True)[:limit]


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


def _writers(archive: Archive, scope: SearchScope, file: str, line: str) -> set[MemoryId]:
    """Exchanges whose edit of the file holds the line as it stands now."""
    text = " ".join(line.split())
    if sum(letter.isalnum() for letter in text) < TELLING_LINE:
        return set()
    name = relative(file, "").rpartition("/")[2]

    def holds(message: str) -> bool:
        return name in message and text in " ".join(message.split())

    found = archive.matching(scope, [text], CALLS, holds, limit=CANDIDATES, depth=NARROWED)
    return {held[0] for held in archive.exchanges_at(_places(found)) if held is not None}


# --- what was done after an error


def fix(archive: Archive, scope: SearchScope, error: str, limit: int) -> list[Fixed]:
    """The times this error was met, best match first, then newest."""
    asked = asked_of(archive, error)
    met: dict[MemoryId, Fixed] = {}
    moments: list[tuple[datetime, MemoryId]] = []
    found = archive.candidates(scope, asked.words, CANDIDATES, FAILURES)
    for message, held in zip(found, archive.exchanges_at(_places(found)), strict=True):
        share = excerpts.match(asked, message.text) / excerpts.WORDS_AT_MOST
        if held is None or share < SAME_ERROR:
            continue
        id_, exchange = held[0], from_json(held[4])
        moments.append((message.at, id_))
        if id_ not in met or met[id_].match < share:
            met[id_] = _fixed(id_, exchange, message, asked, share)
    told = [replace(one, came_back=_came_back(one, moments)) for one in met.values()]
    return sorted(told, key=lambda one: (round(one.match, 1), one.timestamp), reverse=True)[:limit]


def _fixed(
    id_: MemoryId, exchange: Exchange, message: Message, asked: excerpts.Wording, share: float
) -> Fixed:
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
        match=round(min(share, 1.0), 4),
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


def _came_back(one: Fixed, moments: Iterable[tuple[datetime, MemoryId]]) -> datetime | None:
    """When the same error was met again in a later exchange."""
    return min((at for at, id_ in moments if id_ != one.id and at > one.timestamp), default=None)


# --- commands that worked


def how(archive: Archive, scope: SearchScope, words: str, limit: int) -> list[CommandRuns]:
    """Commands with these words, in themselves or in what they were said to do; what worked comes first."""
    wanted = {term for term in index_terms(words) if term not in STOP_WORDS} or set(index_terms(words))
    asked = asked_of(archive, words)
    found = _calls(archive, scope, asked.words)
    runs: dict[str, CommandRuns] = {}
    for message, held in zip(found, archive.exchanges_at(_places(found)), strict=True):
        ran = _command_at(held[4], message.ordinal) if held is not None else None
        if held is None or ran is None:
            continue
        match = _covered(wanted, message.text)
        for segment in _telling_segments(command_of(message.text), wanted):
            runs[segment] = _counted(runs.get(segment), segment, ran, message.at, held, match)
    best = max((one.match for one in runs.values()), default=0.0)
    near = [one for one in runs.values() if one.match >= 0.75 * best]
    return sorted(near, key=lambda one: (one.worked > 0, one.match, one.worked, one.last), reverse=True)[
        :limit
    ]


def _calls(archive: Archive, scope: SearchScope, words: Sequence[str]) -> list[Message]:
    """Calls that hold the words together, else some of them."""
    found = {one.number: one for one in archive.candidates(scope, words, CANDIDATES, CALLS)}
    for word in [word for word in words if word not in STOP_WORDS][:SINGLE_WORDS]:
        if len(found) < CANDIDATES:
            more = archive.candidates(scope, [word], CANDIDATES // SINGLE_WORDS, CALLS)
            found.update((one.number, one) for one in more)
    return list(found.values())


def _command_at(record: Mapping[str, Any], ordinal: int) -> Command | None:
    for one in record.get("commands", ()):
        if one["ordinal"] == ordinal:
            return Command(ordinal, one["command"], one.get("failed", False), one.get("error", ""))
    return None


def _covered(wanted: set[str], text: str) -> float:
    return len(wanted.intersection(index_terms(text))) / max(len(wanted), 1)


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
    held: tuple[MemoryId, int, int, int, Mapping[str, Any]],
    match: float,
) -> CommandRuns:
    if known is None:
        known = CommandRuns(segment, 0, 0, at, held[0], title(from_json(held[4])), _line(ran.error), match)
    elif at > known.last:
        known = replace(known, last=at, id=held[0], error=_line(ran.error))
    return replace(
        known,
        worked=known.worked + (not ran.failed),
        failed=known.failed + ran.failed,
        match=max(known.match, match),
    )


# --- which exchanges a filter by work names


def with_command(archive: Archive, scope: SearchScope, words: str, *, failed: bool) -> tuple[MemoryId, ...]:
    """Exchanges that ran a command with all these words; with `failed`, where it failed."""
    wanted = [word for word in words.casefold().split() if word]

    def holds(text: str) -> bool:
        command = command_of(text).casefold()
        return all(word in command for word in wanted)

    found = archive.matching(scope, [words], CALLS, holds, limit=NARROWED, depth=2 * NARROWED)
    named: dict[MemoryId, None] = {}
    for message, held in zip(found, archive.exchanges_at(_places(found)), strict=True):
        ran = _command_at(held[4], message.ordinal) if held is not None else None
        if held is not None and ran is not None and (ran.failed or not failed):
            named[held[0]] = None
    return tuple(named)


def with_commit(archive: Archive, scope: SearchScope, named: str) -> tuple[MemoryId, ...]:
    """Exchanges that made a commit of this hash, or whose subject holds these words."""
    wanted = named.casefold().split()
    found = archive.candidates(scope, [named], NARROWED, ConversationFilter(roles=("call", "result")))
    return tuple(
        {
            held[0]: None
            for held in archive.exchanges_at(_places(found))
            if held is not None and any(_is_commit(one, wanted) for one in held[4].get("commits", ()))
        }
    )


def _is_commit(commit: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    hash_, subject = commit.get("hash", ""), commit.get("subject", "").casefold()
    if len(wanted) == 1 and hash_ and (hash_.startswith(wanted[0]) or wanted[0].startswith(hash_)):
        return True
    return all(word in subject for word in wanted)


def _places(messages: Iterable[Message]) -> list[tuple[int, int]]:
    return [(message.conversation, message.ordinal) for message in messages]


def _line(text: str) -> str:
    return shorten(one_line(text), LINE_WIDTH)


@dataclass(frozen=True, slots=True)
class WorkBook:
    """What was done, for `memory.work`."""

    store: Store
    archive: Archive
    scope: SearchScope

    def blame(self, file: str, *, line: str | None = None, limit: int = 10) -> list[Shaped]:
        """Which exchanges shaped a file and why, newest first; those that wrote `line` come before others."""
        return blame(self.store, self.archive, self.scope, file, line, limit)

    def fix(self, error: str, *, limit: int = 5) -> list[Fixed]:
        """What was done after this error before, and whether it held."""
        return fix(self.archive, self.scope, error, limit)

    def how(self, words: str, *, limit: int = 10) -> list[CommandRuns]:
        """The commands that worked here for what the words say."""
        return how(self.archive, self.scope, words, limit)

    def among(self, command: str | None, commit: str | None, *, failed: bool) -> tuple[MemoryId, ...] | None:
        """The exchanges that ran a command and made a commit; None where neither is asked for."""
        named: list[tuple[MemoryId, ...]] = []
        if command is not None:
            named.append(with_command(self.archive, self.scope, command, failed=failed))
        if commit is not None:
            named.append(with_commit(self.archive, self.scope, commit))
        return tuple(id_ for id_ in named[0] if id_ in named[-1]) if named else None
