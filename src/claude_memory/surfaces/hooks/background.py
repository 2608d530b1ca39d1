"""The drain that a hook leaves behind: brings in what waits, makes every vector that is missing, and ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_memory.memory import Memory

EMBED_SECONDS = 60.0  # before the rest of the upkeep, which wants vectors
JUDGE_SECONDS = 20.0
LOOKED_AT = 100  # events in the spool
MUCH = 200  # vectors; fewer are made by the next question itself


def drain_all(home: str) -> None:
    """The detached process's whole life. Failing is harmless: whoever comes by next drains."""
    from claude_memory.context.session_state import drop_old
    from claude_memory.errors import MemoryFault
    from claude_memory.install.plugin import renew_hook_program
    from claude_memory.memory import Memory
    from claude_memory.platform import logs

    lower_priority = getattr(os, "nice", int)  # Windows has none
    lower_priority(10)
    root = Path(home)
    try:
        renew_hook_program(root)
        with Memory.open(root, root) as memory:
            logs.configure(root, memory.settings)
            memory.drain()
            memory.refresh_copy()
            if hub := memory.settings.hub:  # out of reach, it is tried again
                _tried("no exchange with the team's server", lambda: memory.homes.sync([hub]))
            _tried("compactions are not summed up now", memory.summaries.sum_up)
            _tried("no language model was asked", memory.summaries.upgrade)
            memory.upkeep.import_in_slack()
            memory.upkeep.vectors.rest(budget_seconds=EMBED_SECONDS)
            memory.upkeep.judge_pending(budget_seconds=JUDGE_SECONDS)
            memory.upkeep.prune()
            memory.upkeep.keep_within_cap()
            memory.upkeep.consolidate_in_slack()
            memory.backups.push_if_changed(memory.store, memory.drain)
            drop_old(root)
            # After an import it takes long, so it comes last, and gives way to whatever else runs.
            lower_priority(9)
            memory.upkeep.vectors.rest()
    except (MemoryFault, OSError):
        pass


def _tried(what: str, step: Callable[[], object]) -> None:
    from claude_memory.errors import MemoryFault
    from claude_memory.platform import logs

    try:
        step()
    except (MemoryFault, OSError) as fault:
        logs.logger("drain").warning("%s: %s", what, fault)


def spooled_events(home: Path) -> list[str]:
    """The events of the first files that wait in the spool, which their names tell."""
    try:
        with os.scandir(home / "spool" / "new") as entries:
            return [entry.name.split("-")[-2] for entry in islice(entries, LOOKED_AT) if "-" in entry.name]
    except OSError:
        return []


def start(home: Path) -> None:
    from claude_memory.surfaces.hooks.after import start_drain

    start_drain(str(home), os.pathsep.join(place for place in sys.path if place))


def go_on(memory: Memory) -> None:
    """Start it where much is missing and nobody is at it, as after a restart of the machine."""
    progress = memory.upkeep.vectors.progress
    if progress.missing >= MUCH and not progress.working and not progress.stopped:
        start(memory.home)
