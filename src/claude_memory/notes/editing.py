"""Changing files that people and several agents write: one writer at a time, whole files, nothing lost.

A file is decoded so that every byte comes back as it was. If somebody saved it meanwhile, the change is
made anew on what they saved.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.notes.digest import short
from claude_memory.platform.files import FILE_MODE, private_folder, sync_file, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.redact import kept_change, kept_document

WAIT_SECONDS = 10.0
_NAP_SECONDS = 0.005
_ATTEMPTS = 5
_ENCODING = ("utf-8", "surrogateescape")


def edit(path: Path, change: Callable[[str], str], *, home: Path, wait_seconds: float = WAIT_SECONDS) -> bool:
    """Rewrite a file by a pure function of its text; returns whether it changed. A missing file is empty."""
    with held(path, home, wait_seconds):
        for _ in range(_ATTEMPTS):
            before, seen = _read(path)
            text = before.decode(*_ENCODING)
            after = kept_change(text, change(text)).encode(*_ENCODING)
            if after == before:
                return False
            private_folder(path.parent)
            if _state(path) == seen:
                write_atomically(path, after, mode=_mode(path))
                return True
    raise Conflict(f"{path} keeps changing: try again")


def append_record(path: Path, record: Mapping[str, Any], *, home: Path) -> None:
    """Add one JSON line; a half-written line before it is ended first, so that only that one is lost."""
    line = (json.dumps(kept_document(dict(record)), ensure_ascii=False) + "\n").encode("utf-8", "replace")
    with held(path, home, WAIT_SECONDS):
        private_folder(path.parent)
        _refuse_special(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, FILE_MODE)
        with os.fdopen(descriptor, "r+b", buffering=0) as handle:
            size = handle.seek(0, os.SEEK_END)
            if size:
                handle.seek(size - 1)
                line = line if handle.read(1) == b"\n" else b"\n" + line
            rest = memoryview(line)
            while rest:
                rest = rest[handle.write(rest) or 0 :]
            sync_file(handle)


@contextlib.contextmanager
def held(path: Path, home: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the one lock of a file, kept in the home: no lock file ever stands in a repository."""
    name = short(os.fsencode(os.path.realpath(path)), 12)
    lock = private_folder(home / "cache" / "locks") / f"{name}.lock"
    deadline = time.monotonic() + wait_seconds
    while True:
        with try_lock(lock) as taken:
            if taken:
                yield
                return
        if time.monotonic() >= deadline:
            raise Conflict(f"{path} is being written by another process: try again")
        time.sleep(_NAP_SECONDS)


def _read(path: Path) -> tuple[bytes, tuple[int, int, int] | None]:
    _refuse_special(path)
    seen = _state(path)
    return (path.read_bytes() if seen else b""), seen


def _refuse_special(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidInput(f"{path} is a link or no file: it is left alone")


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
