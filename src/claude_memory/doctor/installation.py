"""Whether agents are tied to this memory, once each, with a program that exists, and whether the histories
that they delete by themselves are archived before they go. Reads only.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_memory.doctor import Check, fail, ok, warn
from claude_memory.install.installer import installed
from claude_memory.install.plugin import (
    HOOK_FILE,
    MARKETPLACE,
    PLUGIN,
    config_folder,
    hook_program,
    plugin_installed,
)
from claude_memory.settings import Settings
from claude_memory.store import files_read
from claude_memory.transcripts import sources

DEFAULT_DAYS = 30  # Claude Code's cleanupPeriodDays
WARNED_DAYS = 7
_IMPORT = "`claude-memory import` keeps them"
_RENEW = "`claude-memory install` renews it"


def agents(project_root: Path, home: Path) -> Iterator[Check]:
    """What is installed where, what runs twice, what is gone or old."""
    places = registrations(project_root)
    titles = ", ".join(place.title for place in places)
    yield ok(
        "agents", f"installed in {titles}" if places else "installed in no agent", "`claude-memory install`"
    )
    names = [place.agent for place in places]
    for agent in sorted({name for name in names if names.count(name) > 1}):
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
    for place in places:
        yield from _broken(place)


def _broken(place: Registration) -> Iterator[Check]:
    """What of one registration is gone, so that nothing is captured or answered there, or old."""
    program = _bytes(place.program) if place.program else b""
    sites = [Path(site, "claude_memory") for site in place.site.split(os.pathsep)]
    if place.interpreter and not Path(place.interpreter).exists():
        yield fail("interpreter", f"{place.title} runs {place.interpreter}, which is gone", _RENEW)
    if program is None:
        yield fail("hook program", f"{place.title} runs {place.program}, which is gone", _RENEW)
    elif program not in (b"", hook_program().read_bytes()):
        yield warn("hook program", f"{place.title} runs the hook program of another release", _RENEW)
    if place.site and not any(package.is_dir() for package in sites):
        yield fail("package", f"{place.title} looks for the package in {place.site}, which is gone", _RENEW)


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


# --- histories


def histories(home: Path, settings: Settings, *, user_home: Path | None = None) -> Iterator[Check]:
    """How many conversations of agents are archived, and which are about to be deleted before they are."""
    found = list(sources.discover(user_home or Path.home()))
    if not found:
        yield ok("conversations", "no agent keeps any here")
        return
    kept = files_read(home, settings)
    waiting = [item for item in found if kept.get(str(item.path)) != (item.size, item.modified_ns)]
    days = cleanup_days()
    since = time.time() - (days - WARNED_DAYS) * 86_400
    ending = [
        source for source in waiting if source.agent == "claude-code" and source.modified_ns < since * 1e9
    ]
    archived = f"{len(found) - len(waiting)} of {len(found)} files of agents are archived"
    if ending:
        text = (
            f"{len(ending)} are deleted by Claude Code within {WARNED_DAYS} days (it keeps them for {days})"
        )
        yield warn("conversations", f"{archived}; of the others {text}", _IMPORT)
    else:
        yield ok("conversations", archived, _IMPORT if waiting else "")


def cleanup_days() -> int:
    """After how many days Claude Code deletes a transcript, by the person's own settings of it."""
    days = _document(config_folder() / "settings.json").get("cleanupPeriodDays")
    return days if isinstance(days, int) and days > 0 else DEFAULT_DAYS
