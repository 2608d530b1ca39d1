"""The coding agents we know, as data, and who runs us: a person at a terminal, their script, or an agent.

Install, import and hooks ask here; how an agent's files are read or edited is their own business. An agent's
own command line is not the person: told by what the agents put into the environment of their commands, and by
an agent's process among our ancestors, so that unsetting a variable is not enough. Whoever runs as the same
user and means to deceive can still write the files itself: see SECURITY.md.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from claude_memory.errors import Conflict
from claude_memory.model import Trust


def _events(named: str) -> dict[str, str]:
    """An agent's hook events and ours for each, where they differ as `THEIRS=OURS`."""
    pairs = (word.partition("=") for word in named.split())
    return {theirs: ours or theirs for theirs, _, ours in pairs}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `events` names its hook events and ours for each; without any it takes no hooks of ours."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    # Where its conversations lie: the variable that may name its folder, the folder otherwise, what is in it.
    variable: str = ""
    folder: str = ""
    below: str = ""
    patterns: tuple[str, ...] = ()
    resume: str = ""  # how a person goes on with a conversation
    events: Mapping[str, str] = field(default_factory=dict)
    speaks: tuple[str, ...] = ()  # fields of a hook's input that only this agent sends


AGENTS = (
    Agent(
        "claude-code",
        "Claude Code",
        ("claude",),
        variable="CLAUDE_CONFIG_DIR",
        folder=".claude",
        below="projects",
        patterns=("*/*.jsonl", "*/*/subagents/**/*.jsonl", "*/subagents/**/*.jsonl"),
        resume="claude --resume {session}",
    ),
    Agent(
        "codex",
        "Codex",
        ("codex-cli",),
        variable="CODEX_HOME",
        folder=".codex",
        patterns=tuple(
            f"{folder}/**/rollout-*{ending}"
            for folder in ("sessions", "archived_sessions")
            for ending in (".jsonl", ".jsonl.zst")
        ),
        resume="codex resume {session}",
        events=_events("SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact PostCompact Stop"),
    ),
    Agent(
        "gemini-cli",
        "Gemini CLI",
        ("gemini",),
        variable="GEMINI_CLI_HOME",
        below=".gemini/tmp",
        patterns=("*/chats/**/session-*.json*",),
        events=_events(
            "SessionStart BeforeAgent=UserPromptSubmit AfterTool=PostToolUse AfterAgent=Stop "
            "PreCompress=PreCompact SessionEnd"
        ),
    ),
    Agent(
        "opencode",
        "OpenCode",
        variable="XDG_DATA_HOME",
        folder=".local/share",
        below="opencode",
        patterns=("opencode.db", "storage/session/*/ses_*.json", "project/*/storage/session/info/ses_*.json"),
        resume="opencode --session {session}",
    ),
    Agent(
        "cursor",
        "Cursor",
        ("cursor-agent",),
        folder=".cursor",
        below="projects",
        patterns=("*/agent-transcripts/**/*.jsonl",),
        events=_events(
            "sessionStart=SessionStart beforeSubmitPrompt=UserPromptSubmit postToolUse=PostToolUse "
            "postToolUseFailure=PostToolUseFailure subagentStop=SubagentStop preCompact=PreCompact stop=Stop "
            "sessionEnd=SessionEnd"
        ),
        speaks=("conversation_id", "workspace_roots"),
    ),
    Agent(
        "copilot-cli",
        "Copilot CLI",
        ("copilot",),
        variable="COPILOT_HOME",
        folder=".copilot",
        below="session-state",
        patterns=("*.jsonl", "*/events.jsonl"),
        resume="copilot --resume {session}",
        events=_events(
            "sessionStart=SessionStart userPromptSubmitted=UserPromptSubmit postToolUse=PostToolUse "
            "sessionEnd=SessionEnd"
        ),
        speaks=("sessionId", "toolName", "toolArgs", "initialPrompt"),
    ),
    Agent(
        "factory",
        "Factory",
        ("droid",),
        folder=".factory",
        below="sessions",
        patterns=("**/*.jsonl",),
        resume="droid --resume {session}",
    ),
)
BY_NAME = {agent.name: agent for agent in AGENTS}
_ALIASES = {alias: agent.name for agent in AGENTS for alias in agent.aliases}


def canonical(name: str) -> str:
    """The one name of an agent, whatever it was called; a name that nobody has stays as it is."""
    return _ALIASES.get(name, name)


# --- who runs us

# How each agent is told: variables that it sets for what it starts, its program, and parts of its path where
# that says nothing (a script run by an interpreter, a versioned binary). Left out on purpose: what an editor
# sets in a person's own terminal (CURSOR_TRACE_ID, CLAUDE_CODE_SSE_PORT, OPENCODE_CALLER).
_SIGNS = {
    "Claude Code": "CLAUDECODE CLAUDE_CODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID claude "
    "/@anthropic-ai/claude-code/ /claude/versions/",
    "Codex": "CODEX_THREAD_ID CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_CI codex /@openai/codex/",
    "Gemini CLI": "GEMINI_CLI gemini /@google/gemini-cli/",
    "OpenCode": "OPENCODE OPENCODE_CLIENT opencode /opencode-ai/",
    "Cursor": "CURSOR_AGENT cursor-agent /cursor-agent/",
    "Copilot CLI": "COPILOT_CLI COPILOT_AGENT_SESSION_ID copilot /@github/copilot/",
    "Factory": "FACTORY_PROJECT_DIR DROID_PLUGIN_ROOT droid",
    "an agent's session": "CLAUDE_MEMORY_SESSION",
    "Antigravity": "ANTIGRAVITY_AGENT",
    "Augment": "AUGMENT_AGENT auggie",
    "Amp": "amp",
    "Aider": "aider",
    "Qwen Code": "qwen",
    "an agent": "AI_AGENT",
}
_BY_SIGN = {sign: agent for agent, signs in _SIGNS.items() for sign in signs.split()}
MARKERS = {sign: agent for sign, agent in _BY_SIGN.items() if sign.isupper()}
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
        with suppress(OSError):
            if os.isatty(descriptor):
                return True
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
    return agent_among(_ancestors())


def agent_among(ancestors: Iterable[tuple[str, Sequence[str]]]) -> str:
    for name, arguments in ancestors:
        programs = [name, *arguments[:1]]
        if arguments and _program(arguments[0]).startswith(_INTERPRETERS):
            programs += [word for word in arguments[1:4] if not word.startswith("-")][:1]
        for program in programs:
            parts = (agent for sign, agent in _BY_SIGN.items() if sign[0] == "/" and sign in program)
            if agent := _BY_SIGN.get(_program(program)) or next(parts, ""):
                return agent
    return ""


def _program(path: str) -> str:
    return re.sub(r"\.(exe|[mc]?js)$", "", path.rpartition("/")[2].casefold())


def _ancestors() -> Iterator[tuple[str, Sequence[str]]]:
    """Name and arguments of each process we descend from, as far as they can be seen; none on Windows."""
    in_proc = Path("/proc/self/stat").exists()
    listed = {} if in_proc or sys.platform == "win32" else _listed()
    process = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        try:
            name, arguments, process = _from_proc(process) if in_proc else listed[process]
        except (OSError, KeyError):
            return
        yield name, arguments


def _from_proc(process: int) -> tuple[str, Sequence[str], int]:
    told = []
    for about in ("stat", "cmdline"):
        with open(f"/proc/{process}/{about}", "rb") as handle:  # noqa: PTH123  one of many tiny reads
            told.append(handle.read(_READ_BYTES).decode("utf-8", "replace"))
    # The name stands in parentheses and may hold any character, a parenthesis too.
    name, _, rest = told[0].partition("(")[2].rpartition(")")
    return name, told[1].split("\0"), int(rest.split()[1])


def _listed() -> dict[int, tuple[str, Sequence[str], int]]:
    """The same of all processes, where there is no /proc."""
    import subprocess

    try:
        lines = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,command="], capture_output=True, timeout=5, check=True
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return {}
    # A command may hold what breaks a line; what follows is no process then.
    rows = (re.match(r"\s*(\d+)\s+(\d+)\s+(\S.*)", line) for line in lines.splitlines())
    return {int(row[1]): (row[3].split()[0], row[3].split(), int(row[2])) for row in rows if row}
