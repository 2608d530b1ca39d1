"""A team's store in PostgreSQL. What each method promises stands in `store.base` and `store.sql`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import StoreBusy
from claude_memory.model import MemoryFilter, MemoryId, PassageId, ProjectId, SearchScope
from claude_memory.store.base import Store, counted
from claude_memory.store.model import Integrity
from claude_memory.store.postgres import finding, health, migrations
from claude_memory.store.postgres.team_server import LOCK_MS, TeamServer
from claude_memory.store.sql import rows
from claude_memory.store.sql.feed import Feed
from claude_memory.store.sql.memories import Memories

if TYPE_CHECKING:
    from claude_memory.store.model import Erased, StoreStats, TermStatistics, VectorScan

_WRONG = {
    "memories without a passage": """SELECT count(*) FROM memories m
        WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.memory = m.number)""",
    "passages without a text entry": "SELECT count(*) FROM passages WHERE terms IS NULL",
    "vectors of another length than the rest of their model": """SELECT count(*) FROM vectors v
        JOIN (SELECT model, min(vector_dims(vector)) AS usual FROM vectors GROUP BY model) f
          ON f.model = v.model WHERE vector_dims(v.vector) <> f.usual""",
}
_COUNTS = {
    "memories": "SELECT count(*) FROM memories",
    "passages": "SELECT count(*) FROM passages",
    "text_entries": "SELECT count(*) FROM passages WHERE terms IS NOT NULL",
}
_VECTORS = "SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model GROUP BY n.id"
_UNSWEPT = """SELECT EXISTS (SELECT 1 FROM tombstones
    WHERE salt <> (SELECT value FROM meta WHERE key = 'store')
      AND number > coalesce((SELECT CAST(value AS bigint) FROM meta WHERE key = 'swept'), 0))"""
_COUNTED_ANEW = """UPDATE feed SET xid = pg_current_xact_id()
    WHERE xid > pg_current_xact_id()"""
# Its index is missing, and the team has so few vectors of the model that making it takes no time.
_UNINDEXED = """SELECT n.number FROM models n WHERE n.id = :model
    AND to_regclass('vectors_near_' || memory_team() || '_' || n.number) IS NULL
    AND (SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = n.number LIMIT :most) v) < :most"""
_INDEXED_AT_ONCE, _INDEX_PATIENCE_MS = 1_000, 200
_MODELS = "SELECT model, max(vector_dims(vector)) FROM vectors GROUP BY model"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"""
_BEYOND = (
    "the server's write-ahead log and its archives, its backups, replicas until they catch up and pages that"
    " it has not vacuumed yet may still hold it: ask whoever runs it how long those are kept;"
    " members' own copies lose it with their next sync"
)


class PostgresMemories(Memories):
    """Memories, found by their terms in a GIN index and by pgvector."""

    _vector = "CAST(:vector AS halfvec)"
    _vector_length = "vector_dims(vector)"
    # Each member makes the vectors of what they said; what nobody made within an hour is anybody's.
    _mine = """(m.author = (SELECT memory_person())
        OR m.updated_at < (extract(epoch FROM now()) - 3600) * 1000000)"""
    # Whoever else is writing may have taken lower numbers for passages that nobody sees yet.
    _settled = """NOT EXISTS (SELECT 1 FROM pg_snapshot_xip(pg_current_snapshot()) x
        WHERE x <> pg_current_xact_id())"""

    def _vector_value(self, vector: bytes) -> Any:
        return finding.written(vector)

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        stored = super().add_vectors(model, vectors)
        if vectors:
            self._index(model, len(vectors[0][1]))
        return stored

    def _index(self, model: str, length: int) -> None:
        """Make the model's index while that takes no time; who finds the table in use leaves it to others."""
        pool = self._connections
        wanted = self._value(_UNINDEXED, {"model": model, "most": _INDEXED_AT_ONCE})
        if wanted is not None:
            with contextlib.suppress(StoreBusy), pool.hurried(_INDEX_PATIENCE_MS), pool.writing() as db:
                db.execute("SELECT memory_vector_index(?, ?)", (wanted, length))

    def rebuild_index(self) -> int:
        made = super().rebuild_index()
        with self._connections.writing() as db:
            db.execute("SET LOCAL statement_timeout = 0")  # minutes, where there are very many
            for model, length in db.execute(_MODELS).fetchall():
                db.execute("SELECT memory_vector_index(?, ?)", (model, length))
        return made

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        return replace(super().erase(ids, texts=texts), beyond=_BEYOND)

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        with self._connections.reading() as db:
            return finding.term_statistics(db, scope, terms)

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        with self._connections.reading() as db:
            return finding.by_words(db, scope, filter_, terms, limit)

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        with self._connections.reading() as db:
            return finding.by_vector(db, scope, filter_, near, model, limit)

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        with self._connections.reading() as db:
            return finding.cosines(db, near, model, ids)


class PostgresFeed(Feed):
    """Many write at once: items are counted by their transactions, and told when none before it is open.

    A member carries out what others erased in what is the member's alone: nobody else can see it.
    """

    since = """SELECT CAST(CAST(xid AS text) AS bigint), kind, name FROM feed
        WHERE xid > CAST(CAST(? AS text) AS xid8) AND xid < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY xid FETCH FIRST ? ROWS WITH TIES"""

    def replica(self, token: str) -> str:
        """A server that was copied to another counts its transactions anew, and is another replica."""
        with self._connections.writing() as db:
            db.execute(_COUNTED_ANEW)
            server = db.execute("SELECT system_identifier FROM pg_control_system()").get
        return super().replica(f"{token} {server}")

    def is_unswept(self) -> bool:
        with self._connections.reading() as db:
            return bool(db.execute(_UNSWEPT).get) or rows.noted(db, "unswept") is not None

    def swept(self) -> None:
        super().swept()
        with self._connections.writing() as db:
            rows.note(db, "swept", str(db.execute("SELECT coalesce(max(number), 0) FROM tombstones").get))


class PostgresStore(Store):
    """One person's view of a team's store."""

    def __init__(self, server: TeamServer) -> None:
        super().__init__(server, PostgresMemories(server))
        self._server = server
        self.feed = PostgresFeed(server)

    @classmethod
    def open(cls, url: str, *, patience_ms: int | None = None) -> PostgresStore:
        """Open the store that a URL names; it must have been made by `team create`."""
        return cls(TeamServer(url, patience_ms=patience_ms or LOCK_MS))

    def check(self) -> Integrity:
        with self._server.reading() as db:
            wrong = ((what, int(db.execute(statement).get)) for what, statement in _WRONG.items())
            problems = tuple(f"{count} {what}" for what, count in wrong if count)
            counts = {name: int(db.execute(statement).get) for name, statement in _COUNTS.items()}
            return Integrity(problems=problems, vectors=dict(db.execute(_VECTORS)), **counts)

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        with self._server.reading() as db:
            size = int(db.execute(_SIZE, (migrations.SCHEMA,)).get)
            counts = counted(db, project, version=migrations.CURRENT, size_bytes=size)
            return counts._replace(server=health.metrics(db))

    def export(self, target: Path) -> int:
        from claude_memory.store.postgres.moving import to_file

        return to_file(self, target)

    @property
    def where(self) -> str:
        """The server as it may be shown."""
        return self._server.where

    @property
    def team(self) -> str:
        """The team's name."""
        with self._server.reading() as db:
            return str(db.execute("SELECT name FROM teams WHERE number = memory_team()").get)

    @property
    def team_id(self) -> str:
        """What tells this team from all others."""
        with self._server.reading() as db:
            return str(db.execute("SELECT id FROM teams WHERE number = memory_team()").get)

    def members(self) -> list[tuple[str, str, bool, datetime]]:
        """Who is in the team: person, name, whether they made it, since when."""
        with self._server.reading() as db:
            return db.execute("SELECT person, name, leads, joined FROM team_members()").fetchall()

    def leave(self) -> None:
        """Delete what is the person's own, and be no member any more."""
        with self._server.writing() as db:
            own = f"space = {db.user_space:d}"
            for statement in (
                f"DELETE FROM lexicon WHERE {own}",
                f"DELETE FROM lexicons WHERE {own}",
                f"DELETE FROM vectors WHERE {own}",
                f"DELETE FROM passages WHERE {own}",
                f"DELETE FROM memories WHERE {own}",
                *(f"DELETE FROM {table} WHERE person = memory_person()" for table in migrations.OWN_TABLES),
                "DELETE FROM feed WHERE person = memory_person()",
                "SELECT team_leave()",
            ):
                db.execute(statement)

    def copy_for_hooks(self, target: Path) -> None:
        """Write what a hook may ask for as a SQLite store: memories, without conversations and vectors."""
        from claude_memory.store.postgres.moving import to_file

        to_file(self, target, whole=False)

    def close(self) -> None:
        self._server.close()
