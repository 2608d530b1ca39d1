"""Memories and projects as lines of the mirror, and back. Every backend writes the same records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.model import (
    Kind,
    MemoryId,
    Project,
    ProjectId,
    Scope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
)


def moment_text(moment: datetime) -> str:
    """A time as ISO 8601 in UTC."""
    return moment.astimezone(UTC).isoformat()


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
        "forgotten_at": moment_text(memory.forgotten_at) if memory.forgotten_at else None,
        "pinned": memory.pinned,
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
            forgotten_at=moment(record["forgotten_at"]) if record.get("forgotten_at") else None,
            pinned=bool(record.get("pinned", False)),
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
        return Project(
            ProjectId(str(record["id"])),
            str(record["name"]),
            str(record["path"]),
            tuple(map(str, record["identities"])),
        )
    except (KeyError, TypeError) as fault:
        raise InvalidInput(f"not the record of a project: {type(fault).__name__} {fault}") from None


def moment(value: Any) -> datetime:
    """A moment as `moment_text` wrote it."""
    found = datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _optional_id(value: Any) -> MemoryId | None:
    return MemoryId(str(value)) if value else None
