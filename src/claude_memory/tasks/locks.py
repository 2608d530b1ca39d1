"""The locks of task files: waited for within a bound, and signed, so that a person sees who is at it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from claude_memory.errors import Conflict
from claude_memory.platform import files, locks

WAIT_SECONDS = 30.0


@contextlib.contextmanager
def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold a lock, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locks.held(path, wait_seconds=wait_seconds, conflict=""))
        except Conflict:
            raise Conflict(
                f"{path} is held by {_owner_of(path)} for over {wait_seconds:g} s; try again"
            ) from None
        _sign(path)
        yield


def drop_if_free(path: Path) -> bool:
    """Remove a lock file nobody holds; whoever waits for it notices that it is another file now."""
    with locks.try_lock(path) as taken:
        if taken:
            path.unlink(missing_ok=True)
        return taken


def _sign(path: Path) -> None:
    """Say who holds the lock, for the error message only. Never truncated: that would wait for the disk."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            os.write(descriptor, json.dumps({"pid": os.getpid()}).encode().ljust(120))
        finally:
            os.close(descriptor)


def _owner_of(path: Path) -> str:
    if path.with_name(path.name + locks.OWNER).exists():
        return locks.holder(path)
    try:
        return f"process {int(json.loads(path.read_bytes())['pid'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
