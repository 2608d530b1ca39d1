"""The coding agents we know, as data: their names, where their conversations lie, which events their hooks
have. Install, import and hooks ask here; how an agent's files are read or edited is their own business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `events` names its hook events and ours for each; without any it takes no hooks of ours."""

    name: str
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
        ("claude",),
        variable="CLAUDE_CONFIG_DIR",
        folder=".claude",
        below="projects",
        patterns=("*/*.jsonl", "*/*/subagents/**/*.jsonl", "*/subagents/**/*.jsonl"),
        resume="claude --resume {session}",
    ),
    Agent(
        "codex",
        ("codex-cli",),
        variable="CODEX_HOME",
        folder=".codex",
        patterns=tuple(
            f"{folder}/**/rollout-*{ending}"
            for folder in ("sessions", "archived_sessions")
            for ending in (".jsonl", ".jsonl.zst")
        ),
        resume="codex resume {session}",
        events={
            name: name
            for name in (
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PreCompact",
                "PostCompact",
                "Stop",
            )
        },
    ),
    Agent(
        "gemini-cli",
        ("gemini",),
        variable="GEMINI_CLI_HOME",
        below=".gemini/tmp",
        patterns=("*/chats/**/session-*.json*",),
        events={
            "SessionStart": "SessionStart",
            "BeforeAgent": "UserPromptSubmit",
            "AfterTool": "PostToolUse",
            "AfterAgent": "Stop",
            "PreCompress": "PreCompact",
            "SessionEnd": "SessionEnd",
        },
    ),
    Agent(
        "opencode",
        variable="XDG_DATA_HOME",
        folder=".local/share",
        below="opencode",
        patterns=("opencode.db", "storage/session/*/ses_*.json", "project/*/storage/session/info/ses_*.json"),
        resume="opencode --session {session}",
    ),
    Agent(
        "cursor",
        ("cursor-agent",),
        folder=".cursor",
        below="projects",
        patterns=("*/agent-transcripts/**/*.jsonl",),
        events={
            "sessionStart": "SessionStart",
            "beforeSubmitPrompt": "UserPromptSubmit",
            "postToolUse": "PostToolUse",
            "postToolUseFailure": "PostToolUseFailure",
            "subagentStop": "SubagentStop",
            "preCompact": "PreCompact",
            "stop": "Stop",
            "sessionEnd": "SessionEnd",
        },
        speaks=("conversation_id", "workspace_roots"),
    ),
    Agent(
        "copilot-cli",
        ("copilot",),
        variable="COPILOT_HOME",
        folder=".copilot",
        below="session-state",
        patterns=("*.jsonl", "*/events.jsonl"),
        resume="copilot --resume {session}",
        events={
            "sessionStart": "SessionStart",
            "userPromptSubmitted": "UserPromptSubmit",
            "postToolUse": "PostToolUse",
            "sessionEnd": "SessionEnd",
        },
        speaks=("sessionId", "toolName", "toolArgs", "initialPrompt"),
    ),
    Agent(
        "factory",
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
