"""A memory as a caller gives it, made fit to be kept: cleaned, completed, changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.model import (
    BY_HAND,
    Kind,
    NewMemory,
    Project,
    Scope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)

_Choice = TypeVar("_Choice", Kind, Trust, Scope)


def changes_of(**given: Any) -> dict[str, Any]:
    """What is to change of a memory, fit to be kept; None leaves a field as it is."""
    return {name: _FIT[name](value) for name, value in given.items() if value is not None}


def revised(
    old: StoredMemory, changes: Mapping[str, Any], reason: str | None, speaker: Trust
) -> StoredMemory:
    new = dict(changes)
    if "title" not in new and new.get("body") and old.title == _title_of(old.body):  # nobody gave it a title
        new["title"] = _title_of(new["body"])
    if "body" in new and speaker is Trust.USER:
        new["trust"] = speaker
    changed = replace(old, **new)
    if changed == old and not reason:
        return old
    why = {"revised": clean(reason)} if reason else {}
    return replace(changed, provenance={**old.provenance, BY_HAND: True, **why})


def proposed_beside(
    old: StoredMemory, changes: Mapping[str, Any], reason: str | None, speaker: Trust
) -> NewMemory:
    """A change as a memory of its own, for a person to accept in the old one's place."""
    texts = {"body": old.body, "kind": old.kind, "topics": old.topics, "files": old.files, **changes}
    texts.pop("pinned", None)
    why = {"reason": clean(reason)} if reason else {}
    return NewMemory(**texts, trust=speaker, scope=old.scope, supersedes=old.id, provenance=why)


def drafted(
    new: NewMemory, project: Project, *, trust: Trust, old: StoredMemory | None, now: datetime
) -> StoredMemory:
    """The memory as it will be stored; `old` is the one it supersedes, as far as `trust` allows."""
    from claude_memory.redact import kept_mapping

    body = clean(new.body)
    if not body.replace("[private]", "").strip():
        raise InvalidInput("a memory needs a text" if not body.strip() else "all of it is private")
    created = new.created_at or now
    scope = choice(Scope, new.scope, "scope")
    provenance = {"source": "remember", **new.provenance}
    if trust is not Trust.USER and scope is Scope.USER:  # it is shown elsewhere, with where it came from
        provenance["noted_in"] = project.name
    if old is not None and old.trust is Trust.USER and trust is not Trust.USER:
        provenance["proposed_for"] = old.id  # a person's word stands until a person replaces it
        old = None
    origin = f"origin:{project.id}:{new.origin}" if new.origin else f"new:{os.urandom(16).hex()}"
    return StoredMemory(
        id=memory_id(origin),
        project=project.id,
        kind=kind_of(new.kind),
        title=clean(new.title).strip()[:200] if new.title and new.title.strip() else _title_of(body),
        body=body,
        created_at=created if created.tzinfo else created.replace(tzinfo=UTC),
        updated_at=now,
        trust=trust,
        scope=scope,
        session=SessionId(clean(new.session)) if new.session else None,
        task=clean(new.task) if new.task else new.task,
        topics=tuple(dict.fromkeys(clean(topic.strip()) for topic in new.topics if topic.strip())),
        files=tuple(dict.fromkeys(map(clean, new.files))),
        provenance=kept_mapping(provenance),
        supersedes=old.id if old is not None else None,
    )


def accepted(old: StoredMemory, body: str | None, kind: Kind | str | None) -> StoredMemory:
    """A proposal, or what an agent, a tool or a file said, as a person's own word."""
    text = clean(body) if body is not None and body.strip() else old.body
    changes = changes_of(kind=kind, title=_title_of(text) if text != old.body else None)
    status = Status.ACTIVE if old.status is Status.PROPOSED else old.status
    provenance = {**old.provenance, "accepted": True, BY_HAND: True}
    return replace(old, body=text, status=status, trust=Trust.USER, provenance=provenance, **changes)


def check_status(memories: Sequence[StoredMemory], status: Status, otherwise: str) -> None:
    for memory in memories:
        if memory.status is not status:
            raise Conflict(f"{memory.id} is {otherwise}: it is {memory.status}")


def clean(text: str | None) -> str:
    """The text without secrets and private parts: what leaves here may reach disk."""
    from claude_memory.redact import kept

    return kept(text) if text else ""


def _title_of(body: str) -> str:
    from claude_memory.understand.titles import title_of  # its rules load when something is written

    return title_of(body)


def kind_of(kind: Kind | str) -> Kind:
    return choice(Kind, kind, "kind")


_FIT: Mapping[str, Callable[[Any], Any]] = {
    "body": clean,
    "title": lambda title: clean(title)[:200],
    "kind": kind_of,
    "topics": lambda topics: tuple(map(clean, topics)),
    "files": lambda files: tuple(map(clean, files)),
    "pinned": bool,
}


def choice(values: type[_Choice], value: _Choice | str, name: str) -> _Choice:
    try:
        return values(value)
    except ValueError:
        raise InvalidInput(f"unknown {name} {value!r}: one of {', '.join(values)}") from None
