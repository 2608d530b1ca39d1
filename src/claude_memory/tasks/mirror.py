"""A copy of a project's task files in the home, because `git clean` deletes ignored files.

The copy is a convenience, never the truth: it is not synced to the disk, and a failure to write it
does not fail the work.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from claude_memory import files
from claude_memory.layout import FOLDER, prepare
from claude_memory.tasks.places import Storage, lost_mirror


def copy(storage: Storage, path: Path) -> None:
    """Copy a file that was just written."""
    target = _target(storage, path)
    if target is None:
        return
    with contextlib.suppress(OSError):
        files.private_folder(target.parent)
        temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, files.FILE_MODE), "wb") as handle:
            handle.write(path.read_bytes())
        os.replace(temporary, target)


def extend(storage: Storage, path: Path, added: bytes) -> None:
    """Copy what was just appended; the whole file when the copy is not the same but for it."""
    target = _target(storage, path)
    if target is None:
        return
    with contextlib.suppress(OSError):
        if not target.exists() or target.stat().st_size != path.stat().st_size - len(added):
            copy(storage, path)
            return
        with target.open("ab") as handle:
            handle.write(added)


def drop(storage: Storage, folder: Path) -> None:
    """Remove the copy of a session that was archived."""
    import shutil

    target = _target(storage, folder)
    if target is not None:
        shutil.rmtree(target, ignore_errors=True)


def missing(storage: Storage) -> list[Path]:
    """Files that stand in the copy but no longer in the project."""
    copied = storage.mirror or lost_mirror(storage)
    if copied is None or not copied.is_dir():
        return []
    own = storage.root / FOLDER
    found = (path.relative_to(copied) for path in copied.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.name.endswith(".tmp") and not (own / path).exists())


def recover(storage: Storage) -> list[Path]:
    """Bring back what is missing; returns the files that were restored."""
    copied, gone = storage.mirror or lost_mirror(storage), missing(storage)
    if copied is None or not gone:
        return []
    own = prepare(storage.root).folder
    restored = []
    for relative in gone:
        target = own / relative
        files.private_folder(target.parent)
        if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(own)):
            continue
        mode = storage.read_only if relative.name.endswith("plan.md") else files.FILE_MODE
        files.write_atomically(target, (copied / relative).read_bytes(), mode=mode)
        restored.append(target)
    return restored


def _target(storage: Storage, path: Path) -> Path | None:
    if storage.mirror is None or not path.is_relative_to(storage.folder):
        return None
    return storage.mirror / path.relative_to(storage.folder)
