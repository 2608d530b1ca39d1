"""Values as rows and as lines of a mirror, and back; what of them may be stored; filters as SQL.

Columns and records have the fields of a class, told apart by what stands in them. No statement here changes
anything but the store's own figures (`note`).
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from claude_memory import redact
from claude_memory.errors import InvalidInput
from claude_memory.model import BY_HAND, Event, MemoryFilter, MemoryId, Scope, SearchScope, StoredMemory
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database
    from claude_memory.store.tombstones import Tombstones

# Projects count from 1. What travels with a person stands in a space that is not above zero: 0 for the person
# of a store that is theirs alone, else the negative of the person's number.
EVERYTHING = 1 << 62  # as a limit
PACK_FROM = 160  # characters: what shorter texts gain is not worth it
_LEVEL = 3
_ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how every frame begins; no stream of zlib does
# Made from messages alone: every home that has the messages makes them itself.
DERIVED = ("exchange", "session")
T = TypeVar("T")
Told = TypeVar("Told", StoredMemory, Event)
_TEXTS: Mapping[type, tuple[str, Sequence[str]]] = {  # the document that each holds, and its texts
    StoredMemory: ("provenance", ("title", "body", "session", "task", "topics", "files")),
    Event: ("payload", ("agent", "session", "cwd")),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

MEMORY_COLUMNS = """m.id, p.id, m.kind, m.title, m.body, m.created_at, m.updated_at, m.trust, m.space,
    m.status, s.id, m.task, m.topics, m.files, m.provenance, m.supersedes, m.superseded_by, m.forgotten_at,
    m.pinned, (SELECT o.id FROM people o WHERE o.number = m.person)"""
MEMORY_TABLES = """memories m JOIN projects p ON p.number = m.project
    LEFT JOIN sessions s ON s.number = m.session"""
EVENTS = """SELECT e.id, e.kind, e.agent, s.id, p.id, e.cwd, e.timestamp, e.payload
    FROM events e JOIN projects p ON p.number = e.project LEFT JOIN sessions s ON s.number = e.session"""


def fetch(
    db: Database, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    return db.execute(statement, values).fetchall()


def memories(db: Database, where: str, *values: Any) -> list[tuple[int, StoredMemory]]:
    """Memories with their numbers; `where` is what follows the tables of the statement."""
    statement = f"SELECT m.number, {MEMORY_COLUMNS} FROM {MEMORY_TABLES} {where}"
    return [(row[0], read(StoredMemory, row[1:])) for row in fetch(db, statement, values)]


def memory(db: Database, id_: MemoryId) -> StoredMemory | None:
    return next((item for _, item in memories(db, "WHERE m.id = ?", id_)), None)


def tombstones(db: Database) -> Tombstones:
    """What was erased, as one transaction sees it."""
    from claude_memory.store.tombstones import Tombstones  # readers do without

    return Tombstones(db)


def note(db: Database, key: str, value: str) -> None:
    kept = (
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    )
    db.execute(kept, (key, value))


def noted(db: Database, key: str) -> str | None:
    value: str | None = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return value


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


def stamp(moment: datetime) -> int:
    """Microseconds since 1970, so that times compare and index as numbers."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment(told: Any) -> datetime:
    """The time that was stamped, or written as ISO 8601."""
    if isinstance(told, int):
        return _EPOCH + timedelta(microseconds=told)
    given = datetime.fromisoformat(told)
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def _listed(told: Any) -> tuple[str, ...]:
    if told == "[]":  # most are, and a search reads many
        return ()
    return tuple(map(str, json.loads(told) if isinstance(told, str) else told))


def _document(told: Any) -> dict[str, Any]:
    if told == "{}":
        return {}
    return dict(json.loads(told) if isinstance(told, str) else told)


def _scope(told: Any) -> Scope:
    return Scope(told) if isinstance(told, str) else Scope.USER if told <= 0 else Scope.PROJECT


def _reader(type_: Any) -> Callable[[Any], Any]:
    if type(None) in get_args(type_):  # and another
        inner = _reader(get_args(type_)[0])
        return lambda told: None if told is None else inner(told)
    special = {datetime: moment, Scope: _scope, tuple: _listed, Mapping: _document, str: unpacked}
    type_ = get_origin(type_) or type_
    if type_ in special:
        return special[type_]
    return type_ if isinstance(type_, type) else unpacked  # the ids are texts


@cache
def _readers(class_: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
    return {name: _reader(type_) for name, type_ in get_type_hints(class_).items()}


def _fields(value: Any) -> dict[str, Any]:
    kind: Callable[..., Any] = type(value)
    return {name: getattr(value, name) for name in _readers(kind)}


def read(class_: Callable[..., T], row: Sequence[Any]) -> T:
    """The value whose fields are the columns of a row, in order."""
    readers = _readers(class_).values()
    return class_(*[inner(told) for inner, told in zip(readers, row, strict=False)])


def from_record(class_: Callable[..., T], record: Mapping[str, Any]) -> T:
    """The value of a class that a record describes; InvalidInput if it does not describe one."""
    try:
        given = {name: inner for name, inner in _readers(class_).items() if record.get(name) is not None}
        return class_(**{name: inner(record[name]) for name, inner in given.items()})
    except (AttributeError, TypeError, ValueError) as fault:
        name = class_.__name__.removeprefix("Stored").lower()
        raise InvalidInput(f"not the record of a {name}: {type(fault).__name__} {fault}") from None


def id_list(ids: Iterable[int]) -> str:
    """Integers as JSON, to be bound to `json_each(?)`."""
    return "[" + ",".join(map(str, ids)) + "]"


def to_json(value: Any) -> str:
    """A value as compact JSON that can be stored."""
    if not value and isinstance(value, tuple):  # most memories have no topics or files
        return "[]"
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def columns(value: Any) -> dict[str, Any]:
    return {name: bound(field) for name, field in _fields(value).items()}


def bound(field: Any) -> Any:
    if isinstance(field, datetime):
        return stamp(field)
    if isinstance(field, Enum):
        return field.value
    if isinstance(field, str):
        return clean(field)
    return to_json(field) if isinstance(field, Sequence | Mapping) else field


def moment_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def record_of(value: Any) -> dict[str, Any]:
    """Every field of a value as plain JSON values; the person only of what is a person's."""
    fields = {name: _plain(field) for name, field in _fields(value).items()}
    return {name: field for name, field in fields.items() if field is not None or name != "person"}


def _plain(field: Any) -> Any:
    if isinstance(field, datetime):
        return moment_text(field)
    if isinstance(field, Enum):
        return field.value
    return list(field) if isinstance(field, tuple) else dict(field) if isinstance(field, Mapping) else field


def kept(text: str) -> str:
    """Text that may be stored: nothing secret, nothing broken."""
    return clean(redact.kept(text))


def _kept(field: Any) -> Any:
    if isinstance(field, str):
        return kept(field)
    return type(field)(map(kept, field)) if isinstance(field, list | tuple) else field


def kept_record(value: Any) -> dict[str, Any]:
    return {name: _kept(field) for name, field in record_of(value).items()}


def kept_whole(item: Told) -> Told:
    """The memory or event as it may be stored, whichever field a secret was put in."""
    document, names = _TEXTS[type(item)]
    texts = {name: getattr(item, name) for name in names}
    shown = {name: "\n".join(text) if isinstance(text, tuple) else text for name, text in texts.items()}
    if redact.is_plain({**getattr(item, document), **{f"{name} ": text for name, text in shown.items()}}):
        return item
    fields: dict[str, Any] = {name: _kept(text) for name, text in texts.items()}
    fields[document] = redact.kept_mapping(getattr(item, document))
    return replace(item, **fields)


def is_derived(memory: StoredMemory) -> bool:
    """Whether it says what messages say, in nobody's own words."""
    return memory.provenance.get("source") in DERIVED and not memory.provenance.get(BY_HAND)


def digest(title: str, body: str) -> bytes:
    """What tells whether two copies of a memory say the same."""
    import hashlib

    words = f"{clean(title)}\0{clean(body)}".encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=12).digest()


def packed(text: str, *, always: bool = False) -> str | bytes:
    """A text as it is kept; `always` as bytes. Halves of a surrogate pair must be gone from it."""
    if len(text) < PACK_FROM and not always:
        return text
    if not text:
        return b""
    compressor = _compressor()
    made: bytes = compressor.compress(text.encode(), compressor.FLUSH_FRAME)
    return made


def unpacked(body: str | bytes | None) -> str:
    """The text of a kept body; older stores hold zlib's bytes."""
    if not body:
        return ""
    if isinstance(body, str):
        return body
    if body.startswith(_ZSTANDARD):
        return str(zstd().decompress(body), "utf-8")
    return zlib.decompress(body).decode()


@cache
def _compressor() -> Any:
    """One for all texts, each a frame of its own: making one takes as long as packing with it."""
    return zstd().ZstdCompressor(_LEVEL)


@cache
def zstd() -> Any:
    """The library, which Python has of its own from 3.14 on."""
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library


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
    given["files"] = named_paths(filter_.files)
    # No kind is any kind, but to be among none, or of no status, is to be none.
    given["statuses"] = to_json(filter_.statuses)
    given["among"] = None if filter_.among is None else to_json(filter_.among)
    return restricted(_CONDITIONS, given)


def restricted(conditions: Mapping[str, str], given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The conditions for which something is given, and their values."""
    values = {name: bound(value) for name, value in given.items() if value not in (None, False, (), [])}
    return " AND ".join(["1 = 1", *(conditions[name] for name in values)]), values


def named_paths(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Each path once, by its last part: with forward slashes and no leading `./`, as files are compared."""
    plain = (clean(path).replace("\\", "/").removeprefix("./").rstrip("/") for path in paths)
    return [(PurePosixPath(path).name, path) for path in dict.fromkeys(plain)]
