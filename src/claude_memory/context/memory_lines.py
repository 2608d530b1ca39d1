"""Memories, intentions and tasks as lines of an agent's context.

Only a person's own words are handed on plainly. Everything else is quoted as data, with its source.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.moments import Hint, Offer, doubt
from claude_memory.errors import MemoryFault
from claude_memory.model import Scope, StoredMemory, Trust
from claude_memory.text.quotation import clipped, named, plain, quoted

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import Due
    from claude_memory.opening import Opened

DUE_AT_ONCE = 5

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


def due_now(
    memory: Opened,
    *,
    words: str = "",
    files: tuple[str, ...] = (),
    given: Collection[str],
    now: datetime,
) -> Offer:
    """Those that were not given yet."""
    from claude_memory.lifecycle.intentions import Occasion, due

    in_prompt = (*files, *(word for word in words.split() if "/" in word or "." in word[1:-1]))
    occasion = Occasion(memory.project, now, in_prompt, words)
    waiting = due(memory.store.lifecycle.intentions(memory.project), occasion, given=given)
    hints = [Hint(intention_line(one), one.intention.id, one.reason) for one in waiting[:DUE_AT_ONCE]]
    text = "\n".join([DUE_HEADING, *(hint.text for hint in hints)]) if hints else ""
    return Offer(text, hints, ("intentions",) if hints else ())


def task_lines(
    root: Path, home: Path, *, session: str | None, max_tokens: int, commands: bool = False
) -> list[str]:
    """The section's lines; none where there is no task, or its files cannot be read."""
    from claude_memory.tasks.storage import storage_for

    try:
        storage = storage_for(root, home=home)
        if not any((folder / "sessions").is_dir() for folder in storage.folders):
            return []
        from claude_memory.tasks.api import MemoryAPI
        from claude_memory.tasks.views import section

        text = section(MemoryAPI(storage=storage, session=session), max_tokens=max_tokens, commands=commands)
    except (MemoryFault, OSError):
        return []
    return [line for line in map(plain, text.splitlines()) if line]
