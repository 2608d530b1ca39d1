"""Sessions: where each one's files stand, which one is current, the index in `session.json`, and archives.

The index names a session's tasks and their files; a file it does not know is read once for its
front matter, so a lost index rebuilds itself. Old sessions leave the folder for an archive beside it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform import files
from claude_memory.redact import kept
from claude_memory.tasks import documents, model
from claude_memory.tasks.documents import Storage, held, storage_for
from claude_memory.tasks.model import Part, Session, TaskRecord
from claude_memory.text.quotation import meant
from claude_memory.text.times import stated

ENVIRONMENT = ("CLAUDE_MEMORY_SESSION", "CLAUDE_SESSION_ID")
_DEFAULT = "current-session"


class SessionManager:
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
        self.by = model.writer(by)
        self._chosen = session

    def list_sessions(self) -> list[Session]:
        merged: dict[str, Session] = {}
        for piece in self.pieces():
            first = merged.setdefault(piece.session_id, piece)
            merged[piece.session_id] = replace(first, tasks={**piece.tasks, **first.tasks})
        return list(merged.values())

    def pieces(self, session_id: str | None = None) -> list[Session]:
        """Sessions as folders hold them: one that began before `init` may stand in two places."""
        wanted = self.get_session(session_id).session_id if session_id is not None else None
        listed = [entry for place in self.storage.folders for entry in documents.listing(place / "sessions")]
        folders = (Path(entry.path) for entry in listed if entry.is_dir(follow_symlinks=False))
        every = (read_session(self.storage, folder) for folder in folders)
        pieces = (piece for piece in every if wanted in (None, piece.session_id))
        return sorted(pieces, key=lambda session: session.created_at, reverse=True)

    def get_session(self, session_id: str) -> Session:
        if exact := self._folder(session_id):
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
        if wanted := self.current_id():
            return self.named(wanted)
        with self.storage.lock("first-session.lock"):  # of many who find none at once, one makes it
            wanted = self.current_id()
            return self.named(wanted) if wanted else self.start_session()

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
        return next((session.session_id for session in self.pieces()), None)

    def environment_session(self) -> str | None:
        return next(filter(None, map(os.environ.get, ENVIRONMENT)), None)

    def start_session(self, name: str = "", *, session_id: str | None = None) -> Session:
        session_id = model.checked(session_id or f"{secrets.token_hex(3)}-{secrets.token_hex(3)}", "session")
        if self._folder(session_id) is not None:
            raise Conflict(f"session {session_id} exists already; `session switch {session_id}` goes to it")
        return self._made(session_id, name)

    def _made(self, session_id: str, name: str) -> Session:
        folder = self.storage.inside(self.storage.folder / "sessions" / model.folder_name(session_id))
        files.private_folder(folder / "tasks")
        with self.storage.lock("session.lock", folder):
            if not (folder / "session.json").exists():
                _write(self.storage, Session(session_id, kept(name), datetime.now(UTC), self.by, folder))
        return read_session(self.storage, folder)

    def switch_to_session(self, session_id: str, *, create: bool = True) -> Session:
        """Make a session the project's default; an unknown id begins one unless told otherwise."""
        session = self.named(session_id) if create else self.get_session(session_id)
        self.storage.write(self.storage.folder / _DEFAULT, documents.encoded(session.session_id + "\n"))
        self._chosen = session.session_id
        return session

    def _folder(self, session_id: str) -> Path | None:
        name = model.folder_name(model.checked(session_id, "session"))
        options = (folder / "sessions" / name for folder in self.storage.folders)
        return next((self.storage.inside(path) for path in options if path.is_dir()), None)

    def untouched(self, days: int, *, now: datetime) -> list[Session]:
        """Sessions that nobody wrote to for that long, but never the current one."""
        if days < 0:
            raise InvalidInput("--days cannot be negative")
        current, before = self.current_id(), (now - timedelta(days=days)).timestamp()
        others = (session for session in self.pieces() if session.session_id != current)
        return [session for session in others if _last_change(session) < before]

    def idle_locks(self, days: int, *, now: datetime) -> list[Path]:
        """Lock files of every session that are older than that; `locks.drop_if_free` removes one."""
        before = (now - timedelta(days=days)).timestamp()
        folders = [self.storage.inside(session.folder / ".locks") for session in self.pieces()]
        locks = [entry for folder in folders for entry in documents.listing(folder)]
        old = (entry for entry in locks if entry.stat(follow_symlinks=False).st_mtime < before)
        return [Path(entry.path) for entry in old if entry.name.endswith(".lock")]

    def archive(self, sessions: Sequence[Session], *, now: datetime) -> list[Path]:
        """Pack each session into an archive, then remove it; returns the archives."""
        import shutil
        import zipfile

        archives = []
        for session in sessions:
            folder = session.folder.parent.parent / "archive"
            archive = files.private_folder(self.storage.inside(folder))
            moved = archive / f"{session.folder.name}-{now:%Y%m%dT%H%M%S}"
            # Moved first: from here on nobody can begin to write to it, and whoever was at it is waited for.
            session.folder.rename(moved)
            for lock in documents.listing(moved / ".locks"):
                with held(Path(lock.path)):
                    pass
            shutil.rmtree(moved / ".locks", ignore_errors=True)
            present = [path for path in sorted(moved.rglob("*")) if path.is_file() and not path.is_symlink()]
            temporary, target = moved.with_name(f".{moved.name}.tmp"), moved.with_name(f"{moved.name}.zip")
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed:
                for path in present:
                    packed.write(path, session.folder.name / path.relative_to(moved))
            os.replace(temporary, target)  # The archive is whole before anything is removed.
            files.sync_folder(archive)
            self.storage.copy(target)
            shutil.rmtree(moved)
            archives.append(target)
        return archives

    def restore_session(self, named: str) -> Session:
        """Bring an archived session back to where it stood, whole from the first moment anybody sees it.

        Its archive goes once all of it is there.
        """
        import shutil
        import zipfile

        archives = [path for folder in self.storage.folders for path in (folder / "archive").glob("*.zip")]
        by_name = {path.stem: self.storage.inside(path) for path in archives}
        missing = f"archived session {named!r}; archived: {', '.join(sorted(by_name)) or 'none'}"
        path = by_name[meant(named, list(by_name), missing)]
        folder = path.parent.parent / "sessions"
        try:
            with zipfile.ZipFile(path) as archive:
                content = {
                    PurePosixPath(item): archive.read(item) for item in archive.namelist() if item[-1] != "/"
                }
        except (OSError, zipfile.BadZipFile) as fault:
            raise InvalidInput(f"cannot read the archive {path}: {fault}") from None
        tops = {item.parts[0] for item in content}
        if len(tops) != 1 or any(len(item.parts) < 2 or {"..", "/"} & set(item.parts) for item in content):
            raise InvalidInput(f"{path} is no archive of a session")
        target = self.storage.inside(folder / tops.pop())
        if target.exists():
            raise Conflict(f"{target} stands there already: rename it, or archive it first")
        half = files.private_folder(folder) / f".{target.name}.tmp"
        shutil.rmtree(half, ignore_errors=True)
        for item, text in content.items():
            self.storage.bring_back(half.joinpath(*item.parts[1:]), text)
        half.rename(target)
        for archived in filter(None, (path, self.storage.copy_of(path))):
            archived.unlink(missing_ok=True)
        return self.get_session(target.name)


def read_session(storage: Storage, folder: Path) -> Session:
    """A session from its index; files the index does not know are taken up from their front matter."""
    storage.inside(folder / "tasks")
    session = _from_index(storage.inside(folder))
    tasks = dict(session.tasks)
    known = {name for record in tasks.values() for name in record.files.values()}
    for path, document in _documents(folder, known):
        with suppress(ValueError, InvalidInput):
            part, told = Part(document.fields.get("phase", "")), document.fields.get
            name, by = model.checked(told("task", "")), told("by", "")
            created = document.created_at or session.created_at
            stem = path.name.split(f"-{session.short_id}-")[0].removesuffix(".md")
            record = tasks.get(name) or TaskRecord(name, stem, created, by, session.session_id, folder)
            tasks[name] = replace(record, files={part: path.name, **record.files})
    return replace(session, tasks=tasks)


@contextmanager
def changing(storage: Storage, session: Session) -> Iterator[dict[str, TaskRecord]]:
    """The session's tasks under its lock, to be changed; written when the block ends well."""
    with storage.lock("session.lock", session.folder):
        fresh = read_session(storage, session.folder)
        tasks = dict(fresh.tasks)
        yield tasks
        if tasks != fresh.tasks:
            _write(storage, replace(fresh, tasks=tasks))


def _write(storage: Storage, session: Session) -> None:
    def about(value: Session | TaskRecord) -> dict[str, str]:
        return {"created": documents.stamp(value.created_at), "by": value.by}

    every = session.tasks.values()
    tasks = {task.name: {"stem": task.stem, **about(task), "files": task.files} for task in every}
    content = {"session_id": session.session_id, "name": session.name, **about(session), "tasks": tasks}
    raw = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    storage.write(session.folder / "session.json", documents.encoded(raw))


def _from_index(folder: Path) -> Session:
    """What the index says, if it is one of this very session: it may have come with a clone."""
    born = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    try:
        content = documents.read_json(folder / "session.json")
        session_id = model.checked(str(content["session_id"]), "session")
        created = stated(content["created"]) or born
        tasks = {}
        for name, value in content["tasks"].items():
            paths = {Part(part): str(file) for part, file in value["files"].items()}
            at, by = stated(value["created"]) or created, str(value["by"])
            tasks[name] = TaskRecord(name, str(value["stem"]), at, by, session_id, folder, paths)
        names = [file for record in tasks.values() for file in record.files.values()]
        if model.folder_name(session_id) != folder.name or any(Path(file).name != file for file in names):
            raise ValueError
        return Session(session_id, str(content["name"]), created, str(content["by"]), folder, tasks)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput):
        named = (document.fields.get("session", "") for _, document in _documents(folder))
        fitting = (name for name in named if name and model.folder_name(name) == folder.name)
        return Session(next(fitting, folder.name), "", born, "", folder)


def _documents(folder: Path, known: Collection[str] = ()) -> Iterator[tuple[Path, documents.Document]]:
    """The beginnings of a session's task documents that are not known yet."""
    for entry in documents.listing(folder / "tasks"):
        if entry.name.endswith(".md") and entry.name not in known and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                yield Path(entry.path), documents.read(Path(entry.path), 8192)


def _last_change(session: Session) -> float:
    entries = [*documents.listing(session.folder), *documents.listing(session.folder / "tasks")]
    written = (e.stat(follow_symlinks=False).st_mtime for e in entries if e.is_file(follow_symlinks=False))
    return max(session.created_at.timestamp(), *written)
