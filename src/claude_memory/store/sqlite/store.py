"""The store in one SQLite file, in its four parts. What each method promises stands in `store.protocol`.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import NotFound, StoreFault
from claude_memory.model import PersonId, Project, ProjectId, ProjectIdentity
from claude_memory.store.records import moment_text
from claude_memory.store.sqlite import projects
from claude_memory.store.sqlite.connection import Connections
from claude_memory.store.sqlite.memories import SqliteMemories

if TYPE_CHECKING:
    from claude_memory.store.model import Added, Change, Integrity, StoreStats
    from claude_memory.store.sqlite.archive import SqliteArchive
    from claude_memory.store.sqlite.feed import SqliteFeed
    from claude_memory.store.sqlite.graph import SqliteGraph
    from claude_memory.store.sqlite.lifecycle import SqliteLifecycle

_JOIN_TIMEOUT_MS = 250  # a search must not wait for a writer only to note a folder's new name


class SqliteStore:
    """One SQLite file."""

    def __init__(self, connections: Connections, home: Path) -> None:
        self._connections = connections
        self._cache = home / "cache" / "vectors"
        self.memories = SqliteMemories(connections, self._cache)

    @classmethod
    def open(
        cls,
        path: Path,
        home: Path,
        *,
        keep_backups: int = 5,
        patience_ms: int | None = None,
    ) -> SqliteStore:
        """Open, make or migrate the store; an existing one is backed up before it is migrated.

        `patience_ms` is how long a call waits for another process that writes.
        """
        connections = Connections(path, patience_ms) if patience_ms is not None else Connections(path)

        def back_up(version: int) -> None:
            from claude_memory.store.sqlite import inspection

            folder = home / "backups"
            inspection.copy_before_migration(connections.get(), version, folder, keep_backups)

        try:
            connections.prepare(back_up)
        except BaseException:
            connections.close()
            raise
        return cls(connections, home)

    @property
    def path(self) -> Path:
        """The database file."""
        return self._connections.path

    @cached_property
    def archive(self) -> SqliteArchive:
        from claude_memory.store.sqlite.archive import SqliteArchive

        return SqliteArchive(self._connections, self.memories.scrub)

    @cached_property
    def graph(self) -> SqliteGraph:
        from claude_memory.store.sqlite.graph import SqliteGraph

        return SqliteGraph(self._connections)

    @cached_property
    def lifecycle(self) -> SqliteLifecycle:
        from claude_memory.store.sqlite.lifecycle import SqliteLifecycle

        return SqliteLifecycle(self._connections)

    @cached_property
    def feed(self) -> SqliteFeed:
        from claude_memory.store.sqlite.feed import SqliteFeed

        return SqliteFeed(self._connections)

    @property
    def person(self) -> PersonId:
        with self._connections.reading() as db:
            return PersonId(str(db.execute("SELECT value FROM meta WHERE key = 'person'").get))

    def project_for(self, identity: ProjectIdentity) -> Project:
        """While nobody can write, the answer is the same, only not noted."""
        with self._connections.reading() as db:
            number = projects.lookup(db, identity)
            if number is not None and projects.is_complete(db, number, identity):
                return projects.load(db, number)
            if number is None and identity.partial:
                raise NotFound(f"no project is known by these names of {identity.path}")
            known = projects.load(db, number) if number is not None else projects.provisional(identity)
        from claude_memory.store.sqlite import changes

        with (
            contextlib.suppress(StoreFault),
            self._connections.writing(busy_timeout_ms=_JOIN_TIMEOUT_MS) as db,
        ):
            known = projects.join(db, identity)
            changes.record_project(db, known, _now())
        return known

    def projects(self) -> list[Project]:
        with self._connections.reading() as db:
            return projects.all_projects(db)

    def merge_projects(self, source: ProjectId, target: ProjectId) -> Project:
        with self._connections.writing() as db:
            return projects.merge(db, source, target, _now())

    def split_project(self, identity: ProjectIdentity) -> Project:
        with self._connections.writing() as db:
            return projects.split(db, identity, _now())

    def move_folder(self, identity: ProjectIdentity, target: ProjectId) -> Project:
        with self._connections.writing() as db:
            return projects.attach(db, identity, target, _now())

    def changes_since(self, mirror: str, limit: int) -> list[Change]:
        from claude_memory.store.sqlite import changes

        with self._connections.reading() as db:
            return changes.since(db, mirror, limit)

    def changes_taken(self, mirror: str, through: int) -> None:
        from claude_memory.store.sqlite import changes

        with self._connections.writing() as db:
            changes.taken(db, mirror, through)

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        from claude_memory.store.sqlite import changes

        with self._connections.writing() as db:
            return changes.replay(db, records)

    def after_write(self, notify: Callable[[], None]) -> None:
        self._connections.after_write = notify

    def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
        return self._connections.hurried(patience_ms)

    def check(self) -> Integrity:
        from claude_memory.store.sqlite import inspection

        return self._connections.checked(lambda db: inspection.check(db, self._cache))

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        from claude_memory.store.sqlite import inspection

        with self._connections.reading() as db:
            return inspection.stats(db, project, self._connections.size_bytes())

    def export(self, target: Path) -> int:
        from claude_memory.store.sqlite import inspection

        return self._connections.checked(lambda db: inspection.copy(db, target))

    def close(self) -> None:
        self.memories.close()
        self._connections.close()


def _now() -> str:
    return moment_text(datetime.now(UTC))
