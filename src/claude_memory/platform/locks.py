"""Locks between processes that die with their owner; the one place that takes a lock.

The system's file locks where they work. Where they do not (`ENOLCK`, `ENOTSUP`: network drives, some
containers, Windows shares) a file beside the lock names its owner: "taken" and "cannot lock" are two
answers, and only the first one means to stay away.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict
from claude_memory.platform.files import FILE_MODE

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None  # type: ignore[assignment]

OWNER = ".owner"
HEARTBEAT_SECONDS = 20.0
DEAD_SECONDS = 300.0  # of a silent owner on another machine, by the file server's clock
UNWRITTEN_SECONDS = 10.0  # an owner that died between creating the file and naming itself

_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LONGEST_NAP = 0.1  # short naps of fifty waiters would take a whole core from the one that works
_held: set[Path] = set()


class CannotLock(OSError):
    """This file system has no locks, or has run out of them; nobody need hold anything."""


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take a lock without waiting; yields whether it was free. It is free again when we die."""
    with contextlib.ExitStack() as stack:
        try:
            taken = stack.enter_context(_system_lock(path))
        except CannotLock:
            taken = stack.enter_context(_owner_file(path))
        yield taken


@contextlib.contextmanager
def held(path: Path, *, wait_seconds: float, conflict: str) -> Iterator[None]:
    """Hold a lock, waiting for a live owner; Conflict, in the caller's words, when it does not let go."""
    deadline, nap = time.monotonic() + wait_seconds, 0.001
    while True:
        with try_lock(path) as taken:
            if taken:
                yield
                return
        if time.monotonic() >= deadline:
            raise Conflict(conflict)
        time.sleep(nap * (0.5 + os.urandom(1)[0] / 512))  # chance spreads the waiters
        nap = min(nap * 1.5, _LONGEST_NAP)


def why_not(folder: Path) -> str | None:
    """Why the system's locks do not work in a folder, for `doctor` and error messages; None if they do.

    Both kinds are tried, because SQLite takes the other one, on a file of our own: closing a file of
    the database would drop the locks that this process holds on it.
    """
    if fcntl is None:
        return None if msvcrt is not None else "this system has no file locks"
    probe = folder / f".locks.{os.urandom(6).hex()}.tmp"
    try:
        descriptor = os.open(probe, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except OSError:
        return None  # a folder that cannot be written is another finding
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        return fault.strerror or errno.errorcode.get(fault.errno or 0, "locks fail")
    finally:
        os.close(descriptor)
        probe.unlink(missing_ok=True)
    return None


@contextlib.contextmanager
def _system_lock(path: Path) -> Iterator[bool]:
    if fcntl is None and msvcrt is None:
        raise CannotLock(errno.ENOTSUP, "this system has no file locks")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
    taken = False
    try:
        taken = _take(descriptor)
        yield taken and _is_still(descriptor, path) and not _claimed(path)
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
    except OSError as fault:
        if fault.errno in _TAKEN:
            return False
        raise CannotLock(fault.errno, fault.strerror) from None
    return True


def _release(descriptor: int) -> None:
    # Closing the file lets go of it, too.
    with contextlib.suppress(OSError):
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        elif msvcrt is not None:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


def _is_still(descriptor: int, path: Path) -> bool:
    """Whether the name still leads to what we locked: a lock file may be removed once it is free."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _claimed(path: Path) -> bool:
    """Whether somebody who could not lock holds it by name: locks may fail for one process only."""
    owner = path.with_name(path.name + OWNER)
    return owner.exists() and _living(owner) is not None


@contextlib.contextmanager
def _owner_file(path: Path) -> Iterator[bool]:
    """Without the system's locks: who makes the file owns the lock, until it is gone."""
    owner = path.with_name(path.name + OWNER)
    taken = _create(owner) or (_set_aside(owner) and _create(owner))
    if not taken:
        yield False
        return
    _held.add(owner)
    over = threading.Event()
    beat = threading.Thread(target=_keep_alive, args=(owner, over), name="lock", daemon=True)
    beat.start()
    try:
        yield True
    finally:
        over.set()
        _held.discard(owner)
        owner.unlink(missing_ok=True)


def _create(owner: Path) -> bool:
    try:
        descriptor = os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        return False
    try:
        os.write(descriptor, json.dumps(_me()).encode())
    finally:
        os.close(descriptor)
    return True


def _keep_alive(owner: Path, over: threading.Event) -> None:
    """Show other machines that we live; on this one they can see it."""
    while not over.wait(HEARTBEAT_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(owner)


def _set_aside(owner: Path) -> bool:
    """Take a dead owner's file out of the way; of several that try, one succeeds."""
    if not owner.exists() or _living(owner) is not None:
        return True  # gone meanwhile, or alive: creating it will tell
    grave = owner.with_name(f".{owner.name}.{os.urandom(6).hex()}.tmp")
    try:
        owner.rename(grave)
        if _living(grave, owner) is not None:  # someone took over first, and we moved its file: give it back
            grave.rename(owner)
            return False
        grave.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _living(owner: Path, name: Path | None = None) -> Mapping[str, Any] | None:
    """Who holds the lock, if it is alive or nobody can tell; None for the dead."""
    try:
        who: Any = json.loads(owner.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        who = None
    if not isinstance(who, dict) or not isinstance(who.get("pid"), int):
        return {} if _silence(owner) < UNWRITTEN_SECONDS else None
    if who.get("machine") != _machine():
        return who if _silence(owner) < DEAD_SECONDS else None
    if who["pid"] == os.getpid():
        alive = (name or owner) in _held
    else:
        alive = who.get("began") == _began(who["pid"]) and is_alive(who["pid"])
    return who if alive else None


def _silence(owner: Path) -> float:
    """Seconds since the owner's last sign, by the clock of whoever stores the files."""
    probe = owner.with_name(f".{owner.name}.{os.urandom(6).hex()}.tmp")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
        now = probe.stat().st_mtime
        probe.unlink(missing_ok=True)
        return now - owner.stat().st_mtime
    except OSError:
        return 0.0


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "began": _began(os.getpid()), "machine": _machine()}


@cache
def _machine() -> str:
    """What process numbers are unique in: one boot of one machine, and one container on it."""
    parts = [os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115
    return " ".join(parts)


def _began(process: int) -> str:
    """When a process began, where the system tells: numbers are used again."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def is_alive(process: int) -> bool:
    """Whether a process of this machine lives, as far as can be told."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def holder(path: Path) -> str:
    """Who holds a lock by name, for an error message."""
    who = _living(path.with_name(path.name + OWNER)) or {}
    return f"process {who['pid']}" if "pid" in who else "another process"
