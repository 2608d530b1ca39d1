"""Who runs us: a person at a terminal, a person's script, or a coding agent.

An agent's own command line is not the person. Told by what the agents put into the environment of their
commands, and by an agent's process among our ancestors, so that unsetting a variable is not enough.
Whoever runs as the same user and means to deceive can still write the files itself: see SECURITY.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from claude_memory.errors import Conflict
from claude_memory.model import Trust
from claude_memory.platform.agents import AGENTS, OTHERS

# Left out on purpose: what an editor sets in a person's own terminal (CURSOR_TRACE_ID, CLAUDE_CODE_SSE_PORT,
# OPENCODE_CALLER).
MARKERS, _PROGRAMS, _PACKAGES = (
    {word: agent.title for agent in (*AGENTS, *OTHERS) for word in getattr(agent, column).split()}
    for column in ("markers", "program", "packages")
)
_INTERPRETERS = ("node", "bun", "deno", "python", "pypy", "npx", "npm", "tsx")
_MOST_ANCESTORS = 40
_READ_BYTES = 4_096


def inside_agent(environ: Mapping[str, str] | None = None) -> str:
    """The agent that runs us, by name; empty where none is found."""
    environ = os.environ if environ is None else environ
    named = next((agent for marker, agent in MARKERS.items() if environ.get(marker)), "")
    return named or ancestor_agent()


def at_terminal() -> bool:
    """Whether somebody sits in front: agents and scripts give us pipes and files."""
    for descriptor in (0, 1, 2):
        try:
            if os.isatty(descriptor):
                return True
        except OSError:
            continue
    return False


def require_person(verb: str) -> None:
    """Refuse what only a person may do; `verb` says it in the words of the command."""
    if agent := inside_agent():
        raise Conflict(
            f"{verb} is for a person: it is refused inside {agent}; run it in a terminal of your own"
        )


def own_trust(*, as_user: bool = False) -> Trust:
    """What a statement made on the command line is worth: a script of a person's own says `as_user`."""
    if as_user:
        require_person("speaking as the user")
        return Trust.USER
    return Trust.USER if at_terminal() and not inside_agent() else Trust.AGENT


@cache
def ancestor_agent() -> str:
    """The agent among the processes we descend from; looked up once, for they do not change."""
    return agent_among(_proc_ancestors() if Path("/proc/self/stat").exists() else _listed_ancestors())


def agent_among(ancestors: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The first agent among processes, each given by its name and its arguments."""
    for name, arguments in ancestors:
        agent = _PROGRAMS.get(_program(name)) or _by_arguments(arguments)
        if agent:
            return agent
    return ""


def _by_arguments(arguments: Sequence[str]) -> str:
    programs = list(arguments[:1])
    if programs and _program(programs[0]).startswith(_INTERPRETERS):
        programs += [word for word in arguments[1:4] if not word.startswith("-")][:1]
    for program in programs:
        path = program.replace("\\", "/")
        if agent := _PROGRAMS.get(_program(path)):
            return agent
        if agent := next((agent for part, agent in _PACKAGES.items() if part in path), ""):
            return agent
    return ""


def _program(path: str) -> str:
    name = path.replace("\\", "/").rsplit("/", 1)[-1].casefold()
    for ending in (".exe", ".js", ".mjs", ".cjs"):
        name = name.removesuffix(ending)
    return name


def _proc_ancestors() -> Iterator[tuple[str, Sequence[str]]]:
    process = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        if process <= 1:
            return
        try:
            stat = _beginning(f"/proc/{process}/stat")
            arguments = _beginning(f"/proc/{process}/cmdline").split("\0")
        except OSError:
            return
        # The name stands in parentheses and may hold any character, a parenthesis too.
        name, _, rest = stat.partition("(")[2].rpartition(")")
        yield name, arguments
        process = int(rest.split()[1])


def _beginning(path: str) -> str:
    with open(path, "rb") as handle:  # noqa: PTH123  one of many tiny reads
        return handle.read(_READ_BYTES).decode("utf-8", "replace")


def _listed_ancestors() -> Iterator[tuple[str, Sequence[str]]]:
    """From one list of all processes, where there is no /proc; none on Windows."""
    if sys.platform == "win32":
        return
    import subprocess

    try:
        listed = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,command="], capture_output=True, timeout=5, check=True
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return
    rows = {row[0]: row[1:] for row in (line.split(None, 2) for line in listed.splitlines()) if len(row) == 3}
    process = str(os.getppid())
    for _ in range(_MOST_ANCESTORS):
        if process not in rows:
            return
        parent, command = rows[process]
        yield command.split()[0], command.split()
        process = parent
