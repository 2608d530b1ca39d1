"""A copy of a project's task files in the home, because `git clean` deletes ignored files.

The copy is a convenience, never the truth: it is not synced to the disk, and a failure to write it
does not fail the work. It also tells what was written on this machine from what came with a clone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.platform import files
from claude_memory.platform.layout import FOLDER, prepare, stays_inside
from claude_memory.tasks import chain, markdown
from claude_memory.tasks.storage import Storage, lost_mirror

_ROOT = ".root"


def write(storage: Storage, path: Path, content: bytes) -> None:
    """Replace a file as a whole, and its copy."""
    markdown.write(path, content)
    copy(storage, path)


def copy(storage: Storage, path: Path) -> None:
    """Copy a file that was just written."""
    target = _target(storage, path)
    if target is None or storage.mirror is None:
        return
    with contextlib.suppress(OSError):
        files.private_folder(target.parent)
        if not (
            storage.mirror / _ROOT
        ).exists():  # whose copy it is, so that it can be told when that is gone
            root = str(storage.root).encode("utf-8", "surrogateescape")
            files.write_atomically(storage.mirror / _ROOT, root)
        temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, files.FILE_MODE), "wb") as handle:
            handle.write(path.read_bytes())
        os.replace(temporary, target)


def extend(storage: Storage, path: Path, added: bytes) -> None:
    """Copy what was just appended; the whole file when the copy is not the same but for it."""
    target = _target(storage, path)
    if target is None:
        return
    with contextlib.suppress(OSError):
        if not target.exists() or target.stat().st_size != path.stat().st_size - len(added):
            copy(storage, path)
            return
        with target.open("ab") as handle:
            handle.write(added)


def own_texts(storage: Storage, path: Path) -> frozenset[str] | None:
    """Digests of the texts of a document that were written here; None where all of it was."""
    target = _target(storage, path)
    if target is None:
        return None
    try:
        return digests(markdown.read_bytes(target)) - _foreign(storage)
    except OSError:
        return frozenset()


def note_foreign(storage: Storage, path: Path) -> None:
    """Before a document goes on and is copied as a whole: which of its texts were not written here."""
    own = own_texts(storage, path)
    if own is None or storage.mirror is None:
        return
    with contextlib.suppress(OSError):
        others = digests(markdown.read_bytes(path)) - own - _foreign(storage)
        if others:
            files.private_folder(storage.mirror.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(_foreign_note(storage), flags, files.FILE_MODE), "a") as handle:
                handle.write("".join(f"{one}\n" for one in sorted(others)))


def is_copied(storage: Storage, path: Path) -> bool:
    """Whether a file was written here, as far as the copy tells."""
    target = _target(storage, path)
    return target is None or target.exists()


def digest(text: str) -> str:
    """Names a text, whatever blank lines stand around it."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def digests(content: bytes) -> frozenset[str]:
    """Every text of a document: the whole of it, and each of its entries."""
    document = markdown.parse(content)
    sealed, loose = chain.entries(document.body)
    texts = [document.text, *(item.entry.text for item in sealed)]
    if loose:
        texts.append(chain.Sealed(0, "", loose).entry.text)
    return frozenset(map(digest, texts))


def _foreign(storage: Storage) -> frozenset[str]:
    try:
        return frozenset(_foreign_note(storage).read_text("ascii").split())
    except (OSError, ValueError):
        return frozenset()


def _foreign_note(storage: Storage) -> Path:
    """Beside the copy, not in it: what stands in there is brought back into the project."""
    assert storage.mirror is not None
    return storage.mirror.with_name(f"{storage.mirror.name}.foreign")


def forget(storage: Storage, path: Path) -> None:
    """Remove the copy of a file or folder that is no more."""
    import shutil

    target = _target(storage, path)
    if target is not None:
        with contextlib.suppress(OSError):
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def missing(storage: Storage) -> list[Path]:
    """Files that stand in a copy but no longer in the project, or in a work tree that is gone."""
    return [path for copied, own in _copies(storage) for path in _gone(copied, own)]


def recover(storage: Storage) -> list[Path]:
    """Bring back what is missing; returns the files that were restored."""
    restored = []
    for copied, own in _copies(storage):
        for path in _gone(copied, own):
            if own == storage.root / FOLDER:
                prepare(storage.root)
            target = own / path
            if not stays_inside(target.parent, own):
                raise InvalidInput(f"{target.parent} leads outside the task folder; remove the link")
            mode = storage.read_only if target.name.endswith("plan.md") else files.FILE_MODE
            markdown.write(target, (copied / path).read_bytes(), mode=mode)
            restored.append(target)
    for target in restored:
        copy(storage, target)
    return restored


def _copies(storage: Storage) -> list[tuple[Path, Path]]:
    """The copy of this work tree, and those of work trees that are gone, each with where it belongs."""
    own = storage.mirror or lost_mirror(storage)
    found = [(own, storage.root / FOLDER)] if own is not None and own.is_dir() else []
    beside = (storage.mirror.parent if storage.mirror else storage.folder / "tasks-mirror").glob("*/" + _ROOT)
    for note in sorted(beside):
        if note.parent != own and not Path(note.read_text("utf-8", "surrogateescape")).exists():
            found.append((note.parent / "sessions", storage.folder / "sessions"))
    return found


def _gone(copied: Path, own: Path) -> list[Path]:
    listed = (path.relative_to(copied) for path in copied.rglob("*") if path.is_file())
    wanted = (path for path in listed if path.name != _ROOT and not path.name.endswith(".tmp"))
    return sorted(path for path in wanted if not (own / path).exists())


def _target(storage: Storage, path: Path) -> Path | None:
    if storage.mirror is None or not path.is_relative_to(storage.folder):
        return None
    return storage.mirror / path.relative_to(storage.folder)
