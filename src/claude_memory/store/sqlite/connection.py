"""Connections to one SQLite file: how they are opened, shared between threads, and how they fail.

Every thread has its own connection, so that a reader never waits for a writer in the same process. A
connection is used only while its file is the one at the path: a restore, a rebuild or a person may have
put another there, and what is written to the old one is lost. Errors of SQLite leave here as the
package's own, with one line that says what to do.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from claude_memory.errors import StoreBusy, StoreCorrupt, StoreFault
from claude_memory.platform import files, locks
from claude_memory.platform.files import reads_only
from claude_memory.store.sql.backend import Pool
from claude_memory.store.sqlite import schema

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
_MMAP_BYTES = 1 << 33
_BESIDE = ("-wal", "-shm", "-journal")
_NETWORK_FILE_SYSTEMS = frozenset(
    "9p afs afpfs ceph cifs davfs fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs ncpfs nfs nfs4 "
    "smb3 smbfs vboxsf virtiofs webdav".split()
)
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


_CACHE_KB = 65_536  # random keys: the tree of a large history must stay in memory while it grows
_RANGE_READ = 2_000  # words looked at that begin alike
_BEGINNING = """SELECT term FROM (SELECT term, doc FROM message_terms
      WHERE term >= :first AND term < :first || char(1114111) LIMIT :read) ORDER BY doc DESC LIMIT :limit"""
_PUT_WORDS = "INSERT INTO message_index (rowid, body) VALUES (?, ?)"
_DROP_WORDS = "INSERT INTO message_index (message_index, rowid, body) VALUES ('delete', ?, ?)"


class SqliteDatabase(apsw.Connection):
    """A connection, with what the shared parts of a store ask of a backend (`store.sql.backend`)."""

    user_space = 0
    is_shared = False
    settled = "1 = 1"  # one writer at a time: numbers are given in the order of commits
    holding = (
        "message_index i JOIN messages m ON m.number = i.rowid",
        "i.message_index MATCH :question",
        "i.rowid",
    )

    def entries(self) -> Any:
        from claude_memory.store.sqlite.text_index import IndexWriter

        return IndexWriter(self)

    def tick(self, at_least: int) -> int:
        last = int(self.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock'").get or 0)
        now = max(last, at_least) + 1
        self.execute("INSERT OR REPLACE INTO meta VALUES ('clock', ?)", (str(now),))
        return now

    def count_on(self, latest: int) -> None:
        self.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'changes'", (latest,))
        if not self.changes():
            self.execute("INSERT INTO sqlite_sequence VALUES ('changes', ?)", (latest,))

    def message_numbers(self, count: int) -> Iterable[int]:
        self.pragma("cache_size", -_CACHE_KB)
        last = int(self.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").get or 0)
        return range(last + 1, last + 1 + count)

    def body(self, text: str) -> str | bytes:
        from claude_memory.store.sql.rows import packed

        return packed(text)

    def put_messages(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], texts: Sequence[tuple[int, str]]
    ) -> None:
        places = ", ".join("?" * len(columns))
        self.executemany(f"INSERT INTO messages ({', '.join(columns)}) VALUES ({places})", rows)
        self.executemany(_PUT_WORDS, texts)

    def replace_words(self, message: int, before: str, after: str) -> None:
        self.execute(_DROP_WORDS, (message, before))
        self.execute(_PUT_WORDS, (message, after))

    def question(self, words: Sequence[str]) -> str:
        return " AND ".join(f'"{word}"' for word in words)

    def word_counts(self, words: Iterable[str]) -> dict[str, int]:
        statement = "SELECT doc FROM message_terms WHERE term = ?"
        return {word: int(self.execute(statement, (word,)).get or 0) for word in words}

    def message_count(self) -> int:
        return int(self.execute("SELECT max(number) FROM messages").get or 0)

    def words_beginning(self, start: str, limit: int) -> list[str]:
        values = {"first": start, "read": _RANGE_READ, "limit": limit}
        return [term for (term,) in self.execute(_BEGINNING, values)]

    def used_bytes(self) -> int:
        pages = self.pragma("page_count") - self.pragma("freelist_count")  # free ones are not used
        return int(pages * self.pragma("page_size"))

    def compact(self) -> None:
        self.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")


class OpenFile(NamedTuple):
    """One connection, and which files it has open; `log` is None where it keeps none."""

    db: SqliteDatabase
    file: tuple[int, int] | None
    log: tuple[int, int] | None


class Connections(Pool):
    """All connections of this process to one store file."""

    def __init__(self, path: Path, patience_ms: int = BUSY_TIMEOUT_MS) -> None:
        super().__init__()
        self.path = path
        self.patience_ms = patience_ms
        self.writable = not reads_only()
        self.when_replaced: Callable[[], None] | None = None
        self._before_migration: Callable[[int], None] | None = None
        self._all: weakref.WeakSet[SqliteDatabase] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._closed = False

    def prepare(self, before_migration: Callable[[int], None]) -> None:
        """Make or migrate the file where that is needed and possible; otherwise read what is there."""
        self._before_migration = before_migration
        with translated(self.path):
            self._create_file()
            db = self.get()
            found = schema.version(db)
            if found < schema.CURRENT and self.writable:
                if found:
                    before_migration(found)
                schema.migrate(db)
            elif found == 0:
                raise StoreFault(f"cannot make a store at {self.path}: the folder is read-only")

    def _create_file(self) -> None:
        try:
            files.private_folder(self.path.parent)
            if not self.path.exists():
                self._begin_anew()
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, files.FILE_MODE))
        except OSError as fault:
            if not self.path.exists():
                raise StoreFault(f"cannot make a store at {self.path}: {fault.strerror}") from None
            self.writable = False

    def _begin_anew(self) -> None:
        """Make the file without what is left of one that was deleted: its log would be taken for ours."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        busy = f"another process is making {self.path}; try again"
        with locks.held(lock, wait_seconds=self.patience_ms / 1000, conflict=busy):
            if not self.path.exists():
                for suffix in _BESIDE:
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, files.FILE_MODE))

    def get(self) -> SqliteDatabase:
        """This thread's connection, to the file that is at the path now."""
        found: OpenFile | None = getattr(self._local, "opened", None)
        if found is not None and not self._is_current(found):
            self._leave(found)
            found = None
        if found is None:
            if self._closed:
                raise StoreFault("the store is closed")
            found = self._open()
            self._local.opened = found
            with self._guard:
                self._all.add(found.db)
        return found.db

    def is_current(self) -> bool:
        """Whether this thread's connection still has the file that is at the path."""
        found: OpenFile | None = getattr(self._local, "opened", None)
        return found is not None and self._is_current(found)

    def _is_current(self, opened: OpenFile) -> bool:
        same_log = opened.log is None or opened.log == _identity(_log_of(self.path))
        return same_log and opened.file == _identity(self.path)

    def _leave(self, opened: OpenFile) -> None:
        """Give up a file that was replaced, and get ready for the one that took its place."""
        self._local.opened = None
        if opened.db.in_transaction:
            raise StoreFault(f"{self.path} was replaced in the middle of a transaction; try again")
        opened.db.close()  # SQLite leaves a log alone whose file has moved, because it may be another's
        if opened.file != _identity(self.path) and opened.log == _identity(_log_of(self.path)) is not None:
            for suffix in _BESIDE:  # it is the old one's, and the new file must not take it for its own
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self.writable = not reads_only()
        if self.when_replaced is not None:
            self.when_replaced()
        if self._before_migration is not None:
            self.prepare(self._before_migration)

    def _open(self) -> OpenFile:
        if self.writable:
            with contextlib.suppress(apsw.ReadOnlyError, apsw.CantOpenError):
                # Before opening: if it is replaced in between, the next look sees a difference.
                before = _identity(self.path)
                db = self._configured(SqliteDatabase(str(self.path), flags=_READ_WRITE))
                db.pragma("user_version")  # opens the log
                is_logged = db.pragma("journal_mode") == "wal"
                return OpenFile(db, before, _identity(_log_of(self.path)) if is_logged else None)
            self.writable = False
        before = _identity(self.path)
        return OpenFile(open_read_only(self.path), before, None)

    def _configured(self, db: SqliteDatabase) -> SqliteDatabase:
        db.set_busy_timeout(self.patience_ms)
        journal = "delete" if on_network(self.path) else "wal"
        if db.pragma("journal_mode") != journal:
            db.pragma("journal_mode", journal)
        db.pragma("synchronous", "full")
        db.pragma("secure_delete", True)
        db.pragma("foreign_keys", True)
        db.pragma("mmap_size", _MMAP_BYTES)
        db.pragma("temp_store", "memory")
        return db

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteDatabase]:
        """One consistent view of the store, whoever writes meanwhile."""
        with translated(self.path), transaction(self.get(), "BEGIN") as db:
            yield db

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteDatabase]:
        """One transaction that is committed as a whole or not at all."""
        with translated(self.path):
            db = self.get()
            if not self.writable:
                why = "CLAUDE_MEMORY_READONLY is set" if reads_only() else "read-only"
                raise StoreFault(f"{self.path} cannot be written: {why}")
            hurried = self._hurried_ms()
            db.set_busy_timeout(min(hurried, self.patience_ms) if hurried is not None else self.patience_ms)
            try:
                with transaction(db, "BEGIN IMMEDIATE"):
                    yield db
            finally:
                db.set_busy_timeout(self.patience_ms)
            if not self.is_current():
                raise StoreBusy(f"{self.path} was replaced while it was written; try again")
        if self.after_write is not None:
            self.after_write()

    def checked(self, work: Callable[[SqliteDatabase], T]) -> T:
        """Run work that manages its own transactions."""
        with translated(self.path):
            return work(self.get())

    def size_bytes(self) -> int:
        """The database with its log."""
        sizes = 0
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                sizes += Path(f"{self.path}{suffix}").stat().st_size
        return sizes

    def close(self) -> None:
        """Close the connections of all threads."""
        self._closed = True
        with self._guard:
            for db in list(self._all):
                db.close()
            self._all.clear()
        self._local = threading.local()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every transaction
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


@contextlib.contextmanager
def transaction(db: SqliteDatabase, begin: str) -> Iterator[SqliteDatabase]:
    """Commit at the end; roll back whatever goes wrong, an interrupt included."""
    db.execute(begin)
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite may have rolled back by itself, on a full disk for one
            db.execute("ROLLBACK")
        raise


def open_read_only(path: Path) -> SqliteDatabase:
    """Read a store whose folder cannot be written; a WAL database needs `immutable` for that."""
    uri = path.absolute().as_uri()
    try:
        db = SqliteDatabase(uri, flags=_READ_ONLY)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db = SqliteDatabase(uri + "?immutable=1", flags=_READ_ONLY)
        db.pragma("user_version")
    db.pragma("mmap_size", _MMAP_BYTES)
    return db


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into the package's."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError):
        # SQLite calls it busy, too, when the file system refuses to lock: then trying again never helps.
        if reason := locks.why_not(path.parent):
            raise StoreFault(f"{path} cannot be locked ({reason}); keep the home on a local disk") from None
        raise StoreBusy(f"another process is writing to {path}; try again in a moment") from None
    except (apsw.CorruptError, apsw.NotADBError) as fault:
        raise StoreCorrupt(f"{path} is damaged ({fault}); restore a backup or reindex from files") from None
    except apsw.FullError:
        raise StoreFault(f"the disk that holds {path} is full; nothing was changed") from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError) as fault:
        raise StoreFault(f"cannot use {path}: {fault}") from None


def on_network(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether the file lies where shared memory, and so WAL, does not work between machines."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
        real = os.path.realpath(path)
    except OSError:
        return False  # not Linux
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        if "-" not in fields[:-1] or len(fields) < 7:
            continue
        point = fields[4].replace("\\040", " ")
        if len(point) >= len(best) and (real + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, fields[fields.index("-") + 1]
    return kind in _NETWORK_FILE_SYSTEMS
