"""Files that survive crashes: private modes and atomic replacement.

What POSIX alone has gets its fallback here or, for locks, in `locks`, so that no other module asks what
system it runs on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import IO

from claude_memory.errors import Conflict, StoreFault

FOLDER = ".claude-memories"  # of a project, in its repository
FILE_MODE = 0o600
FOLDER_MODE = 0o700
# In the home: the mark of a hook that found its interpreter or this package gone.
HOOK_GONE = "cache/hook-gone"


def private_folder(path: Path) -> Path:
    """Make a folder only its owner can read; parents that exist keep their modes."""
    missing = [path, *path.parents]
    for folder in reversed(missing[: next((i for i, p in enumerate(missing) if p.exists()), len(missing))]):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
            folder.chmod(FOLDER_MODE)  # an odd umask may have locked out the owner too
    return path


def sync_file(handle: IO[bytes]) -> None:
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


def new_file(path: Path, *, mode: int = FILE_MODE) -> BufferedRandom:
    """Make a file that is not there yet, and open it; a link that leads elsewhere is not followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "w+b")


def write_atomically(
    path: Path, content: bytes | memoryview, *, mode: int = FILE_MODE, new: bool = False
) -> None:
    """Replace a file as a whole: a reader, or a crash, sees the old content or the new, never a part.

    One that must be `new` is not replaced: FileExistsError.
    """
    temporary = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}.tmp")
    try:
        with new_file(temporary, mode=mode) as handle:
            handle.write(content)
            sync_file(handle)
        put_in_place(temporary, path, new=new)
    finally:
        with contextlib.suppress(OSError):  # it has its name by now, unless something went wrong
            temporary.unlink()


def put_in_place(temporary: Path, path: Path, *, new: bool) -> None:
    """Give a finished file its name; FileExistsError if it must be `new`, and something has it already."""
    if new and hasattr(os, "link"):
        try:
            os.link(temporary, path)  # unlike a rename, a link never replaces what appeared meanwhile
            temporary.unlink()
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system
            os.replace(temporary, path)
    else:
        os.replace(temporary, path)  # Rename is the commit.
    sync_folder(path.parent)


@contextlib.contextmanager
def disk_faults(doing: str) -> Iterator[None]:
    """What the system refuses meanwhile, in one line: it cannot do this."""
    try:
        yield
    except OSError as fault:
        raise StoreFault(f"cannot {doing}: {fault.strerror or fault}") from fault


def stays_inside(path: Path, base: Path) -> bool:
    """Whether a path really lies in a folder: a link on the way may lead anywhere."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(base))


def reads_only() -> bool:
    """Whether nothing may be written from here: a worker that only looks things up."""
    return os.environ.get("CLAUDE_MEMORY_READONLY", "") not in ("", "0")


def require_writing(what: str) -> None:
    """Refuse what changes the memory from where it may only be read."""
    if reads_only():
        raise Conflict(f"{what} is refused: CLAUDE_MEMORY_READONLY is set")
