"""What is done with a server's own login: teams, people and their logins, and summaries in plain tables."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.store.postgres import migrations
from claude_memory.store.postgres.migrations import MEMBERS, SCHEMA
from claude_memory.store.postgres.team_server import address, conninfo, translated

_NAME = re.compile(r"[\w .@-]{1,60}")


class Login(NamedTuple):
    """A person's way in, told once."""

    team: str
    name: str
    role: str
    password: str


@contextlib.contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    with translated(address(url)), psycopg.connect(conninfo(url)) as db:
        yield db


def create_team(url: str, team: str, name: str) -> Login | None:
    """Make or migrate the schema, and the team with its first member; None if the team was there."""
    with _connected(url) as owner:
        migrations.migrate(owner)
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        if owner.execute("SELECT 1 FROM teams WHERE name = %s", (_checked(team),)).fetchone():
            return None
        owner.execute("INSERT INTO teams (name) VALUES (%s)", (team,))
        return _member(owner, team, name, leads=True)


def invite(url: str, team: str, name: str) -> Login:
    with _connected(url) as owner:
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        return _member(owner, team, name, leads=False)


def _member(owner: psycopg.Connection[Any], team: str, name: str, *, leads: bool) -> Login:
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
    return Login(team, name, role, password)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name[:60]!r} is no name: letters, digits, spaces and `.@-_`, at most 60")
    return name


def login_url(url: str, login: Login) -> str:
    """The URL that the member uses, made from the one of whoever invites."""
    given = conninfo_to_dict(conninfo(url))
    where = f"{given.get('host') or 'localhost'}:{given.get('port') or 5432}"
    mode = f"&sslmode={given['sslmode']}" if given.get("sslmode") else ""
    database = quote(str(given.get("dbname") or ""))
    who = f"{quote(login.role)}:{quote(login.password)}"
    return f"postgresql://{who}@{where}/{database}?team={quote(login.team)}{mode}"


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
        for statement, rows in ((_SUMMARY, summaries), (_SESSION, sessions)):
            cursor.executemany(statement, [(*row[:-1], Jsonb(row[-1], _written)) for row in rows])


def _written(document: Any) -> str:
    return json.dumps(document).replace("\\u0000", "\\ufffd")  # PostgreSQL's documents have no NUL
