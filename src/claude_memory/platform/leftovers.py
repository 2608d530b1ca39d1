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
from collections.abc import Iterable, Iterator
from pathlib import Path

from claude_memory.platform.files import FILE_MODE, private_folder, write_atomically

STALE_SECONDS = 3600
VERIFYING = "claude-memory-verify-"
_ELSEWHERE = ".elsewhere."
_MOST_LOOKED_AT = 200_000
_MOST_PATH_BYTES = 8192


def is_temporary(name: str) -> bool:
    """Whether a file of the home is one in the making."""
    return name.startswith(".") and name.endswith((".tmp", ".purge"))


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
    return [path for path in _all(home, project_root) if _age_seconds(path) > STALE_SECONDS]


def sweep(home: Path, project_root: Path | None = None) -> int:
    """Remove what is stale; returns how many. Looks at most once an hour."""
    marker = home / "cache" / "swept"
    with contextlib.suppress(OSError):
        if 0 <= time.time() - marker.stat().st_mtime < STALE_SECONDS:
            return 0
    removed = _removed(_all(home, project_root))
    with contextlib.suppress(OSError):
        private_folder(marker.parent)
        marker.touch(FILE_MODE)
    return removed


def sweep_beside(home: Path) -> None:
    """Remove what restores left beside a home that were killed before they counted."""
    _removed(_restoring(home))


def _removed(paths: Iterable[Path]) -> int:
    removed = 0
    for path in list(paths):
        with contextlib.suppress(OSError):
            if _age_seconds(path) > STALE_SECONDS:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                removed += 1
    return removed


def _restoring(home: Path) -> Iterator[Path]:
    return home.parent.glob(f".{glob.escape(home.name)}.restore-*.tmp")


def _all(home: Path, project_root: Path | None) -> Iterator[Path]:
    for path in _inside(home):
        if path.name.startswith(_ELSEWHERE):
            yield from _named_by(path)
        yield path
    if project_root is not None:
        yield from _inside(project_root / ".claude-memories")
    yield from _restoring(home)
    for path in Path(tempfile.gettempdir()).glob(f"{VERIFYING}*"):
        with contextlib.suppress(OSError):
            if not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid():
                yield path


def _inside(folder: Path) -> Iterator[Path]:
    seen = 0
    for parent, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            seen += 1
            if is_temporary(name) or (name.startswith(".plugin-") and Path(parent) == folder):
                yield Path(parent, name)
        folders[:] = [name for name in folders if not is_temporary(name)]
        if seen > _MOST_LOOKED_AT:
            return


def _named_by(note: Path) -> Iterator[Path]:
    """The temporary that a note tells of, if it looks like one: a note is no leave to remove anything."""
    with contextlib.suppress(OSError, ValueError):
        if note.stat().st_size <= _MOST_PATH_BYTES:
            path = Path(os.fsdecode(note.read_bytes()))
            if is_temporary(path.name) and stat.S_ISREG(path.lstat().st_mode):
                yield path


def _age_seconds(path: Path) -> float:
    """Since anything in it changed: a large folder may be in the making for long."""
    latest = 0.0
    try:
        latest = path.lstat().st_mtime
        if path.is_dir() and not path.is_symlink():
            for parent, _, names in os.walk(path):
                latest = max(latest, *(Path(parent, name).lstat().st_mtime for name in [".", *names]))
    except OSError:
        return 0.0  # somebody is at it
    return time.time() - latest
