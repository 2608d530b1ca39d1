"""Whether agents are tied to this memory, once each, with a program that exists. Reads only."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.install.installer import installed
from claude_memory.install.plugin import (
    HOOK_FILE,
    MARKETPLACE,
    PLUGIN,
    config_folder,
    hook_program,
    plugin_installed,
)

_RENEW = "`claude-memory install` renews it"


def agents(project_root: Path, home: Path) -> Iterator[Check]:
    """What is installed where, what runs twice, what is gone or old."""
    places = registrations(project_root)
    titles = ", ".join(place.title for place in places)
    yield ok(
        "agents", f"installed in {titles}" if places else "installed in no agent", "`claude-memory install`"
    )
    for agent in doubled(places):
        where = " and ".join(str(place.path) for place in places if place.agent == agent)
        yield warn(
            "double registration",
            f"every event of {agent} is captured twice and stored once: {where}",
            "`claude-memory uninstall`, then `claude-memory install` for one scope",
        )
    for other in {place.home for place in places} - {"", str(home.absolute())}:
        titles = ", ".join(place.title for place in places if place.home == other)
        yield warn(
            "two homes",
            f"{titles} keeps memories in {other}, this command in {home}",
            f"choose one: `claude-memory --home {home} install`, or CLAUDE_MEMORY_HOME={other}",
        )
    for place in missing_interpreters(places):
        yield fail("interpreter", f"{place.title} runs {place.interpreter}, which is gone", _RENEW)
    for place in missing_programs(places):
        yield fail("hook program", f"{place.title} runs {place.program}, which is gone", _RENEW)
    for place in missing_packages(places):
        yield fail("package", f"{place.title} looks for the package in {place.site}, which is gone", _RENEW)
    for place in outdated(places):
        yield warn("hook program", f"{place.title} runs the hook program of another release", _RENEW)


@dataclass(frozen=True, slots=True)
class Registration:
    """One place our hooks are registered in: which agent's, in which file, with which program."""

    agent: str
    path: Path
    interpreter: str
    program: str
    home: str = ""
    site: str = ""
    is_plugin: bool = False

    @property
    def title(self) -> str:
        return f"{self.agent} (plugin)" if self.is_plugin else f"{self.agent} ({self.path})"


def registrations(project_root: Path) -> list[Registration]:
    """Every place, plugin first."""
    found = []
    hook = _plugin_hook(project_root)
    if hook is not None:
        table = hook.parent / "hooks.json"
        interpreter, _, home, site = _command(table)
        found.append(Registration("claude-code", table, interpreter, str(hook), home, site, is_plugin=True))
    for agent, path in installed(project_root):
        found.append(Registration(agent, path, *_command(path)))
    return found


def doubled(places: list[Registration]) -> list[str]:
    """Agents that would run our hooks more than once for each event."""
    agents = [place.agent for place in places]
    return sorted({agent for agent in agents if agents.count(agent) > 1})


def missing_interpreters(places: list[Registration]) -> list[Registration]:
    """Places whose interpreter is gone: nothing is captured there any more."""
    return [place for place in places if place.interpreter and not Path(place.interpreter).exists()]


def outdated(places: list[Registration]) -> list[Registration]:
    """Places that run another hook program than this package's; it works, but lacks what is new."""
    shipped = hook_program().read_bytes()
    return [place for place in places if place.program and _bytes(place.program) not in (shipped, None)]


def missing_programs(places: list[Registration]) -> list[Registration]:
    """Places whose hook program is gone."""
    return [place for place in places if place.program and _bytes(place.program) is None]


def missing_packages(places: list[Registration]) -> list[Registration]:
    """Places that capture, but find no package to store and answer with."""
    return [
        place
        for place in places
        if place.site
        and not any(Path(site, "claude_memory").is_dir() for site in place.site.split(os.pathsep))
    ]


def _plugin_hook(project_root: Path) -> Path | None:
    """The hook program of the plugin, if the client has it switched on."""
    copies = plugin_installed(config_folder())
    files = (config_folder() / "settings.json", project_root / ".claude" / "settings.json")
    switched = [_document(path).get("enabledPlugins") for path in files]
    on = any(isinstance(table, dict) and table.get(f"{PLUGIN}@{MARKETPLACE}") for table in switched)
    return max(copies, key=lambda path: path.stat().st_mtime) if on and copies else None


def _command(path: Path) -> tuple[str, str, str, str]:
    """Interpreter, program, home and import folders of the first hook of ours in a settings file."""
    for words in _commands(_document(path)):
        number = next((number for number, word in enumerate(words) if word.endswith(HOOK_FILE)), 0)
        if number:
            # The interpreter's two options stand between; before it there may be the shell that looks for it.
            interpreter, program = words[max(number - 3, 0)], words[number]
            home, site = (_after(words, option) for option in ("--home", "--site"))
            return interpreter, program if Path(program).is_absolute() else "", home, site
    return "", "", "", ""


def _after(words: list[str], option: str) -> str:
    return "".join(words[words.index(option) + 1 :][:1]) if option in words else ""


def _commands(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        for key in ("command", "bash"):
            if isinstance(value.get(key), str):
                yield _words(value[key], value.get("args"))
        for item in value.values():
            yield from _commands(item)
    elif isinstance(value, list):
        for item in value:
            yield from _commands(item)


def _words(command: str, arguments: Any) -> list[str]:
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _bytes(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
