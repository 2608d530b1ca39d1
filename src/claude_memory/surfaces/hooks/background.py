"""Start a drain that outlives the hook: its own session, no terminal, ends when nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = "import sys; sys.path[:0] = sys.argv[1].split({separator!r}); " + (
    "from claude_memory.surfaces.hooks.background import drain_all; drain_all(sys.argv[2])"
)
EMBED_SECONDS = 60.0


def start_drain(home: Path) -> None:
    """Start a detached child that drains and embeds, then ends. Failing is harmless: others come by."""
    here = str(Path(__file__).parents[3])
    places = os.pathsep.join(dict.fromkeys([here, *(place for place in sys.path if place)]))
    command = [sys.executable, "-I", "-S", "-c", PROGRAM.format(separator=os.pathsep), places, str(home)]
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    try:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=flags,
            close_fds=True,
            cwd=Path(home).anchor or None,
        )
    except OSError:
        return


def drain_all(home: str) -> None:
    """The child's whole life."""
    from claude_memory.errors import MemoryFault
    from claude_memory.memory import Memory

    if hasattr(os, "nice"):
        os.nice(10)
    try:
        with Memory.open(home, Path(home)) as memory:
            memory.drain()
            memory.embed_pending(budget_seconds=EMBED_SECONDS)
    except (MemoryFault, OSError):
        return
