"""Changing files that people and several agents write: one writer at a time, whole files, nothing lost.

A file is decoded so that every byte comes back as it was. If somebody saved it meanwhile, the change is
made anew on what they saved. Files of a project are written inside its own folder only.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.notes import blocks
from claude_memory.notes.places import ProjectFiles
from claude_memory.platform import locks
from claude_memory.platform.files import (
    FILE_MODE,
    REPLACES_OPEN_FILES,
    private_folder,
    sync_file,
    write_atomically,
)
from claude_memory.redact import kept_change, kept_document
from claude_memory.settings import require_writing

WAIT_SECONDS = 10.0
_ATTEMPTS = 5
_ENCODING = ("utf-8", "surrogateescape")


def edit(path: Path, change: Callable[[str], str], *, home: Path) -> bool:
    """Rewrite a file by a pure function of its text; returns whether it changed. A missing file is empty.

    Whoever appends without a lock loses nothing: what came to the old file while the new one was made is
    carried over, and who comes later sees that the file is another one (`append`).
    """
    require_writing(f"writing {path.name}")
    with _held(path, home):
        for _ in range(_ATTEMPTS):
            refuse_special(path)
            seen = _state(path)
            with path.open("rb") if seen else io.BytesIO() as old:
                before = old.read()
                text = before.decode(*_ENCODING)
                after = kept_change(text, change(text)).encode(*_ENCODING)
                if after == before:
                    return False
                private_folder(path.parent)
                if not REPLACES_OPEN_FILES:
                    old.close()
                if _state(path) == seen:
                    write_atomically(path, after, mode=_mode(path))
                    late = b"" if old.closed else old.read()
                    if late:
                        append(path, late)
                    return True
    raise Conflict(f"{path} keeps changing: try again")


def append(path: Path, content: bytes, *, title: bytes = b"", sync: bool = True) -> None:
    """Add bytes to a file's end in one go and without a lock; a new file begins with the title.

    Where somebody put a new file in its place meanwhile, the bytes are added to that one, too: twice is
    better than never. A half-written line before them is ended first.
    """
    require_writing(f"writing {path.name}")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, flags, FILE_MODE)
        with os.fdopen(descriptor, "r+b", buffering=0) as handle:
            size = handle.seek(0, os.SEEK_END)
            before = b"" if size else title
            if size:
                handle.seek(size - 1)
                before = b"" if handle.read(1) == b"\n" else b"\n"
            rest = memoryview(before + content)
            while rest:
                rest = rest[handle.write(rest) or 0 :]
            if sync:
                sync_file(handle)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(descriptor), path.lstat()):
                    return


def append_record(path: Path, record: Mapping[str, Any], *, home: Path) -> None:
    """Add one JSON line."""
    line = json_line(record).encode("utf-8", "replace")
    with _held(path, home):
        private_folder(path.parent)
        refuse_special(path)
        append(path, line)


def json_line(record: Mapping[str, Any]) -> str:
    """A record as a line that may be kept."""
    return json.dumps(kept_document(dict(record)), ensure_ascii=False) + "\n"


def rewrite(files: ProjectFiles, home: Path, path: Path, change: Callable[[str], str]) -> bool:
    """Change one file of a project by a pure function, and its copy in the home; whether it changed."""
    if not files.inside(path):
        raise InvalidInput(f"{path} leads outside the project's own files: it is left alone")
    changed = edit(path, change, home=home)
    copy = files.copy_of(path)
    if changed and copy is not None:
        with contextlib.suppress(OSError):  # a convenience: the file itself is the truth
            private_folder(copy.parent)
            write_atomically(copy, path.read_bytes())
    return changed


def set_block(
    files: ProjectFiles,
    home: Path,
    path: Path,
    name: str,
    lines: Callable[[list[str]], Sequence[str]],
    *,
    heading: str = "",
    title: str = "",
) -> bool:
    """Let a block say what `lines` makes of what it says now; a new file begins with its title."""

    def change(text: str) -> str:
        wanted = lines(blocks.content(text, name))
        if not text and wanted and title:
            text = f"{title}\n"
        return blocks.updated(text, name, wanted, heading=heading)

    return rewrite(files, home, path, change)


def one_line(text: str) -> str:
    """A text as one line of a list."""
    return " ".join(text.split())


def refuse_special(path: Path) -> None:
    """Links and devices are left alone."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidInput(f"{path} is a link or no file: it is left alone")


@contextlib.contextmanager
def _held(path: Path, home: Path) -> Iterator[None]:
    """Hold the one lock of a file, kept in the home: no lock file ever stands in a repository."""
    name = blocks.short(os.fsencode(os.path.realpath(path)), 12)
    lock = private_folder(home / "cache" / "locks") / f"{name}.lock"
    busy = f"{path} is being written by another process: try again"
    with locks.held(lock, wait_seconds=WAIT_SECONDS, conflict=busy):
        yield


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        return FILE_MODE
