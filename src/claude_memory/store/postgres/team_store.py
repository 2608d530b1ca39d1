"""A team's store in PostgreSQL, and how its server stands. What a method promises stands in `store.base`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.model import ProjectId
from claude_memory.store.base import Store, counted
from claude_memory.store.model import Integrity
from claude_memory.store.postgres import finding, migrations
from claude_memory.store.postgres.finding import PostgresMemories
from claude_memory.store.postgres.migrations import SCHEMA
from claude_memory.store.postgres.team_server import LOCK_MS, TeamServer
from claude_memory.store.sql import rows
from claude_memory.store.sql.feed import Feed

if TYPE_CHECKING:
    from claude_memory.store.base import Database
    from claude_memory.store.model import StoreStats

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
_COUNTED_ANEW = "UPDATE feed SET xid = pg_current_xact_id() WHERE xid > pg_current_xact_id()"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"""
_SLOW_MS = 250
_CLOCK_SECONDS = 30
_OPEN = """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ? AND c.relkind = 'r' AND c.relname <> 'schema_version'
      AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"""
_BROKEN = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND NOT i.indisvalid"""
_DEAD = """SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = ?
    AND n_dead_tup > 10000 AND n_dead_tup > n_live_tup / 2 ORDER BY n_dead_tup DESC LIMIT 3"""
_SERVER = """SELECT json_build_object(
    'release', split_part(current_setting('server_version'), ' ', 1),
    'tables', (SELECT json_object_agg(c.relname, json_build_object(
            'bytes', pg_table_size(c.oid), 'index_bytes', pg_indexes_size(c.oid),
            'rows', coalesce(s.n_live_tup, 0), 'dead_rows', coalesce(s.n_dead_tup, 0)))
        FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
        WHERE c.relnamespace = n.oid AND c.relkind = 'r'),
    'indexes', (SELECT json_object_agg(c.relname, json_build_object(
            'method', a.amname, 'bytes', pg_relation_size(c.oid), 'valid', i.indisvalid))
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        WHERE c.relnamespace = n.oid AND (a.amname IN ('gin', 'hnsw') OR NOT i.indisvalid)),
    'connections', (SELECT json_build_object(
            'all', count(*), 'limit', CAST(current_setting('max_connections') AS integer),
            'own', count(*) FILTER (WHERE usename = current_user),
            'own_limit', (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user))
        FROM pg_stat_activity WHERE backend_type = 'client backend'))
    FROM pg_namespace n WHERE n.nspname = ?"""


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

    def __init__(self, url: str, patience_ms: int | None = None) -> None:
        """Open the store that a URL names; it must have been made by `team create`."""
        self._server = TeamServer(url, patience_ms=patience_ms or LOCK_MS)
        super().__init__(self._server, PostgresMemories(self._server))
        self.feed = PostgresFeed(self._server)
        self.where = self._server.where  # the server as it may be shown

    def check(self) -> Integrity:
        with self._server.reading() as db:
            wrong = ((what, int(db.execute(statement).get)) for what, statement in _WRONG.items())
            problems = tuple(f"{count} {what}" for what, count in wrong if count)
            counts = {name: int(db.execute(statement).get) for name, statement in _COUNTS.items()}
            return Integrity(problems=problems, vectors=dict(db.execute(_VECTORS)), **counts)

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        with self._server.reading() as db:
            size = int(db.execute(_SIZE, (SCHEMA,)).get)
            counts = counted(db, project, version=migrations.CURRENT, size_bytes=size)
            return counts._replace(server=db.execute(_SERVER, (SCHEMA,)).get)

    def findings(self) -> Iterator[tuple[str, str, str, str]]:
        """Version and way there, extension, row security, indexes, bloat, clock: each with level and hint."""
        with self._server.reading() as db:
            yield from _findings(db)

    def export(self, target: Path) -> int:
        from claude_memory.store.postgres.moving import to_file

        return to_file(self, target)

    @property
    def team(self) -> tuple[str, str]:
        """What tells this team from all others, and its name."""
        with self._server.reading() as db:
            id_, name = next(db.execute("SELECT id, name FROM teams WHERE number = memory_team()"))
            return str(id_), str(name)

    def members(self) -> list[tuple[str, str, bool, datetime]]:
        """Who is in the team: person, name, whether they made it, since when."""
        with self._server.reading() as db:
            return db.execute("SELECT person, name, leads, joined FROM team_members()").fetchall()

    def leave(self) -> None:
        """Delete what is the person's own, and be no member any more."""
        with self._server.writing() as db:
            for table in ("lexicon", "lexicons", "vectors", "passages", "memories"):
                db.execute(f"DELETE FROM {table} WHERE space = ?", (db.user_space,))
            for table in (*migrations.PERSONAL, "feed"):
                db.execute(f"DELETE FROM {table} WHERE person = memory_person()")
            db.execute("SELECT team_leave()")

    def close(self) -> None:
        self._server.close()


def _findings(db: Database) -> Iterator[tuple[str, str, str, str]]:
    def told(name: str, wrong: object, level: str, text: str, hint: str) -> tuple[str, str, str, str]:
        return (name, level, text, hint) if wrong else (name, "ok", text, "")

    def listed(statement: str) -> str:
        return ", ".join(name for (name,) in db.execute(statement, (SCHEMA,)))

    began = time.perf_counter()
    release = str(db.execute("SELECT current_setting('server_version')").get).split()[0]
    took = 1000 * (time.perf_counter() - began)
    text = f"PostgreSQL {release}, schema {migrations.CURRENT}, {took:.0f} ms there and back"
    slow = "a server nearby, or own files with `claude-memory sync`, answer sooner"
    yield told("store", took > _SLOW_MS, "warn", text, slow)
    vector = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").get
    hint = "`CREATE EXTENSION vector` by whoever may"
    yield told("pgvector", not vector, "fail", vector or "the extension is missing", hint)
    text = f"off for {unguarded}" if (unguarded := listed(_OPEN)) else "forced on every table"
    hint = "`claude-memory team create` by its owner puts it on again"
    yield told("row security", unguarded, "fail", text, hint)
    text = f"broken: {broken}" if (broken := listed(_BROKEN)) else "all valid"
    yield told("indexes", broken, "warn", text, "`REINDEX INDEX` by the owner")
    most = finding.EXACT_THROUGH
    unindexed = [name for _, name, count in db.execute(finding.UNINDEXED, (most,)) if count == most]
    if unindexed:
        text = f"none for {', '.join(unindexed)}: every search compares all of its vectors"
        yield "vector index", "warn", text, "`claude-memory reindex` makes it; writers wait meanwhile"
    dead = [f"{name} ({gone:,} dead rows)" for name, gone in db.execute(_DEAD, (SCHEMA,))]
    if dead:
        yield "bloat", "warn", ", ".join(dead), "see why the server's autovacuum does not keep up"
    ahead = float(db.execute("SELECT extract(epoch FROM clock_timestamp())").get) - time.time()
    if abs(ahead) > _CLOCK_SECONDS:
        yield "clock", "warn", f"the server's differs by {ahead:+.0f} s", "set one of the two"
