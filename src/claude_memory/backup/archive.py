"""A backup file opened for reading: a zip whose every entry must be what its manifest says.

Nothing is ever extracted by the zip's own word. Entries are streamed to the caller within the size
that the manifest gives, and a checksum that differs is an error, so a hostile file can cost neither
memory nor disk nor a path of its choosing.
"""

from __future__ import annotations

import contextlib
import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import apsw

from claude_memory.backup.manifest import (
    MAX_FILES,
    MAX_MANIFEST_BYTES,
    NAME,
    Entry,
    Manifest,
    Skipped,
    decode,
)
from claude_memory.errors import NotFound, StoreCorrupt

CHUNK = 1 << 20
MAX_RATIO = 400  # deflate reaches 1,032 on zeros; what people write stays below 50
RATIO_MATTERS_FROM = 64 * 2**20

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
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


class Archive:
    """One backup; `manifest` is read and checked when it opens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = _opened(path)
        try:
            with damage_named(path):
                self._infos = _by_name(self._zip.infolist())
                self.manifest: Manifest = decode(self._manifest_bytes())
                self._check_entries()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def report(self) -> BackupReport:
        """What the manifest says."""
        said = self.manifest
        return BackupReport(
            path=self.path,
            created=said.created,
            package_version=said.package_version,
            schema=said.schema,
            files=len(said.files),
            size_bytes=said.size_bytes,
            skipped=said.skipped,
        )

    def stream(self, entry: Entry, write: Callable[[bytes], object]) -> None:
        """Hand an entry's content on in pieces; raises StoreCorrupt unless size and checksum are right."""
        digest = hashlib.sha256()
        left = entry.size
        with damage_named(self.path), self._zip.open(self._infos[entry.path]) as source:
            while piece := source.read(min(CHUNK, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                write(piece)
        if left or digest.hexdigest() != entry.sha256:
            raise StoreCorrupt(f"{self.path.name} is damaged: {entry.path} is not what was backed up")

    def head(self, entry: Entry, length: int) -> bytes:
        """The first bytes of an entry, unchecked."""
        with damage_named(self.path), self._zip.open(self._infos[entry.path]) as source:
            return source.read(length)

    def _manifest_bytes(self) -> bytes:
        info = self._infos.get(NAME)
        if info is None:
            raise StoreCorrupt("it has no manifest, so it is no backup of claude-memory")
        with self._zip.open(info) as source:
            content = source.read(MAX_MANIFEST_BYTES + 1)
        if len(content) > MAX_MANIFEST_BYTES:
            raise StoreCorrupt("its manifest is too large")
        return content

    def _check_entries(self) -> None:
        named = {entry.path: entry for entry in self.manifest.files}
        found = self._infos.keys() - {NAME}
        if missing := named.keys() - found:
            raise StoreCorrupt(f"{len(missing)} of its files are missing, among them {min(missing)!r}")
        if extra := found - named.keys():
            raise StoreCorrupt(f"it holds {len(extra)} entries that its manifest does not know")
        for path, entry in named.items():
            if self._infos[path].file_size != entry.size:
                raise StoreCorrupt(f"{path} is not as long as it was")
        _check_ratio(self.manifest.size_bytes, self.path.stat().st_size)


@contextlib.contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Whatever a damaged zip makes the library raise, as one line that names the file."""
    try:
        yield
    except StoreCorrupt as fault:
        if str(fault).startswith(path.name):
            raise
        raise StoreCorrupt(f"{path.name} is damaged: {fault}") from None
    except (*_DAMAGE, OSError) as fault:
        raise StoreCorrupt(f"{path.name} is damaged: {fault or type(fault).__name__}") from None


def _opened(path: Path) -> zipfile.ZipFile:
    if not path.is_file():
        raise NotFound(f"no backup at {path}")
    try:
        return zipfile.ZipFile(path)
    except PermissionError:
        raise NotFound(f"cannot read {path}: permission denied") from None
    except (*_DAMAGE, OSError) as fault:
        raise StoreCorrupt(f"{path.name} is no backup, or cut short: {fault}") from None


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


def check_database(path: Path) -> None:
    """SQLite's own full check of a database file; raises StoreCorrupt, or SchemaTooNew for a newer one."""
    from claude_memory.store.sqlite import schema

    # immutable: look at the file alone, whatever lies beside it, and write nothing.
    uri = f"{path.absolute().as_uri()}?immutable=1"
    try:
        with contextlib.closing(apsw.Connection(uri, flags=_READ_ONLY)) as connection:
            schema.version(connection)
            foreign = schema.foreign_objects(connection)
            rows = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
    except apsw.Error as fault:
        raise StoreCorrupt(f"its database cannot be read: {fault}") from None
    if foreign:
        raise StoreCorrupt(f"its database holds what no store of ours has: {', '.join(foreign)[:200]}")
    if rows != ["ok"]:
        found = " ".join("; ".join(rows).split())[:200]  # SQLite tells some damage over several lines
        raise StoreCorrupt(f"its database fails the integrity check: {found}")
