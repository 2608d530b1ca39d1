"""A look at the store's file as it is: never made, never migrated, and read without the write lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from claude_memory.backup import mirror
from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.errors import SchemaTooNew, StoreCorrupt
from claude_memory.settings import Settings
from claude_memory.store import database_path
from claude_memory.store.sqlite import integrity, schema
from claude_memory.store.sqlite.connection import on_network, open_read_only

_MB = 1 << 20
_LOCK_WAIT_MS = 2000  # a drain's batch takes a tenth of that; who holds it longer is stuck
_CHECK_SECONDS = 5.0
_REBUILD = "restore a backup, or `claude-memory reindex --from-files`"

_COUNTS = {
    "memories": "SELECT count(*) FROM memories",
    "passages": "SELECT count(*) FROM passages",
    "text_entries": "SELECT count(*) FROM text_index_docsize",
    "pending_changes": "SELECT count(*) FROM changes",
}
_VECTORS = "SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model GROUP BY n.id"


# What waits for the mirror may differ from it.
_LAST_CHANGE = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)"
_TEXTS = """SELECT id, title, body FROM memories WHERE id NOT IN (
    SELECT record ->> '$.memory.id' FROM changes WHERE record ->> '$.memory.id' IS NOT NULL)"""


def digest(title: str, body: str) -> bytes:
    """What tells whether two copies of a memory say the same."""
    words = f"{title}\0{body}".encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=12).digest()


@dataclass(slots=True)
class View:
    """What other probes want to know of the store; None where it could not be counted."""

    passages: int | None = None
    pending_changes: int | None = None
    last_change: int | None = None
    texts: Mapping[str, bytes] | None = None  # a digest of each memory's words that the mirror should know
    vectors: Mapping[str, int] = field(default_factory=dict)


def store(home: Path, settings: Settings, view: View, *, deep: bool) -> Iterator[Check]:
    """Open the file, ask for its lock, check its pages and counts."""
    path = database_path(home, settings.store)
    if not path.exists():
        if mirror.paths(home):
            yield fail("store", f"{path} is gone, but its mirror is here", _REBUILD)
        else:
            yield ok("store", "none yet; the first memory makes it")
        return
    try:
        with contextlib.closing(_opened(path)) as db:
            yield from _looked_at(db, path, home, settings, view, deep=deep)
    except SchemaTooNew as fault:
        yield fail("store", str(fault), "upgrade claude-memory, or restore a backup of this version")
    except (StoreCorrupt, apsw.CorruptError, apsw.NotADBError) as fault:
        yield fail("store", f"{path.name} is damaged: {fault}", _REBUILD)
    except (apsw.BusyError, apsw.LockedError):
        yield fail("store", f"{path.name} cannot even be read: {_holder(path)} holds it", "end that process")


def _opened(path: Path) -> apsw.Connection:
    """For writing where possible, only because closing then leaves no log file behind."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(_LOCK_WAIT_MS)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
        return open_read_only(path)
    return db


def _looked_at(
    db: apsw.Connection, path: Path, home: Path, settings: Settings, view: View, *, deep: bool
) -> Iterator[Check]:
    version = schema.version(db)
    if version == 0:
        yield fail("store", f"{path.name} is empty", "delete it; the next memory makes a new one")
        return
    size = sum(part.stat().st_size for part in path.parent.glob(path.name + "*") if part.is_file()) / _MB
    yield from _size(size, version, settings)
    yield from _write_lock(db, path)
    if version == schema.CURRENT:
        yield from _counted(db, view)
        yield from _pages(db, home, deep=deep)
    if on_network(path):
        yield warn("file system", "the store is on a network drive", "keep the home on a local disk")


def _size(size: float, version: int, settings: Settings) -> Iterator[Check]:
    text = f"schema {version}, {size:.1f} MB"
    if size > settings.store_cap_mb:
        yield warn(
            "store",
            f"{text}, more than the {settings.store_cap_mb} MB of store_cap_mb",
            "lower keep_events_days",
        )
    elif version < schema.CURRENT:
        yield warn("store", f"{text}; schema {schema.CURRENT} comes with its next use, after a copy")
    else:
        yield ok("store", text)


def _write_lock(db: apsw.Connection, path: Path) -> Iterator[Check]:
    """A stuck writer makes everything look well until somebody writes, so ask for the lock."""
    if db.readonly("main"):
        return
    db.set_busy_timeout(_LOCK_WAIT_MS)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except apsw.BusyError:
        yield fail(
            "write lock",
            f"{_holder(path)} has kept the store locked for more than {_LOCK_WAIT_MS // 1000} s",
            "if it is stuck, end it: nothing is lost, capture goes on in the spool",
        )
    except (apsw.ReadOnlyError, apsw.IOError, apsw.FullError, apsw.CantOpenError) as fault:
        yield fail("write lock", f"the store cannot be written: {fault}")
    else:
        yield ok("write lock", "free")


def _holder(path: Path) -> str:
    """Who locks a file of the store, where Linux says it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inodes = {str(part.stat().st_ino) for part in path.parent.glob(path.name + "*")}
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            words = line.split()
            if "WRITE" in words and words[words.index("WRITE") + 2].rpartition(":")[2] in inodes:
                pid = int(words[words.index("WRITE") + 1])
                if pid not in (os.getpid(), -1):
                    return f"process {pid}"
    return "another process"


def _counted(db: apsw.Connection, view: View) -> Iterator[Check]:
    try:
        with _bounded(db, _CHECK_SECONDS), _snapshot(db):
            counts = {name: int(db.execute(statement).get) for name, statement in _COUNTS.items()}
            view.vectors = {str(model): int(count) for model, count in db.execute(_VECTORS)}
            view.last_change = int(db.execute(_LAST_CHANGE).get)
            view.texts = {str(id_): digest(title, body) for id_, title, body in db.execute(_TEXTS)}
    except apsw.InterruptError:
        yield ok("index", f"too large to count in {_CHECK_SECONDS:.0f} s")
        return
    view.passages, view.pending_changes = counts["passages"], counts["pending_changes"]
    text = f"{counts['memories']} memories, {counts['passages']} passages"
    if counts["passages"] != counts["text_entries"]:
        yield fail(
            "index",
            f"{text}, but {counts['text_entries']} text entries",
            "`claude-memory reindex` makes them anew",
        )
    else:
        yield ok("index", f"{text}, as many text entries")


def _pages(db: apsw.Connection, home: Path, *, deep: bool) -> Iterator[Check]:
    if deep:
        with _snapshot(db):
            problems = list(integrity.check(db, home / "cache" / "vectors").problems)
    else:
        try:
            with _bounded(db, _CHECK_SECONDS):
                problems = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
        except apsw.InterruptError:
            yield ok("integrity", f"no fault found in {_CHECK_SECONDS:.0f} s; a deep check reads it all")
            return
    if problems:
        yield fail("integrity", "; ".join(problems)[:300], _REBUILD)
    else:
        yield ok("integrity", "every page and link is sound" if deep else "sound")


@contextlib.contextmanager
def _snapshot(db: apsw.Connection) -> Iterator[None]:
    """One view for several statements, so that counts agree whoever writes meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextlib.contextmanager
def _bounded(db: apsw.Connection, seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        yield
    finally:
        db.set_progress_handler(None)
