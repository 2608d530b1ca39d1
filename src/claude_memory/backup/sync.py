"""`memory.homes`: two homes become one, directly, over ssh, or through a place where each leaves its feed.

    feeds/<home>.<copy>.<stream>.<since>.<through>.<erasures>    at a place: changes of one copy, in pieces

Each home writes its own feed there and reads those of others. After an erasure it writes its feed anew: the
pieces from before may hold what was erased. A home that the person never paired with this one is foreign.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from claude_memory import settings as settings_module
from claude_memory.backup import chunks
from claude_memory.backup.archives import backup_file, damage_named
from claude_memory.backup.manifest import DATABASE
from claude_memory.backup.peers import (
    End,
    Introduction,
    LocalHome,
    PipedHome,
    Progress,
    TeamHub,
    carry,
    introduced,
    serve,
)
from claude_memory.backup.team import server_at
from claude_memory.capture.drain import drain
from claude_memory.errors import InvalidInput, StoreCorrupt
from claude_memory.platform import leftovers
from claude_memory.settings import Settings
from claude_memory.store import is_server, open_store
from claude_memory.store.sql.feed import STREAMS, FeedBatch, Taken, batch_from
from claude_memory.store.sqlite.inspection import check_file

FEEDS = "feeds"
REMOTE = "claude-memory sync --stdio"
SMALL_BYTES, MOST_SMALL = 16 << 10, 100  # so many small pieces become few large ones
_MOST_PIECE_BYTES = 256 << 20
_PIECE = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{16})\.([a-z]+)\.(\d{1,18})\.(\d{1,18})\.(\d{1,12})")

# Whether the person says that a home, known by this name, is theirs.
Agree = Callable[[str], bool]


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


@dataclass(frozen=True, slots=True)
class Homes:
    """This home, and what it exchanges with others."""

    own: LocalHome
    settings: Settings
    agree: Agree = lambda _: False
    progress: Progress = lambda _: None

    def sync(self, where: Sequence[str], *, dry_run: bool = False) -> Exchanged:
        """Exchange changes with `ssh HOST`, with a home at a path, or through a place."""
        if list(where[:1]) == ["ssh"]:
            return self._over_ssh(list(where[1:]), dry_run=dry_run)
        if len(where) > 1:
            raise InvalidInput("name one place, one path, or `ssh HOST`")
        named = where[0] if where else self.settings.hub or self.settings.backup_to
        if is_server(named):
            return self._with_hub(named, dry_run=dry_run)
        if named and (Path(named).expanduser() / DATABASE).is_file():
            return self._with_path(Path(named).expanduser(), dry_run=dry_run)
        return self._through_place(named, dry_run=dry_run)

    def merge(self, file: Path, *, dry_run: bool = False) -> Exchanged:
        """Take in what a backup file holds; nothing of its settings and plain files."""
        archive = backup_file(file)
        with leftovers.temporary_folder() as folder:
            archive.unpack(folder)
            with (
                contextlib.closing(open_store(folder, Settings())) as store,
                self._own(dry_run=dry_run) as own,
            ):
                known_as = Introduction(archive.manifest.home or "unnamed", "", store.person)
                other = LocalHome(folder, store, file.name, known_as)
                met = self._received(own, other)
        return Exchanged(str(file), (met,), dry_run=dry_run)

    def serve(self, given: BinaryIO, sink: BinaryIO, *, dry_run: bool = False) -> None:
        """Be the other end of somebody's `sync ssh`."""
        with self._own(dry_run=dry_run) as own:
            serve(own, given, sink)

    @contextlib.contextmanager
    def _own(self, *, dry_run: bool) -> Iterator[LocalHome]:
        """This home, and whatever happens, what follows from what came in."""
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
        taken = carry(other, own, self.progress)
        own.finish()  # before anything is sent: what is erased there is not to be sent back
        return Met(other.name, theirs.home, own.is_paired(theirs), taken)

    def _with_path(self, path: Path, *, dry_run: bool) -> Exchanged:
        if path.samefile(self.own.home):
            raise InvalidInput(f"{path} is this home itself")
        check_file(path / DATABASE, in_use=True)
        settings = settings_module.load(path)
        with contextlib.closing(open_store(path, settings)) as store:
            drain(path, store, settings, now=datetime.now(UTC))  # what waits there goes along
            other = LocalHome(path, store, str(path))
            with other.rehearsed() if dry_run else contextlib.nullcontext(other) as end:
                return self._both_ways(end, str(path), dry_run=dry_run)

    def _with_hub(self, url: str, *, dry_run: bool) -> Exchanged:
        if is_server(self.settings.store):
            raise InvalidInput("the store is a team's server itself: there is nothing to exchange with one")
        with server_at(url) as store:
            return self._both_ways(TeamHub(store, store.where), store.where, dry_run=dry_run)

    def _over_ssh(self, words: list[str], *, dry_run: bool) -> Exchanged:
        if len(words) != 1 or not words[0] or words[0].startswith("-"):
            raise InvalidInput("name one host: `claude-memory sync ssh HOST`")
        command = ["ssh", "-T", "--", words[0], REMOTE + (" --dry-run" if dry_run else "")]
        with contextlib.closing(PipedHome(command, words[0])) as other:
            return self._both_ways(other, f"ssh {words[0]}", dry_run=dry_run)

    def _both_ways(self, other: End, place: str, *, dry_run: bool) -> Exchanged:
        with self._own(dry_run=dry_run) as own:
            met = self._received(own, other)
            if met.paired:  # whoever may write there says that both are theirs
                other.pair(own.introduction(), str(self.own.home))
            if not (dry_run and isinstance(other, TeamHub)):  # a server cannot rehearse
                met = replace(met, sent=carry(own, other, self.progress))
                other.finish()
        return Exchanged(place, (met,), dry_run=dry_run)

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


class PlacedHome:
    """The feed that another home left at a place, its pieces in order: an end that only gives."""

    def __init__(self, vault: chunks.Vault, pieces: list[_Piece]) -> None:
        self.name = f"home {pieces[0].home[:8]}"
        self._vault, self._pieces = vault, pieces

    def introduction(self) -> Introduction:
        return self._read(self._pieces[0])[0]

    def changes(self, stream: str, since: int) -> FeedBatch:
        for piece in self._pieces:
            if piece.stream == stream and piece.through > since:
                return self._read(piece)[1]
        return FeedBatch(stream, since)

    def _read(self, piece: _Piece) -> tuple[Introduction, FeedBatch]:
        """One piece; StoreCorrupt unless it is what its name says."""
        place = self._vault.place
        with damage_named(f"{place.name}/{piece.key}"):
            document = json.loads(self._vault.opened(place.read(piece.key), _MOST_PIECE_BYTES))
            if not isinstance(document, dict):
                raise StoreCorrupt("it is no batch of changes")
            sender, batch = introduced(document.get("sender")), batch_from(document.get("batch"))
            if (sender.home, sender.replica, batch.stream) != piece[:3] or batch.through != piece.through:
                raise StoreCorrupt("it is not what its name says")
            return sender, batch


def _pieces(vault: chunks.Vault) -> dict[_Piece, int]:
    """The pieces of all feeds at a place, with their sizes."""
    pieces = {}
    for item in vault.place.objects(FEEDS):
        if found := _PIECE.fullmatch(item.key.rpartition("/")[2]):
            home, replica, stream, *numbers = found.groups()
            pieces[_Piece(home, replica, stream, *map(int, numbers))] = item.size
    return pieces


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
