"""The coding agents we know, as data: their names, where their conversations lie, which events their hooks
have, and what betrays that one of them runs us. Install, import, hooks and `caller` ask here; how an agent's
files are read or edited is their own business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    # What it sets for the commands, hooks and servers that it starts; its program's name; and, where these
    # say nothing (a script run by an interpreter, a versioned binary), parts of its path.
    markers: str = ""
    program: str = ""
    packages: str = ""


_SAME = "SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact PostCompact Stop".split()
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
        markers="CLAUDECODE CLAUDE_CODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID",
        program="claude",
        packages="/@anthropic-ai/claude-code/ /claude/versions/",
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
        events=dict(zip(_SAME, _SAME, strict=True)),
        markers="CODEX_THREAD_ID CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_CI",
        program="codex",
        packages="/@openai/codex/",
    ),
    Agent(
        "gemini-cli",
        "Gemini CLI",
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
        markers="GEMINI_CLI",
        program="gemini",
        packages="/@google/gemini-cli/",
    ),
    Agent(
        "opencode",
        "OpenCode",
        variable="XDG_DATA_HOME",
        folder=".local/share",
        below="opencode",
        patterns=("opencode.db", "storage/session/*/ses_*.json", "project/*/storage/session/info/ses_*.json"),
        resume="opencode --session {session}",
        markers="OPENCODE OPENCODE_CLIENT",
        program="opencode",
        packages="/opencode-ai/",
    ),
    Agent(
        "cursor",
        "Cursor",
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
        markers="CURSOR_AGENT",
        program="cursor-agent",
        packages="/cursor-agent/",
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
        events={
            "sessionStart": "SessionStart",
            "userPromptSubmitted": "UserPromptSubmit",
            "postToolUse": "PostToolUse",
            "sessionEnd": "SessionEnd",
        },
        speaks=("sessionId", "toolName", "toolArgs", "initialPrompt"),
        markers="COPILOT_CLI COPILOT_AGENT_SESSION_ID",
        program="copilot",
        packages="/@github/copilot/",
    ),
    Agent(
        "factory",
        "Factory",
        ("droid",),
        folder=".factory",
        below="sessions",
        patterns=("**/*.jsonl",),
        resume="droid --resume {session}",
        markers="FACTORY_PROJECT_DIR DROID_PLUGIN_ROOT",
        program="droid",
    ),
)
# Agents that may run us and whose conversations we do not know.
OTHERS = (
    Agent("", "an agent's session", markers="CLAUDE_MEMORY_SESSION"),
    Agent("", "Antigravity", markers="ANTIGRAVITY_AGENT"),
    Agent("", "Augment", markers="AUGMENT_AGENT", program="auggie"),
    Agent("", "Amp", program="amp"),
    Agent("", "Aider", program="aider"),
    Agent("", "Qwen Code", program="qwen"),
    Agent("", "an agent", markers="AI_AGENT"),
)
BY_NAME = {agent.name: agent for agent in AGENTS}
_ALIASES = {alias: agent.name for agent in AGENTS for alias in agent.aliases}


def canonical(name: str) -> str:
    """The one name of an agent, whatever it was called; a name that nobody has stays as it is."""
    return _ALIASES.get(name, name)
