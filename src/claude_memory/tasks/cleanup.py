"""Old sessions leave the folder for an archive beside it; lock files nobody holds are removed."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory import files
from claude_memory.errors import InvalidInput
from claude_memory.tasks import locks, mirror
from claude_memory.tasks.model import Session
from claude_memory.tasks.sessions import SessionManager


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is to be cleaned, or was."""

    sessions: tuple[Session, ...]
    lock_files: tuple[Path, ...]
    archives: tuple[Path, ...] = ()


def plan(sessions: SessionManager, days: int, *, now: datetime) -> Cleanup:
    """What `carry_out` would do: sessions untouched for that long, but never the current one."""
    if days < 0:
        raise InvalidInput("--days cannot be negative")
    current, before = sessions.current_id(), now - timedelta(days=days)
    found = sessions.pieces()
    old = tuple(s for s in found if s.session_id != current and last_change(s) < before)
    gone = {session.session_id for session in old}
    stale = [path for s in found if s.session_id not in gone for path in _idle_locks(s, before)]
    return Cleanup(old, tuple(stale))


def carry_out(sessions: SessionManager, planned: Cleanup, *, now: datetime) -> Cleanup:
    """Archive the sessions, then remove them; remove the lock files that are free."""
    dropped = tuple(path for path in planned.lock_files if locks.drop_if_free(path))
    archives = tuple(_archived(sessions, session, now) for session in planned.sessions)
    return Cleanup(planned.sessions, dropped, archives)


def last_change(session: Session) -> datetime:
    """When a session's documents were last written."""
    times = [session.created_at.timestamp()]
    for folder in (session.folder, session.folder / "tasks"):
        times += [
            e.stat(follow_symlinks=False).st_mtime
            for e in _listing(folder)
            if e.is_file(follow_symlinks=False)
        ]
    return datetime.fromtimestamp(max(times), UTC)


def _archived(sessions: SessionManager, session: Session, now: datetime) -> Path:
    storage = sessions.storage
    archive = files.private_folder(storage.inside(session.folder.parent.parent / "archive"))
    moved = archive / f"{session.folder.name}-{now:%Y%m%dT%H%M%S}"
    # Moved first: from here on nobody can begin to write to it, and whoever was at it is waited for.
    session.folder.rename(moved)
    for path in _listing(moved / ".locks"):
        with locks.held(Path(path.path)):
            pass
    target = _zipped(moved, session.folder.name)
    mirror.copy(storage, target)
    mirror.drop(storage, session.folder)
    _remove(moved)
    return target


def _zipped(folder: Path, name: str) -> Path:
    temporary, target = folder.with_name(f"{folder.name}.tmp"), folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and ".locks" not in path.parts:
                archive.write(path, Path(name) / path.relative_to(folder))
    os.replace(temporary, target)  # The archive is whole before anything is removed.
    files.sync_folder(folder.parent)
    return target


def _remove(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(stat.S_IWUSR | stat.S_IRUSR)  # plans are read-only, which stops some systems
    shutil.rmtree(folder)


def _idle_locks(session: Session, before: datetime) -> list[Path]:
    listing = _listing(session.folder / ".locks")
    return [Path(e.path) for e in listing if e.stat(follow_symlinks=False).st_mtime < before.timestamp()]


def _listing(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
