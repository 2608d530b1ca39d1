"""The drain that a hook leaves behind: brings in what waits, makes every vector that is missing, and ends."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_memory.memory import Memory

EMBED_SECONDS = 60.0  # before the rest of the upkeep, which wants vectors
JUDGE_SECONDS = 20.0
MUCH = 200  # vectors; fewer are made by the next question itself


def drain_all(home: str) -> None:
    """The detached process's whole life. Failing is harmless: whoever comes by next drains."""
    from claude_memory.context.session_state import drop_old
    from claude_memory.errors import MemoryFault
    from claude_memory.install.plugin import renew_hook_program
    from claude_memory.memory import Memory
    from claude_memory.platform import logs

    _lower_priority(10)
    root = Path(home)
    try:
        renew_hook_program(root)
        with Memory.open(root, root) as memory:
            logs.configure(root, memory.settings)
            memory.drain()
            memory.refresh_copy()
            _exchange(memory)
            _summaries(memory)
            memory.upkeep.import_in_slack()
            memory.upkeep.vectors.rest(budget_seconds=EMBED_SECONDS)
            memory.upkeep.judge_pending(budget_seconds=JUDGE_SECONDS)
            memory.upkeep.prune()
            memory.upkeep.keep_within_cap()
            memory.upkeep.consolidate_in_slack()
            memory.backups.push_if_changed(memory.store, memory.drain)
            drop_old(root)
            # After an import it takes long, so it comes last, and gives way to whatever else runs.
            _lower_priority(9)
            memory.upkeep.vectors.rest()
    except (MemoryFault, OSError):
        return


def _exchange(memory: Memory) -> None:
    """With the team's server, where there is one beside the own store; out of reach, it is tried again."""
    from claude_memory.errors import MemoryFault

    if memory.settings.hub:
        with contextlib.suppress(MemoryFault):
            memory.homes.sync([memory.settings.hub])


def _lower_priority(by: int) -> None:
    if hasattr(os, "nice"):
        os.nice(by)


def _summaries(memory: Memory) -> None:
    """Sum up what was compacted; what goes wrong with that never holds the drain up."""
    from claude_memory.errors import MemoryFault

    for what, step in (
        ("compactions are not summed up now", memory.summaries.sum_up),
        ("no language model was asked", memory.summaries.upgrade),
    ):
        try:
            step()
        except (MemoryFault, OSError) as fault:
            _warn(what, fault)


def _warn(what: str, fault: Exception) -> None:
    from claude_memory.platform import logs

    logs.logger("compaction").warning("%s: %s", what, fault)


def start(home: Path) -> None:
    """Start it from a process that has the package loaded."""
    from claude_memory.surfaces.hooks.after import start_drain

    start_drain(str(home), os.pathsep.join(place for place in sys.path if place))


def go_on(memory: Memory) -> None:
    """Start it where much is missing and nobody is at it, as after a restart of the machine."""
    progress = memory.upkeep.vectors.progress
    if progress.missing >= MUCH and not progress.working and not progress.stopped:
        start(memory.home)
