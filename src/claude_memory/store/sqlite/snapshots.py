"""Copies of the whole database, consistent while others write, private, and verified."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

import apsw

from claude_memory.errors import StoreCorrupt, StoreFault
from claude_memory.platform import files

_PAGES_AT_ONCE = 4096


def copy(db: apsw.Connection, target: Path) -> None:
    """Write a copy by SQLite's backup; the target appears only when it is whole."""
    files.private_folder(target.parent)
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.tmp")
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, files.FILE_MODE))
    try:
        _back_up(db, temporary)
        with temporary.open("r+b") as handle:
            files.sync_file(handle)
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    files.sync_folder(target.parent)


def _back_up(db: apsw.Connection, target: Path) -> None:
    copied = apsw.Connection(str(target))
    try:
        with copied.backup("main", db, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_AT_ONCE)
        copied.pragma("journal_mode", "delete")  # one file, with no log beside it
    finally:
        copied.close()


def verify(path: Path) -> None:
    """Raise StoreCorrupt unless the copy is sound."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = [line for (line,) in db.execute("PRAGMA integrity_check(1)")]
    finally:
        db.close()
    if found != ["ok"]:
        raise StoreCorrupt(f"the copy {path} is damaged: {found[0]}")


def before_migration(db: apsw.Connection, version: int, folder: Path, keep: int) -> Path:
    """Keep a verified copy of a store that is about to change its schema."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    target = folder / f"pre-migration-{version}-{moment}.db"
    try:
        copy(db, target)
    except OSError as fault:
        raise StoreFault(f"no backup, so no migration: {fault}") from None
    verify(target)
    for old in sorted(folder.glob("pre-migration-*.db"), key=lambda path: path.stat().st_mtime)[
        : -max(1, keep)
    ]:
        old.unlink(missing_ok=True)
    return target
