"""Summaries in plain tables of somebody's own database, for those who want only that: see docs/team.md."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from claude_memory.errors import ConfigFault
from claude_memory.store.postgres.team_server import address, conninfo, translated

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
    with translated(address(url)), psycopg.connect(conninfo(url)) as db, db.cursor() as cursor:
        cursor.execute(_TABLES)
        cursor.executemany(_SUMMARY, [(*row[:-1], _document(row[-1])) for row in summaries])
        cursor.executemany(_SESSION, [(*row[:-1], _document(row[-1])) for row in sessions])


def _document(value: Any) -> Jsonb:
    """PostgreSQL's documents have no NUL."""
    return Jsonb(_without_nul(value))


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(inner) for key, inner in value.items()}
    return [_without_nul(inner) for inner in value] if isinstance(value, list | tuple) else value
