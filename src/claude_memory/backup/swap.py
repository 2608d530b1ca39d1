"""Put one folder in the place of another, so that a crash leaves the old one or the new one.

Linux and macOS can exchange two folders in one step. Elsewhere it takes two renames, and a note beside
the folder lets `recover` finish what a crash left between them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from pathlib import Path

from claude_memory.platform.files import sync_folder, write_atomically

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux, renameat2
_RENAME_SWAP = 2  # macOS, renamex_np
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


def put_in_place(new: Path, place: Path, aside: Path) -> None:
    """Move `new` to `place`, and what was at `place`, if anything, to `aside`.

    An OSError means that both are where they were.
    """
    if not place.exists():
        new.rename(place)
    elif not _exchanged(new, place, aside):
        _two_renames(new, place, aside)
    with contextlib.suppress(OSError):  # done already; only its durability is at stake
        sync_folder(place.parent)


def recover(place: Path) -> Path | None:
    """Bring back the folder a crash left aside between two renames; returns where it had been."""
    note = _note(place)
    try:
        aside = place.with_name(note.read_text("utf-8").strip())
    except (OSError, ValueError):
        return None
    found = None
    if not place.exists() and aside.is_dir() and aside.parent == place.parent:
        aside.rename(place)
        found = aside
    note.unlink(missing_ok=True)
    return found


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "linux":
            call = ctypes.CDLL(None, use_errno=True).renameat2
            failed = call(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
        elif sys.platform == "darwin":
            call = ctypes.CDLL(None, use_errno=True).renamex_np
            failed = call(names[0], names[1], _RENAME_SWAP)
        else:
            return False
    except (OSError, AttributeError):
        return False
    if failed:
        number = ctypes.get_errno()
        if number in _NOT_HERE:
            return False
        raise OSError(number, os.strerror(number), str(other))
    return True


def _exchanged(new: Path, place: Path, aside: Path) -> bool:
    new.rename(aside)  # so that the old folder has its right name from the moment of the exchange
    try:
        if exchange(aside, place):
            return True
    except OSError:
        aside.rename(new)
        raise
    aside.rename(new)
    return False


def _two_renames(new: Path, place: Path, aside: Path) -> None:
    note = _note(place)
    write_atomically(note, aside.name.encode("utf-8"))
    try:
        place.rename(aside)
        try:
            new.rename(place)
        except OSError:
            aside.rename(place)
            raise
    finally:
        note.unlink(missing_ok=True)


def _note(place: Path) -> Path:
    return place.with_name(f".{place.name}.restoring")
