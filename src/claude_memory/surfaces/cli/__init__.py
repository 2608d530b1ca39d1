"""The command `claude-memory`.

This module is what every call pays for, so it imports nothing but `sys`: the version and the hooks are
answered before the command-line library is even looked at.
"""

from __future__ import annotations

import sys

_GLOBAL = frozenset(("-h", "--help", "--home", "--project", "--debug"))


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code (0 done, 1 failed, 2 wrong usage, 130 interrupted)."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given in (["version"], ["--version"]):
            return _version()
        if given[:1] == ["hook"] and len(given) > 1 and not _GLOBAL.intersection(given):
            return hook(given[1:])
        if given == ["mcp"]:
            return _mcp()
        from claude_memory.surfaces.cli.app import run

        return run(given)
    except KeyboardInterrupt:
        sys.stderr.write("claude-memory: interrupted\n")
        return 130


def _version() -> int:
    from claude_memory import __version__

    sys.stdout.write(f"claude-memory {__version__}\n")
    return 0


def _mcp() -> int:
    """Serve an agent that waits for its answer: the command-line library would only delay it."""
    from pathlib import Path

    from claude_memory.settings import home
    from claude_memory.surfaces.mcp.server import serve

    serve(home(), Path.cwd())
    return 0


def hook(arguments: list[str]) -> int:
    """Hand the event on standard input to the hook program, as an agent would start it."""
    from claude_memory.hook.claude_memory_hook import main as run_hook

    return run_hook(arguments)
