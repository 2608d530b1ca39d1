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
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, Self

from claude_memory.backup.manifest import (
    MAX_FILES,
    MAX_MANIFEST_BYTES,
    MAX_RATIO,
    MAX_TOTAL_BYTES,
    NAME,
    RATIO_MATTERS_FROM,
    BackupEntry,
    BackupManifest,
    Skipped,
    decode,
)
from claude_memory.errors import NotFound, StoreCorrupt
from claude_memory.platform.files import FILE_MODE, new_file, private_folder, sync_file
from claude_memory.store.sql.rows import zstd

ENDINGS = (".zip", ".tar.gz", ".tar.zst")
CHUNK = 1 << 20
LEVEL = 3  # of packing
_LONGEST_NAME = 4096
_LARGEST_WINDOW = 25  # as a power of two: what a reader must hold in memory
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
_MAGIC = {b"\x1f\x8b": ".tar.gz", b"\x28\xb5\x2f\xfd": ".tar.zst"}
_ENCRYPTED = 0x1
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
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


# --- reading

Members = Generator[tuple[str, int, IO[bytes]], None, None]  # name, size, content


class BackupFile:
    """One backup file; `manifest` is read and checked when it opens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self._ending = _ending(path)
        with damage_named(self.name), contextlib.closing(self._members()) as members:
            name, _, content = next(members, ("", 0, io.BytesIO()))
            if name != NAME:
                raise StoreCorrupt("it has no manifest, so it is no backup of claude-memory")
            self.manifest = decode(_manifest_bytes(content))
            if self.manifest.size_bytes > max(RATIO_MATTERS_FROM, path.stat().st_size * MAX_RATIO):
                raise StoreCorrupt("it would unpack to far more than any home holds")

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        with damage_named(self.name):
            missing = {entry.path: entry for entry in self.manifest.files}
            for name, size, content in self._members():
                if name == NAME:
                    continue
                entry = missing.pop(name, None)
                if entry is None:
                    raise StoreCorrupt(f"it holds {name[:80]!r} twice, or its manifest does not know it")
                if entry.size != size:
                    raise StoreCorrupt(f"{entry.path} is not as long as it was")
                _write_entry(folder, entry, content)
            if missing:
                raise StoreCorrupt(f"{len(missing)} of its files are missing, among them {min(missing)!r}")

    def _members(self) -> Members:
        """Each file's name, size and content, the manifest first: nothing is believed before it."""
        return _tar_members(self.path, self._ending) if self._ending else _zip_members(self.path)


def make_file(folder: Path, path: str) -> BinaryIO:
    """Make one file of a backup below a folder of ours.

    Whatever the backup says: others get no rights, and nothing in a home is run.
    """
    target = folder.joinpath(*path.split("/"))
    private_folder(target.parent)
    return new_file(target)


def _write_entry(folder: Path, entry: BackupEntry, content: IO[bytes]) -> None:
    """Write one file, private and on the disk; StoreCorrupt unless size and checksum are right."""
    digest, left = hashlib.sha256(), entry.size
    with make_file(folder, entry.path) as handle:
        while piece := content.read(min(CHUNK, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            digest.update(piece)
            handle.write(piece)
        sync_file(handle)
    if left or digest.hexdigest() != entry.sha256:
        raise StoreCorrupt(f"{entry.path} is not what was backed up")


def _manifest_bytes(content: IO[bytes]) -> bytes:
    read = content.read(MAX_MANIFEST_BYTES + 1)
    if len(read) > MAX_MANIFEST_BYTES:
        raise StoreCorrupt("its manifest is too large")
    return read


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


def _zip_members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > MAX_FILES + 1:
            raise StoreCorrupt(f"it holds more than {MAX_FILES} entries")
        for info in infos:
            _check_kind(info)
        for info in sorted(infos, key=lambda info: info.filename != NAME):
            with archive.open(info) as content:
                yield info.filename, info.file_size, content


def _check_kind(info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.is_dir() or kind not in (0, stat.S_IFREG):
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} is no regular file")
    if info.orig_filename != info.filename:
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} hides another name")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise StoreCorrupt(f"its entry {info.filename[:80]!r} is packed in a way no backup is")


class _PlainHeader(tarfile.TarInfo):
    """The header of a regular file or of its long name; no other is read, nor what it says to read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type == tarfile.GNUTYPE_LONGNAME:
            if not 0 <= header.size <= _LONGEST_NAME:
                raise StoreCorrupt("a name in it is too long")
        elif header.type not in _REGULAR or not 0 <= header.size <= MAX_TOTAL_BYTES:
            raise StoreCorrupt(f"its entry {header.name[:80]!r} is no regular file")
        return header


def _tar_members(path: Path, ending: str) -> Members:
    with (
        path.open("rb") as packed,
        _unpacker(packed, ending) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_PlainHeader, encoding="utf-8") as tar,
    ):
        for header in tar:
            content = tar.extractfile(header)
            if content is not None:
                yield header.name, header.size, content


def _unpacker(packed: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(fileobj=packed, mode="rb")
    library = zstd()
    bound = {library.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    return library.ZstdFile(packed, "rb", options=bound)


# --- writing


def write_archive(manifest: BackupManifest, staging: Path, sink: BinaryIO, ending: str) -> None:
    """Write the staged files, the manifest first; the sink of a tar need not be seekable.

    A home of zeros packs so well that reading it would look like an attack. A zip keeps it as it is then.
    What stands behind the end of a tar is passed over, so that can be made longer.
    """
    if ending == ".zip":
        _write_zip(manifest, staging, sink, zipfile.ZIP_DEFLATED)
        if manifest.size_bytes > max(RATIO_MATTERS_FROM, sink.tell() * MAX_RATIO):
            sink.seek(0)
            sink.truncate()
            _write_zip(manifest, staging, sink, zipfile.ZIP_STORED)
        return
    with _packer(sink, ending) as packer:
        _write_tar(manifest, staging, packer)
        left = manifest.size_bytes // MAX_RATIO if manifest.size_bytes > RATIO_MATTERS_FROM else 0
        while left > 0:
            left -= packer.write(os.urandom(min(left, CHUNK)))


def _write_zip(manifest: BackupManifest, staging: Path, sink: BinaryIO, method: int) -> None:
    with zipfile.ZipFile(sink, "w", method, compresslevel=LEVEL) as archive:
        for entry, content in _contents(manifest, staging):
            info = zipfile.ZipInfo(entry.path, manifest.created.timetuple()[:6])
            info.compress_type, info.file_size = method, entry.size
            info.external_attr = (stat.S_IFREG | entry.mode) << 16
            with archive.open(info, "w") as target:
                shutil.copyfileobj(content, target, CHUNK)


def _write_tar(manifest: BackupManifest, staging: Path, packer: Any) -> None:
    with tarfile.open(fileobj=packer, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for entry, content in _contents(manifest, staging):
            header = tarfile.TarInfo(entry.path)
            header.size, header.mode, header.mtime = entry.size, entry.mode, int(manifest.created.timestamp())
            tar.addfile(header, content)


def _contents(manifest: BackupManifest, staging: Path) -> Iterator[tuple[BackupEntry, IO[bytes]]]:
    encoded = manifest.encode()
    yield BackupEntry(NAME, len(encoded), "", FILE_MODE), io.BytesIO(encoded)
    for entry in manifest.files:
        with (staging / entry.path).open("rb") as source:
            yield entry, source


def _packer(sink: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0)
    return zstd().ZstdFile(sink, "wb", level=LEVEL)
