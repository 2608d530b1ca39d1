"""Reads another memory's database, claude-mem's, into memories: read-only, tolerant of its versions.

What comes from there is nobody's own words here: trust `imported`, and its provenance says from where.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from claude_memory.capture.messages import cut_clean
from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.imports.importer import Imported
from claude_memory.model import Kind, ProjectId, ProjectIdentity, SessionId, StoredMemory, Trust, memory_id
from claude_memory.store.base import Store
from claude_memory.store.sqlite.inspection import foreign_database
from claude_memory.text.words import shorten
from claude_memory.transcripts.model import moment_of

TEXT_CHARACTERS = 60_000
BATCH = 500
SESSION_IDS = ("content_session_id", "claude_session_id", "memory_session_id", "sdk_session_id")
# By table: the columns that make a memory's text. Those of a summary are named in it.
TABLES = {
    "observations": ("subtitle", "narrative", "text", "facts"),
    "session_summaries": ("request", "investigated", "learned", "completed", "next_steps", "notes"),
    "user_prompts": ("prompt_text", "prompt"),
}
_KINDS = {"decision": Kind.DECISION, "bugfix": Kind.FIX} | dict.fromkeys(
    ("feature", "refactor", "change", "discovery"), Kind.FACT
)
_FILES = ("files_modified", "files_edited", "files_read")


def import_databases(store: Store, paths: Sequence[Path]) -> Imported:
    """Every observation, summary and prompt of the databases, or of the one in its usual place, as a memory.

    Reading one again adds nothing.
    """
    counts: Counter[str] = Counter()
    for path in [path.expanduser() for path in paths] or [Path.home() / ".claude-mem" / "claude-mem.db"]:
        if not path.is_file():
            raise InvalidInput(f"no such file: {path}")
        sessions: set[str] = set()
        try:
            with foreign_database(path) as database:
                memories = _memories(database, path, store)
                while batch := list(islice(memories, BATCH)):
                    good = [item for item in batch if item is not None]
                    sessions.update(item.session for item in good if item.session)
                    added = store.memories.add(good)
                    counts.update(memories=added.memories, skipped=len(batch) - len(good))
                    counts.update(duplicates=added.duplicates + added.tombstoned)
        except StoreFault as fault:
            raise InvalidInput(f"{path} is no database that can be read: {fault}") from None
        counts.update(sessions=len(sessions))
    return Imported(**counts, complete=True, unread=())


def _memories(database: Any, path: Path, store: Store) -> Iterator[StoredMemory | None]:
    """A memory per row of each table that is there; None for a row that says nothing."""
    named = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    tables = {row["name"] for row in named}
    if tables.isdisjoint(TABLES):
        raise InvalidInput(f"{path} holds no memories of claude-mem: none of the tables {', '.join(TABLES)}")
    project = cache(partial(_project, store))
    sessions: dict[str, dict[str, Any]] = {}  # by every id that other tables may use for one
    for facts in database.execute("SELECT * FROM sdk_sessions") if "sdk_sessions" in tables else ():
        shared = {"project": facts.get("project"), "agent_session": _session(facts)}
        sessions.update({str(facts[name]): shared for name in SESSION_IDS if facts.get(name)})
    for table in (name for name in TABLES if name in tables):
        for row in database.execute(f"SELECT rowid AS rowid_, * FROM {table} ORDER BY rowid"):
            shared = sessions.get(_session(row), {})
            facts = {**row, **{key: value for key, value in shared.items() if row.get(key) is None}}
            yield _memory(table, facts, path, project(str(facts.get("project") or "claude-mem")))


def _session(facts: Mapping[str, Any]) -> str:
    return next((str(facts[name]) for name in SESSION_IDS if facts.get(name)), "")


def _project(store: Store, name: str) -> ProjectId:
    """claude-mem knows projects by name only; each becomes a project of that name."""
    known = [item for item in store.projects() if item.name == name]
    if len(known) == 1:  # surely meant; with several, none of them is
        return known[0].id
    return store.project_for(ProjectIdentity((f"claude-mem:{name}",), name, "")).id


def _memory(table: str, facts: Mapping[str, Any], path: Path, project: ProjectId) -> StoredMemory | None:
    parts = {name: text for name in TABLES[table] if (text := _said(facts.get(name)))}
    if table == "session_summaries":
        kind, title = Kind.SUMMARY, _said(facts.get("request"))
        body = "\n".join(f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in parts.items())
    else:
        kind, title = _KINDS.get(str(facts.get("type")), Kind.OBSERVATION), str(facts.get("title") or "")
        body = "\n".join(parts.values()) or title
    body = cut_clean(body.strip(), TEXT_CHARACTERS)
    if not body.strip():
        return None
    at = moment_of(facts.get("created_at_epoch")) or moment_of(facts.get("created_at")) or datetime.now(UTC)
    number = facts.get("id") or facts["rowid_"]
    session = str(facts.get("agent_session") or _session(facts))
    return StoredMemory(
        id=memory_id(f"claude-mem:{table}:{number}:{session}:{at.isoformat()}"),
        project=project,
        kind=kind,
        title=cut_clean(title.strip(), 200)[:200] or shorten(body.splitlines()[0], 80),
        body=body,
        created_at=at,
        updated_at=at,
        trust=Trust.IMPORTED,
        session=SessionId(session[:200]) if session else None,
        topics=tuple(_listed(facts.get("concepts")))[:20],
        files=tuple(dict.fromkeys(name for key in _FILES for name in _listed(facts.get(key))))[:20],
        provenance={"source": "claude-mem", "table": table, "row": number, "database": path.name},
    )


def _said(value: Any) -> str:
    """A column's text; lists are kept as JSON there."""
    listed = _listed(value)
    return "\n".join(listed) if listed and str(value).lstrip().startswith("[") else str(value or "").strip()


def _listed(value: Any) -> list[str]:
    try:
        found = json.loads(value) if isinstance(value, str) else ()
    except ValueError:
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(item) for item in found if item] if isinstance(found, list) else []
