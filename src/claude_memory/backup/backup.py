"""Backups: the whole home in one file, made while others write, and checked before it is trusted.

A backup is a zip or a tar with its manifest first. Caches, logs, locks, programs and other backups are left
out; links are not followed. Captured events that still wait are not redacted yet, so they stay out as well:
drain first.
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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from claude_memory import __version__
from claude_memory.backup import foreign, home_state, mirror
from claude_memory.backup.archives import (
    CHUNK,
    BackupFile,
    BackupReport,
    BackupSource,
    damage_named,
    reported,
    write_tar,
)
from claude_memory.backup.manifest import (
    DATABASE,
    MAX_FILES,
    MAX_RATIO,
    NAME,
    RATIO_MATTERS_FROM,
    BackupEntry,
    BackupManifest,
    Skipped,
    belongs,
    collision_key,
    is_program,
    unfit,
)
from claude_memory.capture.spool import Spool
from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound, StoreFault
from claude_memory.platform import leftovers
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, private_folder, sync_file, sync_folder
from claude_memory.store.base import Store
from claude_memory.store.sqlite.inspection import check_file

ENDINGS = (".zip", ".tar.gz", ".tar.zst")
_PREFIX = "claude-memory-"
_INSTALLED = ("hooks/", "plugin/")
_SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup in a folder."""

    path: Path
    created: datetime
    size_bytes: int
    problem: str = ""

    @property
    def name(self) -> str:
        """How a person names it."""
        return str(self.path)


def create(
    home: Path, store: Store, target: Path | None = None, *, force: bool = False, keep: int = 0
) -> Path:
    """Write a backup to a file or into a folder, the home's own by default; returns where it is.

    The name's ending says how it is packed. A file is replaced only by `force`, and then in one step. `keep`
    leaves that many backups in the folder, and takes away the oldest.
    """
    target, is_named = _target(home, target, datetime.now(UTC), force=force)
    if keep and is_named:
        raise InvalidInput("--keep wants a folder, where backups have their time in their names")
    try:
        private_folder(target.parent)
        with staged(home, store) as (manifest, staging):
            packed = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
            with leftovers.noted(home, packed):
                _pack(manifest, staging, packed, target, force=force)
        for old in list_backups(target.parent)[keep:] if keep else ():
            old.path.unlink(missing_ok=True)
    except OSError as fault:
        raise StoreFault(f"cannot write the backup {target}: {fault.strerror or fault}") from fault
    return target


def stream(home: Path, store: Store, sink: BinaryIO) -> BackupManifest:
    """Write a backup as a `.tar.gz` to something that takes bytes, such as standard output."""
    try:
        with staged(home, store) as (manifest, staging):
            write_tar(manifest, staging, sink, ".tar.gz")
            sink.flush()
    except OSError as fault:
        raise StoreFault(f"cannot write the backup: {fault.strerror or fault}") from fault
    return manifest


@contextlib.contextmanager
def staged(home: Path, store: Store) -> Iterator[tuple[BackupManifest, Path]]:
    """Copies of everything that lasts in a folder of ours, and the manifest that names them."""
    # Always in the home, where the sweep finds it: a copy of everything must not stay if we are killed.
    staging = private_folder(home / "cache") / f".backup.{secrets.token_hex(6)}.tmp"
    staging.mkdir(mode=FOLDER_MODE)
    try:
        collected = _Collection(home, staging)
        collected.take_folder("spool/rejected")  # redacted before it was written
        collected.leave_waiting()
        # The database before the mirror: what is written meanwhile is in the mirror at least.
        schema = store.export(staging / DATABASE)
        collected.add_staged(DATABASE)
        with mirror.locked(home):
            collected.take_all_but({"spool", DATABASE})
        manifest = BackupManifest(
            created=datetime.now(UTC).replace(microsecond=0),
            package_version=__version__,
            schema=schema,
            files=tuple(collected.files),
            skipped=tuple(collected.skipped),
            home=home_state.home_id(home),
        )
        yield manifest, staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def verify(source: BackupSource | Path, home: Path | None = None) -> BackupReport:
    """Read every byte of a backup and hold it against the manifest; problems are in the report.

    With a home, the report also names what restoring would change there.
    """
    try:
        source = BackupFile(source) if isinstance(source, Path) else source
        report = reported(source)
    except NotFound:
        raise
    except MemoryFault as fault:
        return BackupReport(Path(str(source)), problems=(str(fault),))
    try:
        with tempfile.TemporaryDirectory(prefix=leftovers.VERIFYING) as folder:
            source.unpack(Path(folder))
            with damage_named(source.name):
                check_file(Path(folder) / DATABASE)
                if home is not None:
                    plan = foreign.examine(Path(folder), source.manifest, home)
                    report = replace(report, changes=plan.changes)
    except MemoryFault as fault:
        return replace(report, problems=(str(fault),))
    except OSError as fault:
        raise StoreFault(f"cannot check {source.name}: {fault.strerror or fault}") from fault
    return report


def list_backups(folder: Path) -> list[StoredBackup]:
    """The backups in a folder that have their time in their names, newest first."""
    listed = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*"):
            status, created = path.stat(), _time_in(path.name)
            if created and path.name.endswith(ENDINGS):
                # Two of one second differ in the time of the file.
                listed.append((created, status.st_mtime_ns, StoredBackup(path, created, status.st_size)))
    return [backup for *_, backup in sorted(listed, key=lambda item: item[:2], reverse=True)]


def _time_in(name: str) -> datetime | None:
    try:
        return datetime.strptime(name.removeprefix(_PREFIX)[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _target(home: Path, wanted: Path | None, created: datetime, *, force: bool) -> tuple[Path, bool]:
    """The file to write, and whether the caller named it."""
    wanted = (wanted or home / "backups").absolute()
    real = Path(os.path.realpath(wanted))
    inside = Path(os.path.realpath(home))
    if real.is_relative_to(inside) and not real.is_relative_to(inside / "backups"):
        raise InvalidInput(f"a backup belongs outside {home}, or in its folder backups")
    if wanted.name.endswith(ENDINGS) and not wanted.is_dir():
        if wanted.exists() and not force:
            raise Conflict(f"{wanted} exists already; --force replaces it")
        return wanted, True
    if wanted.exists() and not wanted.is_dir():
        raise Conflict(f"{wanted} exists already, and is no folder")
    if wanted.suffix and not wanted.is_dir():
        raise InvalidInput(
            f"a backup's name ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; or name a folder"
        )
    names = (
        f"{_PREFIX}{created:%Y%m%dT%H%M%SZ}{suffix}.zip"
        for suffix in ["", *(f"-{n}" for n in range(2, 1000))]
    )
    return next(path for name in names if not (path := wanted / name).exists()), False


class _Collection:
    """Copies of a home's files in a staging folder, each with the checksum of the very bytes copied."""

    def __init__(self, home: Path, staging: Path) -> None:
        self.files: list[BackupEntry] = []
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
        self.files.append(BackupEntry(name, size, digest.hexdigest(), FILE_MODE))

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
        self.files.append(BackupEntry(name, size, digest.hexdigest(), mode))

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


def _pack(manifest: BackupManifest, staging: Path, packed: Path, target: Path, *, force: bool) -> None:
    """Write the staged files; the name appears only when everything is on the disk."""
    try:
        if target.name.endswith(".zip"):
            _write_zip(manifest, staging, packed, zipfile.ZIP_DEFLATED)
            if manifest.size_bytes > max(RATIO_MATTERS_FROM, packed.stat().st_size * MAX_RATIO):
                packed.unlink()  # so empty that reading it would look like an attack: keep it as it is
                _write_zip(manifest, staging, packed, zipfile.ZIP_STORED)
        else:
            with _new_file(packed) as handle:
                write_tar(manifest, staging, handle, next(e for e in ENDINGS if target.name.endswith(e)))
                sync_file(handle)
        _publish(packed, target, force=force)
    finally:
        packed.unlink(missing_ok=True)


def _new_file(path: Path) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, FILE_MODE), "w+b")


def _write_zip(manifest: BackupManifest, staging: Path, packed: Path, method: int) -> None:
    with _new_file(packed) as handle:
        with zipfile.ZipFile(handle, "w", method, compresslevel=3) as archive:
            archive.writestr(_info(manifest, NAME, FILE_MODE, method), manifest.encode())
            for entry in manifest.files:
                info = _info(manifest, entry.path, entry.mode, method)
                info.file_size = entry.size
                with (staging / entry.path).open("rb") as source, archive.open(info, "w") as sink:
                    shutil.copyfileobj(source, sink, CHUNK)
        sync_file(handle)


def _info(manifest: BackupManifest, name: str, mode: int, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, manifest.created.timetuple()[:6])
    info.compress_type = method
    info.external_attr = (stat.S_IFREG | mode) << 16
    return info


def _publish(packed: Path, target: Path, *, force: bool) -> None:
    try:
        if force:
            os.replace(packed, target)
            return
        os.link(packed, target)  # unlike a rename, a link never replaces what appeared meanwhile
    except FileExistsError:
        raise Conflict(f"{target} exists already; --force replaces it") from None
    except (OSError, AttributeError):  # no hard links on this file system
        os.replace(packed, target)
    finally:
        sync_folder(target.parent)
