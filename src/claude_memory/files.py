"""Files that survive crashes: private modes, atomic replacement, locks that die with their process.

Everything POSIX-only has its fallback here, so that no other module asks what system it runs on.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def private_folder(path: Path) -> Path:
    """Make a folder only its owner can read; parents that exist keep their modes."""
    missing = [path, *path.parents]
    for folder in reversed(missing[: next((i for i, p in enumerate(missing) if p.exists()), len(missing))]):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
            folder.chmod(FOLDER_MODE)  # an odd umask may have locked out the owner too
    return path


def sync_file(handle: IO[bytes]) -> None:
    """Flush a file's content to the disk."""
    handle.flush()
    getattr(os, "fdatasync", os.fsync)(handle.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some file systems refuse to sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace a file as a whole: a reader, or a crash, sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            sync_file(handle)
        os.replace(temporary, path)  # Rename is the commit.
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take a lock without waiting; yields whether it was free. It is free again when we die."""
    if fcntl is None and msvcrt is None:
        with _pid_lock(path.with_name(path.name + ".pid")) as taken:
            yield taken
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
    taken = False
    try:
        taken = _take(descriptor)
        yield taken
    finally:
        if taken:
            _release(descriptor)
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _release(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    elif msvcrt is not None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


@contextlib.contextmanager
def _pid_lock(path: Path) -> Iterator[bool]:
    """For systems without file locks: a file that names its owner, taken over once the owner is gone."""
    taken = _create_pid_file(path) or (_set_aside_stale(path) and _create_pid_file(path))
    if taken:
        _held.add(path)
    try:
        yield taken
    finally:
        if taken:
            _held.discard(path)
            path.unlink(missing_ok=True)


_held: set[Path] = set()
_UNWRITTEN_SECONDS = 10  # an owner that died between creating the file and naming itself


def _create_pid_file(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        return False
    try:
        os.write(descriptor, str(os.getpid()).encode())
    finally:
        os.close(descriptor)
    return True


def _set_aside_stale(path: Path) -> bool:
    owner = _stale_owner(path)
    if owner is None:
        return False
    aside = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    try:
        path.rename(aside)  # of several that try, one succeeds
        ours = aside.read_text("ascii", "replace") == owner
        if not ours:  # someone took it over in between: give it back
            aside.rename(path)
        else:
            aside.unlink()
    except OSError:
        return False
    return ours


def _stale_owner(path: Path) -> str | None:
    """The dead owner's number as it stands in the file; None if the owner lives or cannot be told."""
    try:
        owner, age = path.read_text("ascii", "replace"), time.time() - path.stat().st_mtime
    except OSError:
        return None
    if not owner.isdigit():
        return owner if age > _UNWRITTEN_SECONDS else None
    alive = path in _held if int(owner) == os.getpid() else _alive(int(owner))
    return None if alive else owner


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
