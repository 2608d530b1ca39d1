"""Values as they may be stored, and as lines of a mirror and back: the same in every backend."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from claude_memory import redact
from claude_memory.errors import InvalidInput
from claude_memory.model import (
    Event,
    Kind,
    MemoryId,
    PersonId,
    Project,
    ProjectId,
    Scope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.model import Intention, Review, Strength


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


def memory_record(memory: StoredMemory) -> dict[str, Any]:
    """Every field of a memory as plain JSON values."""
    return {
        "id": memory.id,
        "project": memory.project,
        "kind": memory.kind.value,
        "title": memory.title,
        "body": memory.body,
        "created_at": moment_text(memory.created_at),
        "updated_at": moment_text(memory.updated_at),
        "trust": memory.trust.value,
        "scope": memory.scope.value,
        "status": memory.status.value,
        "session": memory.session,
        "task": memory.task,
        "topics": list(memory.topics),
        "files": list(memory.files),
        "provenance": dict(memory.provenance),
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "forgotten_at": _text(memory.forgotten_at),
        "pinned": memory.pinned,
        **({"person": memory.person} if memory.person else {}),
    }


def memory_from_record(record: Mapping[str, Any]) -> StoredMemory:
    """The memory that a record describes; InvalidInput if it does not describe one."""
    try:
        return StoredMemory(
            id=MemoryId(str(record["id"])),
            project=ProjectId(str(record["project"])),
            kind=Kind(record["kind"]),
            title=str(record["title"]),
            body=str(record["body"]),
            created_at=moment(record["created_at"]),
            updated_at=moment(record["updated_at"]),
            trust=Trust(record.get("trust", Trust.USER)),
            scope=Scope(record.get("scope", Scope.PROJECT)),
            status=Status(record.get("status", Status.ACTIVE)),
            session=SessionId(record["session"]) if record.get("session") else None,
            task=record.get("task"),
            topics=tuple(map(str, record.get("topics", ()))),
            files=tuple(map(str, record.get("files", ()))),
            provenance=dict(record.get("provenance") or {}),
            supersedes=_optional_id(record.get("supersedes")),
            superseded_by=_optional_id(record.get("superseded_by")),
            forgotten_at=_moment(record.get("forgotten_at")),
            pinned=bool(record.get("pinned", False)),
            person=PersonId(str(record["person"])) if record.get("person") else None,
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise InvalidInput(f"not the record of a memory: {type(fault).__name__} {fault}") from None


def project_record(project: Project) -> dict[str, Any]:
    """A project as plain JSON values."""
    return {
        "id": project.id,
        "name": project.name,
        "path": project.path,
        "identities": list(project.identities),
    }


def project_from_record(record: Mapping[str, Any]) -> Project:
    """The project that a record describes."""
    try:
        identities = tuple(map(str, record["identities"]))
        return Project(ProjectId(str(record["id"])), str(record["name"]), str(record["path"]), identities)
    except (KeyError, TypeError) as fault:
        raise InvalidInput(f"not the record of a project: {type(fault).__name__} {fault}") from None


def intention_record(intention: Intention) -> dict[str, Any]:
    """An intention as plain JSON values, as it stands in the row and in the mirror."""
    return {
        "id": intention.id,
        "project": intention.project,
        "text": kept(intention.text),
        "created_at": moment_text(intention.created_at),
        "at": _text(intention.at),
        "deadline": _text(intention.deadline),
        "files": [*map(kept, intention.files)],
        "topics": [*map(kept, intention.topics)],
        "codebase": kept(intention.codebase) if intention.codebase else intention.codebase,
        "priority": intention.priority.value,
        "status": intention.status.value,
        "snoozed_until": _text(intention.snoozed_until),
        "closed_at": _text(intention.closed_at),
    }


def intention_from_record(record: Mapping[str, Any]) -> Intention:
    """The intention that a record describes."""
    from claude_memory.store.model import Intention, IntentionStatus, Priority

    return Intention(
        id=str(record["id"]),
        project=ProjectId(str(record["project"])),
        text=str(record["text"]),
        created_at=moment(record["created_at"]),
        at=_moment(record.get("at")),
        deadline=_moment(record.get("deadline")),
        files=tuple(record.get("files") or ()),
        topics=tuple(record.get("topics") or ()),
        codebase=record.get("codebase"),
        priority=Priority(record.get("priority", "normal")),
        status=IntentionStatus(record.get("status", "open")),
        snoozed_until=_moment(record.get("snoozed_until")),
        closed_at=_moment(record.get("closed_at")),
    )


def strength_record(memory: MemoryId, state: Strength, uses: Sequence[Review]) -> dict[str, Any]:
    """How firmly a memory is held after some uses, and the uses."""
    return {
        "memory": memory,
        "stability": state.stability,
        "difficulty": state.difficulty,
        "reviewed_at": moment_text(state.reviewed_at),
        "reviews": state.reviews,
        "lapses": state.lapses,
        "demoted": state.demoted,
        "uses": [{"at": moment_text(use.at), "reason": kept(use.reason)} for use in uses],
    }


def strength_from_record(record: Mapping[str, Any]) -> tuple[MemoryId, Strength, list[Review]]:
    """The memory, its state and its uses that a record describes."""
    from claude_memory.store.model import Review, Strength

    id_ = MemoryId(str(record["memory"]))
    figures = (float(record["stability"]), float(record["difficulty"]), moment(record["reviewed_at"]))
    state = Strength(*figures, int(record["reviews"]), int(record["lapses"]), bool(record["demoted"]))
    uses = [Review(id_, moment(use["at"]), str(use["reason"])) for use in record.get("uses", ())]
    return id_, state, uses


def _text(moment: datetime | None) -> str | None:
    return moment_text(moment) if moment else None


def _moment(value: Any) -> datetime | None:
    return moment(value) if value else None


def _optional_id(value: Any) -> MemoryId | None:
    return MemoryId(str(value)) if value else None
