"""The agents that can be given the memory, described as data: which file gets which entry.

Every agent's events are registered under the hook program's own event names, so that what follows
need not know who called. Agents whose hooks take no context are captured only.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.install import documents
from claude_memory.install.plugin import hook_arguments, hooks_with_paths, server_command

Bytes = bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """One file of an agent: how our entries go in, and how they come out."""

    path: Path
    what: str
    put_in: Callable[[Bytes | None], Bytes]
    take_out: Callable[[Bytes], Bytes]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an installation goes: the person's settings, or those of one project."""

    scope: str
    home_folder: Path
    project_root: Path
    hook_program: str
    memory_home: Path

    @property
    def base(self) -> Path:
        return self.project_root if self.scope == "project" else self.home_folder


def edits(agent: str, place: Place) -> list[Edit]:
    """The files an agent reads, with our entries for each."""
    if agent not in AGENTS:
        raise InvalidInput(f"unknown agent {agent!r}: one of {', '.join(AGENTS)}")
    return AGENTS[agent](place)


def per_file(wanted: Iterable[Edit]) -> list[Edit]:
    """One edit for each file: an agent may keep hooks and servers in the same one."""
    found: dict[Path, Edit] = {}
    for edit in wanted:
        first = found.get(edit.path)
        found[edit.path] = edit if first is None else _both(first, edit)
    return list(found.values())


def _both(first: Edit, second: Edit) -> Edit:
    return Edit(
        first.path,
        f"{first.what}, {second.what}",
        lambda raw: second.put_in(first.put_in(raw)),
        lambda raw: first.take_out(second.take_out(raw)),
    )


def _claude(place: Place) -> list[Edit]:
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or place.home_folder / ".claude")
    in_project = place.scope == "project"
    settings = place.project_root / ".claude" / "settings.json" if in_project else folder / "settings.json"
    servers = place.project_root / ".mcp.json" if in_project else place.home_folder / ".claude.json"
    return [
        _hooks(settings, hooks_with_paths(place.hook_program, place.memory_home)),
        _server(servers, "mcpServers", _stdio_server(place)),
    ]


def _codex(place: Place) -> list[Edit]:
    folder = place.base / ".codex"
    command, *arguments = server_command(place.memory_home)
    table = (
        f"[mcp_servers.{documents.SERVER_NAME}]\n"
        f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}"
    )
    events = (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "PostCompact",
        "Stop",
    )
    groups = {
        event: [{"hooks": [{"type": "command", "command": _shell(place, event, "codex"), "timeout": 10}]}]
        for event in events
    }
    return [
        Edit(
            folder / "config.toml",
            "MCP server",
            lambda raw: documents.put_toml(raw, table),
            documents.take_toml,
        ),
        _hooks(folder / "hooks.json", groups),
    ]


def _gemini(place: Place) -> list[Edit]:
    path = place.base / ".gemini" / "settings.json"
    names = {
        "SessionStart": "SessionStart",
        "BeforeAgent": "UserPromptSubmit",
        "AfterTool": "PostToolUse",
        "AfterAgent": "Stop",
        "PreCompress": "PreCompact",
        "SessionEnd": "SessionEnd",
    }
    groups = {
        theirs: [
            {
                "hooks": [
                    {
                        "name": "claude-memory",
                        "type": "command",
                        "command": _shell(place, ours, "gemini-cli"),
                        "timeout": 10_000,  # milliseconds here
                    }
                ]
            }
        ]
        for theirs, ours in names.items()
    }
    return [_hooks(path, groups), _server(path, "mcpServers", _stdio_server(place))]


def _cursor(place: Place) -> list[Edit]:
    folder = place.base / ".cursor"
    names = {
        "sessionStart": "SessionStart",
        "beforeSubmitPrompt": "UserPromptSubmit",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "subagentStop": "SubagentStop",
        "preCompact": "PreCompact",
        "stop": "Stop",
        "sessionEnd": "SessionEnd",
    }
    groups = {theirs: [{"command": _shell(place, ours, "cursor")}] for theirs, ours in names.items()}
    return [
        _server(folder / "mcp.json", "mcpServers", _stdio_server(place)),
        _hooks(folder / "hooks.json", groups, seed=b'{\n  "version": 1\n}\n'),
    ]


def _opencode(place: Place) -> list[Edit]:
    path = (
        place.project_root / "opencode.json"
        if place.scope == "project"
        else place.home_folder / ".config" / "opencode" / "opencode.json"
    )
    entry = {"type": "local", "command": server_command(place.memory_home), "enabled": True}
    return [_server(path, "mcp", entry)]


def _copilot(place: Place) -> list[Edit]:
    if place.scope == "project":
        hooks, servers = place.project_root / ".github" / "hooks", None
    else:
        hooks, servers = (
            place.home_folder / ".copilot" / "hooks",
            place.home_folder / ".copilot" / "mcp-config.json",
        )
    names = {
        "sessionStart": "SessionStart",
        "userPromptSubmitted": "UserPromptSubmit",
        "postToolUse": "PostToolUse",
        "sessionEnd": "SessionEnd",
    }
    groups = {
        theirs: [
            {
                "type": "command",
                "bash": _shell(place, ours, "copilot-cli"),
                "powershell": "& " + _shell(place, ours, "copilot-cli"),
                "timeoutSec": 10,
            }
        ]
        for theirs, ours in names.items()
    }
    found = [_hooks(hooks / "claude-memory.json", groups, seed=b'{\n  "version": 1\n}\n')]
    if servers is not None:
        found.append(
            _server(servers, "mcpServers", {"type": "local", "tools": ["*"], **_stdio_server(place)})
        )
    return found


AGENTS: Mapping[str, Callable[[Place], list[Edit]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "opencode": _opencode,
    "copilot": _copilot,
}


def _hooks(path: Path, groups: Mapping[str, list[dict[str, Any]]], seed: bytes | None = None) -> Edit:
    return Edit(
        path,
        f"hooks for {len(groups)} events",
        lambda raw: documents.put_hooks(raw if raw is not None else seed, groups),
        documents.take_hooks,
    )


def _server(path: Path, key: str, entry: Mapping[str, Any]) -> Edit:
    return Edit(
        path,
        "MCP server",
        lambda raw: documents.put_server(raw, key, dict(entry)),
        partial(documents.take_server, key=key),
    )


def _stdio_server(place: Place) -> dict[str, Any]:
    command, *arguments = server_command(place.memory_home)
    return {"command": command, "args": arguments}


def _shell(place: Place, event: str, agent: str) -> str:
    words = [sys.executable, *hook_arguments(place.hook_program, event, agent, home=place.memory_home)]
    if os.name == "nt":
        return " ".join(f'"{word}"' if " " in word or "\\" in word else word for word in words)
    return shlex.join(words)
