"""What something began and never finished: every temporary that this package makes, found and swept.

A temporary's name begins with a dot and ends in `.tmp` or `.purge`, wherever it stands in the home. A
process that was killed cannot remove its own; after an hour whoever comes by does.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from claude_memory.platform.files import FILE_MODE, FOLDER, private_folder, write_atomically

STALE_SECONDS = 3600
VERIFYING = "claude-memory-verify-"
_ELSEWHERE = ".elsewhere."


def is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith((".tmp", ".purge"))


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None, beginning: str = VERIFYING) -> Iterator[Path]:
    """A private folder, gone at the end unless it was given another name; where the sweep finds it."""
    with tempfile.TemporaryDirectory(
        prefix=beginning, suffix=".tmp", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@contextlib.contextmanager
def noted(home: Path, temporary: Path) -> Iterator[None]:
    """Keep a temporary outside the home in mind for the sweep, as long as it is in the making."""
    note = private_folder(home / "cache") / f"{_ELSEWHERE}{os.urandom(6).hex()}.tmp"
    write_atomically(note, os.fsencode(temporary))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def stale(home: Path, project_root: Path | None = None) -> list[Path]:
    """What is left for longer than an hour, in the home, beside it, and in a project's own folder."""
    found = [*_inside(home), *_restoring(home)]
    if project_root is not None:
        found += _inside(project_root / FOLDER)
    folders = Path(tempfile.gettempdir()).glob(f"{VERIFYING}*")
    found += [folder for folder in folders if os.access(folder, os.W_OK)]  # and not another person's
    return list(filter(_is_stale, found))


def sweep(home: Path, project_root: Path | None = None) -> int:
    """Remove what is stale; returns how many. Looks at most once an hour."""
    marker = home / "cache" / "swept"
    with contextlib.suppress(OSError):
        if 0 <= time.time() - marker.stat().st_mtime < STALE_SECONDS:
            return 0
    removed = sum(map(_removed, stale(home, project_root)))
    with contextlib.suppress(OSError):
        private_folder(marker.parent)
        marker.touch(FILE_MODE)
    return removed


def sweep_beside(home: Path) -> None:
    for path in filter(_is_stale, _restoring(home)):
        _removed(path)


def _removed(path: Path) -> bool:
    try:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError:
        return False
    return True


def _restoring(home: Path) -> Iterator[Path]:
    return home.parent.glob(f".{glob.escape(home.name)}.restore-*.tmp")


def _inside(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(parent, name)
            if name.startswith(_ELSEWHERE):
                with contextlib.suppress(OSError, ValueError):
                    elsewhere = Path(os.fsdecode(path.read_bytes()))
                    # Only what looks like a temporary: a note is no leave to remove anything.
                    if is_temporary(elsewhere.name) and stat.S_ISREG(elsewhere.lstat().st_mode):
                        yield elsewhere
            if is_temporary(name) or (name.startswith(".plugin-") and path.parent == folder):
                yield path
        folders[:] = [name for name in folders if not is_temporary(name)]


def _is_stale(path: Path) -> bool:
    """Whether nothing in it changed for an hour: a large folder may be in the making for long."""
    try:
        latest = path.lstat().st_mtime
        if path.is_dir() and not path.is_symlink():
            for parent, _, names in os.walk(path):
                latest = max(latest, *(Path(parent, name).lstat().st_mtime for name in [".", *names]))
    except OSError:
        return False  # somebody is at it
    return time.time() - latest > STALE_SECONDS
