"""The ends of an exchange between homes: one on this machine, one behind a pipe, a team's server; their loop.

An end gives numbered changes and takes them. How far it took another's is kept with what it took, so that an
exchange that was cut off anywhere goes on where it stopped, and one that is repeated changes nothing. With a
team's server a home exchanges what is a project's: memories, projects, what was erased or rejected.
Conversations, reminders and what travels with the person stay at home.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from claude_memory.backup import home_state, mirror
from claude_memory.capture.understanding import understand_waiting
from claude_memory.errors import MemoryFault, NotFound, StoreCorrupt, StoreFault
from claude_memory.model import Scope
from claude_memory.platform import leftovers
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.sql.feed import ITEMS, STREAMS, FeedBatch, Sender, Taken, batch_from

if TYPE_CHECKING:
    from claude_memory.backup.sync import PlacedHome
    from claude_memory.store.postgres.team_store import PostgresStore

BATCH = 500
FORMAT = 1
MOST_LINE_BYTES = 256 << 20
SHARED_KINDS = ("memory", "project", "tombstone", "rejected")
_COPY = "hub"  # the server is one copy for all

Progress = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Introduction:
    """Who is at an end: which memory, which copy of it, whose."""

    home: str
    replica: str
    person: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class LocalHome:
    """A home on this machine. One that rehearses is a copy for a dry run, and nothing follows there."""

    home: Path
    store: Store
    name: str = ""
    known_as: Introduction | None = None  # where the files of the home do not tell it
    rehearses: bool = False

    def introduction(self) -> Introduction:
        """Who this is."""
        replica = self.store.feed.replica(home_state.copy_token(self.home))
        return self.known_as or Introduction(home_state.home_id(self.home), replica, self.store.person)

    def through(self, replica: str, stream: str) -> int:
        """How far this end took in a stream of another copy."""
        return self.store.feed.through(replica, stream)

    def changes(self, stream: str, since: int) -> FeedBatch:
        """What changed here after a number; the end of it is a batch whose number did not go on."""
        return self.store.feed.changes(stream, since, BATCH)

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
        """Take in what another end sent."""
        foreign = not self.is_paired(sender)
        return self.store.feed.apply(batch, Sender(sender.replica, sender.person, foreign))

    def is_paired(self, other: Introduction) -> bool:
        """Whether the person said that the other home is theirs; a copy of this one always is."""
        state = home_state.load(self.home)
        return other.home in (state.home, *state.paired)

    def pair(self, other: Introduction, name: str) -> None:
        """From now on the other is the same person's, and what it says counts as if it was said here."""
        if not self.is_paired(other):
            paired = home_state.load(self.home).paired
            home_state.note(self.home, paired={**paired, other.home: name})
            self.store.feed.forget_peers()  # what it brought as a stranger comes again, as a friend's

    def finish(self) -> None:
        """Carry out erasures and understand conversations that came; bring the mirror up to date."""
        if self.rehearses:
            return
        store = self.store
        if store.feed.is_unswept():
            mirror.carry_out_erasures(self.home, store)
            store.feed.swept()
        understand_waiting(store, lambda: False)
        mirror.flush(self.home, store)

    @contextlib.contextmanager
    def rehearsed(self) -> Iterator[LocalHome]:
        """The same home for a dry run."""
        me = self.introduction()
        with leftovers.temporary_folder() as folder:
            self.store.export(folder / "memory.db")
            shutil.copy(self.home / home_state.FILE, folder)
            with contextlib.closing(open_store(folder, Settings())) as copy:
                yield replace(self, home=folder, store=copy, known_as=me, rehearses=True)


@dataclass(frozen=True, slots=True)
class TeamHub:
    """A team's server as the other end."""

    store: PostgresStore
    name: str

    def introduction(self) -> Introduction:
        replica = self.store.feed.replica(_COPY)
        return Introduction(f"team-{self.store.team[0]}", replica, self.store.person)

    def through(self, replica: str, stream: str) -> int:
        return self.store.feed.through(replica, stream)

    def changes(self, stream: str, since: int) -> FeedBatch:
        if stream != ITEMS:
            return FeedBatch(stream, since)
        return _shared(self.store.feed.changes(stream, since, BATCH))

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
        if batch.stream != ITEMS:
            return Taken()
        return self.store.feed.apply(_shared(batch), Sender(sender.replica, sender.person))

    def pair(self, other: Introduction, name: str) -> None:
        """Whoever has a member's login is that member."""

    def finish(self) -> None:
        """Carry out erasures that came."""
        if self.store.feed.is_unswept():
            self.store.memories.apply_tombstones()
            self.store.feed.swept()


def _shared(batch: FeedBatch) -> FeedBatch:
    """What of a batch is a team's to know."""
    kept = [
        record
        for record in batch.records
        if record["kind"] in SHARED_KINDS
        and (record["kind"] != "memory" or record["memory"].get("scope") != Scope.USER)
    ]
    return FeedBatch(batch.stream, batch.through, kept)


# --- a home behind a pipe


class PipedHome:
    """A home that another process serves, on this machine or on another by ssh: a line out, a line back."""

    def __init__(self, command: list[str], name: str) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as fault:
            raise NotFound(f"cannot run {command[0]}: {fault.strerror}") from None

    def close(self) -> None:
        """Hang up."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        self._process.wait()

    def introduction(self) -> Introduction:
        return self._ask(introduced, "introduction")

    def through(self, replica: str, stream: str) -> int:
        return self._ask(int, "through", replica=replica, stream=stream)

    def changes(self, stream: str, since: int) -> FeedBatch:
        return self._ask(batch_from, "changes", stream=stream, since=since)

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
        return self._ask(
            lambda counts: Taken(**{name: int(count) for name, count in counts.items()}),
            "apply",
            batch=batch.document(),
            sender=asdict(sender),
        )

    def pair(self, other: Introduction, name: str) -> None:
        self._ask(bool, "pair", other=asdict(other), name=name)

    def finish(self) -> None:
        self._ask(bool, "finish")

    def _ask(self, read: Callable[[Any], T], verb: str, **given: Any) -> T:
        """What `read` makes of the answer, which may be anything."""
        sink, source = self._process.stdin, self._process.stdout
        line = b""
        with contextlib.suppress(OSError):
            if sink is not None and source is not None:
                sink.write(json.dumps({"do": verb, **given}).encode() + b"\n")
                sink.flush()
                line = source.readline(MOST_LINE_BYTES)
        why = "said something else" if line.strip() else "ended"
        try:
            answer = json.loads(line)
            if fault := answer.get("fault"):
                raise StoreFault(f"{self.name}: {str(fault)[:500]}")
            return read(answer.get("answer"))
        except (ValueError, RecursionError, AttributeError, KeyError, TypeError, StoreCorrupt):
            raise StoreCorrupt(f"{self.name}: `claude-memory sync --stdio` there {why}") from None


End = LocalHome | PipedHome | TeamHub  # what gives and takes


def carry(source: End | PlacedHome, target: End, progress: Progress) -> Taken:
    """Bring one end up to what changed at the other, a batch at a time."""
    sender, taken = source.introduction(), Taken()
    if sender.format != FORMAT:
        raise StoreFault(
            f"{source.name} speaks another version of the exchange: upgrade the older of the two"
        )
    for stream in STREAMS:
        since = target.through(sender.replica, stream)
        while (batch := source.changes(stream, since)).through > since:
            taken += target.apply(batch, sender)
            since = batch.through
            progress(f"{source.name}: {taken.messages:,} messages, {taken.added:,} memories so far")
    return taken


def introduced(document: Any) -> Introduction:
    """Who a document of another end says it is; StoreCorrupt if it says nothing of the kind."""
    try:
        home, replica, person = (str(document[name]) for name in ("home", "replica", "person"))
        return Introduction(home, replica, person, int(document["format"]))
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt("it does not say who it is from") from None


def serve(home: End, given: BinaryIO, sink: BinaryIO) -> None:
    """Answer the other end of a pipe until it hangs up."""
    while line := given.readline(MOST_LINE_BYTES):
        try:
            answer = {"answer": _answered(home, json.loads(line))}
        except MemoryFault as fault:
            answer = {"fault": str(fault)}
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            answer = {"fault": f"cannot be understood: {type(fault).__name__}"}
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()


def _answered(home: End, asked: Any) -> Any:
    verb = asked["do"]
    readers = _ARGUMENTS[verb]
    answer = getattr(home, verb)(**{name: read(asked[name]) for name, read in readers.items()})
    if isinstance(answer, FeedBatch):
        return answer.document()
    return asdict(answer) if isinstance(answer, Introduction | Taken) else answer


# How a verb's arguments are read from what another end sent.
_ARGUMENTS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "introduction": {},
    "through": {"replica": str, "stream": str},
    "changes": {"stream": str, "since": int},
    "apply": {"batch": batch_from, "sender": introduced},
    "pair": {"other": introduced, "name": str},
    "finish": {},
}
