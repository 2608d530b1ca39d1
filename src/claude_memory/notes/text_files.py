"""Files that people and several agents write: read in whatever state they are, changed without losing a byte.

What can be read is read; the rest is named with its line. One writer at a time replaces whole files; if
somebody saved the file meanwhile, the change is made anew on what they saved.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.notes.blocks import short
from claude_memory.platform.files import (
    FILE_MODE,
    private_folder,
    require_writing,
    sync_file,
    write_atomically,
)

MAX_BYTES = 4 << 20
WAIT_SECONDS = 10.0
_ATTEMPTS = 5
_ENCODING = ("utf-8", "surrogateescape")  # every byte comes back as it was
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})( |$)")


class FileProblem(NamedTuple):
    """A line that could not be used, and why."""

    path: Path
    line: int
    reason: str


class Lines(NamedTuple):
    """A text file's lines (without line ends, numbered from 1) and what was wrong with it."""

    path: Path
    lines: tuple[tuple[int, str], ...] = ()
    problems: tuple[FileProblem, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines)


# --- reading


def read_bytes(path: Path) -> bytes:
    """A regular file's content, at most 4 MB; nothing for what is missing, a link or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as handle:
        return handle.read(MAX_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def read_lines(path: Path, content: bytes | None = None) -> Lines:
    """The lines of a text, conflict markers left out and reported; `content`, if it was read already."""
    content = read_bytes(path) if content is None else content
    lines: list[tuple[int, str]] = []
    problems: list[FileProblem] = []
    raw_lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(raw_lines[:-1] if raw_lines[-1] == b"" else raw_lines, 1):
        raw = line.removesuffix(b"\r")
        text = raw.decode("utf-8", "replace")
        if text.encode() != raw:
            problems.append(FileProblem(path, number, "not UTF-8: read as far as possible"))
        if _CONFLICT.match(text):
            problems.append(FileProblem(path, number, "an unresolved merge conflict: both sides are read"))
        else:
            lines.append((number, text))
    return Lines(path, tuple(lines), tuple(problems))


def records_of(lines: Lines) -> tuple[list[tuple[int, dict[str, Any]]], list[FileProblem]]:
    """The JSON objects of a file of lines, each with its line, and the lines that are none."""
    records: list[tuple[int, dict[str, Any]]] = []
    problems = [problem for problem in lines.problems if "conflict" in problem.reason]
    for number, text in lines.lines:
        try:
            value = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            value = text
        if isinstance(value, dict):
            records.append((number, value))
        elif text.strip():
            problems.append(FileProblem(lines.path, number, "not a JSON object: this line is passed over"))
    return records, problems


# --- writing


def edit(path: Path, change: Callable[[str], str], *, home: Path) -> bool:
    """Rewrite a file by a pure function of its text; returns whether it changed. A missing file is empty.

    Whoever appends without a lock loses nothing: what came to the old file while the new one was made is
    carried over, and who comes later sees that the file is another one (`append`).
    """
    from claude_memory.redact import kept_change  # who only reads need not load it

    require_writing(f"writing {path.name}")
    with _locked(path, home):
        for _ in range(_ATTEMPTS):
            refuse_special(path)
            before_reading = _state(path)
            with path.open("rb") if before_reading else io.BytesIO() as old:
                before = old.read()
                text = before.decode(*_ENCODING)
                after = kept_change(text, change(text)).encode(*_ENCODING)
                if after == before:
                    return False
                private_folder(path.parent)
                if _state(path) == before_reading:
                    mode = stat.S_IMODE(before_reading[0]) if before_reading else FILE_MODE
                    write_atomically(path, after, mode=mode)
                    if late := old.read():
                        append(path, late)
                    return True
    raise Conflict(f"{path} keeps changing: try again")


def append(path: Path, content: bytes, *, title: bytes = b"", sync: bool = True) -> None:
    """Add bytes to a file's end in one go and without a lock; a new file begins with the title.

    Where somebody put a new file in its place meanwhile, the bytes are added to that one, too: twice is
    better than never. A half-written line before them is ended first.
    """
    require_writing(f"writing {path.name}")
    private_folder(path.parent)
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, FILE_MODE)
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


def with_line(text: str, line: str) -> str:
    """The text with one more line; a half-written one before it is ended first."""
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"


def json_line(record: Mapping[str, Any]) -> str:
    """A record as a line that may be kept."""
    from claude_memory.redact import redact_document

    line = json.dumps(redact_document(dict(record)), ensure_ascii=False)
    return line.encode("utf-8", "replace").decode() + "\n"


def one_line(text: str) -> str:
    return " ".join(text.split())


def refuse_special(path: Path) -> None:
    """Links and devices are left alone."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidInput(f"{path} is a link or no file: it is left alone")


@contextlib.contextmanager
def _locked(path: Path, home: Path) -> Iterator[None]:
    """Hold the one lock of a file, kept in the home: no lock file ever stands in a repository."""
    from claude_memory.platform import locks

    name = short(os.fsencode(os.path.realpath(path)), 12)
    lock = private_folder(home / "cache" / "locks") / f"{name}.lock"
    busy = f"{path} is being written by another process: try again"
    with locks.held(lock, wait_seconds=WAIT_SECONDS, conflict=busy):
        yield


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_mode, status.st_mtime_ns, status.st_size, status.st_ino
