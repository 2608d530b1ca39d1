"""Reads another memory's database, claude-mem's, into memories: read-only, tolerant of its versions.

What comes from there is nobody's own words here: trust `imported`, and its provenance says from where.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from claude_memory.store.sqlite.inspection import ForeignDatabase, foreign_database
from claude_memory.text.words import shorten
from claude_memory.transcripts.model import moment_of

TEXT_CHARACTERS = 60_000
BATCH = 500
TABLES = ("observations", "session_summaries", "user_prompts")
SESSION_IDS = ("content_session_id", "claude_session_id", "memory_session_id", "sdk_session_id")
_KINDS = {
    "decision": Kind.DECISION,
    "bugfix": Kind.FIX,
    "feature": Kind.FACT,
    "refactor": Kind.FACT,
    "change": Kind.FACT,
    "discovery": Kind.FACT,
}
_SUMMARY_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_FILES = ("files_modified", "files_edited", "files_read")
_OBSERVATION_PARTS = ("subtitle", "narrative", "text", "facts")


def import_databases(store: Store, paths: Sequence[Path]) -> Imported:
    """Every observation, summary and prompt of the databases, or of the one in its usual place, as a memory.

    Reading one again adds nothing.
    """
    counts: Counter[str] = Counter()
    for path in [path.expanduser() for path in paths] or [Path.home() / ".claude-mem" / "claude-mem.db"]:
        if not path.is_file():
            raise InvalidInput(f"no such file: {path}")
        try:
            with foreign_database(path) as database:
                counts += _added(store, database, path)
        except StoreFault as fault:
            raise InvalidInput(f"{path} is no database that can be read: {fault}") from None
    return Imported(
        sessions=counts["sessions"],
        duplicates=counts["duplicates"],
        skipped=counts["skipped"],
        memories=counts["memories"],
    )


def _added(store: Store, database: ForeignDatabase, path: Path) -> Counter[str]:
    tables = database.tables()
    if not tables.intersection(TABLES):
        raise InvalidInput(f"{path} holds no memories of claude-mem: none of the tables {', '.join(TABLES)}")
    sessions: set[str] = set()
    counts: Counter[str] = Counter()
    memories = _memories(database, tables, path, store)
    while batch := list(islice(memories, BATCH)):
        good = [item for item in batch if item is not None]
        sessions.update(item.session for item in good if item.session)
        added = store.memories.add(good)
        counts.update(memories=added.memories, skipped=len(batch) - len(good))
        counts.update(duplicates=added.duplicates + added.tombstoned)
    return counts + Counter(sessions=len(sessions))


def _memories(
    database: ForeignDatabase, tables: set[str], path: Path, store: Store
) -> Iterator[StoredMemory | None]:
    """A memory per row of each table that is there; None for a row that says nothing."""
    project = cache(partial(_project, store))
    sessions = _session_facts(database) if "sdk_sessions" in tables else {}
    for table in TABLES:
        if table not in tables:
            continue
        for row in database.rows(f"SELECT rowid AS rowid_, * FROM {table} ORDER BY rowid"):
            shared = sessions.get(_session_key(row), {})
            facts = {**row, **{key: value for key, value in shared.items() if row.get(key) is None}}
            yield _memory(table, facts, path, project(str(facts.get("project") or "claude-mem")))


def _session_key(facts: Mapping[str, Any]) -> str:
    return next((str(facts[name]) for name in SESSION_IDS if facts.get(name)), "")


def _session_facts(database: ForeignDatabase) -> dict[str, dict[str, Any]]:
    """What sdk_sessions knows, by every id that other tables may use for a session."""
    known: dict[str, dict[str, Any]] = {}
    for facts in database.rows("SELECT * FROM sdk_sessions"):
        shared = {"project": facts.get("project"), "agent_session": _session_key(facts)}
        known.update({str(facts[name]): shared for name in SESSION_IDS if facts.get(name)})
    return known


def _project(store: Store, name: str) -> ProjectId:
    """claude-mem knows projects by name only; each becomes a project of that name."""
    known = [item for item in store.projects() if item.name == name]
    if len(known) == 1:  # surely meant; with several, none of them is
        return known[0].id
    return store.project_for(ProjectIdentity((f"claude-mem:{name}",), name, "")).id


def _memory(table: str, facts: Mapping[str, Any], path: Path, project: ProjectId) -> StoredMemory | None:
    kind, title, body = _READ[table](facts)
    body = cut_clean(body.strip(), TEXT_CHARACTERS)
    if not body.strip():
        return None
    at = moment_of(facts.get("created_at_epoch")) or moment_of(facts.get("created_at")) or datetime.now(UTC)
    number = facts.get("id") or facts["rowid_"]
    session = str(facts.get("agent_session") or _session_key(facts))
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


def _observation(facts: Mapping[str, Any]) -> tuple[Kind, str, str]:
    parts = [_said(facts.get(name)) for name in _OBSERVATION_PARTS]
    kind = _KINDS.get(str(facts.get("type") or ""), Kind.OBSERVATION)
    title = str(facts.get("title") or "")
    return kind, title, "\n".join(filter(None, parts)) or title


def _summary(facts: Mapping[str, Any]) -> tuple[Kind, str, str]:
    parts = [(name, _said(facts.get(name))) for name in _SUMMARY_PARTS]
    body = "\n".join(f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in parts if text)
    return Kind.SUMMARY, _said(facts.get("request")), body


def _prompt(facts: Mapping[str, Any]) -> tuple[Kind, str, str]:
    return Kind.OBSERVATION, "", _said(facts.get("prompt_text") or facts.get("prompt"))


_READ: Mapping[str, Callable[[Mapping[str, Any]], tuple[Kind, str, str]]] = {
    "observations": _observation,
    "session_summaries": _summary,
    "user_prompts": _prompt,
}


def _said(value: Any) -> str:
    """A column's text; lists are kept as JSON there."""
    listed = _listed(value)
    return "\n".join(listed) if listed and str(value).lstrip().startswith("[") else str(value or "").strip()


def _listed(value: Any) -> list[str]:
    if not isinstance(value, str):
        return []
    try:
        found = json.loads(value)
    except ValueError:
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(item) for item in found if item] if isinstance(found, list) else []
