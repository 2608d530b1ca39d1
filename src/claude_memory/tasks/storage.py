"""Where a project's task files stand, the guard that keeps every path inside, and their copy in the home.

An initialised project keeps them in its own `.claude-memories/`, copied to the home as well, because
`git clean` deletes ignored files; any other project is never written to, and its files stand under the home
in the same layout. The copy is a convenience, never the truth: it is not synced to the disk, and a failure
to write it does not fail the work. It also tells what was written here from what came with a clone.
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
from claude_memory.platform.files import FOLDER, stays_inside
from claude_memory.platform.project import prepare
from claude_memory.tasks import documents

WAIT_SECONDS = 30.0
_ROOT = ".root"  # in a copy: whose it is, so that it can be told when that is gone


def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """Hold a lock of task files, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    conflict = f"{path} is held by {{owner}} for over {wait_seconds:g} s; try again"
    return locks.held(path, wait_seconds=wait_seconds, conflict=conflict)


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

    def mode_of(self, path: Path) -> int:
        """The mode of a document that is brought back."""
        return self.read_only if path.name.endswith("plan.md") else files.FILE_MODE

    def inside(self, path: Path) -> Path:
        """The path itself, or InvalidInput when a link leads it out of the storage."""
        if not any(stays_inside(path, folder) for folder in self.folders):
            real = os.path.realpath(path)
            raise InvalidInput(f"{path} leads outside the task folder, to {real}; remove the link")
        return path

    def ensure(self) -> Path:
        """Make the folder if need be."""
        return files.private_folder(self.inside(self.folder))

    def lock(self, *place: str, folder: Path | None = None) -> AbstractContextManager[None]:
        """Hold a lock of the project, or of a session's folder."""
        return held(self.inside((folder or self.ensure()).joinpath(".locks", *place)))

    # --- the copy

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file as a whole, and its copy."""
        documents.write(self.inside(path), content)
        self.copy(path)

    def copy(self, path: Path) -> None:
        """Copy a file that was just written."""
        target = self._target(path)
        if target is None or self.mirror is None:
            return
        with contextlib.suppress(OSError):
            files.private_folder(target.parent)
            if not (self.mirror / _ROOT).exists():
                root = str(self.root).encode("utf-8", "surrogateescape")
                files.write_atomically(self.mirror / _ROOT, root)
            temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(temporary, flags, files.FILE_MODE), "wb") as handle:
                handle.write(path.read_bytes())
            os.replace(temporary, target)

    def forget(self, path: Path) -> None:
        """Remove the copy of a file or folder that is no more."""
        import shutil

        if target := self._target(path):
            with contextlib.suppress(OSError):
                shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)

    def is_copied(self, path: Path) -> bool:
        """Whether a file was written here, as far as the copy tells."""
        target = self._target(path)
        return target is None or target.exists()

    def own_texts(self, path: Path) -> frozenset[str] | None:
        """Digests of the texts of a document that were written here; None where all of it was."""
        target = self._target(path)
        if target is None:
            return None
        try:
            return _digests(target) - self._foreign_texts()
        except OSError:
            return frozenset()

    def note_foreign(self, path: Path) -> None:
        """Before a document goes on and is copied as a whole: which of its texts were not written here."""
        own = self.own_texts(path)
        if own is None or self.mirror is None:
            return
        with contextlib.suppress(OSError):
            others = _digests(path) - own - self._foreign_texts()
            if others:
                files.private_folder(self.mirror.parent)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                with os.fdopen(os.open(self._foreign_note(), flags, files.FILE_MODE), "a") as handle:
                    handle.write("".join(f"{name}\n" for name in sorted(others)))

    def missing(self) -> list[Path]:
        """Files that stand in a copy but no longer in the project, or in a work tree that is gone."""
        return [path for copied, own in self._copies() for path in _gone(copied, own)]

    def recover(self) -> list[Path]:
        """Bring back what is missing; returns the files that were restored."""
        restored = []
        for copied, own in self._copies():
            for path in _gone(copied, own):
                if own == self.root / FOLDER:
                    prepare(self.root)
                target = own / path
                if not stays_inside(target.parent, own):
                    raise InvalidInput(f"{target.parent} leads outside the task folder; remove the link")
                documents.write(target, (copied / path).read_bytes(), mode=self.mode_of(target))
                restored.append(target)
        for target in restored:
            self.copy(target)
        return restored

    def _copies(self) -> list[tuple[Path, Path]]:
        """The copy of this work tree, and those of work trees that are gone, each with where it belongs."""
        own, place = self.mirror, self.folder.parent
        if own is None and self.folder != self.root / FOLDER and place.name == "projects":
            own = _mirror_of(self.folder, self.root)  # of a `.claude-memories/` that is gone, if there is one
            own = own if (own / "sessions").is_dir() else None
        found = [(own, self.root / FOLDER)] if own is not None and own.is_dir() else []
        beside = self.mirror.parent if self.mirror else self.folder / "tasks-mirror"
        for note in sorted(beside.glob("*/" + _ROOT)):
            if note.parent != own and not Path(note.read_text("utf-8", "surrogateescape")).exists():
                found.append((note.parent / "sessions", self.folder / "sessions"))
        return found

    def _target(self, path: Path) -> Path | None:
        if self.mirror is None or not path.is_relative_to(self.folder):
            return None
        return self.mirror / path.relative_to(self.folder)

    def _foreign_texts(self) -> frozenset[str]:
        try:
            return frozenset(self._foreign_note().read_text("ascii").split())
        except (OSError, ValueError):
            return frozenset()

    def _foreign_note(self) -> Path:
        """Beside the copy, not in it: what stands in there is brought back into the project."""
        assert self.mirror is not None
        return self.mirror.with_name(f"{self.mirror.name}.foreign")


def digest(text: str) -> str:
    """Names a text, whatever blank lines stand around it."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _digests(path: Path) -> frozenset[str]:
    """Every text of a document: the whole of it, and each of its entries."""
    return frozenset(map(digest, documents.read(path).texts))


def _gone(copied: Path, own: Path) -> list[Path]:
    listed = (path.relative_to(copied) for path in copied.rglob("*") if path.is_file())
    wanted = (path for path in listed if path.name != _ROOT and not path.name.endswith(".tmp"))
    return sorted(path for path in wanted if not (own / path).exists())


# --- which storage a folder has


def storage_for(
    folder: Path | str | None = None,
    *,
    home: Path | None = None,
    storage_path: Path | str | None = None,
) -> Storage:
    """The storage of the project a folder is in; `storage_path` overrides it."""
    home = home or settings.home()
    start = folder or Path.cwd()
    root = project.root_of(start)
    if storage_path is not None:
        return Storage(Path(storage_path).expanduser().absolute(), root, home)
    keys = [_hashed(name)[:16] for name in _names(start, home)]
    # The project's folders under the home: those that exist for any of its names, else a new one.
    known = [key for key in keys if (home / "projects" / key).is_dir()] or keys[:1]
    first, *others = [home / "projects" / key for key in known]
    also = tuple(path for path in others if (path / "sessions").is_dir())
    own = root / FOLDER
    if not own.is_dir():
        return Storage(first, root, home, also)
    if not stays_inside(own, root):
        real = os.path.realpath(own)
        raise InvalidInput(f"{own} is a link that leads outside the project, to {real}; remove it")
    before = (first,) if (first / "sessions").is_dir() else ()
    return Storage(own, root, home, (*before, *also), _mirror_of(first, root))


def _mirror_of(kept: Path, root: Path) -> Path:
    """Where the task files of one work tree are copied to; two clones never share a copy."""
    return kept / "tasks-mirror" / _hashed(str(root))[:8]


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()


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
