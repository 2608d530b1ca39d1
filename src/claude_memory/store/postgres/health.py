"""How a team's server stands, for `doctor` and `stats`; asked with a member's own login."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.store.postgres import finding
from claude_memory.store.postgres.migrations import CURRENT, SCHEMA

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database, Pool

_SLOW_MS = 250
_CLOCK_SECONDS = 30
_OPEN = """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ? AND c.relkind = 'r' AND c.relname <> 'schema_version'
      AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"""
_BROKEN = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND NOT i.indisvalid"""
_UNINDEXED = """SELECT n.id FROM models n
    WHERE to_regclass('vectors_near_' || memory_team() || '_' || n.number) IS NULL
      AND (SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = n.number LIMIT :most) v) >= :most"""
_DEAD = """SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE schemaname = ?
    AND n_dead_tup > 10000 AND n_dead_tup > n_live_tup / 2 ORDER BY n_dead_tup DESC LIMIT 3"""
_TABLES = """SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid),
        coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE n.nspname = ? AND c.relkind = 'r' ORDER BY 2 DESC"""
_INDEXES = """SELECT c.relname, a.amname, pg_relation_size(c.oid), i.indisvalid
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ? AND (a.amname IN ('gin', 'hnsw') OR NOT i.indisvalid) ORDER BY 1"""
_CONNECTIONS = """SELECT count(*), count(*) FILTER (WHERE usename = current_user),
        CAST(current_setting('max_connections') AS integer),
        (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)
    FROM pg_stat_activity WHERE backend_type = 'client backend'"""


class ServerFinding(NamedTuple):
    """One thing that was looked at: `ok`, `warn` or `fail`, and what to do."""

    name: str
    level: str
    text: str
    hint: str = ""


def metrics(db: Database) -> dict[str, Any]:
    """Release, sizes in bytes and rows (as the server last counted them), search indexes, connections."""
    [(all_, own, most, own_most)] = db.execute(_CONNECTIONS).fetchall()
    tables = ("bytes", "index_bytes", "rows", "dead_rows")
    indexes = ("method", "bytes", "valid")
    return {
        "release": str(db.execute("SELECT current_setting('server_version')").get).split()[0],
        "tables": {
            name: dict(zip(tables, row, strict=True)) for name, *row in db.execute(_TABLES, (SCHEMA,))
        },
        "indexes": {
            name: dict(zip(indexes, row, strict=True)) for name, *row in db.execute(_INDEXES, (SCHEMA,))
        },
        "connections": {"all": all_, "limit": most, "own": own, "own_limit": own_most},
    }


def look(server: Pool) -> Iterator[ServerFinding]:
    """Version and way there, extension, row security, indexes, bloat, clock."""
    with server.reading() as db:
        yield from _looked(db)


def _looked(db: Database) -> Iterator[ServerFinding]:
    began = time.perf_counter()
    release = db.execute("SELECT current_setting('server_version')").get
    took = 1000 * (time.perf_counter() - began)
    text = f"PostgreSQL {str(release).split()[0]}, schema {CURRENT}, {took:.0f} ms there and back"
    slow = "a server nearby, or own files with `claude-memory sync`, answer sooner"
    yield ServerFinding("store", "warn" if took > _SLOW_MS else "ok", text, slow if took > _SLOW_MS else "")
    vector = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").get
    yield ServerFinding("pgvector", "ok" if vector else "fail", str(vector or "the extension is missing"))
    unguarded = [name for (name,) in db.execute(_OPEN, (SCHEMA,))]
    hint = "`claude-memory team create` by its owner puts it on again"
    said = f"off for {', '.join(unguarded)}" if unguarded else "forced on every table"
    yield ServerFinding("row security", "fail" if unguarded else "ok", said, hint if unguarded else "")
    broken = [name for (name,) in db.execute(_BROKEN, (SCHEMA,))]
    said = f"broken: {', '.join(broken)}" if broken else "all valid"
    yield ServerFinding(
        "indexes", "warn" if broken else "ok", said, "`REINDEX INDEX` by the owner" if broken else ""
    )
    unindexed = [name for (name,) in db.execute(_UNINDEXED, {"most": finding.EXACT_THROUGH})]
    if unindexed:
        said = f"none for {', '.join(unindexed)}: every search compares all of its vectors"
        yield ServerFinding(
            "vector index", "warn", said, "`claude-memory reindex` makes it; writers wait meanwhile"
        )
    dead = [f"{name} ({gone:,} dead rows)" for name, gone, _ in db.execute(_DEAD, (SCHEMA,))]
    if dead:
        yield ServerFinding(
            "bloat", "warn", ", ".join(dead), "see why the server's autovacuum does not keep up"
        )
    ahead = float(db.execute("SELECT extract(epoch FROM clock_timestamp())").get) - time.time()
    if abs(ahead) > _CLOCK_SECONDS:
        yield ServerFinding("clock", "warn", f"the server's differs by {ahead:+.0f} s", "set one of the two")
