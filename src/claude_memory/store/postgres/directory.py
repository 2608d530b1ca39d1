"""Who may use a team's store: teams, people and their logins."""

from __future__ import annotations

import re
import secrets
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from claude_memory.errors import Conflict, InvalidInput
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


def create_team(url: str, team: str, name: str) -> Login | None:
    """Make or migrate the schema, and the team with its first member; None if the team was there."""
    with translated(address(url)), psycopg.connect(conninfo(url)) as owner:
        migrations.migrate(owner)
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        if owner.execute("SELECT 1 FROM teams WHERE name = %s", (_checked(team),)).fetchone():
            return None
        owner.execute("INSERT INTO teams (name) VALUES (%s)", (team,))
        return _member(owner, team, name, leads=True)


def invite(url: str, team: str, name: str) -> Login:
    """A login for one more member."""
    with translated(address(url)), psycopg.connect(conninfo(url)) as owner:
        owner.execute(f"SET search_path = {SCHEMA}, public, extensions")
        return _member(owner, team, name, leads=False)


def _member(owner: psycopg.Connection[Any], team: str, name: str, *, leads: bool) -> Login:
    number = owner.execute("SELECT number FROM teams WHERE name = %s", (_checked(team),)).fetchone()
    if number is None:
        raise InvalidInput(f"there is no team {team!r}, or this login does not own the store")
    plain = re.sub(r"[^a-z0-9]+", "_", _checked(name).lower()).strip("_")[:30] or "member"
    role, password = f"cm_{plain}_{secrets.token_hex(3)}", secrets.token_urlsafe(24)
    owner.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT 40").format(
            sql.Identifier(role), sql.Literal(password)
        )
    )
    owner.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(MEMBERS), sql.Identifier(role)))
    person = owner.execute(
        "INSERT INTO people (name, role) VALUES (%s, %s) RETURNING number", (name, role)
    ).fetchone()
    if person is None:
        raise Conflict("the member could not be entered")
    owner.execute(
        "INSERT INTO members (team, person, role, leads) VALUES (%s, %s, %s, %s)",
        (number[0], person[0], role, leads),
    )
    return Login(team, name, role, password)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:60]!r} is no name: letters, digits, spaces, `.`, `@`, `-`, `_`, at most 60"
        )
    return name


def login_url(url: str, login: Login) -> str:
    """The URL that the member uses, made from the one of whoever invites."""
    from urllib.parse import quote

    given = conninfo_to_dict(conninfo(url))
    where = f"{given.get('host') or 'localhost'}:{given.get('port') or 5432}"
    mode = f"&sslmode={given['sslmode']}" if given.get("sslmode") else ""
    database = quote(str(given.get("dbname") or ""))
    who = f"{quote(login.role)}:{quote(login.password)}"
    return f"postgresql://{who}@{where}/{database}?team={quote(login.team)}{mode}"
