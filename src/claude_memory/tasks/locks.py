"""Locks that outlive no process: waited for within a bound, taken over from the dead.

Where the system has file locks it drops them itself when their owner dies. Elsewhere a file names
the owner, and the file of a dead owner is taken over.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from claude_memory import files
from claude_memory.errors import Conflict

WAIT_SECONDS = 30.0
SYSTEM_LOCKS = any(map(find_spec, ("fcntl", "msvcrt")))
_LONGEST_NAP = 0.1  # short naps of fifty waiters would take a whole core from the one that works


@contextlib.contextmanager
def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold a lock, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    deadline, nap = time.monotonic() + wait_seconds, 0.001
    while True:
        with _attempt(path) as taken:
            if taken:
                yield
                return
        if time.monotonic() >= deadline:
            raise Conflict(f"{path} is held by {_owner_of(path)} for over {wait_seconds:g} s; try again")
        time.sleep(nap * (0.5 + os.urandom(1)[0] / 512))  # chance spreads the waiters
        nap = min(nap * 1.5, _LONGEST_NAP)


def drop_if_free(path: Path) -> bool:
    """Remove a lock file nobody holds; whoever waits for it notices that it is another file now."""
    with _attempt(path) as taken:
        if taken:
            path.unlink(missing_ok=True)
        return taken


@contextlib.contextmanager
def _attempt(path: Path) -> Iterator[bool]:
    if not SYSTEM_LOCKS:
        with _owner_file(path) as taken:
            yield taken
        return
    with files.try_lock(path) as taken:
        if taken:
            _sign(path)
        yield taken


def _sign(path: Path) -> None:
    """Say who holds the lock, for the error message only. Never truncated: that would wait for the disk."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            os.write(descriptor, _me().ljust(120))
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _owner_file(path: Path) -> Iterator[bool]:
    """The fallback: who creates the file owns the lock; a dead owner's file is removed first."""
    owner = path.with_name(path.name + ".owner")
    _bury_the_dead(owner)
    try:
        descriptor = os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.FILE_MODE)
    except FileExistsError:
        yield False
        return
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(_me())
        yield True
    finally:
        owner.unlink(missing_ok=True)


def _bury_the_dead(owner: Path) -> None:
    if not owner.exists() or _alive(_read(owner)):
        return
    grave = owner.with_name(f"{owner.name}.{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        owner.rename(grave)
        if _alive(_read(grave)):  # Another process took over first, and we moved its file: give it back.
            grave.rename(owner)
        grave.unlink(missing_ok=True)


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _me() -> bytes:
    return json.dumps({"pid": os.getpid(), "host": _host()}).encode()


def _read(owner: Path) -> dict[str, object]:
    try:
        found = json.loads(owner.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _alive(owner: dict[str, object]) -> bool:
    pid = owner.get("pid")
    if not isinstance(pid, int) or owner.get("host") != _host():
        return True  # half-written, or of another machine: we cannot know, so we wait
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _owner_of(path: Path) -> str:
    owner = _read(path) or _read(path.with_name(path.name + ".owner"))
    return f"process {owner['pid']} on {owner.get('host')}" if "pid" in owner else "another process"
