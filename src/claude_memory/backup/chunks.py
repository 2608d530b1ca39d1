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
from typing import Any, TypeVar

from claude_memory.backup import home_state, locations
from claude_memory.backup.archives import LEVEL, BackupSource, damage_named
from claude_memory.backup.home_state import BackupEntry, BackupHead, BackupManifest, Pack, Run
from claude_memory.backup.locations import BackupPlace, PlaceMoved
from claude_memory.errors import Conflict, NotFound, StoreCorrupt, StoreFault
from claude_memory.platform.files import disk_faults
from claude_memory.store.base import Store
from claude_memory.store.sql.rows import zstd

HEADS, PACKS, INDEX = "heads", "packs", "index"
PACK_BYTES = 4 << 20
TIME = "%Y%m%dT%H%M%SZ"  # as it stands in the names of backups
TRIES = 5  # at a git ref that others push to at the same time
_DIGEST_BYTES = 16
_RECORD = struct.Struct(f">{_DIGEST_BYTES}sI")
# A page of the database, or a few: a conversation changes single pages all over it. Large databases and other
# files, which grow at their end, get larger chunks: what a push holds in memory is an id for each.
_PAGES = ((512 << 20, 4 << 10), (2 << 30, 8 << 10))
_LARGEST = 32 << 10
_MOST_CHUNKS = PACK_BYTES  # of one pack: none is empty
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did; `changed` is False where the place had everything already."""

    id: str
    changed: bool
    size_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class ListedBackup:
    """One backup of a list; the id of one in a file is its path."""

    id: str
    created: datetime
    size_bytes: int
    files: int = 0
    problem: str = ""
    path: Path | None = None


class Vault:
    def __init__(self, place: BackupPlace, key_setting: str = "") -> None:
        self.place = place
        self._key_setting = key_setting

    @cached_property
    def _identity(self) -> Any:
        return locations.age_identity(self._key_setting, self.place)

    def opened(self, content: bytes, most: int) -> bytes:
        unpacker = zstd().ZstdDecompressor()
        made: bytes = unpacker.decompress(locations.unsealed(self._identity, content), most)
        if not unpacker.eof or unpacker.unused_data:
            raise StoreCorrupt("it is cut short, or unpacks to more than it may")
        return made

    def closed(self, content: bytes) -> bytes:
        """Bytes as they are to lie there: packed and sealed."""
        return locations.sealed(self._identity, zstd().compress(content, LEVEL))

    # --- reading

    def ids(self) -> list[str]:
        names = (item.key.rpartition("/")[2] for item in self.place.objects(HEADS))
        return sorted((name for name in names if _ID.fullmatch(name)), reverse=True)

    def listed(self) -> Iterator[ListedBackup]:
        """The backups there with what they hold, newest first; one that cannot be read says why."""
        for id_ in self.ids():
            try:
                manifest = self._head(id_).manifest
                yield ListedBackup(id_, manifest.created, manifest.size_bytes, len(manifest.files))
            except StoreFault as fault:
                yield ListedBackup(id_, time_in(id_), 0, problem=str(fault))

    def _head(self, id_: str) -> BackupHead:
        with damage_named(f"the backup {id_}"):
            return home_state.decode_head(
                self.opened(self.place.read(f"{HEADS}/{id_}"), home_state.MAX_MANIFEST_BYTES * 2)
            )

    def source(self, id_: str | None = None) -> BackupSource:
        """One backup, the newest by default, to be restored or verified."""
        ids = self.ids()
        if not ids:
            raise NotFound(f"{self.place.name} holds no backup yet")
        if id_ is not None and id_ not in ids:
            raise NotFound(f"{self.place.name} holds no backup {id_}; `backup list` names them")
        chosen = id_ or ids[0]
        try:
            head = self._head(chosen)
        except StoreCorrupt as fault:
            older = f"; older ones are there, the next is {ids[1]}" if id_ is None and len(ids) > 1 else ""
            raise StoreCorrupt(f"{fault}{older}") from None

        def write(folder: Path) -> None:
            """Each pack is read once."""
            by_pack: dict[int, list[tuple[str, int, Run]]] = {}
            for entry in head.manifest.files:
                step, number = _chunk_bytes(entry), 0
                for run in head.files[entry.path]:
                    by_pack.setdefault(run[0], []).append((entry.path, number * step, run))
                    number += run[2]
                if number != -(-entry.size // step):
                    raise StoreCorrupt(f"{entry.path} is not as long as it was")
            for pack, places in by_pack.items():
                content = memoryview(self._named(PACKS, head.packs[pack].name))
                starts = [0, *itertools.accumulate(length for _, length in self._index(head.packs[pack]))]
                for name, offset, (_, first, count) in places:
                    with (folder / name).open("r+b") as target:
                        target.seek(offset)
                        target.write(content[starts[first] : starts[first + count]])

        return BackupSource(Path(chosen), f"the backup {chosen}", head.manifest, write)

    def _index(self, pack: Pack) -> list[tuple[bytes, int]]:
        """Id and length of each chunk of a pack."""
        return list(_RECORD.iter_unpack(self._named(INDEX, pack.index_name)))

    def _named(self, folder: str, name: str) -> bytes:
        """What lies under its checksum, checked before anything is unpacked."""
        content = self.place.read(f"{folder}/{name}")
        if hashlib.sha256(content).hexdigest() != name:
            raise StoreCorrupt(f"{folder}/{name[:12]} at {self.place.name} is not what was written")
        return self.opened(content, 2 * PACK_BYTES)

    # --- writing

    def push(self, home: Path, store: Store, *, keep: int, force: bool = False) -> Pushed:
        """Bring the place up to date. What was the newest backup there stays until `keep` later ones."""
        ids = self.ids()
        base: BackupHead | None = None
        for newest in ids:  # the newest that is sound
            with contextlib.suppress(StoreCorrupt, NotFound):
                base = self._head(newest)
                break
        with disk_faults("collect what to push"), home_state.staged(home, store) as (manifest, staging):
            if base and base.manifest.home != manifest.home and not force:
                raise Conflict(
                    f"{self.place.name} holds the backup of another memory: name a folder of its own "
                    "there, or `backup pull` first; --force puts this one beside it"
                )
            if base and _sums(base.manifest) == _sums(manifest):
                return Pushed(newest, False, manifest.size_bytes, 0)
            head, sent = self._written(manifest, staging, base.packs if base else [])
        now = datetime.now(UTC)
        if ids:  # a name that sorts behind all others, even if the clock was set back
            now = max(now, time_in(ids[0]) + timedelta(seconds=1))
        id_, content = f"{now:{TIME}}-{secrets.token_hex(4)}", self.closed(home_state.encode(head))
        # The head is the commit: before it the place holds the backups it held.
        self.place.write(f"{HEADS}/{id_}", content)
        # The backup is there. A place where nothing can be removed, or not all be read, keeps all.
        with contextlib.suppress(StoreFault, NotFound):
            self._prune(keep)
        self.place.commit(f"{id_}: {manifest.size_bytes} bytes")
        return Pushed(id_, True, manifest.size_bytes, sent + len(content))

    def _written(self, manifest: BackupManifest, staging: Path, known: list[Pack]) -> tuple[BackupHead, int]:
        """Write the chunks that a place lacks in packs: the head that tells where all lie, and bytes sent."""
        ids = {entry.path: [id_ for id_, _ in _chunks(staging, entry)] for entry in manifest.files}
        packs, places = self._reused(known, set(itertools.chain(*ids.values())))
        waiting: dict[bytes, bytes] = {}  # of the pack that is being filled
        sent = length = 0

        def finish() -> int:
            lengths = b"".join(_RECORD.pack(id_, len(piece)) for id_, piece in waiting.items())
            index, index_size = self._keep(INDEX, lengths)
            pack, pack_size = self._keep(PACKS, b"".join(waiting.values()))
            packs.append(Pack(pack, pack_size, index))
            waiting.clear()
            return pack_size + index_size

        for entry in manifest.files:
            for id_, piece in _chunks(staging, entry):
                if id_ not in places:
                    places[id_] = len(packs) * _MOST_CHUNKS + len(waiting)
                    waiting[id_] = piece
                    length += len(piece)
                if length >= PACK_BYTES:
                    sent, length = sent + finish(), 0
        if waiting:
            sent += finish()
        files = {path: _runs(places[id_] for id_ in named) for path, named in ids.items()}
        return BackupHead(manifest, packs, files), sent

    def _reused(self, known: list[Pack], wanted: set[bytes]) -> tuple[list[Pack], dict[bytes, int]]:
        """What lies there whole, of packs of which at least half is still wanted, and where each chunk lies.

        Pack and number are one figure: there are hundreds of thousands.
        """
        packs, places = list[Pack](), dict[bytes, int]()
        there = {item.key: item.size for folder in (PACKS, INDEX) for item in self.place.objects(folder)}
        for pack in known:
            if there.get(f"{PACKS}/{pack.name}") != pack.size or f"{INDEX}/{pack.index_name}" not in there:
                continue
            with contextlib.suppress(StoreCorrupt, NotFound, struct.error):
                chunks, first = self._index(pack), len(packs) * _MOST_CHUNKS
                live = {id_: first + number for number, (id_, _) in enumerate(chunks)}
                live = {id_: place for id_, place in live.items() if id_ in wanted and id_ not in places}
                live_bytes = sum(length for id_, length in chunks if id_ in live)
                if live and 2 * live_bytes >= sum(length for _, length in chunks):
                    places.update(live)
                    packs.append(pack)
        return packs, places

    def _keep(self, folder: str, content: bytes) -> tuple[str, int]:
        """Write bytes under the checksum of what lies there; returns that and their size there."""
        made = self.closed(content)
        name = hashlib.sha256(made).hexdigest()
        self.place.write(f"{folder}/{name}", made)
        return name, len(made)

    def _prune(self, keep: int) -> None:
        """Take away all but the newest backups, then packs that none names and nobody can be writing."""
        ids = self.ids()
        if not keep or len(ids) <= keep:
            return
        packs = [pack for id_ in ids[:keep] for pack in self._head(id_).packs]
        used = {f"{PACKS}/{pack.name}" for pack in packs} | {f"{INDEX}/{pack.index_name}" for pack in packs}
        newest = max(item.modified for item in self.place.objects(HEADS))  # the place's clock, not ours
        self.place.remove(f"{HEADS}/{id_}" for id_ in ids[keep:])
        self.place.remove(
            item.key
            for item in [*self.place.objects(PACKS), *self.place.objects(INDEX)]
            if item.key not in used
            and home_state.SHA256.fullmatch(item.key.rpartition("/")[2])
            and newest - item.modified > self.place.orphan_seconds
        )


def at_place(named: str, home: Path, key_setting: str, work: Callable[[Vault], T]) -> T:
    """Do something at a place, and look again if somebody else wrote there meanwhile."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(PlaceMoved):
            return work(vault_at(named, home, key_setting))
    return work(vault_at(named, home, key_setting))


def vault_at(named: str, home: Path, key_setting: str) -> Vault:
    return Vault(locations.place_at(named, home, sealed=bool(key_setting)), key_setting)


def time_in(name: str) -> datetime:
    with contextlib.suppress(ValueError):
        return datetime.strptime(name[:16], TIME).replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def _runs(places: Iterable[int]) -> list[Run]:
    """Neighbours in a file that are neighbours in a pack, as one."""
    runs = itertools.groupby(enumerate(places), lambda item: item[1] - item[0])
    steps = ([place for _, place in run] for _, run in runs)
    return [(*divmod(step[0], _MOST_CHUNKS), len(step)) for step in steps]


def _chunks(staging: Path, entry: BackupEntry) -> Iterator[tuple[bytes, bytes]]:
    """Id and content of each chunk of a file."""
    step = _chunk_bytes(entry)
    with (staging / entry.path).open("rb") as source:
        while piece := source.read(step):
            yield hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest(), piece


def _chunk_bytes(entry: BackupEntry) -> int:
    pages = _PAGES if entry.path == home_state.DATABASE else ()
    return next((length for most, length in pages if entry.size <= most), _LARGEST)


def _sums(manifest: BackupManifest) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in manifest.files}
