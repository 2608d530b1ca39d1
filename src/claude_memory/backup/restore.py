"""Put a backup back: everything is unpacked and checked beside the home, then the two change places.

Until that one step the home is untouched, so a failure or a crash leaves it as it was. The former
home is kept, and nothing in it is deleted. What a person erased stays erased, even when an older backup
that still holds it is put back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.backup import foreign, mirror, swap
from claude_memory.backup.archive import Archive, BackupReport, check_database, damage_named
from claude_memory.backup.manifest import DATABASE, Entry
from claude_memory.errors import ConfigFault, Conflict, StoreFault
from claude_memory.notes import erasing
from claude_memory.platform import leftovers
from claude_memory.platform.files import (
    FILE_MODE,
    FOLDER_MODE,
    private_folder,
    sync_file,
    sync_folder,
    write_atomically,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store

# No part of a backup, and still wanted after a restore. Other caches belong to the old database.
_CARRIED_OVER = ("backups", "cache/models", "hooks", "install", "install.json", "logs", "plugin")
_NOT_MISSED = ("cache", "hooks", "install", "logs", "plugin")
_RESERVE_BYTES = 16 * 2**20


def restore(path: Path, home: Path, *, replace: bool = False, with_settings: bool = False) -> BackupReport:
    """Make a home of a backup. A home that holds something is replaced only on request, and kept aside.

    Programs in it are left out. So are settings that send text away, change trust or name commands, unless
    `with_settings` says that a person saw them and agreed.
    """
    home = Path(os.path.realpath(home))  # a linked home stays a link; what it points to changes
    try:
        swap.recover(home)
        with Archive(path) as archive:
            _refuse_to_overwrite(home, replace=replace)
            plan = foreign.examine(archive, home, with_settings=with_settings)
            staging = _unpacked(archive, home, plan)
            erased = _without_erased(staging, home)
            told = foreign.of_database(staging / DATABASE)
            aside = _put_in_place(staging, home)
            report = archive.report()
    except OSError as fault:
        raise StoreFault(f"cannot restore to {home}: {fault.strerror or fault}") from fault
    notes = _notes(home, aside, erased)
    return dataclasses.replace(report, home=home, previous=aside, notes=notes, changes=(*plan.changes, *told))


def recover(home: Path) -> Path | None:
    """After a crash in the middle of a restore: bring the old home back if there is none now."""
    return swap.recover(Path(os.path.realpath(home)))


def _refuse_to_overwrite(home: Path, *, replace: bool) -> None:
    if home.exists() and not home.is_dir():
        raise Conflict(f"{home} is no folder")
    if not replace and not _is_empty(home):
        raise Conflict(f"{home} is not empty; restoring there needs --yes, and keeps the old home beside it")


def _is_empty(home: Path) -> bool:
    """Whether a home holds nothing that a person could miss."""
    for folder, folders, names in os.walk(home):
        if Path(folder) == home:
            folders[:] = [name for name in folders if name not in _NOT_MISSED]
        if any(not name.endswith(".lock") and name != "install.json" for name in names):
            return False
    return True


def _unpacked(archive: Archive, home: Path, plan: foreign.Plan) -> Path:
    """A complete, checked, private copy of the backup's home beside the real one."""
    private_folder(home.parent)
    leftovers.sweep_beside(home)
    needed = archive.manifest.size_bytes + _RESERVE_BYTES
    if shutil.disk_usage(home.parent).free < needed:
        raise StoreFault(f"{home.parent} has no room for {needed / 1e6:.0f} MB; nothing was changed")
    staging = home.with_name(f".{home.name}.restore-{secrets.token_hex(6)}.tmp")
    staging.mkdir(mode=FOLDER_MODE)
    try:
        wanted = [entry for entry in archive.manifest.files if entry.path not in plan.left_out]
        for entry in wanted:
            _unpack(archive, entry, staging)
        if plan.config is not None:
            write_atomically(staging / foreign.CONFIG, plan.config)
        with damage_named(archive.path):
            check_database(staging / DATABASE)
        for folder in {(staging / entry.path).parent for entry in wanted}:
            sync_folder(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return staging


def _without_erased(staging: Path, home: Path) -> int:
    try:
        return carry_over(home, staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _unpack(archive: Archive, entry: Entry, staging: Path) -> None:
    target = staging.joinpath(*entry.path.split("/"))
    private_folder(target.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    # Whatever the backup says: others get no rights, and nothing in a home is run.
    with os.fdopen(os.open(target, flags, FILE_MODE), "wb") as handle:
        archive.stream(entry, handle.write)
        sync_file(handle)


def _put_in_place(staging: Path, home: Path) -> Path | None:
    """The step that counts; returns where the old home is now, if it held anything."""
    try:
        aside = _aside(home)
        swap.put_in_place(staging, home, aside)
    except OSError:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    if not aside.exists():
        return None
    for name in _CARRIED_OVER:
        # Too late to fail: the restore is done, and what cannot be moved is still in the old home.
        with contextlib.suppress(OSError):
            _move(aside / name, home / name)
    if not _is_empty(aside):
        return aside
    shutil.rmtree(aside, ignore_errors=True)
    return None


def _move(source: Path, target: Path) -> None:
    if target.is_dir():
        for inner in source.iterdir():
            inner.rename(target / inner.name)
        return
    private_folder(target.parent)
    source.rename(target)


def _aside(home: Path) -> Path:
    base = f"{home.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = [base, *(f"{base}-{number}" for number in range(2, 1000))]
    return next(path for name in names if not (path := home.with_name(name)).exists())


def _notes(home: Path, aside: Path | None, erased: int) -> tuple[str, ...]:
    from claude_memory import settings

    notes = []
    if aside is not None:
        notes.append("agents that are open write to the old home until they restart")
    if erased:
        notes.append(f"{erased} memories in the backup were erased since, and stay so")
    try:
        if settings.load(home).store:
            notes.append(f"the settings name another store; the restored one is {home / DATABASE}")
    except ConfigFault as fault:
        notes.append(str(fault))
    return tuple(notes)


def carry_over(old: Path, new: Path) -> int:
    """Erase from the home `new` what the tombstones of the home `old` name; returns how many memories.

    Rows, events, messages, mirror and plain files: a backup made before holds it in all of them.
    """
    known = {record["tombstone"] for record in _tombstones(new)}
    unknown = []
    with contextlib.suppress(OSError):  # a home too broken to be read is why one restores
        unknown = [record for record in _tombstones(old) if record["tombstone"] not in known]
    if not unknown:
        return 0
    with contextlib.closing(open_store(new, Settings())) as store:
        store.replay(unknown)
        done = store.apply_tombstones()
        mirror.purge(new, done.ids, cache(store.erased_sentences))
        mirror.flush(new, store)
        erasing.purge(new, store.erased_sentences())
    with mirror.locked(new):
        # Without their numbers, which count the changes of another store.
        mirror.append(new, [{key: record[key] for key in record if key != "sequence"} for record in unknown])
    return done.memories


def _tombstones(home: Path) -> Iterator[Mapping[str, Any]]:
    return (record for record in mirror.read(home) if isinstance(record.get("tombstone"), str))
