"""`memory.homes`: two homes become one, directly, over ssh, or through a place where each leaves its feed.

    feeds/<home>.<copy>.<stream>.<since>.<through>.<erasures>    at a place: changes of one copy, in pieces

Each home writes its own feed there and reads those of others. After an erasure it writes its feed anew: the
pieces from before may hold what was erased. A home that the person never paired with this one is foreign.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from claude_memory import settings as settings_module
from claude_memory.backup import chunks
from claude_memory.backup.archives import BackupFile, damage_named
from claude_memory.backup.manifest import DATABASE
from claude_memory.backup.peers import (
    Introduction,
    LocalHome,
    PipedHome,
    Progress,
    carry,
    introduced,
    serve,
)
from claude_memory.backup.team import hub_at
from claude_memory.capture.drain import drain
from claude_memory.errors import InvalidInput, StoreCorrupt
from claude_memory.platform import leftovers
from claude_memory.settings import Settings
from claude_memory.store import is_server, open_store
from claude_memory.store.sql.feed import STREAMS, FeedBatch, Taken, batch_from
from claude_memory.store.sql.rows import zstd
from claude_memory.store.sqlite.inspection import check_file

if TYPE_CHECKING:
    from claude_memory.backup.peers import End, Giving

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
        archive = BackupFile(file)
        with tempfile.TemporaryDirectory(prefix=leftovers.VERIFYING) as folder:
            with damage_named(archive.name):
                archive.unpack(Path(folder))
                check_file(Path(folder) / DATABASE)
            with (
                contextlib.closing(open_store(Path(folder), Settings())) as store,
                self._own(dry_run=dry_run) as own,
            ):
                known_as = archive.manifest.home or "unnamed"
                other = LocalHome(Path(folder), store, file.name, known_as=known_as)
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

    def _received(self, own: LocalHome, other: Giving) -> Met:
        theirs = other.introduction()
        if not own.is_paired(theirs) and self.agree(other.name):
            own.pair(theirs, other.name)
        taken = carry(other, own, self.progress)
        return Met(other.name, theirs.home, own.is_paired(theirs), taken)

    # --- directly

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
        """With a team's server: whoever has a login there wants what its members say."""
        if is_server(self.settings.store):
            raise InvalidInput("the store is a team's server itself: there is nothing to exchange with one")
        with hub_at(url) as hub, self._own(dry_run=dry_run) as own:
            own.pair(hub.introduction(), hub.name)
            met = self._received(own, hub)
            if not dry_run:
                met = self._sent(own, hub, met)
        return Exchanged(hub.name, (met,), dry_run=dry_run)

    def _over_ssh(self, words: list[str], *, dry_run: bool) -> Exchanged:
        if len(words) != 1 or not words[0] or words[0].startswith("-"):
            raise InvalidInput("name one host: `claude-memory sync ssh HOST`")
        command = ["ssh", "-T", "--", words[0], REMOTE + (" --dry-run" if dry_run else "")]
        other = PipedHome(command, words[0])
        with contextlib.closing(other):
            return self._both_ways(other, f"ssh {words[0]}", dry_run=dry_run)

    def _both_ways(self, other: End, place: str, *, dry_run: bool = False) -> Exchanged:
        with self._own(dry_run=dry_run) as own:
            met = self._received(own, other)
            if met.paired:  # whoever may write there says that both are theirs
                other.pair(own.introduction(), str(own.home))
            met = self._sent(own, other, met)
        return Exchanged(place, (met,), dry_run=dry_run)

    def _sent(self, own: LocalHome, other: End, met: Met) -> Met:
        own.finish()  # before: what is erased there is not to be sent back
        sent = carry(own, other, self.progress)
        other.finish()
        return replace(met, sent=sent)

    # --- through a place

    def _through_place(self, named: str, *, dry_run: bool) -> Exchanged:
        with self._own(dry_run=dry_run) as own:
            at = (named, self.own.home, self.settings.backup_key)
            me = own.introduction()
            others = _FeedPlace(chunks.vault_at(*at)).others(me)
            met = tuple(self._received(own, other) for other in others)
            own.finish()
            written = chunks.at_place(*at, lambda vault: _FeedPlace(vault).write(own, me, dry_run=dry_run))
        return Exchanged(named, met, written, dry_run)


class _FeedPlace:
    """The feeds at one place."""

    def __init__(self, vault: chunks.Vault) -> None:
        self._place, self._vault = vault.place, vault
        self._sizes = {}
        for item in self._place.objects(FEEDS):
            if found := _PIECE.fullmatch(item.key.rpartition("/")[2]):
                home, replica, stream, *numbers = found.groups()
                self._sizes[_Piece(home, replica, stream, *map(int, numbers))] = item.size

    def others(self, me: Introduction) -> list[PlacedHome]:
        """The other copies that left a feed here."""
        copies = sorted({(piece.home, piece.replica) for piece in self._sizes} - {(me.home, me.replica)})
        return [PlacedHome(self, *copy) for copy in copies]

    def pieces(self, replica: str, stream: str) -> list[_Piece]:
        """The pieces of one stream, oldest first."""
        pieces = [piece for piece in self._sizes if (piece.replica, piece.stream) == (replica, stream)]
        return sorted(pieces, key=lambda piece: (piece.since, piece.through))

    def read(self, piece: _Piece) -> tuple[Introduction, FeedBatch]:
        """One piece; StoreCorrupt unless it is what its name says."""
        with damage_named(f"{self._place.name}/{piece.key}"):
            content = self._vault.seal.open(self._place.read(piece.key))
            unpacker = zstd().ZstdDecompressor()
            document = json.loads(unpacker.decompress(content, _MOST_PIECE_BYTES))
            if not isinstance(document, dict):
                raise StoreCorrupt("it is no batch of changes")
            sender, batch = introduced(document.get("sender")), batch_from(document.get("batch"))
            if (sender.home, sender.replica, batch.stream) != piece[:3] or batch.through != piece.through:
                raise StoreCorrupt("it is not what its name says")
            return sender, batch

    def write(self, own: LocalHome, me: Introduction, *, dry_run: bool) -> int:
        """Bring the own feed up to date; returns how many records were added."""
        erasures = own.store.feed.erasures()
        mine = [piece for piece in self._sizes if piece.replica == me.replica]
        small = sum(self._sizes[piece] < SMALL_BYTES for piece in mine)
        anew = any(piece.erasures < erasures for piece in mine) or small > MOST_SMALL
        written, fresh = 0, set[_Piece]()
        for stream in STREAMS:
            there = 0 if anew else max((piece.through for piece in mine if piece.stream == stream), default=0)
            while (batch := own.changes(stream, there)).through > there:
                piece = _Piece(me.home, me.replica, stream, there, batch.through, erasures)
                if not dry_run:
                    self._put(piece, me, batch)
                fresh.add(piece)
                written, there = written + len(batch.records), batch.through
        if fresh and not dry_run:
            if anew:
                self._place.remove(piece.key for piece in mine if piece not in fresh)
            self._place.commit(f"feed of {me.home}: {written} changes")
        return written

    def _put(self, piece: _Piece, me: Introduction, batch: FeedBatch) -> None:
        document = {"sender": asdict(me), "batch": batch.document()}
        packed = zstd().compress(json.dumps(document, separators=(",", ":")).encode(), 3)
        self._place.write(piece.key, self._vault.seal.close(packed))


class PlacedHome:
    """The feed that another home left at a place: an end that only gives."""

    def __init__(self, place: _FeedPlace, home: str, replica: str) -> None:
        self.name = f"home {home[:8]}"
        self._place, self._replica = place, replica

    def introduction(self) -> Introduction:
        first = next(piece for name in STREAMS for piece in self._place.pieces(self._replica, name))
        return self._place.read(first)[0]

    def changes(self, stream: str, since: int) -> FeedBatch:
        for piece in self._place.pieces(self._replica, stream):
            if piece.through > since:
                return self._place.read(piece)[1]
        return FeedBatch(stream, since)
