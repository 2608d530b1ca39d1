"""Sessions: where each one's files stand, which one is current, and the index in `session.json`.

The index names a session's tasks and their files; a file it does not know is read once for its
front matter, so a lost index rebuilds itself.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform import files
from claude_memory.redact import kept
from claude_memory.tasks import copies, markdown, names
from claude_memory.tasks.model import Part, Session, TaskRecord
from claude_memory.tasks.storage import Storage, held, storage_for
from claude_memory.text.ids import meant

ENVIRONMENT = ("CLAUDE_MEMORY_SESSION", "CLAUDE_SESSION_ID")
_DEFAULT = "current-session"


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
        self.by = by or names.me()
        self._chosen = session
        self._read: dict[Path, tuple[tuple[int, ...], Session]] = {}

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
        found = [self._session_in(path) for path in self._folders()]
        kept = [piece for piece in found if wanted in (None, piece.session_id)]
        return sorted(kept, key=lambda session: session.created_at, reverse=True)

    def home_of(self, session: Session) -> Session:
        """The session in the folder that new files go to; made there when it stands elsewhere only."""
        if session.folder.is_relative_to(self.storage.folder):
            return session
        return self._made(session.session_id, session.name)

    def get_session(self, session_id: str) -> Session:
        """One session by its id or an unambiguous beginning of it."""
        exact = self._folder(session_id)
        if exact is not None:
            return self._session_in(exact)
        known = {session.session_id: session for session in self.list_sessions()}
        missing = f"session {session_id!r}; `claude-memory session list` shows all"
        return known[meant(session_id, list(known), missing)]

    def get_current_session(self) -> Session:
        """The session new tasks go to; one is made when there is none yet."""
        wanted = self.current_id()
        if wanted is not None:
            return self.named(wanted)
        with held(self.storage.inside(self.storage.ensure() / ".locks" / "first-session.lock")):
            wanted = self.current_id()  # of many who find none at once, one makes it
            return self.named(wanted) if wanted is not None else self.start_session()

    def named(self, session_id: str) -> Session:
        """A session by its id or its beginning; made when there is none, whoever else is making it."""
        return self._existing(session_id) or self._made(names.checked(session_id, "session"), "")

    def current_id(self) -> str | None:
        """The current session's id, without making one: told, environment, switched to, newest."""
        named = self._chosen or next(filter(None, map(os.environ.get, ENVIRONMENT)), None)
        if named:
            known = self._existing(named)
            return known.session_id if known else named
        default = self._default()
        if default is not None:
            return default
        sessions = self.list_sessions()
        return sessions[0].session_id if sessions else None

    def start_session(self, name: str = "", *, session_id: str | None = None) -> Session:
        """Begin a session."""
        session_id = names.checked(session_id or f"{secrets.token_hex(3)}-{secrets.token_hex(3)}", "session")
        if self._folder(session_id) is not None:
            raise Conflict(f"session {session_id} exists already; `session switch {session_id}` goes to it")
        return self._made(session_id, name)

    def _made(self, session_id: str, name: str) -> Session:
        folder = self.storage.ensure() / "sessions" / names.folder_name(session_id)
        session = Session(session_id, kept(name), datetime.now(UTC), self.by, folder)
        self.storage.inside(folder)
        files.private_folder(folder / "tasks")
        with held(self.storage.inside(folder / ".locks" / "session.lock")):
            if not (folder / "session.json").exists():
                _write(self.storage, session)
        return read_session(self.storage, folder)

    def switch_to_session(self, session_id: str, *, create: bool = True) -> Session:
        """Make a session the project's default; an unknown id begins one unless told otherwise."""
        try:
            session = self.get_session(session_id)
        except NotFound:
            if not create:
                raise
            session = self.named(session_id)
        target = self.storage.inside(self.storage.ensure() / _DEFAULT)
        markdown.write(target, markdown.encoded(session.session_id + "\n"))
        copies.copy(self.storage, target)
        self._chosen = session.session_id
        return session

    def environment_session(self) -> str | None:
        """The id this process was tied to by its environment."""
        return next(filter(None, map(os.environ.get, ENVIRONMENT)), None)

    def _session_in(self, folder: Path) -> Session:
        """A session read once as long as its index and its folder stay the same."""
        mark = _mark(folder)
        known = self._read.get(folder)
        if known is None or known[0] != mark:
            known = self._read[folder] = (mark, read_session(self.storage, folder))
        return known[1]

    def _default(self) -> str | None:
        try:
            named = (markdown.read_if_there(self.storage.folder / _DEFAULT) or b"").decode("utf-8", "replace")
            named = named.strip()
            return named if named and self._folder(named) is not None else None
        except InvalidInput:  # nonsense that came with a clone
            return None

    def _existing(self, session_id: str) -> Session | None:
        try:
            return self.get_session(session_id)
        except NotFound:
            return None

    def _folder(self, session_id: str) -> Path | None:
        name = names.folder_name(names.checked(session_id, "session"))
        options = (folder / "sessions" / name for folder in self.storage.folders)
        return next((self.storage.inside(path) for path in options if path.is_dir()), None)

    def _folders(self) -> Iterator[Path]:
        for folder in self.storage.folders:
            try:
                listing = sorted(os.scandir(folder / "sessions"), key=lambda item: item.name)
            except (FileNotFoundError, NotADirectoryError):
                continue
            yield from (Path(item.path) for item in listing if item.is_dir(follow_symlinks=False))


def read_session(storage: Storage, folder: Path) -> Session:
    """A session from its index; files the index does not know are taken up from their front matter."""
    storage.inside(folder / "tasks")
    session = _from_index(storage.inside(folder))
    known = {name for record in session.tasks.values() for name in record.files.values()}
    tasks = dict(session.tasks)
    for path in _documents(folder / "tasks"):
        if path.name not in known:
            _take_up(tasks, path, session)
    return replace(session, tasks=tasks)


@contextmanager
def changing(storage: Storage, session: Session) -> Iterator[dict[str, TaskRecord]]:
    """The session's tasks under its lock, to be changed; written when the block ends well."""
    with held(storage.inside(session.folder / ".locks" / "session.lock")):
        fresh = read_session(storage, session.folder)
        tasks = dict(fresh.tasks)
        yield tasks
        if tasks != fresh.tasks:
            _write(storage, replace(fresh, tasks=tasks))


def _write(storage: Storage, session: Session) -> None:
    content = {
        "session_id": session.session_id,
        "name": session.name,
        "created": markdown.stamp(session.created_at),
        "by": session.by,
        "tasks": {name: _record_json(record) for name, record in session.tasks.items()},
    }
    path = session.folder / "session.json"
    markdown.write(path, markdown.encoded(json.dumps(content, ensure_ascii=False, indent=1) + "\n"))
    copies.copy(storage, path)


def _record_json(record: TaskRecord) -> dict[str, Any]:
    return {
        "stem": record.stem,
        "created": markdown.stamp(record.created_at),
        "by": record.by,
        "files": {part.value: name for part, name in record.files.items()},
    }


def _from_index(folder: Path) -> Session:
    born = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    try:
        content = json.loads(markdown.read_if_there(folder / "session.json") or b"")
        tasks = {name: _record(name, value, born) for name, value in content["tasks"].items()}
        session_id = names.checked(str(content["session_id"]), "session")
        if names.folder_name(session_id) != folder.name:  # an index that claims another session's place
            raise ValueError
        created = markdown.moment(content["created"]) or born
        return Session(session_id, str(content["name"]), created, str(content["by"]), folder, tasks)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput):
        return Session(_id_from_documents(folder), "", born, "", folder)


def _record(name: str, value: Any, born: datetime) -> TaskRecord:
    paths = {Part(part): str(file) for part, file in value["files"].items()}
    if any(Path(file).name != file or file in (".", "..") for file in paths.values()):
        raise ValueError("a file name must not be a path")
    return TaskRecord(
        name, str(value["stem"]), markdown.moment(value["created"]) or born, str(value["by"]), paths
    )


def _id_from_documents(folder: Path) -> str:
    for path in _documents(folder / "tasks"):
        session_id = _head(path).get("session", "")
        if session_id and names.folder_name(session_id) == folder.name:
            return session_id
    return folder.name


def _take_up(tasks: dict[str, TaskRecord], path: Path, session: Session) -> None:
    head = _head(path)
    try:
        part, name = Part(head.get("phase", "")), names.checked(head.get("task", ""))
    except (ValueError, InvalidInput):
        return
    created = markdown.moment(head.get("created")) or session.created_at
    stem = path.name.split(f"-{session.short_id}-")[0].removesuffix(".md")
    record = tasks.get(name) or TaskRecord(name, stem, created, head.get("by", ""))
    if part not in record.files:
        tasks[name] = replace(record, files={**record.files, part: path.name})


def _mark(folder: Path) -> tuple[int, ...]:
    """Changes whenever the index is replaced or a document comes or goes."""
    marks: list[int] = []
    for path in (folder / "session.json", folder / "tasks"):
        try:
            status = path.stat()
            marks += (status.st_ino, status.st_size, status.st_mtime_ns)
        except OSError:
            marks.append(0)
    return tuple(marks)


def _documents(folder: Path) -> list[Path]:
    try:
        listing = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(
        Path(f.path) for f in listing if f.name.endswith(".md") and f.is_file(follow_symlinks=False)
    )


def _head(path: Path) -> dict[str, str]:
    try:
        return dict(markdown.read_head(path))
    except FileNotFoundError:
        return {}
