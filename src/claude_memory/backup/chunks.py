"""Backups at a place: chunks of files, each there once, in packs, and a head for each backup, written last.

    heads/<time>-<chance>   what a backup holds: the manifest, and where the chunks of each file are
    packs/<sha256>          many chunks, packed together; the name is the checksum of the bytes that lie there
    key.age                 only with a passphrase: the key that everything else is encrypted with

A push writes only chunks that the newest backup there does not have. Every name, length and checksum that
comes from a place is checked: whoever can write there can spoil a backup, and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory.backup import tarball
from claude_memory.backup.archive import BackupReport, damage_named, reported
from claude_memory.backup.backup import staged
from claude_memory.backup.home_state import home_id
from claude_memory.backup.locations import BackupPlace, place_at
from claude_memory.backup.manifest import MAX_MANIFEST_BYTES, Entry, Manifest, decode
from claude_memory.backup.sealing import Seal, seal_for
from claude_memory.errors import Conflict, NotFound, StoreCorrupt, StoreFault
from claude_memory.platform.files import FILE_MODE, private_folder, sync_file
from claude_memory.store.protocol import Store

HEADS, PACKS, KEY = "heads", "packs", "key.age"
PACK_BYTES = 4 << 20
_LEVEL = 3
_DIGEST_BYTES = 16
_TIME = "%Y%m%dT%H%M%SZ"
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")

# A page of the database for small files; fewer and larger for large ones, so that a head stays small.
_SIZES = ((64 << 20, 4 << 10), (1 << 30, 16 << 10))
_LARGEST = 64 << 10


def chunk_bytes(file_size: int) -> int:
    """How long the chunks of a file are."""
    return next((length for most, length in _SIZES if file_size <= most), _LARGEST)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where a chunk lies: which pack of its head, from which byte on, how long."""

    pack: int
    offset: int
    length: int


@dataclass(slots=True)
class Head:
    """One backup at a place: the chunks of each file in order, and the packs there with their sizes."""

    id: str
    manifest: Manifest
    packs: dict[str, int] = field(default_factory=dict)
    chunks: dict[str, Chunk] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The head as it lies at the place, before packing and sealing."""
        document = {
            "manifest": json.loads(self.manifest.encode()),
            "packs": self.packs,
            "chunks": {id_: [chunk.pack, chunk.offset, chunk.length] for id_, chunk in self.chunks.items()},
            "files": self.files,
        }
        return json.dumps(document, separators=(",", ":")).encode("ascii")


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
        self._opened_seal: Seal | None = None

    # --- reading

    def ids(self) -> list[str]:
        """The backups there, newest first."""
        names = (item.key.rpartition("/")[2] for item in self.place.objects(HEADS))
        return sorted((name for name in names if _ID.fullmatch(name)), reverse=True)

    def listed(self) -> list[PlacedBackup]:
        """The backups there with what they hold, newest first; one that cannot be read says why."""
        return [self._described(id_) for id_ in self.ids()]

    def head(self, id_: str) -> Head:
        """One backup; StoreCorrupt if it is not what we wrote."""
        with damage_named(f"the backup {id_}"):
            content = self.seal.open(self.place.read(f"{HEADS}/{id_}"))
            return _decoded(id_, _unpacked(content, MAX_MANIFEST_BYTES * 2))

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

    def pack(self, name: str, most: int) -> bytes:
        """The chunks of one pack in a row, checked by the name before anything is unpacked."""
        content = self.place.read(f"{PACKS}/{name}")
        if hashlib.sha256(content).hexdigest() != name:
            raise StoreCorrupt(f"the pack {name[:12]} at {self.place.name} is not what was written")
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

    def _push(self, manifest: Manifest, staging: Path, base: Head | None) -> Pushed:
        if base and _content(base.manifest) == _content(manifest):
            return Pushed(base.id, False, manifest.size_bytes, 0)
        head = Head(_next_id(self.ids()), manifest)
        wanted = _hashed(staging, head)
        taken_over = self._taken_over(base, wanted) if base else {}
        packer = _Packer(self, head)
        for id_, (path, offset, length) in wanted.items():
            if base and id_ in taken_over:
                chunk = base.chunks[id_]
                number = packer.number(taken_over[id_], base.packs[taken_over[id_]])
                head.chunks[id_] = Chunk(number, chunk.offset, chunk.length)
            else:
                packer.add(id_, path, offset, length)
        packer.flush()
        content = self.seal.close(_packed(head.encode()))
        # The head is the commit: before it the place holds the backups it held.
        self.place.write(f"{HEADS}/{head.id}", content)
        return Pushed(head.id, True, manifest.size_bytes, packer.sent + len(content))

    def _taken_over(self, base: Head, wanted: Collection[str]) -> dict[str, str]:
        """Chunks that lie there whole, in packs of which at least half is still wanted; with their pack."""
        there = {item.key.rpartition("/")[2]: item.size for item in self.place.objects(PACKS)}
        names = list(base.packs)
        all_bytes: Counter[int] = Counter()
        wanted_bytes: Counter[int] = Counter()
        for id_, chunk in base.chunks.items():
            all_bytes[chunk.pack] += chunk.length
            wanted_bytes[chunk.pack] += chunk.length * (id_ in wanted)
        good = {
            number
            for number, name in enumerate(names)
            if there.get(name) == base.packs[name] and 2 * wanted_bytes[number] >= all_bytes[number]
        }
        return {
            id_: names[chunk.pack]
            for id_, chunk in base.chunks.items()
            if chunk.pack in good and id_ in wanted
        }

    def _prune(self, keep: int) -> None:
        """Take away all but the newest backups, then packs that none names and nobody can be writing."""
        ids = self.ids()
        if not keep or len(ids) <= keep:
            return
        used = {name for id_ in ids[:keep] for name in self.head(id_).packs}
        newest = max(item.modified for item in self.place.objects(HEADS))  # the place's clock, not ours
        self.place.remove(f"{HEADS}/{id_}" for id_ in ids[keep:])
        self.place.remove(
            item.key
            for item in self.place.objects(PACKS)
            if item.key.rpartition("/")[2] not in used and newest - item.modified > self.place.orphan_seconds
        )

    def _newest_sound(self) -> Head | None:
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

    @property
    def seal(self) -> Seal:
        """What encrypts here, if anything."""
        if self._opened_seal is None:
            self._opened_seal = seal_for(self._key_setting, self._shared_key)
        return self._opened_seal

    def _shared_key(self, make: Callable[[], bytes]) -> bytes:
        try:
            return self.place.read(KEY)
        except NotFound:
            if self.place.write(KEY, content := make(), new=True):
                return content
            return self.place.read(KEY)


def vault_at(named: str, home: Path, key_setting: str) -> Vault:
    """The backups at the place that a person or a setting names."""
    return Vault(place_at(named, home, sealed=bool(key_setting)), key_setting)


class PlaceSource:
    """A backup at a place, to be unpacked like a file."""

    def __init__(self, vault: Vault, head: Head) -> None:
        self.manifest = head.manifest
        self.name = f"the backup {head.id}"
        self._vault, self._head = vault, head

    def report(self) -> BackupReport:
        """What the manifest says."""
        return reported(Path(self._head.id), self.manifest)

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        with damage_named(self.name):
            for entry in self.manifest.files:
                _make_empty(folder, entry)
            by_pack: dict[int, dict[str, list[tuple[str, int]]]] = {}
            for id_, places in self._places().items():
                by_pack.setdefault(self._head.chunks[id_].pack, {})[id_] = places
            for number, name in enumerate(self._head.packs):
                if number in by_pack:
                    self._write(folder, self._vault.pack(name, 2 * PACK_BYTES), by_pack[number])
            for entry in self.manifest.files:
                _check(folder, entry)

    def _places(self) -> dict[str, list[tuple[str, int]]]:
        """For each chunk, the files that hold it and where."""
        places: dict[str, list[tuple[str, int]]] = {}
        for entry in self.manifest.files:
            ids = self._head.files[entry.path]
            step = chunk_bytes(entry.size)
            if len(ids) != -(-entry.size // step):
                raise StoreCorrupt(f"{entry.path} is not as long as it was")
            for number, id_ in enumerate(ids):
                chunk = self._head.chunks.get(id_)
                if chunk is None or not 0 <= chunk.pack < len(self._head.packs):
                    raise StoreCorrupt(f"a piece of {entry.path} is missing")
                places.setdefault(id_, []).append((entry.path, number * step))
        return places

    def _write(self, folder: Path, content: bytes, places: dict[str, list[tuple[str, int]]]) -> None:
        with contextlib.ExitStack() as stack:
            opened: dict[str, int] = {}
            for id_, targets in places.items():
                chunk = self._head.chunks[id_]
                piece = content[chunk.offset : chunk.offset + chunk.length]
                if _digest(piece) != id_:
                    raise StoreCorrupt("a piece of it is not what was backed up")
                for name, offset in targets:
                    if name not in opened:
                        if len(opened) > 200:
                            stack.close()
                            opened.clear()
                        opened[name] = os.open(folder / name, os.O_WRONLY | getattr(os, "O_BINARY", 0))
                        stack.callback(os.close, opened[name])
                    os.lseek(opened[name], offset, os.SEEK_SET)
                    os.write(opened[name], piece)


class _Packer:
    """Collects the chunks that a place lacks and writes them there in packs."""

    def __init__(self, vault: Vault, head: Head) -> None:
        self.sent = 0
        self._vault, self._head = vault, head
        self._numbers: dict[str, int] = {}
        self._waiting: list[tuple[str, bytes]] = []
        self._length = 0

    def number(self, name: str, size: int) -> int:
        """The number in the new head of a pack that lies there."""
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self._head.packs[name] = size
        return self._numbers[name]

    def add(self, id_: str, path: Path, offset: int, length: int) -> None:
        with path.open("rb") as source:
            source.seek(offset)
            self._waiting.append((id_, source.read(length)))
        self._length += length
        if self._length >= PACK_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        content = self._vault.seal.close(_packed(b"".join(piece for _, piece in self._waiting)))
        name = hashlib.sha256(content).hexdigest()
        self._vault.place.write(f"{PACKS}/{name}", content)
        self.sent += len(content)
        number, offset = self.number(name, len(content)), 0
        for id_, piece in self._waiting:
            self._head.chunks[id_] = Chunk(number, offset, len(piece))
            offset += len(piece)
        self._waiting, self._length = [], 0


def _hashed(staging: Path, head: Head) -> dict[str, tuple[Path, int, int]]:
    """Note the chunks of every file in the head; returns where each of them can be read."""
    wanted: dict[str, tuple[Path, int, int]] = {}
    for entry in head.manifest.files:
        step, ids = chunk_bytes(entry.size), []
        with (staging / entry.path).open("rb") as source:
            for offset in range(0, entry.size, step):
                piece = source.read(step)
                ids.append(_digest(piece))
                wanted.setdefault(ids[-1], (staging / entry.path, offset, len(piece)))
        head.files[entry.path] = ids
    return wanted


def _content(manifest: Manifest) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in manifest.files}


def _digest(piece: bytes) -> str:
    return hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).hexdigest()


def _packed(content: bytes) -> bytes:
    made: bytes = tarball.zstd().compress(content, _LEVEL)
    return made


def _unpacked(content: bytes, most: int) -> bytes:
    unpacker = tarball.zstd().ZstdDecompressor()
    made: bytes = unpacker.decompress(content, most)
    if not unpacker.eof or unpacker.unused_data:
        raise StoreCorrupt("it is cut short, or unpacks to more than it may")
    return made


def _decoded(id_: str, content: bytes) -> Head:
    try:
        document = json.loads(content)
        manifest = decode(json.dumps(document["manifest"]).encode())
        packs = {str(name): int(size) for name, size in document["packs"].items()}
        chunks = {str(name): Chunk(*map(int, place)) for name, place in document["chunks"].items()}
        files = {str(name): [str(part) for part in ids] for name, ids in document["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreCorrupt("it cannot be read") from None
    if any(len(name) != 64 or not name.isalnum() or not name.isascii() for name in packs):
        raise StoreCorrupt("it names packs that we never wrote")
    if files.keys() != {entry.path for entry in manifest.files}:
        raise StoreCorrupt("its files are not those of its manifest")
    return Head(id_, manifest, packs, chunks, files)


def _next_id(ids: list[str]) -> str:
    """A name that sorts behind all others, even if the clock was set back."""
    now = datetime.now(UTC)
    if ids:
        now = max(now, _time_of(ids[0]) + timedelta(seconds=1))
    return f"{now:{_TIME}}-{secrets.token_hex(4)}"


def _time_of(id_: str) -> datetime:
    with contextlib.suppress(ValueError):
        return datetime.strptime(id_[:16], _TIME).replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def _make_empty(folder: Path, entry: Entry) -> None:
    path = folder.joinpath(*entry.path.split("/"))
    private_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, FILE_MODE))


def _check(folder: Path, entry: Entry) -> None:
    with (folder / entry.path).open("r+b") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        if source.tell() != entry.size or digest != entry.sha256:
            raise StoreCorrupt(f"{entry.path} is not what was backed up")
        sync_file(source)
