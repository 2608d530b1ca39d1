"""What would be given at a moment, without giving it: the same functions as the hooks, and no trace."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.context import moments
from claude_memory.context.hints import Hint
from claude_memory.context.moments import Offer, Place
from claude_memory.store import database_path
from claude_memory.store.sqlite.glance import Glance
from claude_memory.surfaces.hooks.answers import MAX_QUESTION_CHARACTERS

if TYPE_CHECKING:
    from claude_memory.opening import Opened


def preview(memory: Opened, moment: str, text: str, *, now: datetime) -> Offer:
    """What a new session would be given at a moment; `text` is the prompt, file or command."""
    if moment == "start":
        return _at_start(memory, now)
    project = memory.project.id  # opens the store, which is made or migrated if need be
    store = database_path(memory.home, memory.settings.store)
    with closing(Glance(str(store), project)) as glance:
        place = Place(
            str(memory.home),
            str(memory.project_root),
            glance,
            lambda: memory,
            session="",
            given=(),
            now=now,
        )
        if moment == "prompt":
            return moments.at_prompt(place, text[:MAX_QUESTION_CHARACTERS])
        if moment == "file":
            return moments.at_file(place, str(memory.project_root / text))
        if moment == "command":
            return moments.at_command(place, text)
        return moments.at_subagent(place, text[:MAX_QUESTION_CHARACTERS])


def _at_start(memory: Opened, now: datetime) -> Offer:
    from claude_memory.surfaces.hooks.start import at_start

    context = at_start(memory, now=now)
    return Offer(
        context.text,
        [Hint(line.text, line.memory or line.source, line.reason) for line in context.lines],
        context.sections,
    )
