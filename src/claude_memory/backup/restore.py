"""Put a backup back: everything is unpacked and checked beside the home, then the two change places.

Until that one step the home is untouched, so a failure or a crash leaves it as it was. The former
home is kept, and nothing in it is deleted. What a person erased stays erased, even when an older backup
that still holds it is put back.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.backup import foreign, home_state, mirror
from claude_memory.backup.archives import BackupFile, BackupReport, BackupSource, damage_named, reported
from claude_memory.backup.manifest import DATABASE
from claude_memory.errors import ConfigFault, Conflict, StoreFault
from claude_memory.notes import erasing
from claude_memory.platform import leftovers
from claude_memory.platform.files import FOLDER_MODE, private_folder, sync_folder, write_atomically
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.sqlite.inspection import check_file

# No part of a backup, and still wanted after a restore. Other caches belong to the old database.
_CARRIED_OVER = ("backups", "cache/models", "hooks", "install", "install.json", "logs", "plugin")
_NOT_MISSED = ("cache", "hooks", "install", "logs", "plugin")
_RESERVE_BYTES = 16 * 2**20
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux, renameat2
_RENAME_SWAP = 2  # macOS, renamex_np
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


def restore(
    source: BackupSource | Path,
    home: Path,
    *,
    replace: bool = False,
    with_settings: foreign.Agreement = False,
) -> BackupReport:
    """Make a home of a backup, in a file or at a place.

    A home that holds something is replaced only on request, and kept aside. Programs in it are left out. So
    are settings that send text away, change trust or name commands, unless `with_settings` says that a person
    saw them and agreed.
    """
    source = BackupFile(source) if isinstance(source, Path) else source
    home = Path(os.path.realpath(home))  # a linked home stays a link; what it points to changes
    try:
        recover(home)
        _refuse_to_overwrite(home, replace=replace)
        with _staged(source, home) as staging:
            plan = _checked(source, staging, home, with_settings)
            erased = carry_over(home, staging)
            home_state.adopt(staging, source.manifest.home)
            aside = _put_in_place(staging, home)
    except OSError as fault:
        raise StoreFault(f"cannot restore to {home}: {fault.strerror or fault}") from fault
    notes = _notes(home, aside, erased)
    return dataclasses.replace(reported(source), home=home, previous=aside, notes=notes, changes=plan.changes)


def recover(home: Path) -> Path | None:
    """After a crash between two renames: bring the old home back if there is none now."""
    place = Path(os.path.realpath(home))
    note = _note(place)
    try:
        aside = place.with_name(note.read_text("utf-8").strip())
    except (OSError, ValueError):
        return None
    found = None
    if not place.exists() and aside.is_dir() and aside.parent == place.parent:
        aside.rename(place)
        found = aside
    note.unlink(missing_ok=True)
    return found


def _refuse_to_overwrite(home: Path, *, replace: bool) -> None:
    if home.exists() and not home.is_dir():
        raise Conflict(f"{home} is no folder")
    if not replace and not _is_empty(home):
        raise Conflict(f"{home} is not empty; restoring there needs --yes, and keeps the old home beside it")


def holds_memory(home: Path) -> bool:
    """Whether anything was captured or remembered in a home; what an image brings along does not count."""
    if any(mirror.paths(home)) or any((home / "spool" / "new").glob("*")):
        return True
    if not (home / DATABASE).is_file():
        return False
    with contextlib.closing(open_store(home, Settings())) as store:
        stats = store.stats()
        return bool(stats.memories or stats.events)


def _is_empty(home: Path) -> bool:
    """Whether a home holds nothing that a person could miss."""
    for folder, folders, names in os.walk(home):
        if Path(folder) == home:
            folders[:] = [name for name in folders if name not in _NOT_MISSED]
        if any(not name.endswith(".lock") and name != "install.json" for name in names):
            return False
    return True


@contextlib.contextmanager
def _staged(source: BackupSource, home: Path) -> Iterator[Path]:
    """A complete, private copy of the backup's home beside the real one; gone if not put in place."""
    private_folder(home.parent)
    leftovers.sweep_beside(home)
    needed = source.manifest.size_bytes + _RESERVE_BYTES
    if shutil.disk_usage(home.parent).free < needed:
        raise StoreFault(f"{home.parent} has no room for {needed / 1e6:.0f} MB; nothing was changed")
    staging = home.with_name(f".{home.name}.restore-{secrets.token_hex(6)}.tmp")
    staging.mkdir(mode=FOLDER_MODE)
    try:
        source.unpack(staging)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _checked(
    source: BackupSource, staging: Path, home: Path, with_settings: foreign.Agreement
) -> foreign.Plan:
    """Leave in the copy what may be put in place, and nothing else."""
    with damage_named(source.name):
        check_file(staging / DATABASE)
        plan = foreign.examine(staging, source.manifest, home, with_settings=with_settings)
    for name in plan.left_out:
        (staging / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # until a folder holds something else
            os.removedirs((staging / name).parent)
    if plan.config is not None:
        write_atomically(staging / foreign.CONFIG, plan.config)
    for folder, _, _ in os.walk(staging):
        sync_folder(Path(folder))
    return plan


def _put_in_place(staging: Path, home: Path) -> Path | None:
    """The step that counts; returns where the old home is now, if it held anything."""
    aside = _aside(home)
    _exchange_folders(staging, home, aside)
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
        done = store.memories.apply_tombstones()
        mirror.purge(new, done.ids, cache(store.memories.erased_sentences))
        mirror.flush(new, store)
        erasing.purge(new, store.memories.erased_sentences())
    with mirror.locked(new):
        # Without their numbers, which count the changes of another store.
        mirror.append(new, [{key: record[key] for key in record if key != "sequence"} for record in unknown])
    return done.memories


def _tombstones(home: Path) -> Iterator[Mapping[str, Any]]:
    return (record for record in mirror.read(home) if isinstance(record.get("tombstone"), str))


# --- one folder in the place of another, so that a crash leaves the old one or the new one. Linux and macOS
# can exchange two in one step. Elsewhere it takes two renames, and a note lets `recover` finish them.


def _exchange_folders(new: Path, place: Path, aside: Path) -> None:
    """Move `new` to `place`, and what was at `place`, if anything, to `aside`.

    An OSError means that both are where they were.
    """
    if not place.exists():
        new.rename(place)
    elif not _exchanged(new, place, aside):
        _two_renames(new, place, aside)
    with contextlib.suppress(OSError):  # done already; only its durability is at stake
        sync_folder(place.parent)


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "linux":
            call = ctypes.CDLL(None, use_errno=True).renameat2
            failed = call(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
        elif sys.platform == "darwin":
            call = ctypes.CDLL(None, use_errno=True).renamex_np
            failed = call(names[0], names[1], _RENAME_SWAP)
        else:
            return False
    except (OSError, AttributeError):
        return False
    if failed:
        number = ctypes.get_errno()
        if number in _NOT_HERE:
            return False
        raise OSError(number, os.strerror(number), str(other))
    return True


def _exchanged(new: Path, place: Path, aside: Path) -> bool:
    new.rename(aside)  # so that the old folder has its right name from the moment of the exchange
    try:
        if exchange(aside, place):
            return True
    except OSError:
        aside.rename(new)
        raise
    aside.rename(new)
    return False


def _two_renames(new: Path, place: Path, aside: Path) -> None:
    note = _note(place)
    write_atomically(note, aside.name.encode("utf-8"))
    try:
        place.rename(aside)
        try:
            new.rename(place)
        except OSError:
            aside.rename(place)
            raise
    finally:
        note.unlink(missing_ok=True)


def _note(place: Path) -> Path:
    return place.with_name(f".{place.name}.restoring")
