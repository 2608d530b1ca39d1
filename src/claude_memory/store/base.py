"""What a store must do as a whole: its parts, projects, numbered changes, check and export.

Every backend is a `Store`; what a method promises is said here and in the parts (`store/sql`), once. A store
keeps rows and finds candidates; it never ranks, judges, redacts or reads files. Each call is one transaction;
every query is scoped to projects. What the parts ask of a backend is a `Pool` of `Database`s: what every kind
of connection has. What only writers need is imported where it is used: a hook is in a hurry.
"""

from __future__ import annotations

import contextlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from claude_memory.errors import NotFound, StoreFault
from claude_memory.model import PersonId, Project, ProjectId, ProjectIdentity
from claude_memory.store.model import Change, Integrity, StoreStats
from claude_memory.store.sql import changes, projects, rows

if TYPE_CHECKING:
    from pathlib import Path

    from claude_memory.store.model import Added
    from claude_memory.store.postgres.team_server import PostgresDatabase, TermWriter
    from claude_memory.store.sql.archive import Archive
    from claude_memory.store.sql.feed import Feed
    from claude_memory.store.sql.lifecycle import Graph, Lifecycle
    from claude_memory.store.sql.memories import Memories
    from claude_memory.store.sqlite.connection import IndexWriter, SqliteDatabase

    Database: TypeAlias = "SqliteDatabase | PostgresDatabase"  # within a transaction
    Entries: TypeAlias = "IndexWriter | TermWriter"  # of the text index, while one transaction changes it

T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]
_JOIN_TIMEOUT_MS = 250  # a search must not wait for a writer only to note a folder's new name
_VECTORS = "SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model GROUP BY n.id"
# Of what is wrong in any store, whatever holds its text index.
NO_PASSAGE = """SELECT count(*) FROM memories m
    WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.memory = m.number)"""
_SINCE = """SELECT sequence, record, home, clock FROM changes WHERE {settled} AND sequence
    > coalesce((SELECT through FROM cursors WHERE mirror = ?), 0) ORDER BY sequence LIMIT ?"""
_TAKEN = """INSERT INTO cursors (mirror, through) VALUES (?, ?)
    ON CONFLICT (mirror) DO UPDATE SET through = max(cursors.through, excluded.through)"""
_OF_PROJECT = ":project IS NULL OR project = (SELECT number FROM projects WHERE id = :project)"


class Pool(ABC):
    """All connections of this process to one store; gives them out, each for one transaction."""

    def __init__(self) -> None:
        # Called after every commit of this process, outside the transaction.
        self.after_write: Callable[[], None] | None = None
        self._local = threading.local()

    @abstractmethod
    def reading(self) -> AbstractContextManager[Database]:
        """One consistent view of the store, whoever writes meanwhile."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Database]:
        """One transaction that is committed as a whole or not at all."""

    @contextlib.contextmanager
    def hurried(self, patience_ms: int) -> Iterator[None]:
        """Wait no longer than this for another writer, in this thread, for as long as it is open."""
        before = self._hurried_ms()
        self._local.patience_ms = patience_ms
        try:
            yield
        finally:
            self._local.patience_ms = before

    def _hurried_ms(self) -> int | None:
        return getattr(self._local, "patience_ms", None)


class StorePart:
    def __init__(self, connections: Pool) -> None:
        self._connections = connections

    def _read(self, statement: str, values: Values = ()) -> list[Any]:
        """All rows of a statement, in a transaction of its own."""
        with self._connections.reading() as db:
            return db.execute(statement, values).fetchall()

    def _values(self, class_: Callable[..., T], statement: str, values: Values = ()) -> list[T]:
        """All rows of a statement, as values of a class."""
        return [rows.read(class_, row) for row in self._read(statement, values)]

    def _value(self, statement: str, values: Values = ()) -> Any:
        """The first row, or its only value; None if there is none."""
        with self._connections.reading() as db:
            return db.execute(statement, values).get

    def _write(self, statement: str, values: Values = ()) -> None:
        with self._connections.writing() as db:
            db.execute(statement, values)


class Store(ABC):
    """The persistent half of the memory; safe to use from several threads and processes."""

    def __init__(self, pool: Pool, memories: Memories) -> None:
        self.transactions = pool
        self.memories = memories

    @cached_property
    def archive(self) -> Archive:
        from claude_memory.store.sql.archive import Archive

        return Archive(self.transactions, self.memories.scrub)

    @cached_property
    def graph(self) -> Graph:
        from claude_memory.store.sql.lifecycle import Graph

        return Graph(self.transactions)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        from claude_memory.store.sql.lifecycle import Lifecycle

        return Lifecycle(self.transactions)

    @cached_property
    def feed(self) -> Feed:
        from claude_memory.store.sql.feed import Feed

        return Feed(self.transactions)

    @property
    def person(self) -> PersonId:
        """Who owns what has scope `user` here, unless it says otherwise."""
        with self.transactions.reading() as db:
            return PersonId(str(rows.noted(db, "person")))

    def project_for(self, identity: ProjectIdentity) -> Project:
        """Find, join by alias, or create the project of a folder; a partial identity makes none: NotFound.

        While nobody can write, the answer is the same, only not noted.
        """
        with self.transactions.reading() as db:
            number = projects.lookup(db, identity)
            if number is None and identity.partial:
                raise NotFound(f"no project is known by these names of {identity.path}")
            project = projects.load(db, number) if number is not None else projects.provisional(identity)
            if number is not None and projects.is_complete(db, number, identity):
                return project
        writing, hurried = self.transactions.writing(), self.transactions.hurried(_JOIN_TIMEOUT_MS)
        with contextlib.suppress(StoreFault), hurried, writing as db:
            project = projects.join(db, identity)
        return project

    def projects(self) -> list[Project]:
        with self.transactions.reading() as db:
            numbers = rows.fetch(db, "SELECT number FROM projects ORDER BY name, id")
            return [projects.load(db, number) for (number,) in numbers]

    def changes_since(self, mirror: str, limit: int) -> list[Change]:
        """The oldest changes that a mirror has not taken yet; a new one begins with the oldest there is."""
        with self.transactions.reading() as db:
            waiting = db.execute(_SINCE.format(settled=db.settled), (mirror, limit))
            return [Change(sequence, json.loads(text), *made) for sequence, text, *made in waiting]

    def changes_taken(self, mirror: str, through: int) -> None:
        """A mirror has all changes up to this number; those that every mirror has may go."""
        with self.transactions.writing() as db:
            db.execute(_TAKEN, (mirror, through))
            # It would double the store.
            db.execute("DELETE FROM changes WHERE sequence <= (SELECT min(through) FROM cursors)")

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        """Bring memories to the last state that a mirror's records tell; what was erased stays away."""
        with self.transactions.writing() as db:
            return changes.replay(db, records)

    @abstractmethod
    def check(self) -> Integrity:
        """Verify everything that can be verified; takes seconds on a large store."""

    @abstractmethod
    def stats(self, project: ProjectId | None = None) -> StoreStats:
        """Counts, of one project or of all."""

    @abstractmethod
    def export(self, target: Path) -> int:
        """Write a consistent copy while others read and write, which can be opened as a store.

        Returns the version of its schema.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the store, in all threads."""


def checked(db: Database, entries: str, wrong: Mapping[str, str]) -> Integrity:
    """What there is, `entries` of it in the text index; statements count what is `wrong`."""
    found = {what: db.execute(statement).get for what, statement in wrong.items()}
    problems = tuple(f"{count} {what}" for what, count in found.items() if count)
    tables = ("memories", "passages", entries)
    memories, passages, texts = (int(db.execute(f"SELECT count(*) FROM {table}").get) for table in tables)
    return Integrity(problems, memories, passages, texts, dict(db.execute(_VECTORS)))


def counted(db: Database, project: str | None, *, version: int, size_bytes: int) -> StoreStats:
    which, mine = {"project": project}, _OF_PROJECT
    theirs = f"memory IN (SELECT number FROM memories WHERE {mine})" if project else ":project IS NULL"
    vectors = f"""SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model
        WHERE {f"v.passage IN (SELECT id FROM passages WHERE {theirs})" if project else theirs}
        GROUP BY n.id"""
    span = f"SELECT min(created_at), max(created_at) FROM memories WHERE {mine}"
    oldest, newest = (None if at is None else rows.moment(at) for at in next(db.execute(span, which)))

    def count(table: str, condition: str) -> int:
        return int(db.execute(f"SELECT count(*) FROM {table} WHERE {condition}", which).get)

    return StoreStats(
        schema_version=version,
        events=count("events", mine),
        memories=dict(db.execute(f"SELECT kind, count(*) FROM memories WHERE {mine} GROUP BY kind", which)),
        projects=1 if project else count("projects", ":project IS NULL"),
        sessions=count("sessions", mine),
        passages=count("passages", theirs),
        vectors=dict(db.execute(vectors, which)),
        size_bytes=size_bytes,
        oldest=oldest,
        newest=newest,
    )
