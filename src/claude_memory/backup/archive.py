"""A backup file opened for reading: a zip or tar whose every entry must be what its manifest says.

Nothing is ever extracted by the file's own word. Entries are written within the size that the manifest
gives, under names that it may use, and a checksum that differs is an error, so a hostile file can cost
neither memory nor disk nor a path of its choosing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from claude_memory.backup import tarball
from claude_memory.backup.manifest import (
    MAX_FILES,
    MAX_MANIFEST_BYTES,
    MAX_RATIO,
    NAME,
    RATIO_MATTERS_FROM,
    Entry,
    Manifest,
    Skipped,
    decode,
)
from claude_memory.errors import NotFound, StoreCorrupt
from claude_memory.platform.files import FILE_MODE, private_folder, sync_file

CHUNK = tarball.CHUNK

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    tarball.zstd().ZstdError,
    struct.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class Change:
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
    changes: tuple[Change, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against restoring it."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One line for a person."""
        if self.problems:
            return self.problems[0]
        made = f"{self.created:%Y-%m-%d %H:%M} UTC" if self.created else "an unknown time"
        return f"{self.path.name} is whole: {self.files} files, {self.size_bytes / 1e6:.1f} MB, from {made}"


class BackupSource(Protocol):
    """Something that holds a backup: a file, or a place where its pieces lie."""

    name: str
    manifest: Manifest

    def report(self) -> BackupReport:
        """What the manifest says."""
        ...

    def unpack(self, folder: Path) -> None:
        """Write every file below a folder of ours; StoreCorrupt unless each is what the manifest says."""
        ...


def reported(path: Path, manifest: Manifest) -> BackupReport:
    """What a manifest says of the backup at a path."""
    return BackupReport(
        path=path,
        created=manifest.created,
        package_version=manifest.package_version,
        schema=manifest.schema,
        files=len(manifest.files),
        size_bytes=manifest.size_bytes,
        skipped=manifest.skipped,
    )


class Archive:
    """One backup file; `manifest` is read and checked when it opens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self._ending = _ending(path)
        with damage_named(self.name):
            self.manifest = self._read_manifest()
            _check_ratio(self.manifest.size_bytes, path.stat().st_size)

    def report(self) -> BackupReport:
        """What the manifest says."""
        return reported(self.path, self.manifest)

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

    def _members(self) -> Iterator[tuple[str, int, tarball.Readable]]:
        return tarball.read(self.path, self._ending) if self._ending else _zip_members(self.path)

    def _read_manifest(self) -> Manifest:
        for name, _, content in self._members():
            if name == NAME:
                return decode(_read_bounded(content))
            if self._ending:  # a stream is not read through to the end for it
                break
        raise StoreCorrupt("it has no manifest, so it is no backup of claude-memory")


def write_entry(folder: Path, entry: Entry, content: tarball.Readable) -> None:
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


def _read_bounded(source: tarball.Readable) -> bytes:
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
            return tarball.ending_of(handle.read(4))
    except PermissionError:
        raise NotFound(f"cannot read {path}: permission denied") from None


def _zip_members(path: Path) -> Iterator[tuple[str, int, tarball.Readable]]:
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
