"""Backups at a place: chunks of files, each there once, in packs, and a head for each backup, written last.

    heads/<time>-<chance>   what a backup holds: the manifest, and which chunks of which packs make a file
    packs/<sha256>          many chunks, packed together
    index/<sha256>          the ids and lengths of the chunks of one pack
    key.age                 only with a passphrase: the key that everything else is encrypted with

A push writes only chunks that the newest backup there does not have. Packs and indexes are named by the
checksum of the bytes that lie there. Every name, length and checksum that comes from a place is checked:
whoever can write there can spoil a backup, and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import secrets
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, TypeVar

from claude_memory.backup.archives import LEVEL, damage_named, make_file
from claude_memory.backup.backup import staged
from claude_memory.backup.home_state import home_id
from claude_memory.backup.locations import BackupPlace, PlaceMoved, Seal, place_at, seal_for
from claude_memory.backup.manifest import (
    DATABASE,
    MAX_MANIFEST_BYTES,
    SHA256,
    BackupEntry,
    BackupHead,
    BackupManifest,
    Pack,
    Run,
    decode_head,
)
from claude_memory.errors import Conflict, NotFound, StoreCorrupt, StoreFault
from claude_memory.platform.files import sync_file
from claude_memory.store.base import Store
from claude_memory.store.sql.rows import zstd

HEADS, PACKS, INDEX, KEY = "heads", "packs", "index", "key.age"
PACK_BYTES = 4 << 20
T = TypeVar("T")
TRIES = 5  # at a git ref that others push to at the same time
_DIGEST_BYTES = 16
_RECORD = struct.Struct(f">{_DIGEST_BYTES}sI")

# A page of the database, or a few: a conversation changes single pages all over it. Large databases and other
# files, which grow at their end, get larger chunks: what a push holds in memory is an id for each.
_PAGES = ((512 << 20, 4 << 10), (2 << 30, 8 << 10))
_LARGEST = 32 << 10
_MOST_CHUNKS = PACK_BYTES  # of one pack: none is empty
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_TIME = "%Y%m%dT%H%M%SZ"


def chunk_bytes(entry: BackupEntry) -> int:
    """How long the chunks of a file are."""
    pages = _PAGES if entry.path == DATABASE else ()
    return next((length for most, length in pages if entry.size <= most), _LARGEST)


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did; `changed` is False where the place had everything already."""

    id: str
    changed: bool
    size_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class PlacedBackup:
    """One backup of a list."""

    id: str
    created: datetime
    files: int
    size_bytes: int
    problem: str = ""

    @property
    def name(self) -> str:
        """How a person names it."""
        return self.id


class Vault:
    """The backups of one memory at one place."""

    def __init__(self, place: BackupPlace, key_setting: str = "") -> None:
        self.place = place
        self._key_setting = key_setting

    # --- reading

    def ids(self) -> list[str]:
        """The backups there, newest first."""
        names = (item.key.rpartition("/")[2] for item in self.place.objects(HEADS))
        return sorted((name for name in names if _ID.fullmatch(name)), reverse=True)

    def listed(self) -> list[PlacedBackup]:
        """The backups there with what they hold, newest first; one that cannot be read says why."""
        return list(map(self._described, self.ids()))

    def head(self, id_: str) -> BackupHead:
        """One backup; StoreCorrupt if it is not what we wrote."""
        with damage_named(f"the backup {id_}"):
            content = self.seal.open(self.place.read(f"{HEADS}/{id_}"))
            return decode_head(id_, _unpacked(content, MAX_MANIFEST_BYTES * 2))

    def source(self, id_: str | None = None) -> PlaceSource:
        """One backup, the newest by default, to be restored or verified."""
        ids = self.ids()
        if not ids:
            raise NotFound(f"{self.place.name} holds no backup yet")
        if id_ is not None and id_ not in ids:
            raise NotFound(f"{self.place.name} holds no backup {id_}; `backup list` names them")
        try:
            return PlaceSource(self, self.head(id_ or ids[0]))
        except StoreCorrupt as fault:
            older = f"; older ones are there, the next is {ids[1]}" if id_ is None and len(ids) > 1 else ""
            raise StoreCorrupt(f"{fault}{older}") from None

    def content(self, pack: Pack) -> bytes:
        """The chunks of one pack in a row, checked by the name before anything is unpacked."""
        return self._named(PACKS, pack.name, 2 * PACK_BYTES)

    def index(self, pack: Pack) -> list[tuple[bytes, int]]:
        """Id and length of each chunk of a pack."""
        raw = self._named(INDEX, pack.index, 2 * PACK_BYTES)
        if len(raw) % _RECORD.size:
            raise StoreCorrupt(f"the index {pack.index[:12]} is not what was written")
        return list(_RECORD.iter_unpack(raw))

    def keep(self, folder: str, content: bytes) -> tuple[str, int]:
        """Pack, seal and write bytes under their checksum; returns that and their size there."""
        made = self._closed(content)
        name = hashlib.sha256(made).hexdigest()
        self.place.write(f"{folder}/{name}", made)
        return name, len(made)

    def _closed(self, content: bytes) -> bytes:
        return self.seal.close(zstd().compress(content, LEVEL))

    def _named(self, folder: str, name: str, most: int) -> bytes:
        content = self.place.read(f"{folder}/{name}")
        if hashlib.sha256(content).hexdigest() != name:
            raise StoreCorrupt(f"{folder}/{name[:12]} at {self.place.name} is not what was written")
        return _unpacked(self.seal.open(content), most)

    # --- writing

    def push(self, home: Path, store: Store, *, keep: int, force: bool = False) -> Pushed:
        """Bring the place up to date. What was the newest backup there stays until `keep` later ones."""
        base = self._newest_sound()
        own = home_id(home)
        if base and base.manifest.home != own and not force:
            raise Conflict(
                f"{self.place.name} holds the backup of another memory: name a folder of its own there, "
                "or `backup pull` first; --force puts this one beside it"
            )
        try:
            with staged(home, store) as (manifest, staging):
                pushed = self._push(manifest, staging, base)
        except OSError as fault:
            raise StoreFault(f"cannot collect what to push: {fault.strerror or fault}") from fault
        if pushed.changed:
            # The backup is there. A place where nothing can be removed, or not all be read, keeps all.
            with contextlib.suppress(StoreFault, NotFound):
                self._prune(keep)
            self.place.commit(f"{pushed.id}: {pushed.size_bytes} bytes")
        return pushed

    def _push(self, manifest: BackupManifest, staging: Path, base: BackupHead | None) -> Pushed:
        if base and _sums(base.manifest) == _sums(manifest):
            return Pushed(base.id, False, manifest.size_bytes, 0)
        head = BackupHead(self._next_id(), manifest)
        packer = _Packer(self, head)
        if base:
            self._take_over(base, packer, _ids(staging, manifest))
        for entry in manifest.files:
            with (staging / entry.path).open("rb") as source:
                head.files[entry.path] = _runs(map(packer.place, _pieces(source, entry)))
        packer.finish()
        content = self._closed(head.encode())
        # The head is the commit: before it the place holds the backups it held.
        self.place.write(f"{HEADS}/{head.id}", content)
        return Pushed(head.id, True, manifest.size_bytes, packer.sent + len(content))

    def _take_over(self, base: BackupHead, packer: _Packer, wanted: set[bytes]) -> None:
        """Use what lies there whole, of packs of which at least half is still wanted."""
        there = {item.key: item.size for folder in (PACKS, INDEX) for item in self.place.objects(folder)}
        for pack in base.packs:
            if there.get(f"{PACKS}/{pack.name}") == pack.size and f"{INDEX}/{pack.index}" in there:
                with contextlib.suppress(StoreCorrupt, NotFound):
                    packer.reuse(pack, self.index(pack), wanted)

    def _next_id(self) -> str:
        """A name that sorts behind all others, even if the clock was set back."""
        now, ids = datetime.now(UTC), self.ids()
        if ids:
            now = max(now, _time_of(ids[0]) + timedelta(seconds=1))
        return f"{now:{_TIME}}-{secrets.token_hex(4)}"

    def _prune(self, keep: int) -> None:
        """Take away all but the newest backups, then packs that none names and nobody can be writing."""
        ids = self.ids()
        if not keep or len(ids) <= keep:
            return
        packs = [pack for id_ in ids[:keep] for pack in self.head(id_).packs]
        used = {f"{PACKS}/{pack.name}" for pack in packs} | {f"{INDEX}/{pack.index}" for pack in packs}
        newest = max(item.modified for item in self.place.objects(HEADS))  # the place's clock, not ours
        self.place.remove(f"{HEADS}/{id_}" for id_ in ids[keep:])
        self.place.remove(
            item.key
            for item in [*self.place.objects(PACKS), *self.place.objects(INDEX)]
            if item.key not in used
            and SHA256.fullmatch(item.key.rpartition("/")[2])
            and newest - item.modified > self.place.orphan_seconds
        )

    def _newest_sound(self) -> BackupHead | None:
        for id_ in self.ids():
            with contextlib.suppress(StoreCorrupt, NotFound):
                return self.head(id_)
        return None

    def _described(self, id_: str) -> PlacedBackup:
        try:
            manifest = self.head(id_).manifest
        except StoreFault as fault:
            return PlacedBackup(id_, _time_of(id_), 0, 0, str(fault))
        return PlacedBackup(id_, manifest.created, len(manifest.files), manifest.size_bytes)

    @cached_property
    def seal(self) -> Seal:
        """What encrypts here, if anything."""
        return seal_for(self._key_setting, self._shared_key)

    def _shared_key(self, make: Callable[[], bytes]) -> bytes:
        try:
            return self.place.read(KEY)
        except NotFound:
            if self.place.write(KEY, content := make(), new=True):
                return content
            return self.place.read(KEY)


def at_place(named: str, home: Path, key_setting: str, work: Callable[[Vault], T]) -> T:
    """Do something at a place, and look again if somebody else wrote there meanwhile."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(PlaceMoved):
            return work(vault_at(named, home, key_setting))
    return work(vault_at(named, home, key_setting))


def vault_at(named: str, home: Path, key_setting: str) -> Vault:
    """The backups at the place that a person or a setting names."""
    return Vault(place_at(named, home, sealed=bool(key_setting)), key_setting)


class PlaceSource:
    """A backup at a place, to be unpacked like a file."""

    def __init__(self, vault: Vault, head: BackupHead) -> None:
        self.path, self.manifest = Path(head.id), head.manifest
        self.name = f"the backup {head.id}"
        self._vault, self._head = vault, head

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        with damage_named(self.name):
            by_pack: dict[int, list[tuple[str, int, Run]]] = {}
            for entry in self.manifest.files:
                make_file(folder, entry.path).close()
                for offset, run in self._placed(entry):
                    by_pack.setdefault(run[0], []).append((entry.path, offset, run))
            for number, places in by_pack.items():
                self._write(folder, self._head.packs[number], places)
            for entry in self.manifest.files:
                _check(folder, entry)

    def _placed(self, entry: BackupEntry) -> Iterator[tuple[int, Run]]:
        """The runs of a file with the byte where each begins."""
        step, number = chunk_bytes(entry), 0
        for run in self._head.files[entry.path]:
            yield number * step, run
            number += run[2]
        if number != -(-entry.size // step):
            raise StoreCorrupt(f"{entry.path} is not as long as it was")

    def _write(self, folder: Path, pack: Pack, places: list[tuple[str, int, Run]]) -> None:
        content = memoryview(self._vault.content(pack))
        starts = [0, *itertools.accumulate(length for _, length in self._vault.index(pack))]
        if starts[-1] != len(content):
            raise StoreCorrupt(f"the pack {pack.name[:12]} is not what was written")
        for name, offset, (_, first, count) in places:
            if first + count >= len(starts):
                raise StoreCorrupt(f"a piece of {name} is missing")
            with (folder / name).open("r+b") as target:
                target.seek(offset)
                target.write(content[starts[first] : starts[first + count]])


class _Packer:
    """Says where each chunk of a backup lies, and writes those that a place lacks in packs."""

    def __init__(self, vault: Vault, head: BackupHead) -> None:
        self.sent = 0
        self._vault, self._packs = vault, head.packs
        self._places: dict[bytes, int] = {}  # pack and number in one: there are hundreds of thousands
        self._waiting: dict[bytes, bytes] = {}  # of the pack that is being filled
        self._length = 0

    def reuse(self, pack: Pack, chunks: list[tuple[bytes, int]], wanted: set[bytes]) -> None:
        """Let chunks of a pack that is there count, if they are at least half of it."""
        first = len(self._packs) * _MOST_CHUNKS
        live = {
            id_: first + number
            for number, (id_, _) in enumerate(chunks)
            if id_ in wanted and id_ not in self._places
        }
        live_bytes = sum(length for id_, length in chunks if id_ in live)
        if live and 2 * live_bytes >= sum(length for _, length in chunks):
            self._places.update(live)
            self._packs.append(pack)

    def place(self, piece: bytes) -> tuple[int, int]:
        """Where a chunk lies, or will: the number of its pack, and its own there."""
        id_ = _chunk_id(piece)
        if id_ not in self._places:
            self._places[id_] = len(self._packs) * _MOST_CHUNKS + len(self._waiting)
            self._waiting[id_] = piece
            self._length += len(piece)
            if self._length >= PACK_BYTES:
                self.finish()
        return divmod(self._places[id_], _MOST_CHUNKS)

    def finish(self) -> None:
        """Write what waits as one pack."""
        if self._waiting:
            records = [_RECORD.pack(id_, len(piece)) for id_, piece in self._waiting.items()]
            index, index_size = self._vault.keep(INDEX, b"".join(records))
            name, size = self._vault.keep(PACKS, b"".join(self._waiting.values()))
            self._packs.append(Pack(name, size, index))
            self.sent += size + index_size
            self._waiting, self._length = {}, 0


def _runs(places: Iterable[tuple[int, int]]) -> list[Run]:
    """Neighbours in a file that are neighbours in a pack, as one."""
    runs: list[Run] = []
    for pack, number in places:
        if runs and runs[-1][0] == pack and sum(runs[-1][1:]) == number:
            runs[-1] = (pack, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((pack, number, 1))
    return runs


def _pieces(source: IO[bytes], entry: BackupEntry) -> Iterator[bytes]:
    step = chunk_bytes(entry)
    return iter(lambda: source.read(step), b"")


def _ids(staging: Path, manifest: BackupManifest) -> set[bytes]:
    ids: set[bytes] = set()
    for entry in manifest.files:
        with (staging / entry.path).open("rb") as source:
            ids.update(map(_chunk_id, _pieces(source, entry)))
    return ids


def _sums(manifest: BackupManifest) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in manifest.files}


def _chunk_id(piece: bytes) -> bytes:
    return hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest()


def _time_of(id_: str) -> datetime:
    """When a backup was made, by its name."""
    with contextlib.suppress(ValueError):
        return datetime.strptime(id_[:16], _TIME).replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def _unpacked(content: bytes, most: int) -> bytes:
    unpacker = zstd().ZstdDecompressor()
    made: bytes = unpacker.decompress(content, most)
    if not unpacker.eof or unpacker.unused_data:
        raise StoreCorrupt("it is cut short, or unpacks to more than it may")
    return made


def _check(folder: Path, entry: BackupEntry) -> None:
    with (folder / entry.path).open("r+b") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        if source.tell() != entry.size or digest != entry.sha256:
            raise StoreCorrupt(f"{entry.path} is not what was backed up")
        sync_file(source)
