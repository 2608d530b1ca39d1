"""The command `claude-memory`: this module is what every call pays for, so it imports next to nothing.

Belongs here: options and their help, what each command prints, as text and as JSON, and its exit code.
Does not: what a command does (memory and its parts); agents' tools (mcp), the screen of `recall` (tui).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the real one is an import that takes longer than a version's answer
if TYPE_CHECKING:
    from pathlib import Path

_GLOBAL = frozenset(("-h", "--help", "--home", "--project", "--debug"))


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code (0 done, 1 failed, 2 wrong usage, 130 interrupted)."""
    given = sys.argv[1:] if arguments is None else arguments
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # a shell closed it (`>&-`): no file of ours may get its number
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123  open until the process ends
    try:
        if given in (["version"], ["--version"]):
            from claude_memory import __version__

            sys.stdout.write(f"claude-memory {__version__}\n")
            sys.stdout.flush()
            return 0
        if given[:1] == ["hook"] and len(given) > 1 and not _GLOBAL.intersection(given):
            return hook(given[1:])
        if given == ["mcp"] or (given[:2] == ["mcp", "--home"] and len(given) == 3 and given[2]):
            from claude_memory.platform.project import current_folder

            return serve_agent("".join(given[2:]), current_folder())
        from claude_memory.surfaces.cli.app import run

        return run(given)
    except KeyboardInterrupt:
        after_the_mark = "\n" if sys.stderr.isatty() else ""  # a terminal has just drawn ^C
        sys.stderr.write(f"{after_the_mark}claude-memory: interrupted\n")
        return 130
    except Exception as fault:  # noqa: BLE001  a surface's top handler
        from claude_memory.surfaces.cli.app import ended

        return ended(fault)


def serve_agent(pinned: str, folder: Path) -> int:
    """Serve an agent that waits for its answer: the command-line library would only delay it."""
    from claude_memory.settings import home, pin
    from claude_memory.surfaces.mcp.server import Server

    if pinned:
        pin(pinned)
    Server(home(), folder).run()
    return 0


def hook(arguments: list[str]) -> int:
    """Do with the event on standard input what the installed hook does."""
    from claude_memory.hook.claude_memory_hook import main as run_hook

    return run_hook([*arguments, "--site", os.pathsep.join(place for place in sys.path if place)])
