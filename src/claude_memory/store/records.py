"""Values as they may be stored, and as lines of a mirror and back; long texts as few bytes. Pure."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from claude_memory import redact
from claude_memory.errors import InvalidInput
from claude_memory.model import BY_HAND, Event, MemoryId, SessionId, StoredMemory
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.model import Intention, Review, Strength

PACK_FROM = 160  # characters
_LEVEL = 3
_ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how every frame begins; no stream of zlib does
# Made from messages alone: every home that has the messages makes them itself.
DERIVED = ("exchange", "session")
T = TypeVar("T")
_TYPES: dict[type, dict[str, Any]] = {}  # of the fields of a class


def kept(text: str) -> str:
    """Text that may be stored: nothing secret, nothing broken."""
    return clean(redact.kept(text))


def to_json(value: Any) -> str:
    """A value as compact JSON that can be stored."""
    if not value and isinstance(value, tuple):  # most memories have no topics or files
        return "[]"
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def kept_memory(memory: StoredMemory) -> StoredMemory:
    """The memory as it may be stored, whichever field a secret was put in."""
    words = {"title": memory.title, "body": memory.body, "session": memory.session, "task": memory.task}
    lists = {"topics": "\n".join(memory.topics), "files": "\n".join(memory.files)}
    if redact.is_plain({**words, **lists}) and redact.is_plain(memory.provenance):
        return memory
    return replace(
        memory,
        title=kept(memory.title),
        body=kept(memory.body),
        session=SessionId(kept(memory.session)) if memory.session else memory.session,
        task=kept(memory.task) if memory.task else memory.task,
        topics=tuple(map(kept, memory.topics)),
        files=tuple(map(kept, memory.files)),
        provenance=redact.kept_mapping(memory.provenance),
    )


def kept_event(event: Event) -> Event:
    """The event as it may be stored."""
    if redact.is_plain(
        {**event.payload, "agent ": event.agent, "session ": event.session, "cwd ": event.cwd}
    ):
        return event
    return replace(
        event,
        agent=kept(event.agent),
        session=SessionId(kept(event.session)) if event.session else event.session,
        cwd=kept(event.cwd),
        payload=redact.kept_mapping(event.payload),
    )


def is_derived(memory: StoredMemory) -> bool:
    """Whether it says what messages say, in nobody's own words."""
    return memory.provenance.get("source") in DERIVED and not memory.provenance.get(BY_HAND)


def digest(title: str, body: str) -> bytes:
    """What tells whether two copies of a memory say the same."""
    import hashlib

    words = f"{clean(title)}\0{clean(body)}".encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=12).digest()


def moment_text(moment: datetime) -> str:
    """A time as ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


def moment(value: Any) -> datetime:
    """A moment as `moment_text` wrote it."""
    given = datetime.fromisoformat(str(value))
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def _types(class_: type) -> dict[str, Any]:
    if class_ not in _TYPES:
        _TYPES[class_] = get_type_hints(class_)
    return _TYPES[class_]


def record_of(value: Any) -> dict[str, Any]:
    """Every field of a value as plain JSON values; the person only of what is a person's."""
    fields = {name: _plain(getattr(value, name)) for name in _types(type(value))}
    return {name: field for name, field in fields.items() if field is not None or name != "person"}


def _plain(field: Any) -> Any:
    if isinstance(field, datetime):
        return moment_text(field)
    if isinstance(field, Enum):
        return field.value
    return list(field) if isinstance(field, tuple) else dict(field) if isinstance(field, Mapping) else field


def from_record(class_: type[T], record: Mapping[str, Any]) -> T:
    """The value of a class that a record describes; InvalidInput if it does not describe one."""
    try:
        given = {name: type_ for name, type_ in _types(class_).items() if record.get(name) is not None}
        return class_(**{name: _field(type_, record[name]) for name, type_ in given.items()})
    except (AttributeError, TypeError, ValueError) as fault:
        name = class_.__name__.removeprefix("Stored").lower()
        raise InvalidInput(f"not the record of a {name}: {type(fault).__name__} {fault}") from None


def _field(type_: Any, value: Any) -> Any:
    if isinstance(type_, UnionType):  # of None and another
        return _field(get_args(type_)[0], value) if value else None
    if type_ is datetime:
        return moment(value)
    if get_origin(type_) is tuple:
        return tuple(map(str, value))
    if get_origin(type_) is Mapping:
        return dict(value)
    return type_(value) if isinstance(type_, type) else str(value)  # the ids are texts


def intention_record(intention: Intention) -> dict[str, Any]:
    """An intention as plain JSON values, as it stands in the row and in the mirror."""
    files, topics = tuple(map(kept, intention.files)), tuple(map(kept, intention.topics))
    codebase = kept(intention.codebase) if intention.codebase else intention.codebase
    written = intention._replace(text=kept(intention.text), files=files, topics=topics, codebase=codebase)
    return record_of(written)


def strength_record(memory: MemoryId, state: Strength, uses: Sequence[Review]) -> dict[str, Any]:
    """How firmly a memory is held after some uses, and the uses."""
    listed = [{"at": moment_text(use.at), "reason": kept(use.reason)} for use in uses]
    return {"memory": memory, **record_of(state), "uses": listed}


def strength_from_record(record: Mapping[str, Any]) -> tuple[MemoryId, Strength, list[Review]]:
    """The memory, its state and its uses that a record describes."""
    from claude_memory.store.model import Review, Strength

    id_ = MemoryId(str(record["memory"]))
    uses = [from_record(Review, {**use, "memory": id_}) for use in record.get("uses", ())]
    return id_, from_record(Strength, record), uses


# --- long texts as few bytes: what short ones gain is not worth it. Older stores hold zlib's bytes.


def packed(text: str, *, always: bool = False) -> str | bytes:
    """A text as it is kept; `always` as bytes. Halves of a surrogate pair must be gone from it."""
    if len(text) < PACK_FROM and not always:
        return text
    if not text:
        return b""
    compressor, whole = _compressor()
    made: bytes = compressor.compress(text.encode(), whole)
    return made


def unpacked(body: str | bytes) -> str:
    """The text of a kept body."""
    if not body:
        return ""
    if isinstance(body, str):
        return body
    if body.startswith(_ZSTANDARD):
        return str(zstd().decompress(body), "utf-8")
    return zlib.decompress(body).decode()


@cache
def _compressor() -> tuple[Any, Any]:
    """One for all texts, each a frame of its own: making one takes as long as packing with it."""
    kind = zstd().ZstdCompressor
    return kind(_LEVEL), kind.FLUSH_FRAME


@cache
def zstd() -> Any:
    """The library, which Python has of its own from 3.14 on."""
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library
