"""A team's store in PostgreSQL, how its server stands, and what is done there with a login of one's own.

What a method of the store promises stands in `store.base`. Logins are made by the owner of the schema.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from claude_memory.errors import ConfigFault, Conflict, InvalidInput
from claude_memory.model import ProjectId
from claude_memory.platform.files import private_folder, put_in_place
from claude_memory.store.base import NO_PASSAGE, Store, checked, counted
from claude_memory.store.postgres import finding, migrations
from claude_memory.store.postgres.finding import PostgresMemories, read_vector, written
from claude_memory.store.postgres.migrations import BESIDE_MEMORIES, MEMBERS, SCHEMA
from claude_memory.store.postgres.team_server import (
    LOCK_MS,
    PROVENANCE,
    TRUST,
    TeamServer,
    address,
    conninfo,
    translated,
)
from claude_memory.store.sql import rows
from claude_memory.store.sql.archive import indexed
from claude_memory.store.sql.feed import Feed

if TYPE_CHECKING:
    from claude_memory.store.base import Database
    from claude_memory.store.model import Integrity, StoreStats
    from claude_memory.store.sqlite.store import SqliteStore

_WRONG = {
    "memories without a passage": NO_PASSAGE,
    "passages without a text entry": "SELECT count(*) FROM passages WHERE terms IS NULL",
    "vectors of another length than the rest of their model": """SELECT count(*) FROM vectors v
        JOIN (SELECT model, min(vector_dims(vector)) AS usual FROM vectors GROUP BY model) f
          ON f.model = v.model WHERE vector_dims(v.vector) <> f.usual""",
}
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
            return checked(db, "passages WHERE terms IS NOT NULL", _WRONG)

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


# --- a whole store from SQLite to PostgreSQL and back: the same rows under the same numbers. Both have the
# same tables and columns, so a row is copied column by column. What is a person's alone has another space and
# person on either side; texts are indexed anew. Feeds, their peers and the replica's name are not copied.

# In the order of who refers to whom.
_MOVED = (
    "projects project_aliases project_paths sessions events conversations messages message_keys import_files "
    "summed_up memories memory_topics memory_files passages models vectors changes cursors tombstones "
    "rejected intentions strengths reviews relations entities mentions graphed file_states consolidations "
    "consolidation_steps arrivals unjudged exchanges exchange_failures"
).split()
_NOT_FOR_HOOKS = frozenset(
    "events messages message_keys import_files summed_up models vectors changes cursors reviews entities "
    "mentions graphed consolidations consolidation_steps".split()
)
_NUMBERED = ("number", "id", "sequence")  # where a table begins with it, the server gives the next one
_BOOLEAN = frozenset(("failed", "imported", "pinned", "demoted", "undone"))
_BATCH = 500


def to_file(store: Store, target: Path, *, whole: bool = True) -> int:
    """Write what a person sees of a team's store as a SQLite store; it appears only when it is complete.

    For hooks not the whole: memories, without conversations and vectors.
    """
    from claude_memory.store.sqlite.connection import drop_logs
    from claude_memory.store.sqlite.store import SqliteStore

    private_folder(target.parent)
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as folder,
        contextlib.closing(SqliteStore(Path(folder) / target.name, Path(folder))) as copy,
    ):
        person = store.person
        with store.transactions.reading() as source, copy.transactions.writing() as goal:
            goal.execute("UPDATE people SET id = ?", (person,))
            rows.note(goal, "person", person)
            number = int(goal.execute("SELECT number FROM people").get)
            _copy(source, goal, number, [name for name in _MOVED if whole or name not in _NOT_FOR_HOOKS])
        copy.memories.rebuild_index()
        made = Path(folder) / "whole.db"
        version = copy.export(made)
        drop_logs(target)  # of the file that goes: they must not be taken for the new one's
        put_in_place(made, target, new=False)
    return version


def from_file(source: SqliteStore, store: Store) -> None:
    """Move a person's own store into a team that holds nothing yet."""
    with source.transactions.reading() as file, store.transactions.writing() as goal:
        if any(goal.execute(f"SELECT 1 FROM {table} LIMIT 1").get for table in ("memories", "messages")):
            raise Conflict("the team holds memories already: `claude-memory sync` brings two together")
        _copy(file, goal, -goal.user_space, _MOVED)
    store.memories.rebuild_index()


def _copy(source: Database, goal: Database, person: int, tables: Sequence[str]) -> None:
    """Copy tables; `person` is the number that the person has at the goal."""
    is_server = bool(goal.user_space)
    file = source if is_server else goal
    for table in tables:
        known: Any = file.execute(f"SELECT name FROM pragma_table_info('{table}')")
        columns = [name for (name,) in known if (table, name) != ("vectors", "seq")]
        changes = [_change(table, name, source, goal, person) for name in columns]
        places = ("CAST(? AS halfvec)" if is_server and name == "vector" else "?" for name in columns)
        names = ", ".join(f'"{name}"' for name in columns)
        into = f"INSERT INTO {table} ({names}) VALUES ({', '.join(places)}) ON CONFLICT DO NOTHING"
        found: Any = iter(source.execute(_picked(table, columns, source)))
        while batch := list(islice(found, _BATCH)):
            changed = [[change(value) for change, value in zip(changes, row, strict=True)] for row in batch]
            if table == "messages":
                number, tool, body = (columns.index(name) for name in ("number", "tool", "body"))
                texts = [(row[number], indexed(row[tool] or "", rows.unpacked(row[body]))) for row in batch]
                goal.put_messages(columns, changed, texts)
            else:
                goal.executemany(into, changed)
        if is_server and columns[0] in _NUMBERED:
            latest = int(goal.execute(f"SELECT coalesce(max({columns[0]}), 0) FROM {table}").get)
            goal.execute("SELECT memory_advance(?, ?, ?)", (table, columns[0], latest))


def _change(table: str, name: str, source: Database, goal: Database, person: int) -> Callable[[Any], Any]:
    is_server = bool(goal.user_space)
    if name == "space":
        return lambda value: goal.user_space if value == source.user_space else value
    if (table, name) == ("memories", "person"):
        return lambda value: None if value is None else person
    if (table, name) == ("messages", "body"):
        return lambda value: rows.packed(rows.unpacked(value), always=is_server)
    if name == "vector":
        return written if is_server else read_vector
    return bool if is_server and name in _BOOLEAN else lambda value: value


def _picked(table: str, columns: Sequence[str], source: Database) -> str:
    """The statement that reads a table; of a file, without what is another person's: theirs to bring."""
    visible, otherwise = "", {}
    if source.user_space:
        otherwise = {
            "vectors.vector": "CAST(m.vector AS text)",
            "memories.trust": TRUST,
            "memories.provenance": PROVENANCE,
        }
    elif table in ("memories", "passages", "vectors"):
        visible = "WHERE m.space >= 0"
    elif table in BESIDE_MEMORIES:
        visible = f"WHERE m.{BESIDE_MEMORIES[table]} NOT IN (SELECT number FROM memories WHERE space < 0)"
    said = [otherwise.get(f"{table}.{name}", f'm."{name}"') for name in columns]
    return f"SELECT {', '.join(said)} FROM {table} m {visible}"


# --- teams, people and their logins

_NAME = re.compile(r"[\w .@-]{1,60}")


@contextlib.contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    with translated(address(url)), psycopg.connect(conninfo(url)) as db:
        yield db


def create_team(url: str, team: str, name: str) -> str | None:
    """Make or migrate the schema, and the team; the URL of its first member, or None if it was there."""
    with _connected(url) as owner:
        migrations.migrate(owner)
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        if owner.execute("SELECT 1 FROM teams WHERE name = %s", (_checked(team),)).fetchone():
            return None
        owner.execute("INSERT INTO teams (name) VALUES (%s)", (team,))
        return _member(owner, url, team, name, leads=True)


def invite(url: str, team: str, name: str) -> str:
    """A login for one more member: the URL, made from the one of whoever invites."""
    with _connected(url) as owner:
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        return _member(owner, url, team, name, leads=False)


def _member(owner: psycopg.Connection[Any], url: str, team: str, name: str, *, leads: bool) -> str:
    number = owner.execute("SELECT number FROM teams WHERE name = %s", (_checked(team),)).fetchone()
    if number is None:
        raise InvalidInput(f"there is no team {team!r}, or this login does not own the store")
    plain = re.sub(r"[^a-z0-9]+", "_", _checked(name).lower()).strip("_")[:30] or "member"
    role, password = f"cm_{plain}_{secrets.token_hex(3)}", secrets.token_urlsafe(24)
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT 40")
    owner.execute(made.format(sql.Identifier(role), sql.Literal(password)))
    owner.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(MEMBERS), sql.Identifier(role)))
    owner.execute(
        """WITH person AS (INSERT INTO people (name, role) VALUES (%s, %s) RETURNING number, role)
           INSERT INTO members (team, person, role, leads) SELECT %s, number, role, %s FROM person""",
        (name, role, number[0], leads),
    )
    given = conninfo_to_dict(conninfo(url))
    where = f"{given.get('host') or 'localhost'}:{given.get('port') or 5432}"
    mode = f"&sslmode={given['sslmode']}" if given.get("sslmode") else ""
    database = quote(str(given.get("dbname") or ""))
    return f"postgresql://{quote(role)}:{quote(password)}@{where}/{database}?team={quote(team)}{mode}"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name[:60]!r} is no name: letters, digits, spaces and `.@-_`, at most 60")
    return name


# --- summaries in plain tables of somebody's own database, for those who want only that: see docs/team.md

_TABLES = """
CREATE TABLE IF NOT EXISTS claude_memory_summaries (
    session text NOT NULL, number integer NOT NULL, project text NOT NULL, at timestamptz,
    executive text NOT NULL, document jsonb NOT NULL, PRIMARY KEY (session, number));
CREATE TABLE IF NOT EXISTS claude_memory_sessions (
    session text NOT NULL, agent text NOT NULL, project text NOT NULL, first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL, title text NOT NULL, record jsonb NOT NULL, PRIMARY KEY (session, agent));
"""
_SUMMARY = """INSERT INTO claude_memory_summaries VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (session, number) DO UPDATE SET project = excluded.project, at = excluded.at,
        executive = excluded.executive, document = excluded.document"""
_SESSION = """INSERT INTO claude_memory_sessions VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (session, agent) DO UPDATE SET project = excluded.project, first_at = excluded.first_at,
        last_at = excluded.last_at, title = excluded.title, record = excluded.record"""


def push(named: str, summaries: Iterable[tuple[Any, ...]], sessions: Iterable[tuple[Any, ...]]) -> None:
    """Write or renew rows, in one transaction; documents stand last. `supabase` is SUPABASE_DB_URL."""
    url = os.environ.get("SUPABASE_DB_URL", "") if named == "supabase" else named
    if not url:
        raise ConfigFault("`supabase` needs the environment variable SUPABASE_DB_URL")
    with _connected(url) as db, db.cursor() as cursor:
        cursor.execute(_TABLES)
        for statement, told in ((_SUMMARY, summaries), (_SESSION, sessions)):
            cursor.executemany(statement, [(*row[:-1], Jsonb(row[-1], _document)) for row in told])


def _document(value: Any) -> str:
    return json.dumps(value).replace("\\u0000", "\\ufffd")  # PostgreSQL's documents have no NUL
