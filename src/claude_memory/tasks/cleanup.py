"""Old sessions leave the folder for an archive beside it; lock files nobody holds are removed."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.platform import files, locks
from claude_memory.tasks import markdown
from claude_memory.tasks.model import Session
from claude_memory.tasks.session_files import SessionManager
from claude_memory.tasks.storage import held
from claude_memory.text.quotation import meant


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


def restore(sessions: SessionManager, named: str) -> Session:
    """Bring an archived session back to where it stood; its archive is removed once all of it is there."""
    known = {path.stem: path for path in archives(sessions)}
    missing = f"archived session {named!r}; archived: {', '.join(sorted(known)) or 'none'}"
    path = known[meant(named, list(known), missing)]
    storage, folder = sessions.storage, path.parent.parent / "sessions"
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as fault:
        raise InvalidInput(f"cannot read the archive {path}: {fault}") from None
    with archive:
        wanted = [item for item in archive.infolist() if not item.is_dir()]
        name = _session_folder(wanted, path)
        target = storage.inside(folder / name)
        if target.exists():
            raise Conflict(f"{target} stands there already: rename it, or archive it first")
        half = files.private_folder(folder) / f".{name}.tmp"
        shutil.rmtree(half, ignore_errors=True)
        for item in wanted:
            inner = half.joinpath(*PurePosixPath(item.filename).parts[1:])
            markdown.write(inner, archive.read(item), mode=storage.mode_of(inner))
    half.rename(target)  # whole from the first moment anybody sees it
    if storage.is_copied(path):  # else the archive came with a clone, and so did what is in it
        for inner in sorted(target.rglob("*.*")):
            storage.copy(inner)
    storage.forget(path)
    path.unlink()
    return sessions.get_session(target.name)


def archives(sessions: SessionManager) -> list[Path]:
    """The archives that clean-ups left, oldest first."""
    found = [path for folder in sessions.storage.folders for path in (folder / "archive").glob("*.zip")]
    return sorted((sessions.storage.inside(path) for path in found), key=lambda path: path.stat().st_mtime)


def _session_folder(items: Sequence[zipfile.ZipInfo], path: Path) -> str:
    """The one folder that all of an archive is in; nothing in it may lead elsewhere."""
    inside = [PurePosixPath(item.filename).parts for item in items]
    folders = {parts[0] for parts in inside if parts}
    safe = all(len(parts) > 1 and not {"..", "/"} & set(parts) for parts in inside)
    if len(folders) != 1 or not safe or any("\\" in item.filename or ":" in item.filename for item in items):
        raise InvalidInput(f"{path} is no archive of a session")
    return folders.pop()


def last_change(session: Session) -> datetime:
    """When a session's documents were last written."""
    entries = [*markdown.listing(session.folder), *markdown.listing(session.folder / "tasks")]
    written = (e.stat(follow_symlinks=False).st_mtime for e in entries if e.is_file(follow_symlinks=False))
    return datetime.fromtimestamp(max(session.created_at.timestamp(), *written), UTC)


def _archived(sessions: SessionManager, session: Session, now: datetime) -> Path:
    storage = sessions.storage
    archive = files.private_folder(storage.inside(session.folder.parent.parent / "archive"))
    moved = archive / f"{session.folder.name}-{now:%Y%m%dT%H%M%S}"
    # Moved first: from here on nobody can begin to write to it, and whoever was at it is waited for.
    session.folder.rename(moved)
    for lock in markdown.listing(moved / ".locks"):
        with held(Path(lock.path)):
            pass
    documents = [path for path in sorted(moved.rglob("*")) if path.is_file() and not path.is_symlink()]
    temporary, target = moved.with_name(f".{moved.name}.tmp"), moved.with_name(f"{moved.name}.zip")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive_file:
        for path in documents:
            if ".locks" not in path.parts:
                archive_file.write(path, session.folder.name / path.relative_to(moved))
    os.replace(temporary, target)  # The archive is whole before anything is removed.
    files.sync_folder(archive)
    storage.copy(target)
    storage.forget(session.folder)
    for path in documents:
        path.chmod(files.FILE_MODE)  # plans are read-only, which stops some systems
    shutil.rmtree(moved)
    return target


def _idle_locks(session: Session, before: datetime) -> list[Path]:
    listing = markdown.listing(session.folder / ".locks")
    return [Path(e.path) for e in listing if e.stat(follow_symlinks=False).st_mtime < before.timestamp()]
