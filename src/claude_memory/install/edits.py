"""Which file of an agent gets which entries of ours, and how they go in and out without moving another byte.

People format their settings as they like, and a round trip through a serialiser would rewrite lines that are
not ours: so entries are spliced into the text. An entry is ours if it runs our hook program or our server.
Every agent's events are registered under the hook program's own event names, so that what follows need not
know who called. Agents whose hooks take no context are captured only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.install.plugin import (
    HOOK_FILE,
    config_folder,
    hook_command,
    hooks_with_paths,
    server_command,
    texts_for_agents,
)
from claude_memory.platform.agents import BY_NAME, canonical

SERVER_NAME = "claude-memory"
_TOML_START, _TOML_END = "# >>> claude-memory", "# <<< claude-memory"
_VERSIONED = b'{\n  "version": 1\n}\n'
_BOM = "\ufeff"
_BETWEEN = re.compile(r"[\s,:]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()

Steps = Sequence[str | int]  # names of members and numbers of items, from the top


class AgentFiles(NamedTuple):
    """The files that an agent reads hooks and servers from, and the shape in which it wants them."""

    user: tuple[str, str]  # below the person's own folder; empty where it has none
    project: tuple[str, str] | None = None  # below a project's; the same names if not said
    group: Callable[[str], dict[str, Any]] = lambda command: {"command": command}
    server: Callable[[list[str]], dict[str, Any]] = lambda words: {"command": words[0], "args": words[1:]}
    key: str = "mcpServers"
    seed: bytes | None = None  # what a file of hooks holds at least


INSTALLABLE: Mapping[str, AgentFiles] = {
    "claude-code": AgentFiles(
        (".claude/settings.json", ".claude.json"), (".claude/settings.json", ".mcp.json")
    ),
    "codex": AgentFiles(
        (".codex/hooks.json", ".codex/config.toml"),
        group=lambda command: {"hooks": [{"type": "command", "command": command, "timeout": 10}]},
    ),
    "gemini-cli": AgentFiles(
        (".gemini/settings.json", ".gemini/settings.json"),
        group=lambda command: {
            "hooks": [{"type": "command", "command": command, "name": SERVER_NAME, "timeout": 10_000}]
        },
    ),
    "cursor": AgentFiles((".cursor/hooks.json", ".cursor/mcp.json"), seed=_VERSIONED),
    "opencode": AgentFiles(
        ("", ".config/opencode/opencode.json"),
        ("", "opencode.json"),
        server=lambda words: {"type": "local", "command": words, "enabled": True},
        key="mcp",
    ),
    "copilot-cli": AgentFiles(
        (".copilot/hooks/claude-memory.json", ".copilot/mcp-config.json"),
        (".github/hooks/claude-memory.json", ""),
        lambda command: {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": 10},
        lambda words: {"type": "local", "tools": ["*"], "command": words[0], "args": words[1:]},
        seed=_VERSIONED,
    ),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One file of an agent, and what of ours goes into it."""

    path: Path
    entries: Mapping[str, Any] | bytes  # of a JSON or TOML document, or a whole file that is ours
    seed: bytes | None = None

    @property
    def what(self) -> str:
        if isinstance(self.entries, bytes):
            return "skill or command"
        names = [
            f"hooks for {len(value)} events" if key == "hooks" else "MCP server"
            for key, value in self.entries.items()
        ]
        return ", ".join(names)

    def put_in(self, raw: bytes | None) -> bytes:
        """The file with our entries; a whole file of that name that is not ours stays as it is."""
        if isinstance(self.entries, bytes):
            return raw or self.entries
        if self.path.suffix == ".toml":  # a table between two marks at its end
            before, [(key, server)] = raw or b"", self.entries.items()
            head = f"[{key}.{SERVER_NAME}]"
            if head.encode() in before:
                raise InvalidInput(f"another server is already called {SERVER_NAME}")
            lines = [head, *(f"{name} = {json.dumps(value)}" for name, value in server[SERVER_NAME].items())]
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            return before + gap + "\n".join([_TOML_START, *lines, _TOML_END, ""]).encode()
        text = _text(raw if raw is not None else self.seed)
        return _with_entries(text, [], _document(text), self.entries).encode()


def edits(agent: str, scope: str, project_root: Path, home: Path) -> list[Edit]:
    """The files an agent reads, the person's own or those of one project, with our entries for each."""
    agent = canonical(agent)
    if agent not in INSTALLABLE:
        raise InvalidInput(f"unknown agent {agent!r}: one of {', '.join(INSTALLABLE)}")
    known = INSTALLABLE[agent]
    base, (hooks, servers) = Path.home(), known.user
    if scope == "project":
        base, (hooks, servers) = project_root, known.project or known.user
    if agent == "claude-code" and scope == "user":
        hooks = str(config_folder() / "settings.json")
    entries: dict[str, dict[str, Any]] = {}
    program = str(home / "hooks" / HOOK_FILE)
    line = subprocess.list2cmdline if os.name == "nt" else shlex.join
    if agent == "claude-code":
        entries[hooks] = {"hooks": hooks_with_paths(program, home)}
    elif hooks:
        events = BY_NAME[agent].events.items()
        commands = {name: line(hook_command(program, ours, agent, home=home)) for name, ours in events}
        entries[hooks] = {"hooks": {name: [known.group(command)] for name, command in commands.items()}}
    if servers:  # perhaps in the same file
        key = "mcp_servers" if servers.endswith(".toml") else known.key
        entries.setdefault(servers, {})[key] = {SERVER_NAME: known.server(server_command(home))}
    found = [
        Edit(base / name, entry, known.seed if name == hooks else None) for name, entry in entries.items()
    ]
    texts = texts_for_agents() if agent == "claude-code" else {}
    return [*found, *(Edit((base / hooks).parent / name, text) for name, text in texts.items())]


def without_ours(raw: bytes) -> bytes:
    """A file without entries of ours, and without what they alone filled; another's file as it is."""
    start, end = raw.find(_TOML_START.encode()), raw.find(_TOML_END.encode())
    if -1 < start < end:
        return raw[:start] + raw[end + len(_TOML_END) :].removeprefix(b"\n")
    if raw in texts_for_agents().values():
        return b""
    try:
        text = _text(raw)
    except InvalidInput:
        return raw
    places = list(_ours(_document(text)))
    for place in reversed(places):
        text = remove(text, place)
    return text.encode() if places else raw


def has_hooks(raw: bytes) -> bool:
    """Whether hooks of ours are registered in a settings text."""
    try:
        return any(place[0] == "hooks" for place in _ours(_document(_text(raw))))
    except InvalidInput:
        return False


def _ours(document: Mapping[str, Any]) -> Iterator[Steps]:
    """Where entries of ours stand: servers, whole groups of hooks, or hooks that have others beside them."""
    table = document.get("hooks")
    for event, groups in table.items() if isinstance(table, dict) else ():
        for number, group in enumerate(groups) if isinstance(groups, list) else ():
            hooks = group.get("hooks") if isinstance(group, dict) else None
            alone = hooks if isinstance(hooks, list) and hooks else [group]
            ours = [place for place, hook in enumerate(alone) if HOOK_FILE in json.dumps(hook)]
            if len(ours) == len(alone):
                yield ["hooks", event, number]
            else:
                yield from (["hooks", event, number, "hooks", place] for place in ours)
    for key in ("mcpServers", "mcp"):
        table = document.get(key)
        if isinstance(table, dict) and "claude_memory" in json.dumps(table.get(SERVER_NAME)):
            yield [key, SERVER_NAME]


def _with_entries(text: str, path: Steps, there: Any, entries: Mapping[str, Any]) -> str:
    """The text with our entries at the end of the tables and lists that are there."""
    for name, value in entries.items():
        if not isinstance(there, dict) or name not in there:
            text = add(text, path, value, name)
        elif name == SERVER_NAME:
            raise InvalidInput(f"another server is already called {SERVER_NAME}")
        elif isinstance(value, list):
            for item in value:
                text = add(text, [*path, name], item)
        else:
            text = _with_entries(text, [*path, name], there[name], value)
    return text


# --- splicing a JSON text


class JsonPart(NamedTuple):
    """A member or an item: its name or number, where it begins, where its value starts and stops."""

    name: str | int
    begin: int
    start: int
    stop: int


def add(text: str, path: Steps, value: Any, name: str | None = None) -> str:
    """The text with a value as the last member or item of the object or array at a path."""
    start, stop = _place(text, path)
    if text[start] != ("[" if name is None else "{"):
        raise InvalidInput(
            f"an entry of ours would replace {'.'.join(map(str, path))}, which is no place for it"
        )
    unit = found.group(1) if (found := _INDENT.search(text)) else "  "
    prefix = "" if name is None else f"{json.dumps(name)}: "
    if inside := _parts(text, start):
        last = inside[-1].stop
        gap, end, head, tail = text[start + 1 : inside[0].begin], "", text[:last] + ",", text[last:]
    else:
        line = text[text.rfind("\n", 0, start) + 1 : start]
        end = ("\r\n" if "\r\n" in text else "\n") + line[: len(line) - len(line.lstrip(" \t"))]
        gap, head, tail = end + unit, text[: start + 1], text[stop - 1 :]
    if "\n" not in gap:
        return f"{head} {prefix}{json.dumps(value, ensure_ascii=False)}{tail}"
    rendered = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", gap)
    return f"{head}{gap}{prefix}{rendered}{end}{tail}"


def remove(text: str, path: Steps) -> str:
    """The text without the value at a path, comma and all, and without whatever holds nothing else."""
    start, stop = _place(text, path[:-1])
    inside = _parts(text, start)
    if len(inside) == 1:
        return remove(text, path[:-1]) if len(path) > 1 else text[: start + 1] + text[stop - 1 :]
    at = max(number for number, part in enumerate(inside) if part.name == path[-1])
    if at == 0:
        return text[: inside[0].begin] + text[inside[1].begin :]
    return text[: inside[at - 1].stop] + text[inside[at].stop :]


def _text(raw: bytes | None) -> str:
    """A settings text that can be spliced: valid JSON, an object at its top; InvalidInput otherwise."""
    try:
        text = (raw or b"").decode("utf-8")
        if not text.strip(f"{_BOM} \t\r\n"):
            return "{}\n"
        if not isinstance(_document(text), dict):
            raise InvalidInput("not a JSON object")
    except (ValueError, RecursionError) as fault:
        raise InvalidInput(f"not valid JSON: {fault}") from None
    return text


def _document(text: str) -> Any:
    return json.loads(text.removeprefix(_BOM))


def _place(text: str, path: Steps) -> tuple[int, int]:
    start = text.index("{")
    stop = _DECODER.raw_decode(text, start)[1]
    for name in path:
        # The last one of a name counts, as it does for every JSON reader.
        *_, (_, _, start, stop) = (part for part in _parts(text, start) if part.name == name)
    return start, stop


def _parts(text: str, start: int) -> list[JsonPart]:
    """What the object or array at a place of a valid text holds."""
    found: list[JsonPart] = []
    cursor = _after(text, start + 1)
    while text[cursor] not in "]}":
        begin, name = cursor, len(found)
        if text[start] == "{":
            name, cursor = _DECODER.raw_decode(text, cursor)
            cursor = _after(text, cursor)
        stop = _DECODER.raw_decode(text, cursor)[1]
        found.append(JsonPart(name, begin, cursor, stop))
        cursor = _after(text, stop)
    return found


def _after(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place
