"""Intentions whose moment has come, as lines of a session's context."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.context.hints import Hint
from claude_memory.context.moments import Offer
from claude_memory.context.quoting import DUE_HEADING, intention_line
from claude_memory.lifecycle.intentions import Occasion, due

if TYPE_CHECKING:
    from claude_memory.opening import Opened

DUE_AT_ONCE = 5


def due_now(
    memory: Opened,
    *,
    words: str = "",
    files: tuple[str, ...] = (),
    given: Collection[str],
    now: datetime,
) -> Offer:
    """Those that were not given yet."""
    named = (*files, *(word for word in words.split() if "/" in word or "." in word[1:-1]))
    occasion = Occasion(memory.project, now, named, words)
    waiting = due(memory.store.lifecycle.intentions(memory.project), occasion, given=given)
    hints = [Hint(intention_line(one), one.intention.id, one.reason) for one in waiting[:DUE_AT_ONCE]]
    text = "\n".join([DUE_HEADING, *(hint.text for hint in hints)]) if hints else ""
    return Offer(text, hints, ("intentions",) if hints else ())
