"""Memories and intentions as lines of an agent's context.

Only a person's own words are handed on plainly. Everything else is quoted as data, with its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_memory.context.hints import doubt
from claude_memory.model import Scope, StoredMemory, Trust
from claude_memory.text.quotation import clipped, named, plain, quoted

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import Due

_READ_CHARACTERS = 4_000  # a memory may be huge; its line never is
_REASON_CHARACTERS = 120
DUE_HEADING = "Noted earlier for this moment (when done: `claude-memory intend complete ID`):"
_SOURCES = {
    Trust.AGENT: "an earlier agent reply",
    Trust.TOOL: "a tool's output",
    Trust.IMPORTED: "an imported file",
}


def line_for(memory: StoredMemory, *, characters: int = 320, root: str = "") -> str:
    """One line for a memory: kind, day, what it says; quoted unless a person said it.

    With the project's folder, what it claims of files there is looked at.
    """
    said = _statement(memory)
    if memory.trust is Trust.USER:
        shown = _closed(clipped(plain(said), characters))
    else:
        shown = f"{quoted(said, characters)}, from {source_of(memory)}"
    stale = memory.provenance.get("stale")
    mark = f" (possibly out of date: {quoted(str(stale), _REASON_CHARACTERS)})" if stale else ""
    mark = (doubt(said, root) if root else "") or mark
    return f"- {memory.kind}, {memory.created_at:%Y-%m-%d}: {shown}{mark} [{memory.id}]"


def source_of(memory: StoredMemory) -> str:
    """Whose words these are; for what crosses projects, also where they were noted."""
    noted = memory.provenance.get("noted_in") if memory.scope is Scope.USER else None
    return _SOURCES[memory.trust] + (f" in {named(str(noted), 80)}" if noted else "")


def _closed(text: str) -> str:
    """With the end of a quotation that was cut: what follows is ours again."""
    return text + "”" if text.count("“") > text.count("”") else text


def intention_line(due: Due) -> str:
    """One line for an intention whose time has come."""
    urgent = "important, " if due.intention.priority == "high" else ""
    reason = _closed(clipped(plain(due.reason), _REASON_CHARACTERS))
    return f"- {quoted(due.intention.text, 320)} ({urgent}{reason}) [{due.intention.id}]"


def _statement(memory: StoredMemory) -> str:
    title = memory.title.rstrip("…").strip()
    body = memory.body[:_READ_CHARACTERS]
    if not title or plain(body).startswith(plain(title)):
        return body
    return f"{memory.title}. {body}"
