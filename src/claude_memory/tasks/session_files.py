"""Sessions: where each one's files stand, which one is current, the index in `session.json`, and archives.

The index names a session's tasks and their files; a file it does not know is read once for its
front matter, so a lost index rebuilds itself. Old sessions leave the folder for an archive beside it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform import files, locks
from claude_memory.redact import kept
from claude_memory.tasks import documents, model
from claude_memory.tasks.model import Part, Session, TaskRecord
from claude_memory.tasks.storage import Storage, held, storage_for
from claude_memory.text.quotation import meant

ENVIRONMENT = ("CLAUDE_MEMORY_SESSION", "CLAUDE_SESSION_ID")
_DEFAULT = "current-session"


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is to be cleaned, or was."""

    sessions: tuple[Session, ...]
    lock_files: tuple[Path, ...]
    archives: tuple[Path, ...] = ()


class SessionManager:
    """The sessions of one project."""

    def __init__(
        self,
        storage_path: Path | str | None = None,
        *,
        project: Path | str | None = None,
        storage: Storage | None = None,
        session: str | None = None,
        by: str | None = None,
    ) -> None:
        self.storage = storage or storage_for(project, storage_path=storage_path)
        self.by = by or model.me()
        self._chosen = session

    def list_sessions(self) -> list[Session]:
        """All sessions, newest first."""
        merged: dict[str, Session] = {}
        for piece in self.pieces():
            first = merged.setdefault(piece.session_id, piece)
            merged[piece.session_id] = replace(first, tasks={**piece.tasks, **first.tasks})
        return list(merged.values())

    def pieces(self, session_id: str | None = None) -> list[Session]:
        """Sessions as folders hold them: one that began before `init` may stand in two places."""
        wanted = self.get_session(session_id).session_id if session_id is not None else None
        listed = [entry for place in self.storage.folders for entry in documents.listing(place / "sessions")]
        folders = [Path(entry.path) for entry in listed if entry.is_dir(follow_symlinks=False)]
        every = (read_session(self.storage, folder) for folder in folders)
        pieces = [piece for piece in every if wanted in (None, piece.session_id)]
        return sorted(pieces, key=lambda session: session.created_at, reverse=True)

    def get_session(self, session_id: str) -> Session:
        """One session by its id or an unambiguous beginning of it."""
        exact = self._folder(session_id)
        if exact is not None:
            return read_session(self.storage, exact)
        known = {session.session_id: session for session in self.list_sessions()}
        missing = f"session {session_id!r}; `claude-memory session list` shows all"
        return known[meant(session_id, list(known), missing)]

    def named(self, session_id: str) -> Session:
        """A session by its id or its beginning; made when there is none, whoever else is making it."""
        try:
            return self.get_session(session_id)
        except NotFound:
            return self._made(model.checked(session_id, "session"), "")

    def get_current_session(self) -> Session:
        """The session new tasks go to; one is made when there is none yet."""
        wanted = self.current_id()
        if wanted is not None:
            return self.named(wanted)
        with self.storage.lock("first-session.lock"):
            wanted = self.current_id()  # of many who find none at once, one makes it
            return self.named(wanted) if wanted is not None else self.start_session()

    def home_for_new(self, session_id: str | None) -> Session:
        """A session, or the current one, in the folder that new files go to; made there if need be."""
        session = self.get_current_session() if session_id is None else self.named(session_id)
        if session.folder.is_relative_to(self.storage.folder):
            return session
        return self._made(session.session_id, session.name)

    def current_id(self) -> str | None:
        """The current session's id, without making one: told, environment, switched to, newest."""
        if chosen := self._chosen or self.environment_session():
            try:
                return self.get_session(chosen).session_id
            except NotFound:
                return chosen
        default = documents.read_if_there(self.storage.folder / _DEFAULT).decode("utf-8", "replace").strip()
        with suppress(InvalidInput):  # nonsense that came with a clone
            if default and self._folder(default) is not None:
                return default
        return next((session.session_id for session in self.list_sessions()), None)

    def environment_session(self) -> str | None:
        """The id this process was tied to by its environment."""
        return next(filter(None, map(os.environ.get, ENVIRONMENT)), None)

    def start_session(self, name: str = "", *, session_id: str | None = None) -> Session:
        """Begin a session."""
        session_id = model.checked(session_id or f"{secrets.token_hex(3)}-{secrets.token_hex(3)}", "session")
        if self._folder(session_id) is not None:
            raise Conflict(f"session {session_id} exists already; `session switch {session_id}` goes to it")
        return self._made(session_id, name)

    def _made(self, session_id: str, name: str) -> Session:
        folder = self.storage.inside(self.storage.ensure() / "sessions" / model.folder_name(session_id))
        files.private_folder(folder / "tasks")
        with self.storage.lock("session.lock", folder=folder):
            if not (folder / "session.json").exists():
                _write(self.storage, Session(session_id, kept(name), datetime.now(UTC), self.by, folder))
        return read_session(self.storage, folder)

    def switch_to_session(self, session_id: str, *, create: bool = True) -> Session:
        """Make a session the project's default; an unknown id begins one unless told otherwise."""
        session = self.named(session_id) if create else self.get_session(session_id)
        self.storage.write(self.storage.ensure() / _DEFAULT, documents.encoded(session.session_id + "\n"))
        self._chosen = session.session_id
        return session

    def _folder(self, session_id: str) -> Path | None:
        name = model.folder_name(model.checked(session_id, "session"))
        options = (folder / "sessions" / name for folder in self.storage.folders)
        return next((self.storage.inside(path) for path in options if path.is_dir()), None)

    # --- old sessions leave the folder for an archive; lock files nobody holds are removed

    def plan_cleanup(self, days: int, *, now: datetime) -> Cleanup:
        """What `clean_up` would do: sessions untouched for that long, but never the current one."""
        if days < 0:
            raise InvalidInput("--days cannot be negative")
        current, before = self.current_id(), now - timedelta(days=days)
        present = self.pieces()
        old = tuple(
            session for session in present if session.session_id != current and _last_change(session) < before
        )
        every = [entry for session in present for entry in documents.listing(session.folder / ".locks")]
        stale = [entry for entry in every if entry.stat(follow_symlinks=False).st_mtime < before.timestamp()]
        return Cleanup(old, tuple(Path(entry.path) for entry in stale))

    def clean_up(self, planned: Cleanup, *, now: datetime) -> Cleanup:
        """Archive the sessions, then remove them; remove the lock files that are free."""
        dropped = tuple(path for path in planned.lock_files if locks.drop_if_free(path))
        archives = tuple(_archived(self.storage, session, now) for session in planned.sessions)
        return Cleanup(planned.sessions, dropped, archives)

    def restore_session(self, named: str) -> Session:
        """Bring an archived session back to where it stood; its archive goes once all of it is there."""
        storage = self.storage
        archives = [path for folder in storage.folders for path in (folder / "archive").glob("*.zip")]
        by_name = {path.stem: storage.inside(path) for path in archives}
        missing = f"archived session {named!r}; archived: {', '.join(sorted(by_name)) or 'none'}"
        path = by_name[meant(named, list(by_name), missing)]
        target = _unpacked(storage, path)
        storage.take_back(target, path)
        path.unlink()
        return self.get_session(target.name)


def read_session(storage: Storage, folder: Path) -> Session:
    """A session from its index; files the index does not know are taken up from their front matter."""
    storage.inside(folder / "tasks")
    session = _from_index(storage.inside(folder))
    known = {name for record in session.tasks.values() for name in record.files.values()}
    tasks = dict(session.tasks)
    for path, head in _documents(folder, known):
        try:
            part, name = Part(head.get("phase", "")), model.checked(head.get("task", ""))
        except (ValueError, InvalidInput):
            continue
        created = documents.moment(head.get("created")) or session.created_at
        stem = path.name.split(f"-{session.short_id}-")[0].removesuffix(".md")
        fresh = TaskRecord(name, stem, created, head.get("by", ""), session.session_id, folder)
        record = tasks.get(name, fresh)
        tasks[name] = replace(record, files={part: path.name, **record.files})
    return replace(session, tasks=tasks)


@contextmanager
def changing(storage: Storage, session: Session) -> Iterator[dict[str, TaskRecord]]:
    """The session's tasks under its lock, to be changed; written when the block ends well."""
    with storage.lock("session.lock", folder=session.folder):
        fresh = read_session(storage, session.folder)
        tasks = dict(fresh.tasks)
        yield tasks
        if tasks != fresh.tasks:
            _write(storage, replace(fresh, tasks=tasks))


def _write(storage: Storage, session: Session) -> None:
    content = {
        "session_id": session.session_id,
        "name": session.name,
        "created": documents.stamp(session.created_at),
        "by": session.by,
        "tasks": {
            record.name: {
                "stem": record.stem,
                "created": documents.stamp(record.created_at),
                "by": record.by,
                "files": record.files,
            }
            for record in session.tasks.values()
        },
    }
    raw = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    storage.write(session.folder / "session.json", documents.encoded(raw))


def _from_index(folder: Path) -> Session:
    born = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    try:
        content = documents.read_json(folder / "session.json")
        session_id = model.checked(str(content["session_id"]), "session")
        if model.folder_name(session_id) != folder.name:  # an index that claims another session's place
            raise ValueError
        created = documents.moment(content["created"]) or born
        bare = Session(session_id, str(content["name"]), created, str(content["by"]), folder)
        tasks = {name: _record(name, value, bare) for name, value in content["tasks"].items()}
        return replace(bare, tasks=tasks)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput):
        named = (head.get("session", "") for _, head in _documents(folder))
        fitting = (name for name in named if name and model.folder_name(name) == folder.name)
        return Session(next(fitting, folder.name), "", born, "", folder)


def _record(name: str, value: Any, session: Session) -> TaskRecord:
    paths = {Part(part): str(file) for part, file in value["files"].items()}
    if any(Path(file).name != file or file in (".", "..") for file in paths.values()):
        raise ValueError("a file name must not be a path")
    created = documents.moment(value["created"]) or session.created_at
    by = str(value["by"])
    return TaskRecord(name, str(value["stem"]), created, by, session.session_id, session.folder, paths)


def _documents(folder: Path, known: Collection[str] = ()) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """The task documents of a session that are not known yet, with their front matter."""
    for entry in documents.listing(folder / "tasks"):
        if entry.name.endswith(".md") and entry.name not in known and entry.is_file(follow_symlinks=False):
            try:
                yield Path(entry.path), documents.read(Path(entry.path), 8192).fields
            except FileNotFoundError:
                continue


# --- archives


def _last_change(session: Session) -> datetime:
    """When a session's documents were last written."""
    entries = [*documents.listing(session.folder), *documents.listing(session.folder / "tasks")]
    written = (e.stat(follow_symlinks=False).st_mtime for e in entries if e.is_file(follow_symlinks=False))
    return datetime.fromtimestamp(max(session.created_at.timestamp(), *written), UTC)


def _archived(storage: Storage, session: Session, now: datetime) -> Path:
    import shutil
    import zipfile

    archive = files.private_folder(storage.inside(session.folder.parent.parent / "archive"))
    moved = archive / f"{session.folder.name}-{now:%Y%m%dT%H%M%S}"
    # Moved first: from here on nobody can begin to write to it, and whoever was at it is waited for.
    session.folder.rename(moved)
    for lock in documents.listing(moved / ".locks"):
        with held(Path(lock.path)):
            pass
    present = [path for path in sorted(moved.rglob("*")) if path.is_file() and not path.is_symlink()]
    temporary, target = moved.with_name(f".{moved.name}.tmp"), moved.with_name(f"{moved.name}.zip")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive_file:
        for path in present:
            if ".locks" not in path.parts:
                archive_file.write(path, session.folder.name / path.relative_to(moved))
    os.replace(temporary, target)  # The archive is whole before anything is removed.
    files.sync_folder(archive)
    storage.set_aside(session.folder, target)
    for path in present:
        path.chmod(files.FILE_MODE)  # plans are read-only, which stops some systems
    shutil.rmtree(moved)
    return target


def _unpacked(storage: Storage, path: Path) -> Path:
    """The folder of an archived session, whole from the first moment anybody sees it."""
    import shutil
    import zipfile

    folder = path.parent.parent / "sessions"
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as fault:
        raise InvalidInput(f"cannot read the archive {path}: {fault}") from None
    with archive:
        wanted = {
            item: PurePosixPath(item.filename).parts for item in archive.infolist() if not item.is_dir()
        }
        safe = all(
            len(parts) > 1 and not {"..", "/"} & set(parts) and not {"\\", ":"} & set(item.filename)
            for item, parts in wanted.items()
        )
        if len({parts[0] for parts in wanted.values() if parts}) != 1 or not safe:
            raise InvalidInput(f"{path} is no archive of a session")
        [name] = {parts[0] for parts in wanted.values()}
        target = storage.inside(folder / name)
        if target.exists():
            raise Conflict(f"{target} stands there already: rename it, or archive it first")
        half = files.private_folder(folder) / f".{name}.tmp"
        shutil.rmtree(half, ignore_errors=True)
        for item, parts in wanted.items():
            inner = half.joinpath(*parts[1:])
            documents.write(inner, archive.read(item), mode=storage.mode_of(inner))
    half.rename(target)
    return target
