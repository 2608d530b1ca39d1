"""The drain that a hook leaves behind: brings in what waits, makes vectors, and ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_memory.compaction.keeping import Keeper
    from claude_memory.compaction.model import KeptSummary
    from claude_memory.memory import Memory

EMBED_SECONDS = 60.0
JUDGE_SECONDS = 20.0


def drain_all(home: str) -> None:
    """The detached process's whole life. Failing is harmless: whoever comes by next drains."""
    from claude_memory.context.session_state import drop_old
    from claude_memory.errors import MemoryFault
    from claude_memory.files import private_folder
    from claude_memory.locks import try_lock
    from claude_memory.memory import Memory

    if hasattr(os, "nice"):
        os.nice(10)
    root = Path(home)
    try:
        with Memory.open(root, root) as memory:
            memory.drain()
            kept = _summaries(memory)
            memory.import_in_slack()
            with try_lock(private_folder(root / "cache") / "embed.lock") as free:
                if free:  # one process embeds at a time; two would only share the same cores
                    memory.embed_pending(budget_seconds=EMBED_SECONDS)
                    _vectors(memory, kept)
                    _missing_vectors(memory)
                    memory.judge_pending(budget_seconds=JUDGE_SECONDS)
            memory.upkeep()
            memory.consolidate_in_slack()
        drop_old(root)
    except (MemoryFault, OSError):
        return


def _summaries(memory: Memory) -> list[KeptSummary]:
    """Sum up what was compacted; what goes wrong with that never holds the drain up."""
    from claude_memory.compaction.keeping import Keeper

    keeper = Keeper(memory.home, memory.store, memory.archive, memory.settings, lambda: memory.embedder)
    found = [*_by_rules(keeper), *_by_model(keeper)]
    return list({one.id: one for one in found}.values())


def _by_rules(keeper: Keeper) -> list[KeptSummary]:
    from datetime import UTC, datetime

    from claude_memory.errors import MemoryFault

    try:
        return keeper.all(now=datetime.now(UTC))
    except (MemoryFault, OSError) as fault:
        _warn("compactions are not summed up now", fault)
        return []


def _by_model(keeper: Keeper) -> list[KeptSummary]:
    from datetime import UTC, datetime

    from claude_memory.errors import MemoryFault

    if keeper.settings.summariser == "rules":
        return []
    from claude_memory.compaction.providers import open_provider
    from claude_memory.compaction.upgrade import upgrade

    try:
        provider = open_provider(keeper.settings)
        return upgrade(keeper, provider, now=datetime.now(UTC)) if provider else []
    except (MemoryFault, OSError) as fault:
        _warn("the rules' summaries stand", fault)
        return []


def _vectors(memory: Memory, kept: list[KeptSummary]) -> None:
    from claude_memory.compaction.keeping import add_vectors
    from claude_memory.compaction.store import Shelf
    from claude_memory.errors import MemoryFault

    if memory.embedder is None:
        return
    for summary in kept:
        try:
            add_vectors(Shelf(memory.home), summary, memory.embedder)
        except (MemoryFault, OSError) as fault:  # `reindex` makes up for it
            _warn("a summary has no vectors yet", fault)


def _missing_vectors(memory: Memory) -> None:
    """Those of summaries that a command wrote: it leaves embedding, which is slow, to us."""
    from claude_memory.compaction.vectors import fill

    if memory.embedder is not None:
        fill(memory.home, memory.embedder)


def _warn(what: str, fault: Exception) -> None:
    from claude_memory import logs

    logs.logger("compaction").warning("%s: %s", what, fault)


def start(home: Path) -> None:
    """Start it from a process that has the package loaded."""
    from claude_memory.surfaces.hooks.after import start_drain

    start_drain(str(home), os.pathsep.join(place for place in sys.path if place))
