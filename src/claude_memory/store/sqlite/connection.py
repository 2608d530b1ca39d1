"""Connections to one SQLite file: how they are opened, shared between threads, how they write and fail.

Every thread has its own connection, so that a reader never waits for a writer in the same process. A
connection is used only while its file is the one at the path: a restore, a rebuild or a person may have
put another there, and what is written to the old one is lost. Errors of SQLite leave here as the
package's own, with one line that says what to do.

The text index has one entry per passage, kept in step with its row and its lexicon. Terms come ready from
`store.passages`; FTS5 only splits them at spaces. Every term carries the number of its space, so that a query
of one project cannot meet a row of another. Deleting overwrites rows (`secure_delete`); `scrub` then rewrites
text index and file, so that no page, separator or log frame keeps a word. FTS5's own `secure-delete` would do
the same for every change of a neighbour too, and made one write cost ten times more at 100,000 memories.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from claude_memory.errors import StoreBusy, StoreCorrupt, StoreFault
from claude_memory.platform import files, locks
from claude_memory.platform.files import reads_only
from claude_memory.store.base import Pool
from claude_memory.store.sqlite import schema
from claude_memory.store.sqlite.schema import escaped, transaction

if TYPE_CHECKING:
    from claude_memory.store.sql.write import Terms

BUSY_TIMEOUT_MS = 5_000
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
_MMAP_BYTES = 1 << 33
_CACHE_KB = 65_536  # random keys: the tree of a large history must stay in memory while it grows
_PRAGMAS: dict[str, str | int] = {
    "synchronous": "full",
    "secure_delete": True,
    "foreign_keys": True,
    "mmap_size": _MMAP_BYTES,
    "temp_store": "memory",
}
_NETWORK_FILE_SYSTEMS = frozenset(
    "9p afs afpfs ceph cifs davfs fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs ncpfs nfs nfs4 "
    "smb3 smbfs vboxsf virtiofs webdav".split()
)
_RANGE_READ = 2_000  # words looked at that begin alike
_BEGINNING = """SELECT term FROM (SELECT term, doc FROM message_terms
      WHERE term >= :first AND term < :first || char(1114111) LIMIT :read) ORDER BY doc DESC LIMIT :limit"""
_PUT_WORDS = "INSERT INTO message_index (rowid, body) VALUES (?, ?)"
_DROP_WORDS = "INSERT INTO message_index (message_index, rowid, body) VALUES ('delete', ?, ?)"

_PUTS = 500  # entries of passages that wait to be written together
_LEXICON = """INSERT INTO lexicon VALUES (?, ?)
    ON CONFLICT DO UPDATE SET passages = passages + excluded.passages"""
_TOTALS = """INSERT INTO spaces (number, passages, length) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
    SET passages = passages + excluded.passages, length = length + excluded.length"""
_DROP_ENTRY = """INSERT INTO text_index (text_index, rowid, own, near, far, dates)
    VALUES ('delete', ?, ?, ?, ?, ?)"""
_PUT_ENTRY = "INSERT INTO text_index (rowid, own, near, far, dates) VALUES (?, ?, ?, ?, ?)"
_DEAD = "INSERT INTO dead_vectors (model, space, passage) SELECT model, space, passage FROM vectors"


class SqliteDatabase(apsw.Connection):
    """A connection, with what the shared parts of a store ask of a backend (`store.base`)."""

    file: tuple[int, int] | None = None  # that it has open
    log: tuple[int, int] | None = None  # None where it keeps none
    user_space = 0
    is_shared = False
    messages = "SELECT max(number) FROM messages"  # about how many there are
    settled = "1 = 1"  # one writer at a time: numbers are given in the order of commits
    holding = (
        "message_index i JOIN messages m ON m.number = i.rowid",
        "i.message_index MATCH :question",
        "i.rowid",
    )

    def entries(self) -> IndexWriter:
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

    def words_beginning(self, start: str, limit: int) -> list[str]:
        values = {"first": start, "read": _RANGE_READ, "limit": limit}
        return [term for (term,) in self.execute(_BEGINNING, values)]

    def used_bytes(self) -> int:
        pages = self.pragma("page_count") - self.pragma("freelist_count")
        return int(pages * self.pragma("page_size"))

    def compact(self) -> None:
        self.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")


class IndexWriter:
    """Collects what one transaction changes in the text index; `flush` settles counts at the end."""

    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db
        self._frequency: Counter[str] = Counter()
        self._passages: Counter[int] = Counter()
        self._length: defaultdict[int, float] = defaultdict(float)
        self._puts: list[tuple[int | str, ...]] = []

    def put(self, passage: int, space: int, terms: Terms) -> None:
        self._puts.append((passage, *self._count(space, terms, 1)))
        if len(self._puts) >= _PUTS:
            self._write()

    def _write(self) -> None:
        """Enter what waits: in order, because the index begins a new piece whenever numbers go back."""
        self._db.executemany(_PUT_ENTRY, sorted(self._puts))
        self._puts.clear()

    def drop(self, passage: int, space: int, terms: Terms) -> None:
        self._write()
        self._db.execute(_DROP_ENTRY, (passage, *self._count(space, terms, -1)))

    def _count(self, space: int, terms: Terms, sign: int) -> list[str]:
        """The columns as FTS5's ascii tokenizer keeps them: `jwt c++` in space 12 is `12_jwt 12_c_2b_2b`."""
        head = schema.head(space)
        columns = [head + escaped(text).replace(" ", f" {head}") if text else "" for text in terms]
        count = self._frequency.update if sign > 0 else self._frequency.subtract
        count(set(" ".join(columns).split()))
        self._passages[space] += sign
        self._length[space] += sign * terms.length
        return columns

    def flush(self) -> None:
        self._write()
        deltas = [(term, delta) for term, delta in sorted(self._frequency.items()) if delta]
        self._db.executemany(_LEXICON, deltas)
        gone = ((term,) for term, delta in deltas if delta < 0)
        self._db.executemany("DELETE FROM lexicon WHERE term = ? AND passages <= 0", gone)
        totals = [(space, delta, self._length[space]) for space, delta in self._passages.items()]
        self._db.executemany(_TOTALS, totals)
        for counts in (self._frequency, self._passages, self._length):
            counts.clear()

    def drop_vectors(self, memory: int) -> int:
        mine = "WHERE passage IN (SELECT id FROM passages WHERE memory = ?)"
        self._db.execute(f"{_DEAD} {mine}", (memory,))
        self._db.execute(f"DELETE FROM vectors {mine}", (memory,))
        return self._db.changes()

    def erased(self, space: int) -> None:
        """Let the vector caches of a space be made anew, without what is gone for good."""
        self._db.execute("UPDATE spaces SET epoch = epoch + 1 WHERE number = ?", (space,))
        self._db.execute("DELETE FROM dead_vectors WHERE space = ?", (space,))

    def clear(self) -> None:
        """Empty the index, and drop vectors that belong to nothing; vector caches are copied anew, too."""
        self._db.execute(
            """INSERT INTO text_index (text_index) VALUES ('delete-all');
            DELETE FROM lexicon; DELETE FROM dead_vectors;
            UPDATE spaces SET passages = 0, length = 0, epoch = epoch + 1;
            DELETE FROM vectors WHERE passage NOT IN
                (SELECT q.id FROM passages q JOIN memories m ON m.number = q.memory)"""
        )


class Connections(Pool):
    def __init__(self, path: Path, backups: Path, keep_backups: int, patience_ms: int | None) -> None:
        """Make or migrate the file where that is needed and possible; otherwise read what is there."""
        super().__init__()
        self.path, self._log = path, Path(f"{path}-wal")
        self._patience_ms = BUSY_TIMEOUT_MS if patience_ms is None else patience_ms
        self.when_replaced: Callable[[], None] = lambda: None
        self._backups, self._keep_backups = backups, keep_backups
        self._all: weakref.WeakSet[SqliteDatabase] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._closed = False
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._prepare()
            undo.pop_all()

    def _prepare(self) -> None:
        self._writable = not reads_only()
        with translated(self.path):
            self._create_file()
            db = self.get()
            found = schema.version(db)
            if found < schema.CURRENT and self._writable:
                if found:
                    from claude_memory.store.sqlite.inspection import copy_before_migration

                    copy_before_migration(db, found, self._backups, self._keep_backups)
                schema.migrate(db)
            elif found == 0:
                raise StoreFault(f"cannot make a store at {self.path}: the folder is read-only")

    def _create_file(self) -> None:
        try:
            files.private_folder(self.path.parent)
            if not self.path.exists():
                lock = self.path.with_name(f".{self.path.name}.lock")
                busy = f"another process is making {self.path}; try again"
                with locks.held(lock, wait_seconds=self._patience_ms / 1000, conflict=busy):
                    if not self.path.exists():
                        drop_logs(self.path)  # of one that was deleted: it would be taken for ours
                        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, files.FILE_MODE))
            os.close(os.open(self.path, os.O_RDWR))
        except OSError as fault:
            if not self.path.exists():
                raise StoreFault(f"cannot make a store at {self.path}: {fault.strerror}") from None
            self._writable = False

    def get(self) -> SqliteDatabase:
        """This thread's connection, to the file that is at the path now."""
        db: SqliteDatabase | None = getattr(self._local, "db", None)
        if db is not None and not self._is_current(db):
            self._leave(db)
            return self.get()
        if db is None:
            if self._closed:
                raise StoreFault("the store is closed")
            db = self._local.db = self._open()
            with self._guard:
                self._all.add(db)
        return db

    def _is_current(self, db: SqliteDatabase) -> bool:
        return db.log in (None, _identity(self._log)) and db.file == _identity(self.path)

    def _leave(self, db: SqliteDatabase) -> None:
        """Give up a file that was replaced, and get ready for the one that took its place."""
        self._local.db = None
        if db.in_transaction:
            raise StoreFault(f"{self.path} was replaced in the middle of a transaction; try again")
        db.close()  # SQLite leaves a log alone whose file has moved, because it may be another's
        if db.file != _identity(self.path) and db.log == _identity(self._log) is not None:
            drop_logs(self.path)  # it is the old one's, and the new file must not take it for its own
        self.when_replaced()
        self._prepare()

    def _open(self) -> SqliteDatabase:
        # Before opening: if it is replaced in between, the next look sees a difference.
        before = _identity(self.path)
        db: SqliteDatabase | None = None
        if self._writable:
            try:
                db = self._opened_for_writing()
            except (apsw.ReadOnlyError, apsw.CantOpenError):
                self._writable = False
        db = db or open_read_only(self.path)
        db.file = before
        return db

    def _opened_for_writing(self) -> SqliteDatabase:
        db = SqliteDatabase(str(self.path), flags=_READ_WRITE)
        db.set_busy_timeout(self._patience_ms)
        journal = "delete" if on_network(self.path) else "wal"
        if db.pragma("journal_mode") != journal:
            db.pragma("journal_mode", journal)
        for name, value in _PRAGMAS.items():
            db.pragma(name, value)
        db.pragma("user_version")  # opens the log
        if db.pragma("journal_mode") == "wal":
            db.log = _identity(self._log)
        return db

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteDatabase]:
        with translated(self.path), transaction(self.get(), "BEGIN") as db:
            yield db

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteDatabase]:
        with translated(self.path):
            db = self.get()
            if not self._writable:
                why = "CLAUDE_MEMORY_READONLY is set" if reads_only() else "read-only"
                raise StoreFault(f"{self.path} cannot be written: {why}")
            hurried = self._hurried_ms()
            db.set_busy_timeout(self._patience_ms if hurried is None else min(hurried, self._patience_ms))
            try:
                with transaction(db, "BEGIN IMMEDIATE"):
                    yield db
            finally:
                db.set_busy_timeout(self._patience_ms)
            if not self._is_current(db):
                raise StoreBusy(f"{self.path} was replaced while it was written; try again")
        if self.after_write is not None:
            self.after_write()

    def scrub(self) -> None:
        """Rewrite index and file without what was deleted; unfinished while a reader needs the old pages."""
        with translated(self.path):
            db = self.get()
            with transaction(db, "BEGIN IMMEDIATE"):
                # `optimize` leaves a single segment as it is, separators of erased terms included: add one.
                entry = (db.execute("SELECT coalesce(max(id), 0) + 1 FROM passages").get, "0_", "", "", "")
                db.execute(_PUT_ENTRY, entry)
                db.execute("INSERT INTO text_index (text_index) VALUES ('optimize')")
                db.execute(_DROP_ENTRY, entry)
            # The checkpoint of a database without a log is not busy.
            for then in ("VACUUM", "DELETE FROM meta WHERE key = 'unscrubbed'"):
                if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0]:
                    return
                db.execute(then)

    def close(self) -> None:
        self._closed = True
        with self._guard:
            for db in list(self._all):
                db.close()
            self._all.clear()
        self._local = threading.local()


def drop_logs(path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every transaction
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_read_only(path: Path) -> SqliteDatabase:
    """Read a store whose folder cannot be written; a WAL database needs `immutable` for that."""
    try:
        db = looked_at(path, "mode=ro")
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db = looked_at(path, "immutable=1")
        db.pragma("user_version")
    db.pragma("mmap_size", _MMAP_BYTES)
    return db


def looked_at(path: Path, how: str, *, patience_ms: int = BUSY_TIMEOUT_MS) -> SqliteDatabase:
    """Read a file; `immutable` looks at it alone, whatever lies beside it."""
    db = SqliteDatabase(f"{path.absolute().as_uri()}?{how}", flags=_READ_ONLY)
    db.set_busy_timeout(patience_ms)
    return db


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
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
    kinds = {}
    for mount, _, source in (line.partition(" - ") for line in lines):
        point = mount.split(" ")[4].replace("\\040", " ").rstrip("/") + "/"
        if real.startswith(point):
            kinds[point] = source.partition(" ")[0]
    return kinds.get(max(kinds, key=len, default="")) in _NETWORK_FILE_SYSTEMS
