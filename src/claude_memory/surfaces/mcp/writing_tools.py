"""The tools that change memories. What an agent says is kept as an agent's word, in this project only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.model import NewMemory, Status, StoredMemory, Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.tool_answers import ToolAnswer, given, line

if TYPE_CHECKING:
    from claude_memory.memory import Memory

TEXT_CHARACTERS = 200_000
STANDS = "that is the user's own word and stands until they replace it; yours is kept beside it, linked"
Change = Literal["update", "supersede", "pin", "demote", "forget", "restore"]


class Remembered(ToolAnswer):
    """What became of a new memory; `other` is the one it met."""

    id: str
    verdict: str
    other: str = ""
    reason: str = ""
    title: str = ""


class Revised(ToolAnswer):
    """How a memory stands now; `id` is the new one's after supersede."""

    id: str
    status: str
    title: str
    pinned: bool = False
    demoted: bool = False
    supersedes: str = ""
    undo: str = ""
    note: str = ""


class Writing:
    """remember, revise."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def remember(
        self,
        text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARACTERS)],
        kind: str = "note",
        title: Annotated[str, Field(description="left out: the text's beginning")] = "",
        topics: list[str] = [],  # noqa: B006  the client sees this default
        files: Annotated[list[str], Field(description="paths it is about")] = [],  # noqa: B006
        supersedes: Annotated[str, Field(description="the id of what this replaces")] = "",
    ) -> Annotated[CallToolResult, Remembered]:
        """Keep one thing worth knowing in later sessions, with its reason; several things in several calls.
        kind: decision, correction, preference, fact, fix, pattern, convention, lesson, reflection, idea or
        note.

        verdict: added; reinforced (known already); superseded (it replaces `other`); conflict (it contradicts
        `other`: find out which holds, then revise). Never put secrets in: they are cut out.
        Example: {"text": "Sessions use JWT because the gateway is stateless", "kind": "decision",
        "topics": ["auth"], "files": ["src/auth.py"]}
        """
        with self._access.memory() as memory:
            old = memory.find([supersedes])[0] if supersedes else None
            kept = memory.remember(
                NewMemory(
                    text,
                    kind=kind,
                    title=title or None,
                    topics=topics,
                    files=files,
                    supersedes=old.id if old else None,
                    trust=Trust.AGENT,
                    provenance={"source": "mcp"},
                ),
                embed=self._access.is_warm(),
            )
            return given(_verdict(memory, kept, old))

    def revise(
        self,
        id: Annotated[str, Field(description="of the memory, or its unique beginning")],  # noqa: A002
        action: Change,
        text: Annotated[str, Field(max_length=TEXT_CHARACTERS, description="for update, supersede")] = "",
        reason: str = "",
    ) -> Annotated[CallToolResult, Revised]:
        """Change one memory: update its text (a mistake in it), supersede it by a new text (it held once;
        the old one stays, linked), pin (never fades), demote (found last), forget (hidden, 30 days to undo),
        restore (undoes forget, supersede, demote or pin). What the user said only
        they change, hide or replace: supersede keeps your text beside it.

        Example: {"id": "m4k2", "action": "supersede", "text": "Sessions use PASETO", "reason": "audit"}
        """
        with self._access.memory() as memory:
            old = memory.find([id])[0]
            if action in ("update", "supersede") and not text.strip():
                raise InvalidInput(f"{action} needs `text`: what the memory says from now on")
            return given(_CHANGES[action](memory, old, text, reason))


def _verdict(memory: Memory, kept: StoredMemory, old: StoredMemory | None) -> Remembered:
    title = line(kept.title, Trust.USER, 100)
    if old is not None and kept.supersedes is None:
        return Remembered(id=kept.id, verdict="conflict", other=old.id, reason=STANDS, title=title)
    if old is not None:
        return Remembered(id=kept.id, verdict="superseded", other=old.id, title=title)
    found = memory.verdicts.get(kept.id)
    if found is None:
        return Remembered(id=kept.id, verdict="added", title=title)
    return Remembered(
        id=kept.id,
        verdict=found.action,
        other=found.other or "",
        reason=line(found.words, Trust.USER, 200) if found.other else "",
        title=title,
    )


def _update(memory: Memory, old: StoredMemory, text: str, reason: str) -> Revised:
    if old.trust is Trust.USER:
        raise Conflict(
            f"{old.id} is the user's own word: action supersede keeps your text beside it, linked, "
            "for the user to accept"
        )
    return _revised(memory, memory.revise(old.id, body=text, reason=reason or None))


def _supersede(memory: Memory, old: StoredMemory, text: str, reason: str) -> Revised:
    new = NewMemory(
        text,
        kind=old.kind,
        topics=old.topics,
        files=old.files,
        task=old.task,
        trust=Trust.AGENT,
        provenance={"source": "mcp", **({"reason": reason} if reason else {})},
    )
    kept = memory.supersede(old.id, new)
    if kept.supersedes is None:
        return _revised(memory, kept, undo=f"revise {kept.id} with action forget", note=STANDS)
    return _revised(memory, kept, undo=_restoring(old))


def _pin(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    pinned = memory.revise(old.id, pinned=True, reason=reason or None)
    return _revised(memory, pinned, undo=_restoring(old))


def _demote(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    if old.trust is Trust.USER:
        raise Conflict(f"{old.id} is the user's own word, and only they can demote it")
    memory.lifecycle.review([old], "demoted")
    if old.pinned or reason:
        old = memory.revise(old.id, pinned=False, reason=reason or None)
    return _revised(memory, old, undo=_restoring(old))


def _forget(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    if old.status is Status.FORGOTTEN:
        raise Conflict(f"{old.id} is forgotten already; action restore brings it back")
    if reason and old.trust is not Trust.USER:
        memory.revise(old.id, reason=reason)
    [hidden] = memory.forget([old.id])
    days = memory.settings.forget_undo_days
    return _revised(memory, hidden, undo=f"{_restoring(old)}, within {days} days")


def _restore(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    del reason
    if old.status is Status.FORGOTTEN:
        return _revised(memory, memory.restore([old.id])[0])
    if old.status is Status.SUPERSEDED:
        return _revised(memory, memory.reinstate(old.id))
    if _is_demoted(memory, old) and old.trust is not Trust.USER:
        memory.lifecycle.review([old], "promoted")
        return _revised(memory, old)
    if old.pinned:
        return _revised(memory, memory.revise(old.id, pinned=False))
    raise Conflict(f"{old.id} is neither forgotten, superseded, demoted nor pinned: there is nothing to undo")


def _restoring(old: StoredMemory) -> str:
    return f"revise {old.id} with action restore"


def _is_demoted(memory: Memory, item: StoredMemory) -> bool:
    return memory.lifecycle.standing([item])[0].demoted


def _revised(memory: Memory, item: StoredMemory, *, undo: str = "", note: str = "") -> Revised:
    return Revised(
        id=item.id,
        status=item.status,
        title=line(item.title, item.trust, 100),
        pinned=item.pinned,
        demoted=_is_demoted(memory, item),
        supersedes=item.supersedes or "",
        undo=undo,
        note=note,
    )


_CHANGES = {
    "update": _update,
    "supersede": _supersede,
    "pin": _pin,
    "demote": _demote,
    "forget": _forget,
    "restore": _restore,
}
