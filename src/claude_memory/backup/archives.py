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
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from claude_memory.backup import home_state
from claude_memory.backup.home_state import NAME, BackupEntry, BackupManifest, Skipped
from claude_memory.errors import NotFound, StoreCorrupt, StoreFault
from claude_memory.platform.files import FILE_MODE, new_file, private_folder, sync_file
from claude_memory.store.sql.rows import zstd
from claude_memory.store.sqlite.inspection import check_file

ENDINGS = (".zip", ".tar.gz", ".tar.zst")
LEVEL = 3  # of packing
_RESERVE_BYTES = 16 * 2**20
_LONGEST_NAME = 4096
_LARGEST_WINDOW = 25  # as a power of two: what a reader must hold in memory
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, zstd().ZstdError, struct.error)


@dataclass(frozen=True, slots=True)
class RestoreChange:
    """One thing that restoring changes or leaves out."""

    what: str  # program, setting, identity, memories or events
    name: str
    before: str = ""
    after: str = ""
    taken: bool = False  # it is put in place


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
        return not self.problems


@dataclass(frozen=True, slots=True)
class BackupSource:
    """Something that holds a backup: a file, or a place where its pieces lie."""

    path: Path  # or its id at a place
    name: str
    manifest: BackupManifest
    write: Callable[[Path], None]  # fills the manifest's files below a folder, where they stand empty

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        needed = self.manifest.size_bytes + _RESERVE_BYTES
        if shutil.disk_usage(folder).free < needed:
            raise StoreFault(f"{folder.parent} has no room for {needed / 1e6:.0f} MB; nothing was changed")
        with damage_named(self.name):
            # Whatever the backup says: others get no rights, and nothing in a home is run.
            for entry in self.manifest.files:
                private_folder((folder / entry.path).parent)
                new_file(folder / entry.path).close()
            self.write(folder)
            for entry in self.manifest.files:
                with (folder / entry.path).open("r+b") as copy:
                    digest = hashlib.file_digest(copy, "sha256").hexdigest()
                    if copy.tell() != entry.size or digest != entry.sha256:
                        raise StoreCorrupt(f"{entry.path} is not what was backed up")
                    sync_file(copy)
            check_file(folder / home_state.DATABASE)

    def report(self) -> BackupReport:
        manifest = self.manifest
        figures = (manifest.created, manifest.package_version, manifest.schema, len(manifest.files))
        return BackupReport(self.path, *figures, manifest.size_bytes, manifest.skipped)


@contextlib.contextmanager
def damage_named(name: str) -> Iterator[None]:
    """Whatever a damaged backup makes a library raise, as one line that names it."""
    try:
        yield
    except StoreCorrupt as fault:
        raise StoreCorrupt(f"{name} is damaged: {fault}") from None
    except (*_DAMAGE, EOFError, ValueError, IndexError, RuntimeError, OSError) as fault:
        if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL):
            raise  # the disk's fault, not the backup's; a wrong offset is EINVAL
        raise StoreCorrupt(f"{name} is damaged: {fault or type(fault).__name__}") from None


# --- reading


def backup_file(path: Path) -> BackupSource:
    """The backup in a file; its manifest is read and checked."""

    def write(folder: Path) -> None:
        missing = {entry.path: entry.size for entry in manifest.files}
        for name, size, content in _members(path):
            if name == NAME:
                continue
            if name not in missing:
                raise StoreCorrupt(f"it holds {name[:80]!r} twice, or its manifest does not know it")
            left = missing.pop(name)
            if size != left:
                raise StoreCorrupt(f"{name} is not as long as it was")
            with (folder / name).open("wb") as target:
                while left > 0 and (piece := content.read(min(home_state.CHUNK, left))):
                    left -= target.write(piece)
        if missing:
            raise StoreCorrupt(f"{len(missing)} of its files are missing, among them {min(missing)!r}")

    try:
        with damage_named(path.name), contextlib.closing(_members(path)) as members:
            name, _, content = next(members, ("", 0, io.BytesIO()))
            if name != NAME:
                raise StoreCorrupt("it has no manifest, so it is no backup of claude-memory")
            manifest = home_state.decode(content.read(home_state.MAX_MANIFEST_BYTES))
    except OSError as fault:
        raise NotFound(f"no backup at {path}: {fault.strerror}") from None
    return BackupSource(path, path.name, manifest, write)


class _PlainHeader(tarfile.TarInfo):
    """The header of a regular file or of its long name; no other is read, nor what it says to read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type == tarfile.GNUTYPE_LONGNAME:
            if not 0 <= header.size <= _LONGEST_NAME:
                raise StoreCorrupt("a name in it is too long")
        elif header.type not in _REGULAR or not 0 <= header.size <= home_state.MAX_TOTAL_BYTES:
            raise StoreCorrupt(f"its entry {header.name[:80]!r} is no regular file")
        return header


def _members(path: Path) -> Generator[tuple[str, int, IO[bytes]], None, None]:
    """Name, size and content of each entry; the manifest comes first."""
    with path.open("rb") as packed:
        magic = packed.read(4)
        packed.seek(0)
        unpacker: Any
        if magic.startswith(b"\x1f\x8b"):
            unpacker = gzip.GzipFile(fileobj=packed, mode="rb")
        elif magic == b"\x28\xb5\x2f\xfd":
            window = {zstd().DecompressionParameter.window_log_max: _LARGEST_WINDOW}
            unpacker = zstd().ZstdFile(packed, "rb", options=window)
        else:
            with zipfile.ZipFile(packed) as archive:
                for info in sorted(archive.infolist(), key=lambda info: info.filename != NAME):
                    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        raise StoreCorrupt(
                            f"its entry {info.filename[:80]!r} is packed in a way no backup is"
                        )
                    with archive.open(info) as content:
                        yield info.filename, info.file_size, content
            return
        with (
            unpacker as stream,
            tarfile.open(fileobj=stream, mode="r|", tarinfo=_PlainHeader, encoding="utf-8") as tar,
        ):
            for header in tar:
                if member := tar.extractfile(header):
                    yield header.name, header.size, member


# --- writing


def write_archive(manifest: BackupManifest, staging: Path, sink: BinaryIO, ending: str) -> None:
    """Write the staged files, the manifest first; the sink of a tar need not be seekable."""
    if ending == ".zip":
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for entry, content in _contents(manifest, staging):
                info = zipfile.ZipInfo(entry.path, manifest.created.timetuple()[:6])
                info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, entry.size
                info.external_attr = (stat.S_IFREG | entry.mode) << 16
                with archive.open(info, "w") as target:
                    shutil.copyfileobj(content, target, home_state.CHUNK)
        return
    packer: Any
    if ending == ".tar.gz":
        packer = gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0)
    else:
        packer = zstd().ZstdFile(sink, "wb", level=LEVEL)
    with packer, tarfile.open(fileobj=packer, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for entry, content in _contents(manifest, staging):
            header = tarfile.TarInfo(entry.path)
            header.size, header.mode, header.mtime = entry.size, entry.mode, int(manifest.created.timestamp())
            tar.addfile(header, content)


def _contents(manifest: BackupManifest, staging: Path) -> Iterator[tuple[BackupEntry, IO[bytes]]]:
    encoded = home_state.encode(manifest)
    yield BackupEntry(NAME, len(encoded), "", FILE_MODE), io.BytesIO(encoded)
    for entry in manifest.files:
        with (staging / entry.path).open("rb") as source:
            yield entry, source
