"""Backups: the whole home in one file, made while others write, and checked before it is trusted.

Caches, logs, locks, programs and other backups are left out; links are not followed. Captured events that
still wait are not redacted yet, so they stay out as well: drain first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from claude_memory import __version__
from claude_memory.backup import home_state, mirror
from claude_memory.backup.archives import (
    CHUNK,
    ENDINGS,
    BackupFile,
    BackupReport,
    BackupSource,
    damage_named,
    reported,
    write_archive,
)
from claude_memory.backup.manifest import (
    DATABASE,
    MAX_FILES,
    BackupEntry,
    BackupManifest,
    Skipped,
    belongs,
    collision_key,
    is_program,
    unfit,
)
from claude_memory.backup.restore import examine
from claude_memory.capture.spool import Spool
from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound, StoreFault
from claude_memory.platform import leftovers
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, new_file, private_folder, put_new, sync_file
from claude_memory.store.base import Store
from claude_memory.store.sqlite.inspection import check_file

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


def stream(home: Path, store: Store, sink: BinaryIO) -> None:
    """Write a backup as a `.tar.gz` to something that takes bytes, such as standard output."""
    try:
        with staged(home, store) as (manifest, staging):
            write_archive(manifest, staging, sink, ".tar.gz")
            sink.flush()
    except OSError as fault:
        raise StoreFault(f"cannot write the backup: {fault.strerror or fault}") from fault


def _pack(manifest: BackupManifest, staging: Path, packed: Path, target: Path, *, force: bool) -> None:
    """Write the staged files; the name appears only when everything is on the disk."""
    try:
        with new_file(packed) as handle:
            write_archive(manifest, staging, handle, next(e for e in ENDINGS if target.name.endswith(e)))
            sync_file(handle)
        put_new(packed, target, replace=force)
    except FileExistsError:
        raise Conflict(f"{target} exists already; --force replaces it") from None
    finally:
        packed.unlink(missing_ok=True)


@contextlib.contextmanager
def staged(home: Path, store: Store) -> Iterator[tuple[BackupManifest, Path]]:
    """Copies of everything that lasts in a folder of ours, and the manifest that names them."""
    # Always in the home, where the sweep finds it: a copy of everything must not stay if we are killed.
    staging = private_folder(home / "cache") / f".backup.{secrets.token_hex(6)}.tmp"
    staging.mkdir(mode=FOLDER_MODE)
    try:
        # The database before the mirror: what is written meanwhile is in the mirror at least.
        schema = store.export(staging / DATABASE)
        with mirror.locked(home):
            files, skipped = _copied(home, staging)
        manifest = BackupManifest(
            created=datetime.now(UTC).replace(microsecond=0),
            package_version=__version__,
            schema=schema,
            files=tuple(files),
            skipped=tuple(skipped),
            home=home_state.home_id(home),
        )
        yield manifest, staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def lasting_names(home: Path) -> Iterator[str]:
    """Every file that may be part of a backup, in order; links to folders too, so that they are told of."""
    for folder, folders, names in os.walk(home):
        inside = Path(folder).relative_to(home)
        folders[:] = sorted(name for name in folders if belongs((inside / name).as_posix()))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted([*names, *links]):
            path = (inside / name).as_posix()
            # What waits in the spool is not redacted; what was rejected is.
            if belongs(path) and (not path.startswith("spool/") or path.startswith("spool/rejected/")):
                yield path


def _copied(home: Path, staging: Path) -> tuple[list[BackupEntry], list[Skipped]]:
    """Copies of a home's files beside the database's, and what was left out."""
    with (staging / DATABASE).open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        files = {collision_key(DATABASE): BackupEntry(DATABASE, source.tell(), digest, FILE_MODE)}
    skipped = []
    waiting = Spool(home).depth()
    if count := waiting.count + waiting.newer:
        reason = f"{count} captured events wait to be stored, and are not redacted before that"
        skipped.append(Skipped("spool/new", reason))
    for name in lasting_names(home):
        key = collision_key(name)
        if name == DATABASE or (is_program(name) and name.startswith(_INSTALLED)):
            continue
        entry: BackupEntry | str
        if key in files:
            entry = "another name is the same on some systems"
        else:
            entry = _left_out(name) or _copy(name, home, staging)
        if isinstance(entry, BackupEntry):
            files[key] = entry
        elif entry:
            skipped.append(Skipped(name.encode("utf-8", "backslashreplace").decode("utf-8"), entry))
        if len(files) > MAX_FILES:
            raise Conflict(f"the home holds more than {MAX_FILES} files; drain the spool first")
    return list(files.values()), skipped


def _left_out(name: str) -> str | None:
    return "a program; what runs comes with the package" if is_program(name) else unfit(name)


def _copy(name: str, home: Path, staging: Path) -> BackupEntry | str:
    """The copy of a file, with the checksum of the very bytes copied; else why there is none."""
    try:
        source = _open_regular(home / name)
    except FileNotFoundError:
        return ""  # drained, purged or rotated since the folder was read
    except OSError as fault:
        return str(fault.strerror or fault)
    copy = staging / name
    copy.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with os.fdopen(source, "rb") as reader, copy.open("wb") as writer:
        mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
        while piece := reader.read(CHUNK):
            if not size and piece.startswith(_SQLITE_MAGIC):
                return "another database; only the store is backed up"
            digest.update(piece)
            size += writer.write(piece)
    return BackupEntry(name, size, digest.hexdigest(), mode)


def _open_regular(path: Path) -> int:
    """Open a regular file and nothing else: no link, no pipe that would wait for ever."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("a link is not followed" if path.is_symlink() else "no regular file")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags)


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
                    changes, _ = examine(Path(folder), source.manifest, home)
                    report = replace(report, changes=changes)
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
