"""What the doctor says of the store, after a look at it as it is: never made, never migrated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from claude_memory.backup import mirror
from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.errors import MemoryFault, SchemaTooNew, StoreCorrupt
from claude_memory.settings import Settings
from claude_memory.store import database_path, inspect
from claude_memory.store.model import Inspection

NOTHING_SEEN = Inspection(0, 0, 0, "")
_MB = 1 << 20
_REBUILD = "restore a backup, or `claude-memory reindex --from-files`"


def look(home: Path, settings: Settings, *, deep: bool) -> tuple[list[Check], Inspection]:
    """How the store stands, and what was seen of it, for other probes."""
    try:
        path = database_path(home, settings.store)
        if not path.exists():
            return [_missing(path, home)], NOTHING_SEEN
        seen = inspect(home, settings, deep=deep)
    except SchemaTooNew as fault:
        hint = "upgrade claude-memory, or restore a backup of this version"
        return [fail("store", str(fault), hint)], NOTHING_SEEN
    except StoreCorrupt as fault:
        return [fail("store", str(fault), _REBUILD)], NOTHING_SEEN
    except (MemoryFault, OSError, ValueError) as fault:
        return [fail("store", str(fault), "end the process that holds it, if there is one")], NOTHING_SEEN
    return list(_judged(seen, path, settings, deep=deep)), seen


def _missing(path: Path, home: Path) -> Check:
    if mirror.paths(home):
        return fail("store", f"{path} is gone, but its mirror is here", _REBUILD)
    return ok("store", "none yet; the first memory makes it")


def _judged(seen: Inspection, path: Path, settings: Settings, *, deep: bool) -> Iterator[Check]:
    if seen.version == 0:
        yield fail("store", f"{path.name} is empty", "delete it; the next memory makes a new one")
        return
    yield _size(seen, settings)
    if seen.lock == "free":
        yield ok("write lock", "free")
    elif seen.lock:
        hint = "if it is stuck, end it: nothing is lost, capture goes on in the spool"
        yield fail("write lock", seen.lock, hint)
    if seen.version == seen.current:
        yield _index(seen)
        yield _pages(seen, deep=deep)
    if seen.on_network:
        yield warn("file system", "the store is on a network drive", "keep the home on a local disk")


def _size(seen: Inspection, settings: Settings) -> Check:
    size = seen.size_bytes / _MB
    text = f"schema {seen.version}, {size:.1f} MB"
    if size > settings.store_cap_mb:
        limit = f"more than the {settings.store_cap_mb} MB of store_cap_mb"
        hint = "the drain after the next session takes out the oldest tool output, then messages"
        return warn("store", f"{text}, {limit}", hint)
    if seen.version < seen.current:
        return warn("store", f"{text}; schema {seen.current} comes with its next use, after a copy")
    return ok("store", text)


def _index(seen: Inspection) -> Check:
    if seen.passages is None:
        return ok("index", "too large to count in a few seconds")
    text = f"{seen.memories} memories, {seen.passages} passages"
    if seen.passages != seen.text_entries:
        hint = "`claude-memory reindex` makes them anew"
        return fail("index", f"{text}, but {seen.text_entries} text entries", hint)
    return ok("index", f"{text}, as many text entries")


def _pages(seen: Inspection, *, deep: bool) -> Check:
    if seen.problems is None:
        return ok("integrity", "no fault found in a few seconds; a deep check reads it all")
    if seen.problems:
        return fail("integrity", "; ".join(seen.problems)[:300], _REBUILD)
    return ok("integrity", "every page and link is sound" if deep else "sound")
