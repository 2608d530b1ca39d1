"""Put a backup back: everything is unpacked and checked beside the home, then the two change places.

Until that one step the home is untouched, so a failure or a crash leaves it as it was. The former home is
kept, and nothing in it is deleted. What a person erased stays erased, even when an older backup that still
holds it is put back. A backup may come from anyone: programs are never restored, they come with the package,
and of the settings only those that can do no harm are taken over without asking: none that sends text away,
changes whom we trust, names a command or a place, or lets things be deleted sooner.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from claude_memory import settings as settings_module
from claude_memory.backup import home_state, mirror
from claude_memory.backup.archives import BackupReport, BackupSource, RestoreChange, damage_named
from claude_memory.backup.home_state import DATABASE, is_program
from claude_memory.errors import ConfigFault, Conflict, StoreCorrupt
from claude_memory.platform import leftovers
from claude_memory.platform.files import disk_faults, private_folder, sync_folder, write_atomically
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.sqlite.inspection import own_words

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

# No part of a backup, and still wanted after a restore. Other caches belong to the old database.
_CARRIED_OVER = ("backups", "cache/models", "hooks", "install", "install.json", "logs", "plugin")
_NOT_MISSED = ("cache", "hooks", "install", "logs", "plugin")
_AT_FDCWD = -100
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
CONFIG = "config.toml"
# Whether the person wants the settings of a backup: said before, or asked once they are known.
Agreement = bool | Callable[[Sequence[RestoreChange]], bool]
# All others are asked for: a setting that is added later is guarded until somebody thought about it.
HARMLESS = frozenset(
    "activation context_tokens context_window danger_zone_percent embed_in_drain_ms event_max_kb "
    "import_in_drain_seconds keep_backups layout log_max_mb min_relevance search_limit spool_cap_mb "
    "store_cap_mb".split()
)
_MOST_CONFIG_BYTES = 1 << 20
_MOST_SHOWN = 200
_HEADS = (b"#!", b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_TEXTS = (".md", ".json", ".jsonl", ".toml", ".txt", ".reason")


def restore(
    source: BackupSource, home: Path, *, replace: bool = False, with_settings: Agreement = False
) -> BackupReport:
    """Make a home of a backup; one that holds something is replaced only on request, and kept aside."""
    home = Path(os.path.realpath(home))  # a linked home stays a link; what it points to changes
    with disk_faults(f"restore to {home}"):
        recover(home)
        if home.exists() and not home.is_dir():
            raise Conflict(f"{home} is no folder")
        if not replace and not _is_empty(home):
            raise Conflict(
                f"{home} is not empty; restoring there needs --yes, and keeps the old home beside it"
            )
        private_folder(home.parent)
        leftovers.sweep_beside(home)
        with leftovers.temporary_folder(home.parent, f".{home.name}.restore-") as staging:
            source.unpack(staging)
            changes, config = examine(source, staging, home, with_settings=with_settings)
            for name in [CONFIG, *(change.name for change in changes if change.what == "program")]:
                (staging / name).unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # until a folder holds something else
                    os.removedirs((staging / name).parent)
            if config:
                write_atomically(staging / CONFIG, config)
            for folder, _, _ in os.walk(staging):
                sync_folder(Path(folder))
            erased = _carry_over(home, staging)
            if source.manifest.home:  # the restored home is the memory that was backed up
                home_state.note(staging, home=source.manifest.home)
            aside = _put_in_place(staging, home)
    notes = ["agents that are open write to the old home until they restart"] if aside else []
    if erased:
        notes.append(f"{erased} memories in the backup were erased since, and stay so")
    try:
        if settings_module.load(home).store:
            notes.append(f"the settings name another store; the restored one is {home / DATABASE}")
    except ConfigFault as fault:
        notes.append(str(fault))
    return dataclasses.replace(
        source.report(), home=home, previous=aside, notes=tuple(notes), changes=changes
    )


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
    for folder, folders, names in os.walk(home):
        if Path(folder) == home:
            folders[:] = [name for name in folders if name not in _NOT_MISSED]
        if any(not name.endswith(".lock") and name != "install.json" for name in names):
            return False
    return True


def _carry_over(old: Path, new: Path) -> int:
    """Erase from the home `new` what the tombstones of the home `old` name; returns how many memories.

    Rows, events, messages, mirror and plain files: a backup made before holds it in all of them.
    """

    def tombstones(home: Path) -> Iterator[Mapping[str, Any]]:
        return (record for record in mirror.read(home) if isinstance(record.get("tombstone"), str))

    known = {record["tombstone"] for record in tombstones(new)}
    unknown = []
    with contextlib.suppress(OSError):  # a home too broken to be read is why one restores
        unknown = [record for record in tombstones(old) if record["tombstone"] not in known]
    if not unknown:
        return 0
    with contextlib.closing(open_store(new, Settings())) as store:
        store.replay(unknown)
        erased = mirror.carry_out_erasures(new, store)
        mirror.flush(new, store)
    with mirror.locked(new):
        # Without their numbers, which count the changes of another store.
        mirror.append(new, [{key: record[key] for key in record if key != "sequence"} for record in unknown])
    return erased


# --- what a backup would change beside the memories in it


def examine(
    source: BackupSource, folder: Path, home: Path, *, with_settings: Agreement = False
) -> tuple[tuple[RestoreChange, ...], bytes]:
    """What an unpacked backup would change in a home, and the settings file as it is to be written."""
    names = [entry.path for entry in source.manifest.files]
    left_out = "left out: programs come with the package"
    changes = [RestoreChange("program", name, after=left_out) for name in names if _is_program(folder, name)]
    with damage_named(source.name):
        content = _read_config(folder / CONFIG) if CONFIG in names else b""
        own, everywhere = own_words(folder / DATABASE)
    changed, config = _settings(content, home, with_settings)
    changes += changed
    if "MEMORY.md" in names:
        before = "there is one" if (home / "MEMORY.md").is_file() else "there is none"
        after = "told to agents at every start"
        changes.append(RestoreChange("identity", "MEMORY.md", before, after, taken=True))
    if waiting := sum(name.startswith("spool/new/") for name in names):
        after = f"{waiting} captured events to be stored"
        changes.append(RestoreChange("events", "spool/new", after=after, taken=True))
    if own:
        after = f"{own} count as the person's own words, {everywhere} of them in every project"
        changes.append(RestoreChange("memories", DATABASE, after=after, taken=True))
    return tuple(changes), config


def _is_program(folder: Path, name: str) -> bool:
    if PurePosixPath(name).suffix.lower() in _TEXTS:
        return is_program(name)
    with (folder / name).open("rb") as content:
        return is_program(name) or content.read(4).startswith(_HEADS)


def _settings(content: bytes, home: Path, with_settings: Agreement) -> tuple[list[RestoreChange], bytes]:
    """Which guarded settings differ, and the file as it is to be written."""
    own = b""
    with contextlib.suppress(OSError, StoreCorrupt):
        own = _read_config(settings_module.config_path(home))
    wanted = _document(content)
    present: Mapping[str, Any] = _document(own) or {}
    if wanted is None:
        return [RestoreChange("setting", CONFIG, after="left out: it cannot be read")], own
    changes = []
    for key in sorted((wanted.keys() | present.keys()) - HARMLESS):
        before, after = _value(present, key), _value(wanted, key)
        if before != after:
            shown = repr(before)[:_MOST_SHOWN], repr(after)[:_MOST_SHOWN]
            changes.append(RestoreChange("setting", key, *shown))
    agreed = with_settings(changes) if callable(with_settings) and changes else with_settings is True
    if agreed or not changes:
        return [dataclasses.replace(change, taken=True) for change in changes], content
    for change in changes:
        wanted.pop(change.name, None)
        if change.name in present:
            wanted[change.name] = present[change.name]
    return changes, wanted.as_string().encode("utf-8")


def _read_config(path: Path) -> bytes:
    with path.open("rb") as handle:
        content = handle.read(_MOST_CONFIG_BYTES + 1)
    if len(content) > _MOST_CONFIG_BYTES:
        raise StoreCorrupt("it is no backup of ours: its settings are too long")
    return content


def _document(content: bytes) -> TOMLDocument | None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(content.decode("utf-8-sig"))
    except (TOMLKitError, ValueError, RecursionError):
        return None


def _value(document: Mapping[str, Any], key: str) -> Any:
    value = document.get(key)
    if value is None and key in settings_module.KEYS:
        value = getattr(settings_module.Settings(), key)
    value = getattr(value, "unwrap", lambda: value)()
    return list(value) if isinstance(value, tuple) else value


# --- one folder in the place of another, so that a crash leaves the old one or the new one. Linux and macOS
# exchange two in one step. Where the file system cannot, it takes two renames, and `recover` finishes them.


def _put_in_place(new: Path, home: Path) -> Path | None:
    """The step that counts; returns where the old home is now, if it held anything."""
    aside = _aside(home)
    if home.exists():
        new.rename(aside)  # so that the old folder has its right name from the moment of the exchange
        exchanged = False
        try:
            exchanged = exchange(aside, home)
        finally:
            if not exchanged:
                aside.rename(new)
        if not exchanged:
            home.rename(_parked(home))
            try:
                new.rename(home)
            finally:
                recover(home, aside)
    else:
        new.rename(home)
    with contextlib.suppress(OSError):  # done already; only its durability is at stake
        sync_folder(home.parent)
    if not aside.exists():
        return None
    for name in _CARRIED_OVER:
        # Too late to fail: the restore is done, and what cannot be moved is still in the old home.
        with contextlib.suppress(OSError):
            inner = list((aside / name).iterdir()) if (home / name).is_dir() else [aside / name]
            for source in inner:
                target = home / source.relative_to(aside)
                private_folder(target.parent)
                source.rename(target)
    if not _is_empty(aside):
        return aside
    shutil.rmtree(aside, ignore_errors=True)
    return None


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, _SWAP)
        else:
            failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _SWAP)
    except (OSError, AttributeError, TypeError):  # Windows, an old system
        return False
    if failed and (number := ctypes.get_errno()) not in _NOT_HERE:
        raise OSError(number, os.strerror(number), str(other))
    return not failed


def recover(home: Path, aside: Path | None = None) -> None:
    """After a crash between two renames: bring the old home back if there is none now, else put it aside."""
    place = Path(os.path.realpath(home))
    if _parked(place).is_dir():
        _parked(place).rename((aside or _aside(place)) if place.exists() else place)


def _parked(place: Path) -> Path:
    return place.with_name(f".{place.name}.restoring")


def _aside(home: Path) -> Path:
    base = f"{home.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = [base, *(f"{base}-{number}" for number in range(2, 1000))]
    return next(path for name in names if not (path := home.with_name(name)).exists())
