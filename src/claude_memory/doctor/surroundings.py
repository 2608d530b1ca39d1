"""What the doctor says without opening the store: the home, its space, versions and copies; the agents that
are tied to it, and the histories that they delete by themselves.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import shlex
import shutil
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory import __version__
from claude_memory.doctor import Check
from claude_memory.install.installer import installed
from claude_memory.install.plugin import (
    HOOK_FILE,
    MARKETPLACE,
    PLUGIN,
    config_folder,
    hook_program,
    plugin_installed,
)
from claude_memory.platform import leftovers, locks
from claude_memory.settings import Settings
from claude_memory.store import files_read
from claude_memory.store.sqlite.inspection import library
from claude_memory.text import times
from claude_memory.transcripts import sources

DEFAULT_DAYS = 30  # Claude Code's cleanupPeriodDays
WARNED_DAYS = 7
_MB = 1 << 20
_FREE_WARN_MB = 500
_FREE_FAIL_MB = 50
_MOST_FILES = 5000


def sqlite_version() -> str:
    return library()[0]


def versions() -> Iterator[Check]:
    from claude_memory.hook.claude_memory_hook import FORMAT_VERSION

    sqlite, safe = library()
    ours = f"claude-memory {__version__}, events of format {FORMAT_VERSION}"
    text = f"{ours}, Python {platform.python_version()}, SQLite {sqlite}"
    danger = "" if safe else ": this SQLite can damage a store"
    yield Check("versions", "ok" if safe else "fail", text + danger, "pip install --upgrade apsw")


def home(root: Path) -> Iterator[Check]:
    """Whether the home is there, ours, writable and private."""
    if not root.exists():
        yield _absent(root)
    elif not root.is_dir():
        yield Check("home", "fail", f"{root} is no folder", "set CLAUDE_MEMORY_HOME to a folder")
    elif not os.access(root, os.R_OK | os.X_OK):
        yield Check("home", "fail", f"{root} cannot be read", "give yourself the rights to it")
    else:
        if os.access(root, os.W_OK) and not _is_read_only(root):
            yield Check("home", "ok", str(root))
        else:
            text = f"{root} is read-only: nothing new is remembered"
            yield Check("home", "fail", text, "make it writable, or move it")
        yield from _files(root)


def _absent(root: Path) -> Check:
    if (root.parent / f".{root.name}.restoring").exists():
        hint = "run `claude-memory backup restore` again: it recovers first"
        return Check("home", "fail", "a restore was interrupted", hint)
    above = next(folder for folder in root.absolute().parents if os.path.lexists(folder))
    obstacle = "is no folder" if not above.is_dir() else ""
    if not obstacle and (not os.access(above, os.W_OK | os.X_OK) or _is_read_only(above)):
        obstacle = "is not writable"
    if obstacle:
        hint = "set CLAUDE_MEMORY_HOME to a place of yours"
        return Check("home", "fail", f"{root} cannot be made: {above} {obstacle}", hint)
    return Check(
        "home", "warn", f"nothing at {root} yet", "`claude-memory init` or the first memory makes it"
    )


def _is_read_only(root: Path) -> bool:
    return hasattr(os, "statvfs") and bool(os.statvfs(root).f_flag & os.ST_RDONLY)


def _files(root: Path) -> Iterator[Check]:
    """What others can read, what something began and never finished, what was set aside."""
    if os.name != "nt":  # rights are inherited from the user's folder there
        some = islice(chain([root], root.rglob("*")), _MOST_FILES)
        shown = [str(path.relative_to(root)) for path in some if _is_open(path)]
        text = (
            f"others can read {len(shown)} files or folders, among them {shown[0]!r}" if shown else "private"
        )
        yield Check("permissions", "warn" if shown else "ok", text, f"chmod -R go= {root}")
    before = time.time() - leftovers.STALE_SECONDS
    half = [path for path in (root / "spool" / "tmp").glob("*") if path.lstat().st_mtime < before]
    if stale := [*leftovers.stale(root), *half]:
        text = f"{len(stale)} files that something began and never finished, such as {str(stale[0])!r}"
        yield Check("leftovers", "warn", text, "the next drain removes them: any other command does")
    aside = root.parent.glob(f"{glob.escape(root.name)}.before-restore-*")
    if copies := [*root.glob("memory.db.damaged-*"), *aside]:
        text = f"{len(copies)} kept from a rebuild or restore, such as {str(copies[0])!r}"
        hint = "delete them once you do not miss anything: erased memories may still be in them"
        yield Check("old copies", "warn", text, hint)


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & 0o077)


def locking(root: Path) -> Iterator[Check]:
    """Whether the file system of the home can lock: without it SQLite cannot write, and others are slower."""
    reason = locks.why_not(root)
    if reason is None:
        yield Check("locks", "ok", "the file system can lock")
        return
    text = f"the file system of {root} cannot lock ({reason}): files that name their owner stand in"
    hint = "keep the home on a local disk: set CLAUDE_MEMORY_HOME"
    yield Check("locks", "fail", f"{text}, and the database may refuse every write", hint)


def disk(root: Path) -> Iterator[Check]:
    place = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free // _MB
    level = "fail" if free < _FREE_FAIL_MB else "warn" if free < _FREE_WARN_MB else "ok"
    yield Check("disk", level, f"{free} MB free", "make room: capture stops when the disk is full")


def backups(root: Path, settings: Settings) -> Iterator[Check]:
    """How old the last backup is, and whether the one after each conversation reaches its place."""
    from claude_memory.backup import home_state
    from claude_memory.backup.backups import list_backups

    now = datetime.now(UTC)
    text = "none in the home yet"
    if found := list_backups(root / "backups"):
        newest = f"{times.ago(found[0].created, now=now)} ({found[0].size_bytes / 1e6:.1f} MB)"
        text = f"{len(found)}, the newest from {newest}"
    yield Check("backups", "ok", text)
    state, place = home_state.load(root), settings.backup_to
    if place and state.fault:
        hint = "mend that, then run `claude-memory backup push`"
        yield Check("backup_to", "fail", state.fault[:300], hint)
    elif place and state.place == place:
        moment = datetime.fromtimestamp(state.pushed_at, UTC)
        yield Check("backup_to", "ok", f"{place}: {times.ago(moment, now=now)}")
    elif place:
        yield Check("backup_to", "warn", f"nothing at {place} yet", "`claude-memory backup push`")


def logs(root: Path, settings: Settings) -> Iterator[Check]:
    folder = root / "logs"
    size = sum(path.lstat().st_size for path in folder.rglob("*")) if folder.is_dir() else 0
    level = "warn" if size > 10 * max(settings.log_max_mb, 1) * _MB else "ok"
    yield Check("logs", level, f"{size / _MB:.1f} MB", f"delete old files in {folder}")


def tasks(home: Path, project_root: Path) -> Iterator[Check]:
    """Whether plans and progress of this project's tasks still say what they said when written."""
    from claude_memory.tasks.documents import storage_for

    storage = storage_for(project_root, home=home)
    if not any((folder / "sessions").is_dir() for folder in storage.folders):
        return
    from claude_memory.tasks.api import MemoryAPI

    problems = MemoryAPI(storage=storage).verify()
    level = "fail" if any(problem.tampered for problem in problems) else "warn" if problems else "ok"
    text = f"{len(problems)} findings: {str(problems[0])[:200]}" if problems else "as they were written"
    yield Check("tasks", level, text, "see `claude-memory status`")


# --- agents: each tied once, with a program that exists


class Registration(NamedTuple):
    """One place our hooks are registered in: which agent's, in which file, with which program."""

    agent: str
    title: str
    path: Path
    interpreter: str
    program: str
    home: str
    site: str


def agents(project_root: Path, home: Path) -> Iterator[Check]:
    places = list(registrations(project_root))
    yield Check("agents", "ok", f"installed in {', '.join(place.title for place in places) or 'no agent'}")
    names = [place.agent for place in places]
    for agent in sorted({name for name in names if names.count(name) > 1}):
        where = " and ".join(str(place.path) for place in places if place.agent == agent)
        text = f"every event of {agent} is captured twice and stored once: {where}"
        hint = "`claude-memory uninstall`, then `claude-memory install` for one scope"
        yield Check("double registration", "warn", text, hint)
    for other in {place.home for place in places} - {"", str(home.absolute())}:
        titles = ", ".join(place.title for place in places if place.home == other)
        text = f"{titles} keeps memories in {other}, this command in {home}"
        hint = f"choose one: `claude-memory --home {home} install`, or CLAUDE_MEMORY_HOME={other}"
        yield Check("two homes", "warn", text, hint)
    renew = "`claude-memory install` renews it"
    for place in places:
        program = Path(place.program)
        packages = [Path(site, "claude_memory") for site in place.site.split(os.pathsep)]
        needed = (
            ("interpreter", place.interpreter, Path(place.interpreter).exists()),
            ("hook program", place.program, program.exists()),
            ("package", place.site, any(package.is_dir() for package in packages)),
        )
        for name, path, is_there in needed:
            if path and not is_there:
                yield Check(name, "fail", f"{place.title} needs {path}, which is gone", renew)
        if program.is_file() and program.read_bytes() != hook_program().read_bytes():
            text = f"{place.title} runs the hook program of another release"
            yield Check("hook program", "warn", text, renew)


def registrations(project_root: Path) -> Iterator[Registration]:
    """Every place, plugin first; what it runs is what the first hook of ours in its file says."""
    places = [(agent, f"{agent} ({path})", path, "") for agent, path in installed(project_root)]
    copies = plugin_installed(config_folder())
    files = (config_folder() / "settings.json", project_root / ".claude" / "settings.json")
    switched = [_document(path).get("enabledPlugins") for path in files]
    is_on = any(isinstance(table, dict) and table.get(f"{PLUGIN}@{MARKETPLACE}") for table in switched)
    if copies and is_on:
        hook = max(copies, key=lambda path: path.stat().st_mtime)
        places.insert(0, ("claude-code", "claude-code (plugin)", hook.parent / "hooks.json", str(hook)))
    for agent, title, path, program in places:
        words = list(_words(_document(path)))
        number = next((number for number, word in enumerate(words) if word.endswith(HOOK_FILE)), None)
        if number is None:
            yield Registration(agent, title, path, "", program, "", "")
            continue
        named = words[number] if Path(words[number]).is_absolute() else ""
        after = dict(zip(words[number:], words[number + 1 :], strict=False))
        # The interpreter's two options stand between; before it there may be the shell that looks for it.
        interpreter, home, site = words[max(number - 3, 0)], after.get("--home", ""), after.get("--site", "")
        yield Registration(agent, title, path, interpreter, program or named, home, site)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        try:
            yield from shlex.split(value)
        except ValueError:
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _words(item)


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# --- histories


def histories(home: Path, settings: Settings) -> Iterator[Check]:
    """How many conversations of agents are archived, and which are about to be deleted before they are."""
    found = list(sources.discover(Path.home()))
    kept = files_read(home, settings) if found else {}
    waiting = [item for item in found if kept.get(str(item.path)) != (item.size, item.modified_ns)]
    days = cleanup_days()
    since = (time.time() - (days - WARNED_DAYS) * 86_400) * 1e9
    ending = [item for item in waiting if item.agent == "claude-code" and item.modified_ns < since]
    text = f"{len(found) - len(waiting)} of {len(found)} files of agents are archived"
    if ending:
        soon = f"deleted by Claude Code within {WARNED_DAYS} days (it keeps them for {days})"
        text += f"; of the others {len(ending)} are {soon}"
    yield Check("conversations", "warn" if ending else "ok", text, "`claude-memory import` keeps them")


def cleanup_days() -> int:
    """After how many days Claude Code deletes a transcript, by the person's own settings of it."""
    days = _document(config_folder() / "settings.json").get("cleanupPeriodDays")
    return days if isinstance(days, int) and days > 0 else DEFAULT_DAYS
