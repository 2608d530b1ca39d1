"""Which file of an agent gets which entry of ours, and how it comes out again.

Every agent's events are registered under the hook program's own event names, so that what follows
need not know who called. Agents whose hooks take no context are captured only.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.install import settings_text
from claude_memory.install.plugin import hook_command, hooks_with_paths, server_command, texts_for_agents
from claude_memory.platform.agents import BY_NAME, canonical

_VERSIONED = b'{\n  "version": 1\n}\n'


@dataclass(frozen=True, slots=True)
class Edit:
    """One file of an agent: how our entries go in, and how they come out."""

    path: Path
    what: str
    put_in: Callable[[bytes | None], bytes]
    take_out: Callable[[bytes], bytes]
    whole: bool = False  # all of the file is ours: taken out, nothing is left of it


@dataclass(frozen=True, slots=True)
class InstallPlace:
    """Where an installation goes: the person's settings, or those of one project."""

    scope: str
    home_folder: Path
    project_root: Path
    hook_program: str
    memory_home: Path

    @property
    def in_project(self) -> bool:
        return self.scope == "project"

    @property
    def base(self) -> Path:
        return self.project_root if self.in_project else self.home_folder

    def shell(self, event: str, agent: str) -> str:
        """The command line that runs our hook program."""
        words = hook_command(self.hook_program, event, agent, home=self.memory_home)
        if os.name == "nt":
            return " ".join(f'"{word}"' if " " in word or "\\" in word else word for word in words)
        return shlex.join(words)

    def server(self) -> dict[str, Any]:
        """Our server as most agents want it."""
        command, *arguments = server_command(self.memory_home)
        return {"command": command, "args": arguments}


def edits(agent: str, place: InstallPlace) -> list[Edit]:
    """The files an agent reads, with our entries for each."""
    if canonical(agent) not in INSTALLABLE:
        raise InvalidInput(f"unknown agent {agent!r}: one of {', '.join(INSTALLABLE)}")
    return INSTALLABLE[canonical(agent)](place)


def per_file(wanted: Iterable[Edit]) -> list[Edit]:
    """One edit for each file: an agent may keep hooks and servers in the same one."""
    by_path: dict[Path, Edit] = {}
    for edit in wanted:
        first = by_path.get(edit.path)
        by_path[edit.path] = edit if first is None else _both(first, edit)
    return list(by_path.values())


def _both(first: Edit, second: Edit) -> Edit:
    return Edit(
        first.path,
        f"{first.what}, {second.what}",
        lambda raw: second.put_in(first.put_in(raw)),
        lambda raw: first.take_out(second.take_out(raw)),
    )


def _claude(place: InstallPlace) -> list[Edit]:
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or place.home_folder / ".claude")
    settings = place.project_root / ".claude" if place.in_project else folder
    servers = place.project_root / ".mcp.json" if place.in_project else place.home_folder / ".claude.json"
    return [
        _hooks(settings / "settings.json", hooks_with_paths(place.hook_program, place.memory_home)),
        _server(servers, "mcpServers", place.server()),
        *(_text(settings / path, text) for path, text in texts_for_agents().items()),
    ]


def _text(path: Path, text: bytes) -> Edit:
    """A skill or a command; a file of that name that is not ours stays as it is."""
    return Edit(
        path, "skill or command", lambda raw: raw or text, lambda raw: b"" if raw == text else raw, whole=True
    )


def _codex(place: InstallPlace) -> list[Edit]:
    folder, server = place.base / ".codex", place.server()
    lines = [f"{name} = {json.dumps(value)}" for name, value in server.items()]
    table = "\n".join([f"[mcp_servers.{settings_text.SERVER_NAME}]", *lines])
    put_in = partial(settings_text.put_toml, table=table)
    groups = _groups("codex", lambda event: {"hooks": [_command(place.shell(event, "codex"), timeout=10)]})
    return [
        Edit(folder / "config.toml", "MCP server", put_in, settings_text.take_toml),
        _hooks(folder / "hooks.json", groups),
    ]


def _gemini(place: InstallPlace) -> list[Edit]:
    path = place.base / ".gemini" / "settings.json"

    def group(event: str) -> dict[str, Any]:
        command = place.shell(event, "gemini-cli")
        return {"hooks": [_command(command, name="claude-memory", timeout=10_000)]}  # milliseconds here

    return [_hooks(path, _groups("gemini-cli", group)), _server(path, "mcpServers", place.server())]


def _cursor(place: InstallPlace) -> list[Edit]:
    folder = place.base / ".cursor"
    groups = _groups("cursor", lambda event: {"command": place.shell(event, "cursor")})
    return [
        _server(folder / "mcp.json", "mcpServers", place.server()),
        _hooks(folder / "hooks.json", groups, seed=_VERSIONED),
    ]


def _opencode(place: InstallPlace) -> list[Edit]:
    folder = place.project_root if place.in_project else place.home_folder / ".config" / "opencode"
    entry = {"type": "local", "command": server_command(place.memory_home), "enabled": True}
    return [_server(folder / "opencode.json", "mcp", entry)]


def _copilot(place: InstallPlace) -> list[Edit]:
    folder = place.project_root / ".github" if place.in_project else place.home_folder / ".copilot"

    def group(event: str) -> dict[str, Any]:
        command = place.shell(event, "copilot-cli")
        return {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": 10}

    hooks = folder / "hooks" / "claude-memory.json"
    wanted = [_hooks(hooks, _groups("copilot-cli", group), seed=_VERSIONED)]
    if not place.in_project:
        entry = {"type": "local", "tools": ["*"], **place.server()}
        wanted.append(_server(folder / "mcp-config.json", "mcpServers", entry))
    return wanted


INSTALLABLE: Mapping[str, Callable[[InstallPlace], list[Edit]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini-cli": _gemini,
    "cursor": _cursor,
    "opencode": _opencode,
    "copilot-cli": _copilot,
}


def _groups(agent: str, group: Callable[[str], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {theirs: [group(ours)] for theirs, ours in BY_NAME[agent].events.items()}


def _command(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def _hooks(path: Path, groups: Mapping[str, list[dict[str, Any]]], seed: bytes | None = None) -> Edit:
    return Edit(
        path,
        f"hooks for {len(groups)} events",
        lambda raw: settings_text.put_hooks(raw if raw is not None else seed, groups),
        settings_text.take_hooks,
    )


def _server(path: Path, key: str, entry: Mapping[str, Any]) -> Edit:
    return Edit(
        path,
        "MCP server",
        lambda raw: settings_text.put_server(raw, key, dict(entry)),
        partial(settings_text.take_server, key=key),
    )
