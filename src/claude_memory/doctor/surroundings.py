"""What can be said of a home's folders without opening the store: rights, space, versions, copies."""

from __future__ import annotations

import glob
import os
import platform
import shutil
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from claude_memory import __version__
from claude_memory.doctor import Check, fail, ok, warn
from claude_memory.platform import leftovers, locks
from claude_memory.settings import Settings
from claude_memory.store.sqlite.inspection import library
from claude_memory.text import times

_MB = 1 << 20
_FREE_WARN_MB = 500
_FREE_FAIL_MB = 50
_MOST_FILES = 5000


def sqlite_version() -> str:
    """Of the SQLite that the store runs on."""
    return library()[0]


def versions() -> Iterator[Check]:
    """This package, Python and SQLite."""
    from claude_memory.hook.claude_memory_hook import FORMAT_VERSION

    sqlite, safe = library()
    text = (
        f"claude-memory {__version__}, events of format {FORMAT_VERSION}, "
        f"Python {platform.python_version()}, SQLite {sqlite}"
    )
    if not safe:
        yield fail("versions", f"{text}: this SQLite can damage a store", "pip install --upgrade apsw")
    else:
        yield ok("versions", text)


def home(root: Path) -> Iterator[Check]:
    """Whether the home is there, ours, writable and private."""
    if (root.parent / f".{root.name}.restoring").exists() and not root.exists():
        yield fail(
            "home", "a restore was interrupted", "run `claude-memory backup restore` again: it recovers first"
        )
        return
    if not root.exists() and (obstacle := _in_the_way(root)):
        yield fail("home", f"{root} cannot be made: {obstacle}", "set CLAUDE_MEMORY_HOME to a place of yours")
        return
    if not root.exists():
        yield warn("home", f"nothing at {root} yet", "`claude-memory init` or the first memory makes it")
        return
    if not root.is_dir():
        yield fail("home", f"{root} is no folder", "set CLAUDE_MEMORY_HOME to a folder")
        return
    if not os.access(root, os.R_OK | os.X_OK):
        yield fail("home", f"{root} cannot be read", "give yourself the rights to it")
        return
    if not os.access(root, os.W_OK) or _is_read_only(root):
        yield fail("home", f"{root} is read-only: nothing new is remembered", "make it writable, or move it")
    else:
        yield ok("home", str(root))
    yield from _permissions(root)
    yield from _leftovers(root)
    yield from _old_copies(root)


def locking(root: Path) -> Iterator[Check]:
    """Whether the file system of the home can lock: without it SQLite cannot write, and others are slower."""
    reason = locks.why_not(root)
    if reason is None:
        yield ok("locks", "the file system can lock")
    else:
        yield fail(
            "locks",
            f"the file system of {root} cannot lock ({reason}): files that name their owner stand in, "
            "and the database may refuse every write",
            "keep the home on a local disk: set CLAUDE_MEMORY_HOME",
        )


def _in_the_way(root: Path) -> str:
    """Why a home cannot be made there; empty if it can."""
    above = next(folder for folder in root.absolute().parents if os.path.lexists(folder))
    if not above.is_dir():
        return f"{above} is no folder"
    if not os.access(above, os.W_OK | os.X_OK) or _is_read_only(above):
        return f"{above} is not writable"
    return ""


def _is_read_only(root: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(root).f_flag & os.ST_RDONLY)


def _permissions(root: Path) -> Iterator[Check]:
    if os.name == "nt":  # rights are inherited from the user's folder there
        return
    open_to_others = [path for path in _some_files(root) if _is_open(path)]
    if open_to_others:
        shown = open_to_others[0].relative_to(root) if open_to_others[0] != root else root
        yield warn(
            "permissions",
            f"others can read {len(open_to_others)} files or folders, among them {str(shown)!r}",
            f"chmod -R go= {root}",
        )
    else:
        yield ok("permissions", "private")


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & 0o077)


def _some_files(root: Path) -> Iterator[Path]:
    """The home and what is in it, up to a number that takes no time."""
    yield root
    count = 0
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            yield Path(folder, name)
            count += 1
            if count >= _MOST_FILES:
                return


def _leftovers(root: Path) -> Iterator[Check]:
    now = time.time()
    half = (root / "spool" / "tmp").glob("*")
    stale = [
        *leftovers.stale(root),
        *(path for path in half if now - path.lstat().st_mtime > leftovers.STALE_SECONDS),
    ]
    if stale:
        yield warn(
            "leftovers",
            f"{len(stale)} files that something began and never finished, such as {str(stale[0])!r}",
            "the next drain removes them: `claude-memory search` or any other command",
        )


def _old_copies(root: Path) -> Iterator[Check]:
    """What rebuilding and restoring set aside; whatever is erased from the home is still in there."""
    copies = [
        *root.glob("memory.db.damaged-*"),
        *root.parent.glob(f"{glob.escape(root.name)}.before-restore-*"),
    ]
    if copies:
        yield warn(
            "old copies",
            f"{len(copies)} kept from a rebuild or restore, such as {str(copies[0])!r}",
            "delete them once you do not miss anything: erased memories may still be in them",
        )


def disk(root: Path) -> Iterator[Check]:
    """Room left where the home is, or will be."""
    place = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free // _MB
    text = f"{free} MB free"
    if free < _FREE_FAIL_MB:
        yield fail("disk", text, "make room: capture stops when the disk is full")
    elif free < _FREE_WARN_MB:
        yield warn("disk", text, "make room soon")
    else:
        yield ok("disk", text)


def backups(root: Path) -> Iterator[Check]:
    """How old the last backup is."""
    from claude_memory.backup import backup

    found = backup.list_backups(root / "backups")
    if not found:
        yield ok("backups", "none in the home yet", "`claude-memory backup create` makes one")
        return
    newest = found[0]
    size = newest.size_bytes / 1e6
    yield ok(
        "backups",
        f"{len(found)}, the newest from {times.ago(newest.created, now=datetime.now(UTC))} ({size:.1f} MB)",
    )


def place(root: Path, settings: Settings) -> Iterator[Check]:
    """Whether the backup after each conversation reaches its place."""
    from claude_memory.backup import home_state

    if not settings.backup_to:
        return
    state = home_state.load(root)
    if state.fault:
        yield fail("backup_to", state.fault[:300], "mend that, then run `claude-memory backup push`")
    elif state.place == settings.backup_to:
        moment = datetime.fromtimestamp(state.pushed_at, UTC)
        yield ok("backup_to", f"{settings.backup_to}: {times.ago(moment, now=datetime.now(UTC))}")
    else:
        yield warn("backup_to", f"nothing at {settings.backup_to} yet", "`claude-memory backup push`")


def logs(root: Path, settings: Settings) -> Iterator[Check]:
    """What the logs take."""
    folder = root / "logs"
    size = sum(path.lstat().st_size for path in folder.rglob("*")) if folder.is_dir() else 0
    text = f"{size / _MB:.1f} MB"
    if size > 10 * max(settings.log_max_mb, 1) * _MB:
        yield warn("logs", text, f"delete old files in {folder}")
    else:
        yield ok("logs", text)


def tasks(home: Path, project_root: Path) -> Iterator[Check]:
    """Whether plans and progress of this project's tasks still say what they said when written."""
    from claude_memory.tasks.storage import storage_for

    storage = storage_for(project_root, home=home)
    if not any((folder / "sessions").is_dir() for folder in storage.folders):
        return
    from claude_memory.tasks.api import MemoryAPI

    problems = MemoryAPI(storage=storage).verify()
    if not problems:
        yield ok("tasks", "plans and progress are as they were written")
        return
    finding = fail if any(problem.tampered for problem in problems) else warn
    yield finding(
        "tasks", f"{len(problems)} findings: {str(problems[0])[:200]}", "see `claude-memory status`"
    )
