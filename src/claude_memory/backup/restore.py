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
import secrets
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from claude_memory import settings as settings_module
from claude_memory.backup import home_state, mirror
from claude_memory.backup.archives import (
    BackupFile,
    BackupReport,
    BackupSource,
    RestoreChange,
    damage_named,
    reported,
)
from claude_memory.backup.manifest import DATABASE, BackupManifest, is_program
from claude_memory.errors import ConfigFault, Conflict, StoreCorrupt, StoreFault
from claude_memory.notes import erasing
from claude_memory.platform import leftovers
from claude_memory.platform.files import FOLDER_MODE, private_folder, sync_folder, write_atomically
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.sqlite.inspection import check_file, own_words

# No part of a backup, and still wanted after a restore. Other caches belong to the old database.
_CARRIED_OVER = ("backups", "cache/models", "hooks", "install", "install.json", "logs", "plugin")
_NOT_MISSED = ("cache", "hooks", "install", "logs", "plugin")
_RESERVE_BYTES = 16 * 2**20
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
    source: BackupSource | Path,
    home: Path,
    *,
    replace: bool = False,
    with_settings: Agreement = False,
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
        if home.exists() and not home.is_dir():
            raise Conflict(f"{home} is no folder")
        if not replace and not _is_empty(home):
            raise Conflict(
                f"{home} is not empty; restoring there needs --yes, and keeps the old home beside it"
            )
        with _staged(source, home) as staging:
            changes = _checked(source, staging, home, with_settings)
            erased = carry_over(home, staging)
            if source.manifest.home:  # the restored home is the memory that was backed up
                home_state.note(staging, home=source.manifest.home)
            aside = _put_in_place(staging, home)
    except OSError as fault:
        raise StoreFault(f"cannot restore to {home}: {fault.strerror or fault}") from fault
    notes = _notes(home, aside, erased)
    return dataclasses.replace(reported(source), home=home, previous=aside, notes=notes, changes=changes)


def recover(home: Path) -> None:
    """After a crash between two renames: bring the old home back if there is none now."""
    place = Path(os.path.realpath(home))
    note = _note(place)
    try:
        aside = place.with_name(note.read_text("utf-8").strip())
    except (OSError, ValueError):
        return
    if not place.exists() and aside.is_dir() and aside.parent == place.parent:
        aside.rename(place)
    note.unlink(missing_ok=True)


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
    source: BackupSource, staging: Path, home: Path, with_settings: Agreement
) -> tuple[RestoreChange, ...]:
    """Leave in the copy what may be put in place, and nothing else; returns what that changes."""
    with damage_named(source.name):
        check_file(staging / DATABASE)
        changes, config = examine(staging, source.manifest, home, with_settings=with_settings)
    for name in [CONFIG, *(change.name for change in changes if change.what == "program")]:
        (staging / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # until a folder holds something else
            os.removedirs((staging / name).parent)
    if config is not None:
        write_atomically(staging / CONFIG, config)
    for folder, _, _ in os.walk(staging):
        sync_folder(Path(folder))
    return changes


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
    notes = []
    if aside is not None:
        notes.append("agents that are open write to the old home until they restart")
    if erased:
        notes.append(f"{erased} memories in the backup were erased since, and stay so")
    try:
        if settings_module.load(home).store:
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


# --- what a backup would change beside the memories in it


def examine(
    folder: Path, manifest: BackupManifest, home: Path, *, with_settings: Agreement = False
) -> tuple[tuple[RestoreChange, ...], bytes | None]:
    """What an unpacked backup would change in a home, and the text of the settings file, None for none."""
    sizes = {entry.path: entry.size for entry in manifest.files}
    if sizes.get(CONFIG, 0) > _MOST_CONFIG_BYTES:
        raise StoreCorrupt(f"it is no backup of ours: its settings take {sizes[CONFIG]} bytes")
    content = (folder / CONFIG).read_bytes() if CONFIG in sizes else b""
    left_out = "left out: programs come with the package"
    changes = [RestoreChange("program", name, after=left_out) for name in sizes if _is_program(folder, name)]
    changed, config = _settings(content, home, with_settings)
    changes += changed
    if "MEMORY.md" in sizes:
        before = "there is one" if (home / "MEMORY.md").is_file() else "there is none"
        after = "told to agents at every start"
        changes.append(RestoreChange("identity", "MEMORY.md", before, after, taken=True))
    if waiting := sum(name.startswith("spool/new/") for name in sizes):
        after = f"{waiting} captured events to be stored"
        changes.append(RestoreChange("events", "spool/new", after=after, taken=True))
    own, everywhere = own_words(folder / DATABASE)
    if own:
        after = f"{own} count as the person's own words, {everywhere} of them in every project"
        changes.append(RestoreChange("memories", DATABASE, after=after, taken=True))
    return tuple(changes), config


def _is_program(folder: Path, name: str) -> bool:
    if is_program(name):
        return True
    if PurePosixPath(name).suffix.lower() in _TEXTS:
        return False
    with (folder / name).open("rb") as content:
        return content.read(4).startswith(_HEADS)


def _settings(
    content: bytes, home: Path, with_settings: Agreement
) -> tuple[list[RestoreChange], bytes | None]:
    """Which guarded settings differ, and the file as it is to be written."""
    wanted, present = _document(content), _document(_present(home))
    if wanted is None:
        unread = RestoreChange("setting", CONFIG, after="left out: it cannot be read")
        return [unread], _present(home) or None
    present = present or {}
    keys = sorted((wanted.keys() | present.keys()) - HARMLESS)
    differing = [key for key in keys if _value(wanted, key) != _value(present, key)]
    changes = [RestoreChange("setting", key, _shown(present, key), _shown(wanted, key)) for key in differing]
    agreed = with_settings(changes) if callable(with_settings) and changes else with_settings is True
    changes = [dataclasses.replace(change, taken=agreed) for change in changes]
    if agreed or not differing:
        return changes, content or None
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    own = {key: present[key] for key in differing if key in present}
    try:
        merged: dict[str, Any] = tomlkit.parse(content.decode("utf-8-sig"))  # with its comments
        for key in differing:
            merged.pop(key, None)
    except (TOMLKitError, ValueError, RecursionError):
        merged = {key: value for key, value in wanted.items() if key not in differing}
    merged.update(own)
    return changes, tomlkit.dumps(merged).encode("utf-8")


def _present(home: Path) -> bytes:
    try:
        return settings_module.config_path(home).read_bytes()[: _MOST_CONFIG_BYTES + 1]
    except OSError:
        return b""


def _document(content: bytes) -> dict[str, Any] | None:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _value(document: Mapping[str, Any], key: str) -> Any:
    """What a document makes of a setting: absent is the same as the default."""
    value = document.get(key)
    if value is None and key in settings_module.KEYS:
        value = getattr(settings_module.Settings(), key)
    return list(value) if isinstance(value, tuple) else value


def _shown(document: Mapping[str, Any], key: str) -> str:
    return repr(_value(document, key))[:_MOST_SHOWN]


# --- one folder in the place of another, so that a crash leaves the old one or the new one. Linux and macOS
# can exchange two in one step. Elsewhere it takes two renames, and a note lets `recover` finish them.


def _exchange_folders(new: Path, place: Path, aside: Path) -> None:
    """Move `new` to `place`, and what was at `place`, if anything, to `aside`.

    An OSError means that both are where they were.
    """
    if not place.exists():
        new.rename(place)
    else:
        new.rename(aside)  # so that the old folder has its right name from the moment of the exchange
        exchanged = False
        try:
            exchanged = exchange(aside, place)
        finally:
            if not exchanged:
                aside.rename(new)
        if not exchanged:
            _two_renames(new, place, aside)
    with contextlib.suppress(OSError):  # done already; only its durability is at stake
        sync_folder(place.parent)


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
