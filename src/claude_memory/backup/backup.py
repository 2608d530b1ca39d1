"""Backups: the whole home in one file, made while others write, and checked before it is trusted.

A backup is a zip with its manifest first. Caches, logs, locks, programs and other backups are left out;
links are not followed. Captured events that still wait are not redacted yet, so they stay out as well:
drain first. Putting a backup back is the job of `restore`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from claude_memory import __version__
from claude_memory.backup import foreign, mirror
from claude_memory.backup.archive import (
    CHUNK,
    MAX_RATIO,
    RATIO_MATTERS_FROM,
    Archive,
    BackupReport,
    Change,
    check_database,
    damage_named,
)
from claude_memory.backup.manifest import (
    DATABASE,
    MAX_FILES,
    NAME,
    Entry,
    Manifest,
    Skipped,
    belongs,
    collision_key,
    is_program,
    unfit,
)
from claude_memory.backup.restore import recover, restore
from claude_memory.capture.spool import Spool
from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound, StoreFault
from claude_memory.model import ProjectId
from claude_memory.platform import leftovers
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, private_folder, sync_file, sync_folder
from claude_memory.store.protocol import StoreStats

__all__ = [
    "BackupReport",
    "Backups",
    "StoredBackup",
    "changes",
    "create",
    "left_out",
    "list_backups",
    "recover",
    "restore",
    "verify",
]

_PREFIX = "claude-memory-"
_INSTALLED = ("hooks/", "plugin/")
_SQLITE_MAGIC = b"SQLite format 3\x00"


class Snapshots(Protocol):
    """The part of a store that a backup needs."""

    def snapshot(self, target: Path) -> None: ...

    def stats(self, project: ProjectId | None = None) -> StoreStats: ...


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup in the home's own folder."""

    path: Path
    created: datetime
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups of one home, as `memory.backups` gives them."""

    home: Path

    def create(self, store: Snapshots, target: Path | None = None) -> tuple[Path, Sequence[Skipped]]:
        """Write a backup: its path, and what it left out."""
        made = create(self.home, store, target)
        return made, left_out(made)

    def verify(self, path: Path) -> BackupReport:
        """Check every byte, and name what restoring would change here."""
        return verify(path, self.home)

    def changes(self, path: Path) -> Sequence[Change]:
        """What restoring would change here."""
        return changes(path, self.home)

    def restore(self, path: Path, *, replace: bool = False, with_settings: bool = False) -> BackupReport:
        """Put a backup in the home's place."""
        return restore(path, self.home, replace=replace, with_settings=with_settings)

    def list(self) -> Sequence[StoredBackup]:
        """Those in the home's own folder, newest first."""
        return list_backups(self.home)


def create(home: Path, store: Snapshots, target: Path | None = None) -> Path:
    """Write a backup and return its path; `verify` says what it left out. Never replaces a file."""
    created = datetime.now(UTC).replace(microsecond=0)
    target = _target(home, target, created)
    # Always in the home, where the sweep finds it: a copy of everything must not stay if we are killed.
    staging = home / "cache" / f".backup.{secrets.token_hex(6)}.tmp"
    try:
        private_folder(target.parent)
        private_folder(staging.parent)
        staging.mkdir(mode=FOLDER_MODE)
        collected = _Collection(home, staging)
        collected.take_folder("spool/rejected")  # redacted before it was written
        collected.leave_waiting()
        # The database before the mirror: what is written meanwhile is in the mirror at least.
        store.snapshot(staging / DATABASE)
        collected.add_staged(DATABASE)
        with mirror.locked(home):
            collected.take_all_but({"spool", DATABASE})
        manifest = Manifest(
            created,
            __version__,
            store.stats().schema_version,
            tuple(collected.files),
            tuple(collected.skipped),
        )
        packed = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
        with leftovers.noted(home, packed):
            _pack(manifest, staging, packed, target)
    except OSError as fault:
        raise StoreFault(f"cannot write the backup {target}: {fault.strerror or fault}") from fault
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def verify(path: Path, home: Path | None = None) -> BackupReport:
    """Read every byte of a backup and hold it against the manifest; problems are in the report.

    With a home, the report also names what restoring would change there.
    """
    report = BackupReport(path)
    try:
        with Archive(path) as archive, tempfile.TemporaryDirectory(prefix=leftovers.VERIFYING) as folder:
            report = archive.report()
            copy = Path(folder) / DATABASE
            with copy.open("wb") as database:
                for entry in archive.manifest.files:
                    archive.stream(entry, database.write if entry.path == DATABASE else len)
            with damage_named(path):
                check_database(copy)
            if home is not None:
                named = foreign.examine(archive, home).changes
                report = replace(report, changes=(*named, *foreign.of_database(copy)))
    except NotFound:
        raise
    except MemoryFault as fault:
        return replace(report, problems=(str(fault),))
    return report


def changes(path: Path, home: Path) -> tuple[Change, ...]:
    """What restoring a backup would change in a home; reads no more of it than that takes."""
    with Archive(path) as archive:
        return foreign.examine(archive, home).changes


def left_out(path: Path) -> tuple[Skipped, ...]:
    """What a backup says that it does not hold."""
    with Archive(path) as archive:
        return archive.manifest.skipped


def list_backups(home: Path) -> list[StoredBackup]:
    """The backups in the home's own folder, newest first."""
    found = []
    with contextlib.suppress(OSError):
        for path in (home / "backups").glob(f"{_PREFIX}*.zip"):
            status = path.stat()
            created = _time_in(path.name) or datetime.fromtimestamp(status.st_mtime, UTC)
            found.append(StoredBackup(path, created, status.st_size))
    return sorted(found, key=lambda backup: (backup.created, backup.path.name), reverse=True)


def _time_in(name: str) -> datetime | None:
    try:
        return datetime.strptime(name.removeprefix(_PREFIX)[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _target(home: Path, wanted: Path | None, created: datetime) -> Path:
    folder = home / "backups"
    if wanted is not None:
        wanted = wanted.absolute()
        real = Path(os.path.realpath(wanted))
        inside = Path(os.path.realpath(home))
        if real.is_relative_to(inside) and not real.is_relative_to(inside / "backups"):
            raise InvalidInput(f"a backup belongs outside {home}, or in its folder backups")
        if wanted.exists() and not wanted.is_dir():
            raise Conflict(f"{wanted} exists already; name another file")
        if not wanted.is_dir():
            if not wanted.parent.is_dir() and wanted.parent != folder:
                raise InvalidInput(f"there is no folder {wanted.parent}; make it, or name another place")
            return wanted
        folder = wanted
    names = (
        f"{_PREFIX}{created:%Y%m%dT%H%M%SZ}{suffix}.zip"
        for suffix in ["", *(f"-{n}" for n in range(2, 1000))]
    )
    return next(path for name in names if not (path := folder / name).exists())


class _Collection:
    """Copies of a home's files in a staging folder, each with the checksum of the very bytes copied."""

    def __init__(self, home: Path, staging: Path) -> None:
        self.files: list[Entry] = []
        self.skipped: list[Skipped] = []
        self._home = home
        self._staging = staging
        self._seen: set[str] = set()

    def take_folder(self, top: str) -> None:
        """Everything lasting below one folder of the home."""
        folder = self._home / top
        if folder.is_symlink():
            self._skip(top, "a link is not followed")
            return
        for path in _walk(folder):
            self._take(path.relative_to(self._home).as_posix(), path)

    def leave_waiting(self) -> None:
        """Say what is not in the backup because nothing was cut from it yet."""
        waiting = Spool(self._home).depth()
        if waiting.count + waiting.newer:
            told = f"{waiting.count + waiting.newer} captured events wait to be stored"
            self._skip("spool/new", f"{told}, and are not redacted before that")

    def take_all_but(self, tops: set[str]) -> None:
        """Everything else that lasts."""
        for path in sorted(self._home.iterdir()):
            if path.name in tops or not belongs(path.name):
                continue
            if path.is_dir():
                self.take_folder(path.name)
            else:
                self._take(path.name, path)

    def add_staged(self, name: str) -> None:
        """Account for a file that something else put into the staging folder."""
        with (self._staging / name).open("rb") as source:
            digest = hashlib.file_digest(source, "sha256")
            size = source.tell()
        self._seen.add(collision_key(name))
        self.files.append(Entry(name, size, digest.hexdigest(), FILE_MODE))

    def _take(self, name: str, path: Path) -> None:
        if not belongs(name):
            return
        if is_program(name):
            if not name.startswith(_INSTALLED):
                self._skip(name, "a program; what runs comes with the package")
            return
        if reason := unfit(name):
            self._skip(name, reason)
            return
        if collision_key(name) in self._seen:
            self._skip(name, "another name is the same on some systems")
            return
        try:
            source = _open_regular(path)
        except FileNotFoundError:
            return  # drained, purged or rotated since the folder was read
        except OSError as fault:
            self._skip(name, str(fault.strerror or fault))
            return
        self._copy(name, source)

    def _copy(self, name: str, source: int) -> None:
        copy = self._staging / name
        copy.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with os.fdopen(source, "rb") as reader, copy.open("wb") as writer:
            mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
            while piece := reader.read(CHUNK):
                if not size and piece.startswith(_SQLITE_MAGIC):
                    self._skip(name, "another database; only the store is backed up")
                    return
                digest.update(piece)
                size += writer.write(piece)
        if len(self.files) >= MAX_FILES:
            raise Conflict(f"the home holds more than {MAX_FILES} files; drain the spool first")
        self._seen.add(collision_key(name))
        self.files.append(Entry(name, size, digest.hexdigest(), mode))

    def _skip(self, name: str, reason: str) -> None:
        shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
        self.skipped.append(Skipped(shown, reason))


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        # os.walk does not enter links to folders; they are handed on to be reported like any link.
        links = [name for name in folders if Path(parent, name).is_symlink()]
        yield from (Path(parent, name) for name in sorted([*names, *links]))


def _open_regular(path: Path) -> int:
    """Open a regular file and nothing else: no link, no pipe that would wait for ever."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("a link is not followed" if path.is_symlink() else "no regular file")
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    return os.open(path, flags)


def _pack(manifest: Manifest, staging: Path, packed: Path, target: Path) -> None:
    """Zip the staged files; the name appears only when everything is on the disk."""
    try:
        _write_zip(manifest, staging, packed, zipfile.ZIP_DEFLATED)
        if manifest.size_bytes > max(RATIO_MATTERS_FROM, packed.stat().st_size * MAX_RATIO):
            packed.unlink()  # so empty that reading it would look like an attack: keep it as it is
            _write_zip(manifest, staging, packed, zipfile.ZIP_STORED)
        _publish(packed, target)
    finally:
        packed.unlink(missing_ok=True)


def _write_zip(manifest: Manifest, staging: Path, packed: Path, method: int) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(packed, flags, FILE_MODE), "w+b") as handle:
        with zipfile.ZipFile(handle, "w", method, compresslevel=3) as archive:
            archive.writestr(_info(manifest, NAME, FILE_MODE, method), manifest.encode())
            for entry in manifest.files:
                info = _info(manifest, entry.path, entry.mode, method)
                info.file_size = entry.size
                with (staging / entry.path).open("rb") as source, archive.open(info, "w") as sink:
                    shutil.copyfileobj(source, sink, CHUNK)
        sync_file(handle)


def _info(manifest: Manifest, name: str, mode: int, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, manifest.created.timetuple()[:6])
    info.compress_type = method
    info.external_attr = (stat.S_IFREG | mode) << 16
    return info


def _publish(packed: Path, target: Path) -> None:
    try:
        os.link(packed, target)  # unlike a rename, a link never replaces what appeared meanwhile
    except FileExistsError:
        raise Conflict(f"{target} exists already; name another file") from None
    except (OSError, AttributeError):  # no hard links on this file system
        os.replace(packed, target)
    sync_folder(target.parent)
