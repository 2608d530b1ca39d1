"""Where a project's task files stand, and the guard that keeps every path inside.

An initialised project keeps them in its own `.claude-memories/`, copied to the home as well; any
other project is never written to, and its files stand under the home in the same layout.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from claude_memory import settings
from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.platform import files, locks, project
from claude_memory.platform.layout import FOLDER, stays_inside

WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Storage:
    """The folder new files go to, others that are read too, and the copy in the home."""

    folder: Path
    root: Path
    home: Path
    also: tuple[Path, ...] = ()
    mirror: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder that holds sessions of the project."""
        return (self.folder, *self.also)

    @property
    def read_only(self) -> int:
        """The mode of what must not be changed; the home's files are nobody else's to read."""
        return 0o400 if self.folder.is_relative_to(self.home) else 0o444

    def inside(self, path: Path) -> Path:
        """The path itself, or InvalidInput when a link leads it out of the storage."""
        if not any(stays_inside(path, folder) for folder in self.folders):
            real = os.path.realpath(path)
            raise InvalidInput(f"{path} leads outside the task folder, to {real}; remove the link")
        return path

    def ensure(self) -> Path:
        """Make the folder if need be."""
        self.inside(self.folder)
        return files.private_folder(self.folder)


def storage_for(
    folder: Path | str | None = None,
    *,
    home: Path | None = None,
    storage_path: Path | str | None = None,
    project_id: str | None = None,
) -> Storage:
    """The storage of the project a folder is in; `storage_path` overrides it."""
    home = home or settings.home()
    start = folder or Path.cwd()
    root = project.root_of(start)
    if storage_path is not None:
        return Storage(Path(storage_path).expanduser().absolute(), root, home)
    kept, *others = [home / "projects" / key for key in ([project_id] if project_id else _keys(start, home))]
    also = tuple(path for path in others if (path / "sessions").is_dir())
    own = root / FOLDER
    if not own.is_dir():
        return Storage(kept, root, home, also)
    if not stays_inside(own, root):
        real = os.path.realpath(own)
        raise InvalidInput(f"{own} is a link that leads outside the project, to {real}; remove it")
    before = (kept,) if (kept / "sessions").is_dir() else ()
    return Storage(own, root, home, (*before, *also), mirror_of(kept, root))


def lost_mirror(storage: Storage) -> Path | None:
    """The copy of a `.claude-memories/` that is gone, if there is one."""
    if storage.folder == storage.root / FOLDER or storage.folder.parent.name != "projects":
        return None
    mirror = mirror_of(storage.folder, storage.root)
    return mirror if (mirror / "sessions").is_dir() else None


def mirror_of(kept: Path, root: Path) -> Path:
    """Where the task files of one work tree are copied to; two clones never share a copy."""
    return kept / "tasks-mirror" / _hashed(str(root))[:8]


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()


def _keys(folder: Path | str, home: Path) -> list[str]:
    """The project's folders under the home: those that exist for any of its names, else a new one."""
    keys = [_hashed(name)[:16] for name in _names(folder, home)]
    return [key for key in keys if (home / "projects" / key).is_dir()] or keys[:1]


def _names(folder: Path | str, home: Path) -> tuple[str, ...]:
    """The names the store has for the project; what a folder says of itself, where there is no store."""
    configured = settings.load(home)
    from claude_memory.store import database_path, open_store

    if database_path(home, configured.store).is_file():  # to ask for a name makes no store
        with (
            contextlib.suppress(StoreFault),
            contextlib.closing(open_store(home, configured)) as store,
        ):
            return project.resolve(folder, store.project_for).identities
    return project.identify(folder).identities


def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """Hold a lock of task files, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    conflict = f"{path} is held by {{owner}} for over {wait_seconds:g} s; try again"
    return locks.held(path, wait_seconds=wait_seconds, conflict=conflict)
