"""The store as a whole, of any backend: its parts, its projects, its numbered changes, its counts.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from claude_memory.errors import NotFound, StoreFault
from claude_memory.model import PersonId, Project, ProjectId, ProjectIdentity
from claude_memory.store.records import moment_text
from claude_memory.store.sql import projects, rows

if TYPE_CHECKING:
    from claude_memory.store.model import Added, Change, StoreStats
    from claude_memory.store.sql.archive_read import SqlArchive
    from claude_memory.store.sql.backend import Database, Transactions
    from claude_memory.store.sql.feed import SqlFeed
    from claude_memory.store.sql.graph import SqlGraph
    from claude_memory.store.sql.lifecycle import SqlLifecycle
    from claude_memory.store.sql.memories import SqlMemories

    class Pool(Transactions, Protocol):
        """All connections of this process to one store."""

        after_write: Callable[[], None] | None

        def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
            """Wait no longer than this for another writer, in this thread."""


_JOIN_TIMEOUT_MS = 250  # a search must not wait for a writer only to note a folder's new name
_OF_PROJECT = ":project IS NULL OR project = (SELECT number FROM projects WHERE id = :project)"


class SqlStore:
    """What stores in SQL have in common."""

    def __init__(self, pool: Pool, memories: SqlMemories) -> None:
        self.transactions = self._pool = pool
        self._memories = memories

    @cached_property
    def archive(self) -> SqlArchive:
        from claude_memory.store.sql.archive_read import SqlArchive

        return SqlArchive(self._pool, self._memories.scrub)

    @cached_property
    def graph(self) -> SqlGraph:
        from claude_memory.store.sql.graph import SqlGraph

        return SqlGraph(self._pool)

    @cached_property
    def lifecycle(self) -> SqlLifecycle:
        from claude_memory.store.sql.lifecycle import SqlLifecycle

        return SqlLifecycle(self._pool)

    @cached_property
    def feed(self) -> SqlFeed:
        from claude_memory.store.sql.feed import SqlFeed

        return SqlFeed(self._pool)

    @property
    def person(self) -> PersonId:
        with self._pool.reading() as db:
            return PersonId(str(rows.noted(db, "person")))

    def project_for(self, identity: ProjectIdentity) -> Project:
        """While nobody can write, the answer is the same, only not noted."""
        with self._pool.reading() as db:
            number = projects.lookup(db, identity)
            if number is not None and projects.is_complete(db, number, identity):
                return projects.load(db, number)
            if number is None and identity.partial:
                raise NotFound(f"no project is known by these names of {identity.path}")
            known = projects.load(db, number) if number is not None else projects.provisional(identity)
        from claude_memory.store.sql import changes

        with (
            contextlib.suppress(StoreFault),
            self._pool.hurried(_JOIN_TIMEOUT_MS),
            self._pool.writing() as db,
        ):
            known = projects.join(db, identity)
            changes.record_project(db, known, _now())
        return known

    def projects(self) -> list[Project]:
        with self._pool.reading() as db:
            return projects.all_projects(db)

    def merge_projects(self, source: ProjectId, target: ProjectId) -> Project:
        with self._pool.writing() as db:
            return projects.merge(db, source, target, _now())

    def split_project(self, identity: ProjectIdentity) -> Project:
        with self._pool.writing() as db:
            return projects.split(db, identity, _now())

    def move_folder(self, identity: ProjectIdentity, target: ProjectId) -> Project:
        with self._pool.writing() as db:
            return projects.attach(db, identity, target, _now())

    def changes_since(self, mirror: str, limit: int) -> list[Change]:
        from claude_memory.store.sql import changes

        with self._pool.reading() as db:
            return changes.since(db, mirror, limit)

    def changes_taken(self, mirror: str, through: int) -> None:
        from claude_memory.store.sql import changes

        with self._pool.writing() as db:
            changes.taken(db, mirror, through)

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        from claude_memory.store.sql import changes

        with self._pool.writing() as db:
            return changes.replay(db, records)

    def after_write(self, notify: Callable[[], None]) -> None:
        self._pool.after_write = notify

    def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
        return self._pool.hurried(patience_ms)


def counted(db: Database, project: str | None, *, version: int, size_bytes: int) -> StoreStats:
    """Counts, of one project or of all."""
    from claude_memory.store.model import StoreStats

    one, mine = {"project": project}, _OF_PROJECT
    theirs = f"memory IN (SELECT number FROM memories WHERE {mine})" if project else ":project IS NULL"
    vectors = f"""SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model
        WHERE {f"v.passage IN (SELECT id FROM passages WHERE {theirs})" if project else theirs}
        GROUP BY n.id"""
    span = f"SELECT min(created_at), max(created_at) FROM memories WHERE {mine}"
    oldest, newest = (None if at is None else rows.moment(at) for at in next(db.execute(span, one)))

    def count(table: str, condition: str) -> int:
        return int(db.execute(f"SELECT count(*) FROM {table} WHERE {condition}", one).get)

    return StoreStats(
        schema_version=version,
        events=count("events", mine),
        memories=dict(db.execute(f"SELECT kind, count(*) FROM memories WHERE {mine} GROUP BY kind", one)),
        projects=1 if project else count("projects", ":project IS NULL"),
        sessions=count("sessions", mine),
        passages=count("passages", theirs),
        vectors=dict(db.execute(vectors, one)),
        size_bytes=size_bytes,
        oldest=oldest,
        newest=newest,
    )


def _now() -> str:
    return moment_text(datetime.now(UTC))
