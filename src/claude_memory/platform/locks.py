"""Locks between processes that die with their owner; the one place that takes a lock.

The system's file locks where they work. Where they do not (`ENOLCK`, `ENOTSUP`: network drives, some
containers, Windows shares) a file beside the lock names its owner, by `filelock`, which is loaded only then:
"taken" and "cannot lock" are two answers, and only the first one means to stay away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from claude_memory.errors import Conflict
from claude_memory.platform.files import FILE_MODE

try:
    import fcntl
except ImportError:  # Windows: by the owner's name
    fcntl = None  # type: ignore[assignment]

OWNER = ".owner"
HEARTBEAT_SECONDS, LEASE_SECONDS = 20.0, 60.0
DEAD_SECONDS = 300.0  # of a silent owner that cannot be asked, by the file server's clock

_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_LONGEST_NAP = 0.1  # short naps of fifty waiters would take a whole core from the one that works


class CannotLock(OSError):
    """This file system has no locks, or has run out of them; nobody need hold anything."""


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take a lock without waiting; yields whether it was free. It is free again when we die."""
    owner = path.with_name(path.name + OWNER)
    with contextlib.ExitStack() as stack:
        by_name = owner.exists()  # somebody could not lock: locks may fail for one process only
        try:
            taken = stack.enter_context(_system_lock(path))
        except CannotLock:
            taken = by_name = True
        yield taken and (not by_name or stack.enter_context(_named_lock(owner)))


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


def drop_if_free(path: Path) -> bool:
    """Remove a lock file nobody holds; whoever waits for it notices that it is another file now."""
    with try_lock(path) as taken:
        if taken:
            path.unlink(missing_ok=True)
        return taken


def why_not(folder: Path) -> str | None:
    """Why the system's locks do not work in a folder, for `doctor` and error messages; None if they do.

    Both kinds are tried, because SQLite takes the other one, on a file of our own: closing a file of
    the database would drop the locks that this process holds on it.
    """
    if fcntl is None:
        return None
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
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
    try:
        taken = False
        if _take(descriptor):
            with contextlib.suppress(OSError):  # the name may lead elsewhere: a free lock file may be removed
                taken = os.path.samestat(os.fstat(descriptor), path.stat())
        yield taken
    finally:
        os.close(descriptor)  # lets go of it, too


def _take(descriptor: int) -> bool:
    if fcntl is None:
        raise CannotLock(errno.ENOSYS, os.strerror(errno.ENOSYS))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        if fault.errno in _TAKEN:
            return False
        raise CannotLock(fault.errno, fault.strerror) from None
    return True


@contextlib.contextmanager
def _named_lock(owner: Path) -> Iterator[bool]:
    """A lock by a file that names its owner, who shows that it lives; that one died here is seen."""
    from filelock import SoftFileLease, Timeout

    # An owner that is silent for long is out of the way.
    probe = owner.with_name(f".{owner.name}.{os.urandom(6).hex()}.tmp")
    with contextlib.suppress(OSError):
        probe.touch()  # tells the time by the clock of whoever stores the files
        if probe.stat().st_mtime - owner.stat().st_mtime > DEAD_SECONDS:
            owner.replace(probe)
    probe.unlink(missing_ok=True)
    lease = SoftFileLease(
        owner, lease_duration=LEASE_SECONDS, heartbeat_interval=HEARTBEAT_SECONDS, mode=FILE_MODE
    )
    try:
        lease.acquire(blocking=False)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lease.release()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as fault:
        return not isinstance(fault, ProcessLookupError)
    return True
