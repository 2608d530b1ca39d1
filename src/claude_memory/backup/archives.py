"""A backup file: a zip, or a tar packed by gzip or Zstandard, whose every entry is what its manifest says.

Nothing is ever extracted by the file's own word. Entries are written within the size that the manifest
gives, under names that it may use, and a checksum that differs is an error, so a hostile file can cost
neither memory nor disk nor a path of its choosing. A tar has regular files with short or GNU long names,
which is all that we write; no length that a header claims is read into memory.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from claude_memory.backup.manifest import (
    MAX_FILES,
    MAX_MANIFEST_BYTES,
    MAX_RATIO,
    NAME,
    RATIO_MATTERS_FROM,
    BackupEntry,
    BackupManifest,
    Skipped,
    decode,
)
from claude_memory.errors import NotFound, StoreCorrupt
from claude_memory.platform.files import FILE_MODE, private_folder, sync_file
from claude_memory.store.records import zstd

CHUNK = 1 << 20
LEVEL = 3  # of packing
_BLOCK = tarfile.BLOCKSIZE
_LONGEST_NAME = 4096
_LARGEST_WINDOW = 25  # as a power of two: what a reader must hold in memory
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
_MAGIC = {b"\x1f\x8b": ".tar.gz", b"\x28\xb5\x2f\xfd": ".tar.zst"}
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    zstd().ZstdError,
    struct.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class RestoreChange:
    """One thing that restoring changes or leaves out.

    `what` is one of program, setting, identity, memories, events; `taken`: it is put in place.
    """

    what: str
    name: str
    before: str = ""
    after: str = ""
    taken: bool = False


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds, whether it is whole, and, after a restore, where things went."""

    path: Path
    created: datetime | None = None
    package_version: str = ""
    schema: int = 0
    files: int = 0
    size_bytes: int = 0
    skipped: tuple[Skipped, ...] = ()
    problems: tuple[str, ...] = ()
    home: Path | None = None
    previous: Path | None = None
    notes: tuple[str, ...] = ()
    changes: tuple[RestoreChange, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against restoring it."""
        return not self.problems


class Readable(Protocol):
    """Something that gives its bytes in order."""

    def read(self, size: int, /) -> bytes: ...


class BackupSource(Protocol):
    """Something that holds a backup: a file, or a place where its pieces lie."""

    path: Path  # or its id at a place
    name: str
    manifest: BackupManifest

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        ...


def reported(source: BackupSource) -> BackupReport:
    """What a backup's manifest says."""
    manifest = source.manifest
    return BackupReport(
        path=source.path,
        created=manifest.created,
        package_version=manifest.package_version,
        schema=manifest.schema,
        files=len(manifest.files),
        size_bytes=manifest.size_bytes,
        skipped=manifest.skipped,
    )


class BackupFile:
    """One backup file; `manifest` is read and checked when it opens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self._ending = _ending(path)
        with damage_named(self.name):
            self.manifest = self._read_manifest()
            _check_ratio(self.manifest.size_bytes, path.stat().st_size)

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        with damage_named(self.name):
            missing = {entry.path: entry for entry in self.manifest.files}
            for name, size, content in self._members():
                if name == NAME:
                    _read_bounded(content)
                    continue
                entry = missing.pop(name, None)
                if entry is None:
                    raise StoreCorrupt(f"it holds {name[:80]!r} twice, or its manifest does not know it")
                if entry.size != size:
                    raise StoreCorrupt(f"{entry.path} is not as long as it was")
                write_entry(folder, entry, content)
            if missing:
                raise StoreCorrupt(f"{len(missing)} of its files are missing, among them {min(missing)!r}")

    def _members(self) -> Iterator[tuple[str, int, Readable]]:
        return _tar_members(self.path, self._ending) if self._ending else _zip_members(self.path)

    def _read_manifest(self) -> BackupManifest:
        for name, _, content in self._members():
            if name == NAME:
                return decode(_read_bounded(content))
            if self._ending:  # a stream is not read through to the end for it
                break
        raise StoreCorrupt("it has no manifest, so it is no backup of claude-memory")


def write_entry(folder: Path, entry: BackupEntry, content: Readable) -> None:
    """Write one file, private and on the disk; StoreCorrupt unless size and checksum are right."""
    target = folder.joinpath(*entry.path.split("/"))
    private_folder(target.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    digest, left = hashlib.sha256(), entry.size
    # Whatever the backup says: others get no rights, and nothing in a home is run.
    with os.fdopen(os.open(target, flags, FILE_MODE), "wb") as handle:
        while piece := content.read(min(CHUNK, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            digest.update(piece)
            handle.write(piece)
        sync_file(handle)
    if left or digest.hexdigest() != entry.sha256:
        raise StoreCorrupt(f"{entry.path} is not what was backed up")


def _read_bounded(source: Readable) -> bytes:
    content = b""
    while len(content) <= MAX_MANIFEST_BYTES and (piece := source.read(CHUNK)):
        content += piece
    if len(content) > MAX_MANIFEST_BYTES:
        raise StoreCorrupt("its manifest is too large")
    return content


@contextlib.contextmanager
def damage_named(name: str) -> Iterator[None]:
    """Whatever a damaged backup makes a library raise, as one line that names it."""
    try:
        yield
    except StoreCorrupt as fault:
        if str(fault).startswith(name):
            raise
        raise StoreCorrupt(f"{name} is damaged: {fault}") from None
    except (*_DAMAGE, OSError) as fault:
        if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL):
            raise  # the disk's fault, not the backup's; a wrong offset is EINVAL
        raise StoreCorrupt(f"{name} is damaged: {fault or type(fault).__name__}") from None


def _ending(path: Path) -> str | None:
    """How a file is packed, by its first bytes; None for a zip."""
    if not path.is_file():
        raise NotFound(f"no backup at {path}")
    try:
        with path.open("rb") as handle:
            head = handle.read(4)
    except PermissionError:
        raise NotFound(f"cannot read {path}: permission denied") from None
    return next((ending for magic, ending in _MAGIC.items() if head.startswith(magic)), None)


def _zip_members(path: Path) -> Iterator[tuple[str, int, Readable]]:
    """Each file of a zip; the manifest first, because nothing is believed before it."""
    try:
        archive = zipfile.ZipFile(path)
    except (*_DAMAGE, OSError) as fault:
        raise StoreCorrupt(f"{path.name} is no backup, or cut short: {fault}") from None
    with archive:
        infos = _by_name(archive.infolist())
        for name in sorted(infos, key=lambda name: name != NAME):
            with archive.open(infos[name]) as content:
                yield name, infos[name].file_size, content


def _by_name(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MAX_FILES + 1:
        raise StoreCorrupt(f"it holds more than {MAX_FILES} entries")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        if info.filename in found:
            raise StoreCorrupt(f"it holds {info.filename[:80]!r} twice")
        _check_kind(info)
        found[info.filename] = info
    return found


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.is_dir() or kind not in (0, stat.S_IFREG):
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} is no regular file")
    if info.orig_filename != info.filename:
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} hides another name")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} is packed in a way no backup is")


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > RATIO_MATTERS_FROM and unpacked > packed * MAX_RATIO:
        raise StoreCorrupt("it would unpack to far more than any home holds")


# --- tar


def write_tar(manifest: BackupManifest, staging: Path, sink: BinaryIO, ending: str) -> None:
    """Write the staged files as one stream, the manifest first; the sink need not be seekable."""
    with (
        _packer(sink, ending) as packer,
        tarfile.open(fileobj=packer, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        content = manifest.encode()
        info = _info(manifest, NAME, len(content), FILE_MODE)
        tar.addfile(info, io.BytesIO(content))
        for entry in manifest.files:
            with (staging / entry.path).open("rb") as source:
                tar.addfile(_info(manifest, entry.path, entry.size, entry.mode), source)
        tar.close()
        if manifest.size_bytes > RATIO_MATTERS_FROM:
            # A home of zeros packs so well that reading it would look like an attack. What stands behind
            # the end of a tar is passed over.
            _pad(packer, manifest.size_bytes // MAX_RATIO)


def _tar_members(path: Path, ending: str) -> Iterator[tuple[str, int, Readable]]:
    """Each file's name, size and content, in order; the content must be read before the next is asked for."""
    with path.open("rb") as packed, _unpacker(packed, ending) as stream:
        long_name = ""
        while (block := _exactly(stream, _BLOCK)) != bytes(_BLOCK):
            info = _header(block)
            if info.type == tarfile.GNUTYPE_LONGNAME:
                if info.size > _LONGEST_NAME:
                    raise StoreCorrupt("a name in it is too long")
                long_name = _text(_exactly(stream, _rounded(info.size))[: info.size])
                continue
            name, long_name = long_name or info.name, ""
            if info.type not in _REGULAR or info.size < 0:
                raise StoreCorrupt(f"its entry {name[:80]!r} is no regular file")
            member = _Member(stream, info.size)
            yield name, info.size, member
            member.skip_padding()


class _Member:
    """The content of one file of a stream; ends where the file ends."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = _rounded(size) - size

    def read(self, size: int) -> bytes:
        part = self._stream.read(min(size, self._left))
        if not part and self._left and size:
            raise StoreCorrupt("it ends too soon")
        self._left -= len(part)
        return part

    def skip_padding(self) -> None:
        if self._left:
            raise StoreCorrupt("a file in it was not read to its end")
        _exactly(self._stream, self._padding)


def _packer(sink: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0)
    return zstd().ZstdFile(sink, "wb", level=LEVEL)


def _unpacker(packed: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(fileobj=packed, mode="rb")
    library = zstd()
    bound = {library.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    return library.ZstdFile(packed, "rb", options=bound)


def _info(manifest: BackupManifest, name: str, size: int, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, int(manifest.created.timestamp())
    return info


def _pad(packer: IO[bytes], size: int) -> None:
    while size > 0:
        size -= packer.write(os.urandom(min(size, CHUNK)))


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError as fault:
        raise StoreCorrupt(f"a header in it cannot be read: {fault}") from None


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _exactly(stream: Readable, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            raise StoreCorrupt("it ends too soon")
        parts += part
    return parts
