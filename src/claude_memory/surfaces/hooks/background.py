"""The drain that a hook leaves behind: brings in what waits, makes vectors, and ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

EMBED_SECONDS = 60.0


def drain_all(home: str) -> None:
    """The detached process's whole life. Failing is harmless: whoever comes by next drains."""
    from claude_memory.context.session_state import drop_old
    from claude_memory.errors import MemoryFault
    from claude_memory.files import private_folder, try_lock
    from claude_memory.memory import Memory

    if hasattr(os, "nice"):
        os.nice(10)
    root = Path(home)
    try:
        with Memory.open(root, root) as memory:
            memory.drain()
            memory.import_in_slack()
            with try_lock(private_folder(root / "cache") / "embed.lock") as free:
                if free:  # one process embeds at a time; two would only share the same cores
                    memory.embed_pending(budget_seconds=EMBED_SECONDS)
            memory.upkeep()
            memory.consolidate_in_slack()
        drop_old(root)
    except (MemoryFault, OSError):
        return


def start(home: Path) -> None:
    """Start it from a process that has the package loaded."""
    from claude_memory.surfaces.hooks.after import start_drain

    start_drain(str(home), os.pathsep.join(place for place in sys.path if place))
