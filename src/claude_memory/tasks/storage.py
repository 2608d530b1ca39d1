"""Where a project's task files stand, the guard that keeps every path inside, and their copy in the home.

An initialised project keeps them in its own `.claude-memories/`, copied to the home as well, because
`git clean` deletes ignored files; any other project is never written to, and its files stand under the home
in the same layout. The copy gets every write that is made here and nothing else, so it also tells what was
written here from what came with a clone. A failure to write it does not fail the work.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from claude_memory import settings
from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.platform import files, locks, project
from claude_memory.platform.files import FOLDER, stays_inside
from claude_memory.tasks import documents

WAIT_SECONDS = 30.0
_ROOT = ".root"  # in a copy: whose it is, so that it can be told when that is gone


def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """Hold a lock of task files, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    conflict = f"another process holds {path} for over {wait_seconds:g} s; try again"
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
        return files.private_folder(self.inside(self.folder))

    def lock(self, name: str, folder: Path | None = None) -> AbstractContextManager[None]:
        return held(self.inside((folder or self.ensure()) / ".locks" / name))

    def write(self, path: Path, content: bytes, *, mode: int = files.FILE_MODE) -> None:
        """Replace a file as a whole, and its copy."""
        documents.write(self.inside(path), content, mode=mode)
        self.copy(path)

    def append(self, path: Path, content: bytes) -> None:
        """Add to a file, and to its copy: of one that came with a clone, only what is added is copied."""
        documents.append(path, content)
        with contextlib.suppress(OSError):
            if target := self.copy_of(path):
                if not target.exists():
                    self._write_copy(target, documents.read(path).head)
                documents.append(target, content)

    def bring_back(self, path: Path, content: bytes) -> None:
        """Write a document as it was; plans are read-only."""
        is_plan = path.name.endswith("plan.md")
        documents.write(path, content, mode=self.read_only if is_plan else files.FILE_MODE)

    # --- the copy

    def copy_of(self, path: Path) -> Path | None:
        if self.mirror is None or not path.is_relative_to(self.folder):
            return None
        return self.mirror / path.relative_to(self.folder)

    def copy(self, path: Path) -> None:
        """Copy a file whose whole content was just written here."""
        with contextlib.suppress(OSError):
            if target := self.copy_of(path):
                self._write_copy(target, path.read_bytes())

    def _write_copy(self, target: Path, content: bytes) -> None:
        assert self.mirror is not None
        documents.write(target, content)
        if not (self.mirror / _ROOT).exists():
            documents.write(self.mirror / _ROOT, os.fsencode(self.root))

    def own_texts(self, path: Path) -> frozenset[str] | None:
        """Digests of the texts of a document that were written here; None where all of it was."""
        target = self.copy_of(path)
        if target is None:
            return None
        try:
            return frozenset(map(digest, documents.read(target).texts))
        except OSError:
            return frozenset()

    def missing(self) -> list[Path]:
        """Files that stand in a copy but no longer in the project, or in a work tree that is gone."""
        return [target for _, _, target in self._lost()]

    def recover(self) -> list[Path]:
        """Bring back what is missing; returns the files that were restored."""
        restored = []
        for copied, own, target in list(self._lost()):
            if own == self.root / FOLDER:
                project.prepare(self.root)
            if not stays_inside(target.parent, own):
                raise InvalidInput(f"{target.parent} leads outside the task folder; remove the link")
            self.bring_back(target, copied.read_bytes())
            self.copy(target)
            restored.append(target)
        return restored

    def _lost(self) -> Iterator[tuple[Path, Path, Path]]:
        """Each copy whose file is gone, the folder that it belongs to, and its place there."""
        for copies, own in self._copies():
            # The copy of an archived session stays: it tells which of its texts were written here.
            archived = {path.stem[: -len("-20260101T000000")] for path in copies.glob("archive/*.zip")}
            for copied in sorted(copies.rglob("*")):
                place = copied.relative_to(copies)
                ours = place.parts[0][0] == "." or copied.suffix == ".tmp"
                here = copied.is_file() and archived.isdisjoint(place.parts[1:2])
                if here and not ours and not (own / place).exists():
                    yield copied, own, own / place

    def _copies(self) -> Iterator[tuple[Path, Path]]:
        """The copy of this work tree, and those of work trees that are gone, each with where it belongs."""
        kept = self.mirror.parent.parent if self.mirror else self.folder
        own = _mirror_of(kept, self.root)  # perhaps of a `.claude-memories/` that is gone
        if (own / "sessions").is_dir():
            yield own, self.root / FOLDER
        for note in sorted(own.parent.glob("*/" + _ROOT)):
            if note.parent != own and not Path(os.fsdecode(note.read_bytes())).exists():
                yield note.parent, self.folder


def digest(text: str) -> str:
    """Names a text, whatever blank lines stand around it."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


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
    # The project's folders under the home: those that exist for any of its names, else a new one.
    named = [home / "projects" / _hashed(name)[:16] for name in _names(start, home)]
    first, *others = [path for path in named if path.is_dir()] or named[:1]
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
