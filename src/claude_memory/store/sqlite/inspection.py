"""Looking at a store's file as it is: a full check, copies, and a look at a file that may be old or damaged.

Nothing here makes or migrates a store. A file is looked at without its write lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

import apsw

from claude_memory.errors import StoreBusy, StoreCorrupt, StoreFault
from claude_memory.platform import files
from claude_memory.store.base import NO_PASSAGE, checked
from claude_memory.store.model import Inspection, Integrity
from claude_memory.store.sql import rows
from claude_memory.store.sqlite import schema
from claude_memory.store.sqlite.connection import (
    SqliteDatabase,
    looked_at,
    on_network,
    open_read_only,
    translated,
)
from claude_memory.store.sqlite.schema import transaction
from claude_memory.text.times import deadline

_OLDEST_LIBRARY = (3, 51, 3)  # before it, two connections that write can lose a WAL's head
_LOCK_WAIT_MS = 2_000  # a drain's batch takes a tenth of that; who holds it longer is stuck
_LOOK_SECONDS = 5.0
_FOREIGN_WAIT_MS = 500
_MOST_LINES = 20
_PAGES_AT_ONCE = 4_096

_WRONG = {
    "memories without a passage": NO_PASSAGE,
    "passages without a memory": """SELECT count(*) FROM passages q
        WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.number = q.memory)""",
    "passages without a text entry": """SELECT count(*) FROM passages q
        WHERE NOT EXISTS (SELECT 1 FROM text_index_docsize d WHERE d.id = q.id)""",
    "text entries without a passage": """SELECT count(*) FROM text_index_docsize d
        WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.id = d.id)""",
    "vectors of another length than the rest of their model": """SELECT count(*) FROM vectors v
        JOIN (SELECT model, length(vector) AS usual FROM vectors GROUP BY model HAVING seq = min(seq)) f
          ON f.model = v.model WHERE length(v.vector) <> f.usual""",
    "events whose content is no JSON": "SELECT count(*) FROM events WHERE NOT json_valid(payload)",
    "memories whose origin is no JSON": "SELECT count(*) FROM memories WHERE NOT json_valid(provenance)",
    "spaces whose count of passages is wrong": """SELECT count(*) FROM spaces s
        WHERE s.passages <> (SELECT count(*) FROM passages q WHERE q.space = s.number)""",
}
_ENTRIES = "text_index_docsize"
_MIRRORED = "coalesce((SELECT through FROM cursors WHERE mirror = 'memories.jsonl'), 0)"
_CHANGES = f"""SELECT (SELECT count(*) FROM changes WHERE sequence > {_MIRRORED}),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)"""
# What waits for the mirror may differ from it.
_TEXTS = f"""SELECT id, title, body FROM memories WHERE id NOT IN (SELECT record ->> '$.memory.id'
    FROM changes WHERE sequence > {_MIRRORED} AND record ->> '$.memory.id' IS NOT NULL)"""


def check(db: SqliteDatabase, cache: Path) -> Integrity:
    """SQLite's own full check, the links between tables, and the vector cache."""
    lines = db.execute(f"PRAGMA integrity_check({_MOST_LINES})")
    problems = [f"SQLite: {line}" for (line,) in lines if line != "ok"]
    for table, rowid, parent, _ in db.execute("PRAGMA foreign_key_check"):
        problems.append(f"row {rowid} of {table} points at a row of {parent} that is gone")
    found = checked(db, _ENTRIES, _WRONG)
    problems += found.problems
    if cache.is_dir():
        from claude_memory.store.sqlite import matrix

        problems += matrix.damage(db, cache)
    return found._replace(problems=tuple(problems[:_MOST_LINES]))


def inspect(path: Path) -> Inspection:
    """What can be seen of a store's file, whatever its version.

    Raises SchemaTooNew, StoreCorrupt, or StoreBusy if it cannot even be read.
    """
    with _translated(path), contextlib.closing(_opened(path)) as db:
        version = schema.version(db)
        beside = path.parent.glob(path.name + "*")
        size = sum(part.stat().st_size for part in beside if part.is_file())
        seen = Inspection(version, schema.CURRENT, size, _lock(db, path), on_network(path))
        if version != schema.CURRENT:
            return seen
        with _bounded(db), transaction(db, "BEGIN"):
            pending, last = next(db.execute(_CHANGES))
            seen = seen._replace(
                pending_changes=pending,
                last_change=last,
                texts={id_: rows.digest(title, body) for id_, title, body in db.execute(_TEXTS)},
                **checked(db, _ENTRIES, {})._asdict(),
            )._replace(problems=None)
        with _bounded(db):
            lines: list[Any] = db.execute("PRAGMA quick_check(3)").fetchall()
            return seen._replace(problems=tuple(line for (line,) in lines if line != "ok"))
        return seen


def _opened(path: Path) -> SqliteDatabase:
    """For writing where possible, only because closing then leaves no log file behind."""
    try:
        db = SqliteDatabase(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(_LOCK_WAIT_MS)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
        return open_read_only(path)
    return db


def _lock(db: SqliteDatabase, path: Path) -> str:
    """A stuck writer makes everything look well until somebody writes, so ask for the lock."""
    if db.readonly("main"):
        return ""
    try:
        db.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return f"{_holder(path)} has kept the store locked for more than {_LOCK_WAIT_MS // 1000} s"
    except (apsw.ReadOnlyError, apsw.IOError, apsw.FullError, apsw.CantOpenError) as fault:
        return f"the store cannot be written: {fault}"
    return "free"


def _holder(path: Path) -> str:
    """Who locks a file of the store, where Linux says it."""
    with contextlib.suppress(OSError):
        inodes = {str(part.stat().st_ino) for part in path.parent.glob(path.name + "*")}
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            words = line.partition("WRITE ")[2].split()  # `1: POSIX ADVISORY WRITE 4711 08:01:123456 0 EOF`
            if words and words[1].rpartition(":")[2] in inodes and int(words[0]) not in (os.getpid(), -1):
                return f"process {words[0]}"
    return "another process"


@contextlib.contextmanager
def _bounded(db: SqliteDatabase) -> Iterator[None]:
    """What takes longer than a person would wait is left out."""
    db.set_progress_handler(deadline(_LOOK_SECONDS), 10_000)
    try:
        with contextlib.suppress(apsw.InterruptError):
            yield
    finally:
        db.set_progress_handler(None)


def files_read(path: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each source when it was last read to its end, of a store of any version."""
    with _translated(path), contextlib.closing(open_read_only(path)) as db:
        there = db.table_exists("main", "import_files")
        read: Any = db.execute("SELECT path, size, modified_ns FROM import_files") if there else ()
        return {name: (size, modified) for name, size, modified in read}


def is_sound(path: Path) -> bool:
    """Whether a file passes SQLite's own check; StoreFault if that cannot be told."""
    try:
        with _translated(path), contextlib.closing(looked_at(path, "mode=ro")) as db:
            return db.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except StoreCorrupt:
        return False


def set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    for suffix in ("-wal", "-shm", ""):  # the main file last: a new one must never meet an old log
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    files.sync_folder(path.parent)
    return aside


def library() -> tuple[str, bool]:
    """The version of SQLite in use, and whether it is safe: older ones can damage a store."""
    version = apsw.sqlite_lib_version()
    return version, tuple(int(part) for part in version.split(".")[:3]) >= _OLDEST_LIBRARY


def check_file(path: Path, *, in_use: bool = False) -> None:
    """Verify a database that came from elsewhere, and that it is a store and nothing more.

    Of one that others may be writing to, only the latter.
    """
    try:
        with contextlib.closing(looked_at(path, "mode=ro" if in_use else "immutable=1")) as db:
            schema.version(db)
            foreign = schema.foreign_objects(db)
            found = [] if in_use else [line for (line,) in db.execute("PRAGMA integrity_check(3)")]
    except apsw.Error as fault:
        raise StoreCorrupt(
            f"its database cannot be read: {shorten(str(fault), 200, placeholder='…')}"
        ) from None
    if foreign:
        raise StoreCorrupt(f"its database holds what no store of ours has: {', '.join(foreign)[:200]}")
    if found not in ([], ["ok"]):
        raise StoreCorrupt(
            f"its database fails the integrity check: {shorten('; '.join(found), 200, placeholder='…')}"
        )


def own_words(path: Path) -> tuple[int, int]:
    """How many memories are told as the person's own words; none where that cannot be read."""
    statement = "SELECT count(*), coalesce(sum(space = 0), 0) FROM memories WHERE trust = 'user'"
    with contextlib.suppress(apsw.Error), contextlib.closing(looked_at(path, "immutable=1")) as db:
        own, everywhere = next(db.execute(statement))
        return int(own), int(everywhere)
    return 0, 0


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Every error of SQLite as one of ours: a file that is looked at may be anything."""
    try:
        with translated(path):
            yield
    except StoreBusy:
        raise StoreBusy(f"{path.name} cannot even be read: {_holder(path)} holds it") from None
    except apsw.Error as fault:
        raise StoreFault(f"{path} cannot be looked at: {fault}") from None


def copy(db: SqliteDatabase, target: Path) -> int:
    """Write a copy by SQLite's backup; the target appears only when it is whole. Returns its version."""
    files.private_folder(target.parent)
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.tmp")
    files.new_file(temporary).close()
    mapped = db.pragma("mmap_size")
    db.pragma("mmap_size", 0)  # a mapped file counts as this process's memory, page by page
    try:
        with contextlib.closing(SqliteDatabase(str(temporary))) as copied:
            with copied.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES_AT_ONCE)
            copied.pragma("journal_mode", "delete")  # one file, with no log beside it
            version = int(copied.pragma("user_version"))
        with temporary.open("r+b") as handle:
            files.sync_file(handle)
        files.put_in_place(temporary, target, new=False)
    finally:
        db.pragma("mmap_size", mapped)
        temporary.unlink(missing_ok=True)
    return version


def copy_before_migration(db: SqliteDatabase, version: int, folder: Path, keep: int) -> None:
    """Keep a verified copy of a store that is about to change its schema."""
    target = folder / f"pre-migration-{version}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.db"
    try:
        copy(db, target)
    except OSError as fault:
        raise StoreFault(f"no backup, so no migration: {fault}") from None
    if not is_sound(target):
        raise StoreCorrupt(f"the copy {target} is damaged")
    made = sorted(folder.glob("pre-migration-*.db"), key=lambda path: path.stat().st_mtime)
    for old in made[: -max(1, keep)]:
        old.unlink(missing_ok=True)


@contextlib.contextmanager
def foreign_database(path: Path) -> Iterator[Any]:
    """A database of another program, read only, with rows by the names of their columns.

    StoreFault if it is none, or cannot be read: it may hold anything.
    """
    try:
        with contextlib.closing(looked_at(path, "mode=ro", patience_ms=_FOREIGN_WAIT_MS)) as db:
            db.row_trace = lambda cursor, row: dict(
                zip((name for name, *_ in cursor.getdescription()), row, strict=True)
            )
            yield db
    except apsw.Error as fault:
        raise StoreFault(f"{type(fault).__name__}: {fault}") from None
