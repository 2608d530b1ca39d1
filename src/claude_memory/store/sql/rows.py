"""Rows as values of the model and back, and filters as SQL. No statement here changes anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from claude_memory.model import (
    Event,
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    Scope,
    SearchScope,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.store.records import to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database
    from claude_memory.store.tombstones import Tombstones

# Projects count from 1. What travels with a person stands in a space that is not above zero: 0 for the person
# of a store that is theirs alone, else the negative of the person's number.
EVERYTHING = 1 << 62  # as a limit
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

MEMORY_COLUMNS = """m.id, p.id, m.kind, m.title, m.body, m.created_at, m.updated_at, m.trust, m.space,
    m.status, s.id, m.task, m.topics, m.files, m.provenance, m.supersedes, m.superseded_by, m.forgotten_at,
    m.pinned, (SELECT o.id FROM people o WHERE o.number = m.person)"""
MEMORY_TABLES = """memories m JOIN projects p ON p.number = m.project
    LEFT JOIN sessions s ON s.number = m.session"""
EVENT_COLUMNS = "e.id, e.kind, e.agent, s.id, p.id, e.cwd, e.timestamp, e.payload"
EVENT_TABLES = """events e JOIN projects p ON p.number = e.project
    LEFT JOIN sessions s ON s.number = e.session"""


def fetch(
    db: Database, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    return db.execute(statement, values).fetchall()


def stamp(moment: datetime) -> int:
    """Microseconds since 1970, so that times compare and index as numbers."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment(stamped: int) -> datetime:
    """The time that was stamped."""
    return _EPOCH + timedelta(microseconds=stamped)


def memories(db: Database, where: str, *values: Any) -> list[tuple[int, StoredMemory]]:
    """Memories with their numbers; `where` is what follows the tables of the statement."""
    statement = f"SELECT m.number, {MEMORY_COLUMNS} FROM {MEMORY_TABLES} {where}"
    return [(row[0], memory_from_row(row[1:])) for row in fetch(db, statement, values)]


def memory(db: Database, id_: MemoryId) -> StoredMemory | None:
    """One memory by its id."""
    return next((item for _, item in memories(db, "WHERE m.id = ?", id_)), None)


def tombstones(db: Database) -> Tombstones:
    """What was erased, as one transaction sees it."""
    from claude_memory.store.tombstones import Tombstones  # readers do without

    return Tombstones(db)


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _listed(value: str) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value != "[]" else ()  # most are empty, and a search reads many


def _scope(space: int) -> Scope:
    return Scope.USER if space <= 0 else Scope.PROJECT


def _document(value: str) -> Any:
    return json.loads(value) if value != "{}" else {}


# How each column becomes the field in its place.
_MEMORY: tuple[Callable[[Any], Any], ...] = (
    str, str, Kind, str, str, moment, moment, Trust, _scope, Status, _optional(str), _optional(str),
    _listed, _listed, _document, _optional(str), _optional(str), _optional(moment), bool, _optional(str),
)  # fmt: skip
_EVENT: tuple[Callable[[Any], Any], ...] = (
    str, EventKind, str, _optional(str), str, str, moment, _document,
)  # fmt: skip


def memory_from_row(row: Sequence[Any]) -> StoredMemory:
    """A row of MEMORY_COLUMNS."""
    fields: Any = (read(value) for read, value in zip(_MEMORY, row, strict=True))
    return StoredMemory(*fields)


def event_from_row(row: Sequence[Any]) -> Event:
    """A row of EVENT_COLUMNS."""
    fields: Any = (read(value) for read, value in zip(_EVENT, row, strict=True))
    return Event(*fields)


def note(db: Database, key: str, value: str) -> None:
    """Keep a figure of the store's own."""
    db.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def noted(db: Database, key: str) -> str | None:
    """A figure of the store's own."""
    value: str | None = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return value


def memory_values(memory: StoredMemory, places: Mapping[str, int | None]) -> dict[str, Any]:
    """A memory's columns, by name; `places` has the numbers of project, session, person and space."""
    return {
        **places,
        "id": memory.id,
        "kind": memory.kind.value,
        "title": clean(memory.title),
        "body": clean(memory.body),
        "created_at": stamp(memory.created_at),
        "updated_at": stamp(memory.updated_at),
        "trust": memory.trust.value,
        "status": memory.status.value,
        "task": clean(memory.task) if memory.task is not None else None,
        "topics": to_json(memory.topics),
        "files": to_json(memory.files),
        "provenance": to_json(memory.provenance),
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "forgotten_at": stamp(memory.forgotten_at) if memory.forgotten_at else None,
        "pinned": memory.pinned,
    }


def spaces_of(db: Database, scope: SearchScope) -> list[int]:
    """The numbers of all spaces a scope may see; what travels with the person is always one."""
    if scope.projects is None:
        rows = db.execute("SELECT number FROM projects")
    else:
        wanted = to_json(scope.projects)
        rows = db.execute(
            "SELECT number FROM projects WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
        )
    return [db.user_space, *(int(number) for (number,) in rows)]


# A message of the exchange that a memory is.
_HELD = """EXISTS (SELECT 1 FROM exchanges e JOIN messages x ON x.conversation = e.conversation
    WHERE e.memory = m.number AND {which})"""
# Conditions on `memories m`, by the field of a filter that they hold to.
_CONDITIONS = {
    "statuses": "m.status IN (SELECT value FROM json_each(:statuses))",
    "kinds": "m.kind IN (SELECT value FROM json_each(:kinds))",
    "topics": """m.number IN (SELECT memory FROM memory_topics
        WHERE topic IN (SELECT value FROM json_each(:topics)))""",
    # A file is meant by its path or any tail of it: `auth.py`, `src/auth.py`, `/home/ann/app/src/auth.py`.
    "files": """m.number IN (
        SELECT f.memory FROM json_each(:files) w JOIN memory_files f ON f.name = w.value ->> 0
        WHERE f.path = w.value ->> 1
           OR substr(f.path, length(f.path) - length(w.value ->> 1)) = '/' || (w.value ->> 1)
           OR substr(w.value ->> 1, length(w.value ->> 1) - length(f.path)) = '/' || f.path)""",
    "task": "m.task = :task",
    "session": "m.session IN (SELECT number FROM sessions WHERE id = :session)",
    "since": "m.created_at >= :since",
    "until": "m.created_at <= :until",
    "agent": "m.provenance ->> 'agent' = :agent",
    "branch": _HELD.format(which="x.ordinal = e.last AND x.branch = :branch"),
    "failed": _HELD.format(which="x.ordinal BETWEEN e.first AND e.last AND x.failed = :failed"),
    "among": "m.id IN (SELECT value FROM json_each(:among))",
}


def filter_sql(filter_: MemoryFilter) -> tuple[str, dict[str, Any]]:
    """Conditions on `memories m`, and their values. Only values come from the caller, never SQL."""
    given = {name: getattr(filter_, name) for name in _CONDITIONS}
    given["topics"] = [topic.casefold() for topic in filter_.topics]
    given["files"] = [[file_name(path), path] for path in map(plain_path, filter_.files)]
    # No kind is any kind, but to be among none, or of no status, is to be none.
    given["statuses"] = to_json(filter_.statuses)
    given["among"] = None if filter_.among is None else to_json(filter_.among)
    return restricted(_CONDITIONS, given)


_NOTHING: tuple[Any, ...] = (None, False, (), [])


def restricted(conditions: Mapping[str, str], given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The conditions for which something is given, and their values."""
    values = {name: _bound(value) for name, value in given.items() if value not in _NOTHING}
    return " AND ".join(["1 = 1", *(conditions[name] for name in values)]), values


def _bound(value: Any) -> Any:
    if isinstance(value, datetime):
        return stamp(value)
    return (
        clean(value) if isinstance(value, str) else to_json(value) if isinstance(value, Sequence) else value
    )


def plain_path(path: str) -> str:
    """A path with forward slashes and no leading `./`, as files are compared."""
    return clean(path).replace("\\", "/").removeprefix("./").rstrip("/")


def file_name(path: str) -> str:
    """The last part of a path, by which files are looked up."""
    return PurePosixPath(path).name


def id_list(ids: Iterable[int]) -> str:
    """Integers as JSON, to be bound to `json_each(?)`."""
    return "[" + ",".join(map(str, ids)) + "]"


def side_rows(memory: StoredMemory) -> tuple[set[str], set[tuple[str, str]]]:
    """The topics and files by which a memory is looked up."""
    topics = {clean(topic).casefold() for topic in memory.topics}
    paths = {plain_path(path) for path in memory.files}
    return topics, {(file_name(path), path) for path in paths if path}


def event_values(event: Event, project: int, session: int | None) -> tuple[Any, ...]:
    """An event's columns in the order of its table."""
    payload: Mapping[str, Any] = event.payload
    return (
        event.id,
        event.kind.value,
        clean(event.agent),
        session,
        project,
        clean(event.cwd),
        stamp(event.timestamp),
        to_json(payload),
    )
