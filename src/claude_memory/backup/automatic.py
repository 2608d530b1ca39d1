"""The backup that a conversation's end makes by itself, when the setting `backup_to` names a place.

Runs at the end of the detached drain. One process pushes at a time, not more often than every half minute,
and only if something changed; whoever comes meanwhile leaves it to that one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from claude_memory.backup import home_state
from claude_memory.backup.chunks import vault_at
from claude_memory.backup.manifest import DATABASE, belongs
from claude_memory.errors import MemoryFault
from claude_memory.platform import logs
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import try_lock
from claude_memory.settings import Settings
from claude_memory.store.protocol import Store

QUIET_SECONDS = 30.0
LOCK = "push.lock"


def push_if_changed(home: Path, store: Store, settings: Settings, drain: Callable[[], object]) -> None:
    """Push until nothing changed since; a fault is kept for `doctor`, and the next drain tries again."""
    if not settings.backup_to:
        return
    # Looked at again after unlocking: what came in while another pushed must not wait for the next drain.
    while _changed(home, settings):
        with try_lock(private_folder(home / "cache") / LOCK) as free:
            if not free:
                return
            _wait_for_quiet(home_state.load(home))
            drain()
            if not _pushed(home, store, settings):
                return


def _changed(home: Path, settings: Settings) -> bool:
    state = home_state.load(home)
    return (state.place, state.seen) != (settings.backup_to, _fingerprint(home))


def _pushed(home: Path, store: Store, settings: Settings) -> bool:
    log = logs.logger("backup")
    seen = _fingerprint(home)  # before the copy: what is written during it counts as new
    try:
        pushed = vault_at(settings.backup_to, home, settings.backup_key).push(
            home, store, keep=settings.keep_backups
        )
    except MemoryFault as fault:
        log.warning("no backup at %s: %s", settings.backup_to, fault)
        home_state.note(home, fault=str(fault), pushed_at=time.time())
        return False
    log.info("backup %s: %d bytes sent", pushed.id, pushed.sent_bytes)
    home_state.note(home, place=settings.backup_to, seen=seen, pushed_at=time.time(), fault="")
    return True


def _wait_for_quiet(state: home_state.HomeState) -> None:
    gone = time.time() - state.pushed_at
    if 0 <= gone < QUIET_SECONDS:  # a clock that was set back must not make anybody wait for long
        time.sleep(QUIET_SECONDS - gone)


def _fingerprint(home: Path) -> str:
    """Sizes and times of everything that a backup would hold."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(home):
        inside = Path(folder).relative_to(home)
        folders[:] = sorted(
            name for name in folders if belongs((inside / name).as_posix()) and name != "spool"
        )
        for name in sorted(names):
            path = (inside / name).as_posix()
            if belongs(path) or path == f"{DATABASE}-wal":
                try:
                    status = (home / path).lstat()
                except OSError:
                    continue
                digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()
