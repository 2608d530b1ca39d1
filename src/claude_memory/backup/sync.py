"""`memory.homes`: two homes become one: on this machine, by ssh, through a team's server or through a place.

An end gives numbered changes and takes them. How far it took another's is kept with what it took, so that an
exchange that was cut off anywhere goes on where it stopped, and one that is repeated changes nothing. A home
that the person never paired with this one is foreign. At a place each home leaves its feed, in pieces:

    feeds/<home>.<copy>.<stream>.<since>.<through>.<erasures>

After an erasure it writes its feed anew: the pieces from before may hold what was erased. With a team's
server a home exchanges what is a project's: memories, projects, what was erased or rejected. Conversations,
reminders and what travels with the person stay at home.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from claude_memory import settings as settings_module
from claude_memory.backup import chunks, home_state, mirror
from claude_memory.backup.archives import backup_file, damage_named
from claude_memory.backup.home_state import DATABASE
from claude_memory.backup.team import server_at
from claude_memory.capture.drain import drain
from claude_memory.capture.understanding import understand_waiting
from claude_memory.errors import InvalidInput, MemoryFault, NotFound, StoreCorrupt, StoreFault
from claude_memory.model import Scope
from claude_memory.platform import leftovers
from claude_memory.settings import Settings
from claude_memory.store import is_server, open_store
from claude_memory.store.base import Store
from claude_memory.store.sql.feed import ITEMS, STREAMS, FeedBatch, Sender, Taken, batch_from
from claude_memory.store.sqlite.inspection import check_file

if TYPE_CHECKING:
    from claude_memory.store.postgres.team_store import PostgresStore

BATCH, FORMAT = 500, 1
FEEDS = "feeds"
REMOTE = "claude-memory sync --stdio"
MOST_BYTES = 256 << 20  # of a line or a piece
SHARED_KINDS = ("memory", "project", "tombstone", "rejected")
SMALL_BYTES, MOST_SMALL = 16 << 10, 100  # so many small pieces become few large ones
_COPY = "hub"  # the server is one copy for all
_PIECE = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{16})\.([a-z]+)\.(\d{1,18})\.(\d{1,18})\.(\d{1,12})")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Met:
    """One other home: whether it is paired, what came from it and what went there."""

    name: str
    home: str
    paired: bool
    received: Taken
    sent: Taken | None = None  # None where the other takes it from the place by itself


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What one exchange did; `written` counts what was added to the own feed at a place."""

    place: str
    met: tuple[Met, ...]
    written: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Introduction:
    home: str
    replica: str
    person: str
    format: int = FORMAT


def introduced(document: Any) -> Introduction:
    """Who a document of another end says it is; StoreCorrupt if it says nothing of the kind."""
    try:
        home, replica, person = (str(document[name]) for name in ("home", "replica", "person"))
        return Introduction(home, replica, person, int(document["format"]))
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt("it does not say who it is from") from None


# --- the ends


@dataclass(frozen=True, slots=True)
class _StoreEnd:
    store: Store
    name: str

    def through(self, replica: str, stream: str) -> int:
        """How far this end took in a stream of another copy."""
        return self.store.feed.through(replica, stream)

    def changes(self, stream: str, since: int) -> FeedBatch:
        """What changed here after a number; the end of it is a batch whose number did not go on."""
        return self.store.feed.changes(stream, since, BATCH)


@dataclass(frozen=True, slots=True)
class LocalHome(_StoreEnd):
    """A home on this machine. One that rehearses is a copy for a dry run, and nothing follows there."""

    home: Path
    known_as: Introduction | None = None  # where the files of the home do not tell it
    rehearses: bool = False

    def introduction(self) -> Introduction:
        replica = self.store.feed.replica(home_state.copy_token(self.home))
        return self.known_as or Introduction(home_state.home_id(self.home), replica, self.store.person)

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
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
        if self.store.feed.is_unswept():
            mirror.carry_out_erasures(self.home, self.store)
            self.store.feed.swept()
        understand_waiting(self.store, lambda: False)
        mirror.flush(self.home, self.store)

    @contextmanager
    def rehearsed(self) -> Iterator[LocalHome]:
        me = self.introduction()
        with leftovers.temporary_folder() as folder:
            self.store.export(folder / DATABASE)
            shutil.copy(self.home / home_state.FILE, folder)
            with closing(open_store(folder, Settings())) as copy:
                yield replace(self, home=folder, store=copy, known_as=me, rehearses=True)


@dataclass(frozen=True, slots=True)
class TeamHub(_StoreEnd):
    """A team's server as the other end: whoever has a member's login is that member."""

    store: PostgresStore

    def introduction(self) -> Introduction:
        replica = self.store.feed.replica(_COPY)
        return Introduction(f"team-{self.store.team[0]}", replica, self.store.person)

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
        return self.store.feed.apply(batch, Sender(sender.replica, sender.person))

    def finish(self) -> None:
        if self.store.feed.is_unswept():
            self.store.memories.apply_tombstones()
            self.store.feed.swept()


class PipedHome:
    """A home that another process serves, on this machine or on another by ssh: a line out, a line back."""

    def __init__(self, command: list[str], name: str) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as fault:
            raise NotFound(f"cannot run {command[0]}: {fault.strerror}") from None

    def close(self) -> None:
        with suppress(OSError), self._process:
            pass  # closes the pipes, and waits

    def introduction(self) -> Introduction:
        return self._ask(introduced, "introduction")

    def through(self, replica: str, stream: str) -> int:
        return self._ask(int, "through", replica=replica, stream=stream)

    def changes(self, stream: str, since: int) -> FeedBatch:
        return self._ask(batch_from, "changes", stream=stream, since=since)

    def apply(self, batch: FeedBatch, sender: Introduction) -> Taken:
        def taken(counts: Any) -> Taken:
            return Taken(**{name: int(count) for name, count in counts.items()})

        return self._ask(taken, "apply", batch=batch.document(), sender=sender)

    def pair(self, other: Introduction, name: str) -> None:
        self._ask(bool, "pair", other=other, name=name)

    def finish(self) -> None:
        self._ask(bool, "finish")

    def _ask(self, read: Callable[[Any], T], verb: str, **given: Any) -> T:
        """What `read` makes of the answer, which may be anything."""
        sink, source = self._process.stdin, self._process.stdout
        line = b""
        with suppress(OSError):
            if sink is not None and source is not None:
                sink.write(json.dumps({"do": verb, **given}, default=asdict).encode() + b"\n")
                sink.flush()
                line = source.readline(MOST_BYTES)
        why = "said something else" if line.strip() else "ended"
        try:
            answer = json.loads(line)
            if fault := answer.get("fault"):
                raise StoreFault(f"{self.name}: {str(fault)[:500]}")
            return read(answer.get("answer"))
        except (ValueError, RecursionError, AttributeError, KeyError, TypeError, StoreCorrupt):
            raise StoreCorrupt(f"{self.name}: `claude-memory sync --stdio` there {why}") from None


class _Piece(NamedTuple):
    home: str
    replica: str
    stream: str
    since: int
    through: int
    erasures: int

    @property
    def key(self) -> str:
        return f"{FEEDS}/{'.'.join(map(str, self))}"


class PlacedHome:
    """The feed that another home left at a place, its pieces in order: an end that only gives."""

    def __init__(self, vault: chunks.Vault, pieces: list[_Piece]) -> None:
        self.name = f"home {pieces[0].home[:8]}"
        self._vault, self._pieces = vault, pieces

    def introduction(self) -> Introduction:
        return self._read(self._pieces[0])[0]

    def changes(self, stream: str, since: int) -> FeedBatch:
        later = (piece for piece in self._pieces if piece.stream == stream and piece.through > since)
        return next((self._read(piece)[1] for piece in later), FeedBatch(stream, since))

    def _read(self, piece: _Piece) -> tuple[Introduction, FeedBatch]:
        """One piece; StoreCorrupt unless it is what its name says."""
        place = self._vault.place
        with damage_named(f"{place.name}/{piece.key}"):
            document = json.loads(self._vault.opened(place.read(piece.key), MOST_BYTES))
            if not isinstance(document, dict):
                raise StoreCorrupt("it is no batch of changes")
            sender, batch = introduced(document.get("sender")), batch_from(document.get("batch"))
            if (sender.home, sender.replica, batch.stream) != piece[:3] or batch.through != piece.through:
                raise StoreCorrupt("it is not what its name says")
            return sender, batch


def _pieces(vault: chunks.Vault) -> dict[_Piece, int]:
    pieces = {}
    for item in vault.place.objects(FEEDS):
        if found := _PIECE.fullmatch(item.key.rpartition("/")[2]):
            home, replica, stream, *numbers = found.groups()
            pieces[_Piece(home, replica, stream, *map(int, numbers))] = item.size
    return pieces


End = LocalHome | PipedHome | TeamHub  # what gives and takes

# What another end may ask of this one, and how what it sends along is read.
_VERBS = ("introduction", "through", "changes", "apply", "pair", "finish")
_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("replica", "stream", "name"), str),
    **dict.fromkeys(("sender", "other"), introduced),
    "since": int,
    "batch": batch_from,
}


# --- their exchange


@dataclass(frozen=True, slots=True)
class Homes:
    own: LocalHome
    settings: Settings
    agree: Callable[[str], bool] = lambda _: False  # whether a home of this name is the person's
    progress: Callable[[str], None] = lambda _: None

    def sync(self, where: Sequence[str], *, dry_run: bool = False) -> Exchanged:
        """Exchange changes with `ssh HOST`, with a home at a path, or through a place."""
        if list(where[:1]) == ["ssh"]:
            if len(where) != 2 or not where[1] or where[1].startswith("-"):
                raise InvalidInput("name one host: `claude-memory sync ssh HOST`")
            command = ["ssh", "-T", "--", where[1], REMOTE + (" --dry-run" if dry_run else "")]
            with closing(PipedHome(command, where[1])) as other:
                return self._both_ways(other, f"ssh {where[1]}", dry_run=dry_run)
        if len(where) > 1:
            raise InvalidInput("name one place, one path, or `ssh HOST`")
        named = where[0] if where else self.settings.hub or self.settings.backup_to
        if is_server(named) and is_server(self.settings.store):
            raise InvalidInput("the store is a team's server itself: there is nothing to exchange with one")
        if is_server(named):
            with server_at(named) as store:
                return self._both_ways(TeamHub(store, store.where), store.where, dry_run=dry_run)
        if named and (Path(named).expanduser() / DATABASE).is_file():
            return self._with_path(Path(named).expanduser(), dry_run=dry_run)
        return self._through_place(named, dry_run=dry_run)

    def merge(self, file: Path, *, dry_run: bool = False) -> Exchanged:
        """Take in what a backup file holds; nothing of its settings and plain files."""
        archive = backup_file(file)
        with leftovers.temporary_folder() as folder:
            archive.unpack(folder)
            with closing(open_store(folder, Settings())) as store, self._own(dry_run=dry_run) as own:
                known_as = Introduction(archive.manifest.home or "unnamed", "", store.person)
                met = self._received(own, LocalHome(store, file.name, folder, known_as))
        return Exchanged(str(file), (met,), dry_run=dry_run)

    def serve(self, given: BinaryIO, sink: BinaryIO, *, dry_run: bool = False) -> None:
        """Be the other end of somebody's `sync ssh` until they hang up."""
        with self._own(dry_run=dry_run) as own:
            while line := given.readline(MOST_BYTES):
                try:
                    asked = json.loads(line)
                    verb = getattr(own, _VERBS[_VERBS.index(asked["do"])])
                    along = {name: read(asked[name]) for name, read in _READERS.items() if name in asked}
                    told = verb(**along)
                    answer = {"answer": told.document() if isinstance(told, FeedBatch) else told}
                except MemoryFault as fault:
                    answer = {"fault": str(fault)}
                except (ValueError, KeyError, TypeError, RecursionError) as fault:
                    answer = {"fault": f"cannot be understood: {type(fault).__name__}"}
                sink.write(json.dumps(answer, default=asdict).encode() + b"\n")
                sink.flush()

    @contextmanager
    def _own(self, *, dry_run: bool) -> Iterator[LocalHome]:
        if dry_run:
            with self.own.rehearsed() as rehearsed:
                yield rehearsed
            return
        self.own.finish()  # what an exchange that was cut off left to do
        try:
            yield self.own
        finally:
            self.own.finish()

    def _received(self, own: LocalHome, other: End | PlacedHome) -> Met:
        theirs = other.introduction()
        # Whoever has a login at a team's server wants what its members say.
        if not own.is_paired(theirs) and (isinstance(other, TeamHub) or self.agree(other.name)):
            own.pair(theirs, other.name)
        taken = self._carried(other, own)
        own.finish()  # before anything is sent: what is erased there is not to be sent back
        return Met(other.name, theirs.home, own.is_paired(theirs), taken)

    def _carried(self, source: End | PlacedHome, target: End) -> Taken:
        """Bring one end up to what changed at the other, a batch at a time."""
        sender, taken = source.introduction(), Taken()
        if sender.format != FORMAT:
            raise StoreFault(
                f"{source.name} speaks another version of the exchange: upgrade the older of the two"
            )
        with_team = isinstance(source, TeamHub) or isinstance(target, TeamHub)
        for stream in (ITEMS,) if with_team else STREAMS:
            since = target.through(sender.replica, stream)
            while (batch := source.changes(stream, since)).through > since:
                if with_team:
                    batch = batch._replace(records=list(filter(_is_shared, batch.records)))
                taken += target.apply(batch, sender)
                since = batch.through
                self.progress(f"{source.name}: {taken.messages:,} messages, {taken.added:,} memories so far")
        return taken

    def _both_ways(self, other: End, place: str, *, dry_run: bool) -> Exchanged:
        with self._own(dry_run=dry_run) as own:
            met = self._received(own, other)
            if met.paired and not isinstance(other, TeamHub):  # who may write there calls both theirs
                other.pair(own.introduction(), str(self.own.home))
            if not (dry_run and isinstance(other, TeamHub)):  # a server cannot rehearse
                met = replace(met, sent=self._carried(own, other))
                other.finish()
        return Exchanged(place, (met,), dry_run=dry_run)

    def _with_path(self, path: Path, *, dry_run: bool) -> Exchanged:
        if path.samefile(self.own.home):
            raise InvalidInput(f"{path} is this home itself")
        check_file(path / DATABASE, in_use=True)
        settings = settings_module.load(path)
        with closing(open_store(path, settings)) as store:
            drain(path, store, settings, now=datetime.now(UTC))  # what waits there goes along
            other = LocalHome(store, str(path), path)
            with other.rehearsed() if dry_run else nullcontext(other) as end:
                return self._both_ways(end, str(path), dry_run=dry_run)

    def _through_place(self, named: str, *, dry_run: bool) -> Exchanged:
        at = (named, self.own.home, self.settings.backup_key)
        with self._own(dry_run=dry_run) as own:
            me, vault, others = own.introduction(), chunks.vault_at(*at), dict[str, list[_Piece]]()
            for piece in sorted(_pieces(vault)):
                if (piece.home, piece.replica) != (me.home, me.replica):
                    others.setdefault(piece.replica, []).append(piece)
            met = tuple(self._received(own, PlacedHome(vault, pieces)) for pieces in others.values())
            written = chunks.at_place(*at, lambda vault: _write_feed(vault, own, me, dry_run=dry_run))
        return Exchanged(named, met, written, dry_run)


def _is_shared(record: Mapping[str, Any]) -> bool:
    """Whether a change is a team's to know."""
    return record["kind"] in SHARED_KINDS and record.get("memory", {}).get("scope") != Scope.USER


def _write_feed(vault: chunks.Vault, own: LocalHome, me: Introduction, *, dry_run: bool) -> int:
    """Bring the own feed at a place up to date; returns how many records were added."""
    erasures = own.store.feed.erasures()
    mine = {piece: size for piece, size in _pieces(vault).items() if piece.replica == me.replica}
    small = sum(size < SMALL_BYTES for size in mine.values())
    anew = any(piece.erasures < erasures for piece in mine) or small > MOST_SMALL
    written, fresh = 0, set[_Piece]()
    for stream in STREAMS:
        there = 0 if anew else max((piece.through for piece in mine if piece.stream == stream), default=0)
        while (batch := own.changes(stream, there)).through > there:
            piece = _Piece(me.home, me.replica, stream, there, batch.through, erasures)
            if not dry_run:
                document = {"sender": asdict(me), "batch": batch.document()}
                content = json.dumps(document, separators=(",", ":")).encode()
                vault.place.write(piece.key, vault.closed(content))
            fresh.add(piece)
            written, there = written + len(batch.records), batch.through
    if fresh and not dry_run:
        if anew:
            vault.place.remove(piece.key for piece in mine if piece not in fresh)
        vault.place.commit(f"feed of {me.home}: {written} changes")
    return written
