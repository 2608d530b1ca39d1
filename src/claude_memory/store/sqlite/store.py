"""The store as the rest of the package sees it: each method is one transaction over one module's work.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import NotFound, StoreBusy, StoreFault
from claude_memory.model import (
    Event,
    MemoryFilter,
    MemoryId,
    Passage,
    PassageId,
    Project,
    ProjectId,
    ProjectIdentity,
    SearchScope,
    StoredMemory,
)
from claude_memory.redact.erasure import Holder
from claude_memory.store.protocol import (
    Added,
    Change,
    Erased,
    EventFilter,
    Integrity,
    Pruned,
    StoreStats,
    TermStatistics,
    VectorScan,
)
from claude_memory.store.records import moment_text
from claude_memory.store.sqlite import projects, read, text_search, vectors
from claude_memory.store.sqlite.connection import Connections

if TYPE_CHECKING:
    from claude_memory.store.sqlite.archive import SqliteArchive
    from claude_memory.store.sqlite.graph import SqliteGraph
    from claude_memory.store.sqlite.lifecycle import SqliteLifecycle
    from claude_memory.store.sqlite.matrices import Matrices

_JOIN_TIMEOUT_MS = 250  # a search must not wait for a writer only to note a folder's new name


class SqliteStore:
    """One SQLite file; safe to use from several threads and processes."""

    def __init__(self, connections: Connections, home: Path) -> None:
        self._connections = connections
        self._cache = home / "cache" / "vectors"
        self._matrices: Matrices | None = None
        self._guard = threading.Lock()
        connections.when_replaced = self._forget_matrices

    @classmethod
    def open(
        cls,
        path: Path,
        home: Path,
        *,
        keep_backups: int = 5,
        before_migration: Callable[[Path], None] | None = None,
        patience_ms: int | None = None,
    ) -> SqliteStore:
        """Open, make or migrate the store; an existing one is backed up before it is migrated.

        `patience_ms` is how long a call waits for another process that writes.
        """
        connections = Connections(path, patience_ms) if patience_ms is not None else Connections(path)

        def back_up(version: int) -> None:
            if before_migration is not None:
                before_migration(path)
            else:
                from claude_memory.store.sqlite import snapshots

                snapshots.before_migration(connections.get(), version, home / "backups", keep_backups)

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

    @property
    def archive(self) -> SqliteArchive:
        """The conversations kept in the same file."""
        from claude_memory.store.sqlite.archive import SqliteArchive

        return SqliteArchive(self._connections)

    @property
    def lifecycle(self) -> SqliteLifecycle:
        """What memories are worth and how they hang together."""
        from claude_memory.store.sqlite.lifecycle import SqliteLifecycle

        return SqliteLifecycle(self._connections)

    def has_open_intentions(self) -> bool:
        """Whether any reminder waits, of whatever project; asked at every prompt, so it loads nothing."""
        with self._connections.reading() as db:
            return bool(db.execute("SELECT EXISTS (SELECT 1 FROM intentions WHERE status = 'open')").get)

    @property
    def graph(self) -> SqliteGraph:
        """What memories speak of."""
        from claude_memory.store.sqlite.graph import SqliteGraph

        return SqliteGraph(self._connections)

    def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
        """Wait no longer than this for another process that writes."""
        return self._connections.hurried(patience_ms)

    def after_write(self, notify: Callable[[], None]) -> None:
        """Tell somebody of every commit, right after it: the mirror is written with the change."""
        self._connections.after_write = notify

    def close(self) -> None:
        """Let go of the file, in all threads."""
        if self._matrices is not None:
            self._matrices.close()
        self._connections.close()

    # --- projects

    def project_for(self, identity: ProjectIdentity) -> Project:
        """Find, join by alias, or create; while nobody can write, the answer is the same, only not noted."""
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
        """Every project, by name."""
        with self._connections.reading() as db:
            return projects.all_projects(db)

    def merge_projects(self, source: ProjectId, target: ProjectId) -> Project:
        """Let all of one project belong to another."""
        from claude_memory.store.sqlite import regroup

        with self._connections.writing() as db:
            return regroup.merge(db, source, target, _now())

    def split_project(self, identity: ProjectIdentity) -> Project:
        """Make a folder a project of its own, with the sessions that were held in it."""
        from claude_memory.store.sqlite import regroup

        with self._connections.writing() as db:
            return regroup.split(db, identity, _now())

    def move_folder(self, identity: ProjectIdentity, target: ProjectId) -> Project:
        """Let a folder belong to a known project from now on."""
        from claude_memory.store.sqlite import regroup

        with self._connections.writing() as db:
            return regroup.attach(db, identity, target, _now())

    # --- writing

    def add(self, events: Sequence[Event], memories: Sequence[StoredMemory]) -> Added:
        """Store a batch; known ids and erased content are passed over."""
        from claude_memory.store.sqlite import write

        if not events and not memories:
            return Added()
        with self._connections.writing() as db:
            return write.add(db, events, memories)

    def update(self, memory: StoredMemory) -> None:
        """Replace a memory's row; NotFound if there is none."""
        from claude_memory.store.sqlite import write

        with self._connections.writing() as db:
            write.update(db, memory)

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        """Remove memories for good, and what they say from everything else; leave tombstones."""
        from claude_memory.store.sqlite import erase

        with self._connections.writing() as db:
            erased = erase.erase(db, ids, _now(), texts=texts)
        if erased.memories:
            self._scrub()
        return erased

    def apply_tombstones(self) -> Erased:
        """Remove what tombstones name that came from elsewhere."""
        from claude_memory.store.sqlite import erase

        with self._connections.writing() as db:
            erased = erase.apply_tombstones(db, _now())
        self._scrub()
        return erased

    def erased_sentences(self, project: ProjectId | None = None) -> Holder:
        """What was erased from a project, or from any, by its hashes."""
        from claude_memory.store.sqlite.tombstones import Tombstones

        with self._connections.reading() as db:
            return Tombstones(db).sentences(project)

    def prune(self, *, events_before: datetime | None, forgotten_before: datetime | None) -> Pruned:
        """Drop old events, and memories that were forgotten long enough ago."""
        from claude_memory.store.sqlite import erase

        with self._connections.writing() as db:
            pruned = erase.prune(db, events_before, forgotten_before, _now())
        with self._connections.reading() as db:
            unfinished = erase.is_unfinished(db)
        if unfinished:
            self._scrub()
        return pruned

    def _scrub(self) -> None:
        """Clean files of what was erased. A reader that needs old pages delays it to the next pruning."""
        from claude_memory.store.sqlite import erase

        with contextlib.suppress(StoreBusy):
            self._connections.checked(erase.scrub)
        self._discard_outdated_caches()

    def _discard_outdated_caches(self) -> None:
        if self._cache.is_dir():
            from claude_memory.store.sqlite import matrices

            with self._connections.reading() as db:
                matrices.discard_outdated(db, self._cache)

    # --- reading

    def memories(
        self,
        scope: SearchScope,
        filter_: MemoryFilter,
        *,
        ids: Sequence[MemoryId] | None = None,
        limit: int | None = None,
        newest_first: bool = True,
    ) -> list[StoredMemory]:
        """The memories that fit; with `ids`, only those, in that order."""
        with self._connections.reading() as db:
            return read.memories(db, scope, filter_, ids, limit, newest_first=newest_first)

    def complete_id(self, scope: SearchScope, prefix: str) -> list[MemoryId]:
        """Ids that begin with what a person typed."""
        with self._connections.reading() as db:
            return read.complete_id(db, scope, prefix)

    def events(
        self, scope: SearchScope, filter_: EventFilter, *, limit: int, newest_first: bool = True
    ) -> list[Event]:
        """The events that fit, by time."""
        with self._connections.reading() as db:
            return read.events(db, scope, filter_, limit, newest_first=newest_first)

    # --- finding candidates

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        """The figures BM25 needs."""
        with self._connections.reading() as db:
            return text_search.term_statistics(db, scope, terms)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        """Passages that hold at least one term, likeliest first."""
        with self._connections.reading() as db:
            return text_search.candidates(db, scope, filter_, terms, limit)

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, vector: bytes, model: str, limit: int
    ) -> VectorScan:
        """The nearest passages by exact cosine, and how all cosines are distributed."""
        with self._connections.reading() as db:
            return vectors.candidates(db, self._loaded_matrices(), scope, filter_, vector, model, limit)

    def _loaded_matrices(self) -> Matrices:
        from claude_memory.store.sqlite.matrices import Matrices

        with self._guard:
            if self._matrices is None:
                self._matrices = Matrices(self._cache)
            return self._matrices

    def _forget_matrices(self) -> None:
        """Vectors of another file, under numbers that the new one may use for other passages."""
        with self._guard:
            if self._matrices is not None:
                self._matrices.close()
                self._matrices = None

    def passages(self, ids: Sequence[PassageId], *, model: str | None = None) -> list[Passage]:
        """Whole passages, in the order asked for."""
        with self._connections.reading() as db:
            return read.passages(db, ids, model)

    # --- vectors

    def unembedded(self, model: str, limit: int, *, project: ProjectId | None = None) -> list[Passage]:
        """Passages that have no vector of this model yet, newest memories first."""
        with self._connections.reading() as db:
            return read.unembedded(db, model, limit, project)

    def add_vectors(self, model: str, added: Sequence[tuple[PassageId, bytes]]) -> int:
        """Attach vectors; a passage that is gone by now is skipped."""
        if not added:
            return 0
        with self._connections.writing() as db:
            return vectors.add(db, model, added)

    def drop_vectors(self, *, keep: str | None) -> int:
        """Remove vectors of every other model."""
        with self._connections.writing() as db:
            return vectors.drop(db, keep)

    # --- mirror and upkeep

    def pending_changes(self, limit: int) -> list[Change]:
        """The oldest changes that are not mirrored yet."""
        from claude_memory.store.sqlite import changes

        with self._connections.reading() as db:
            return changes.pending(db, limit)

    def changes_mirrored(self, through: int) -> None:
        """These stand in the files now."""
        from claude_memory.store.sqlite import changes

        with self._connections.writing() as db:
            changes.mirrored(db, through)

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        """Rebuild from mirror records."""
        from claude_memory.store.sqlite import changes

        with self._connections.writing() as db:
            return changes.replay(db, records)

    def rebuild_index(self) -> int:
        """Make passages and text entries anew; one transaction, so no concurrent write falls between."""
        from claude_memory.store.sqlite import rebuild

        with self._connections.writing() as db:
            made = rebuild.rebuild(db)
        self._discard_outdated_caches()
        return made

    def integrity(self) -> Integrity:
        """Check everything."""
        from claude_memory.store.sqlite import integrity

        return self._connections.checked(lambda db: integrity.check(db, self._cache))

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        """Counts, of one project or of all."""
        with self._connections.reading() as db:
            return read.stats(db, project, self._connections.size_bytes())

    def snapshot(self, target: Path) -> None:
        """Write a consistent copy while others read and write."""
        from claude_memory.store.sqlite import snapshots

        self._connections.checked(lambda db: snapshots.copy(db, target))


def _now() -> str:
    return moment_text(datetime.now(UTC))
