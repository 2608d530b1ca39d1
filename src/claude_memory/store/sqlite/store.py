"""The store in one SQLite file. What each method promises stands in `store.protocol`.

What only writers need is imported where it is used: a hook that reads is in a hurry.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import StoreBusy
from claude_memory.model import MemoryFilter, PassageId, ProjectId, SearchScope
from claude_memory.store.sql.base import SqlStore, counted
from claude_memory.store.sql.memories import SqlMemories
from claude_memory.store.sqlite import candidates
from claude_memory.store.sqlite.connection import Connections

if TYPE_CHECKING:
    from claude_memory.store.model import Integrity, StoreStats, TermStatistics, VectorScan
    from claude_memory.store.sqlite.matrix import Matrices


class SqliteMemories(SqlMemories):
    """Memories, found by FTS5 and by a scan of all vectors."""

    def __init__(self, connections: Connections, cache: Path) -> None:
        super().__init__(connections)
        self._file = connections
        self._cache = cache
        self._matrices: Matrices | None = None
        self._guard = threading.Lock()
        connections.when_replaced = self.close

    def scrub(self) -> None:
        """Clean files of what was erased. A reader that needs old pages delays it to the next pruning."""
        from claude_memory.store.sqlite import text_index

        with contextlib.suppress(StoreBusy):
            self._file.checked(text_index.scrub)
        self._discard_outdated_caches()

    def _discard_outdated_caches(self) -> None:
        if self._cache.is_dir():
            from claude_memory.store.sqlite import matrix

            with self._connections.reading() as db:
                matrix.discard_outdated(db, self._cache)

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        with self._connections.reading() as db:
            return candidates.term_statistics(db, scope, terms)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        with self._connections.reading() as db:
            return candidates.by_words(db, scope, filter_, terms, limit)

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        with self._connections.reading() as db:
            return candidates.by_vector(db, self._loaded_matrices(), scope, filter_, near, model, limit)

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        with self._connections.reading() as db:
            return candidates.cosines(db, near, model, ids)

    def drop_vectors(self, *, keep: str | None) -> int:
        dropped = super().drop_vectors(keep=keep)
        with self._connections.writing() as db:
            db.execute("DELETE FROM dead_vectors WHERE model NOT IN (SELECT number FROM models)")
        return dropped

    def rebuild_index(self) -> int:
        made = super().rebuild_index()
        self._discard_outdated_caches()
        return made

    def _loaded_matrices(self) -> Matrices:
        from claude_memory.store.sqlite.matrix import Matrices

        with self._guard:
            if self._matrices is None:
                self._matrices = Matrices(self._cache)
            return self._matrices

    def close(self) -> None:
        """Let go of vectors: of a file that was replaced, they stand under numbers of other passages."""
        with self._guard:
            if self._matrices is not None:
                self._matrices.close()
                self._matrices = None


class SqliteStore(SqlStore):
    """One SQLite file."""

    def __init__(self, connections: Connections, home: Path) -> None:
        self._connections = connections
        self._cache = home / "cache" / "vectors"
        self.memories = SqliteMemories(connections, self._cache)
        super().__init__(connections, self.memories)

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

    def check(self) -> Integrity:
        from claude_memory.store.sqlite import inspection

        return self._connections.checked(lambda db: inspection.check(db, self._cache))

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        with self._connections.reading() as db:
            version, size = int(db.pragma("user_version")), self._connections.size_bytes()
            return counted(db, project, version=version, size_bytes=size)

    def export(self, target: Path) -> int:
        from claude_memory.store.sqlite import inspection

        return self._connections.checked(lambda db: inspection.copy(db, target))

    def close(self) -> None:
        self.memories.close()
        self._connections.close()
