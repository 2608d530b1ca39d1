"""Task documents on disk: markdown with a small front matter, read and written as bytes.

Knows the format of one file, and where a scratchpad's earlier texts are: every save keeps the one before,
numbered, and nothing is dropped. Which file belongs to which task is the book's business.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import NotFound
from claude_memory.platform import files
from claude_memory.tasks.model import Version

WRITABLE = files.FILE_MODE
_FENCE = b"---\n"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.:@+/-]*")
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Document:
    """A file taken apart: `head` is the front matter's bytes, fences included."""

    fields: Mapping[str, str]
    head: bytes
    body: bytes

    @property
    def text(self) -> str:
        """The body as a person wrote it."""
        return self.body.decode("utf-8", "replace").lstrip("\n")


def front_matter(fields: Mapping[str, str]) -> bytes:
    """The head of a document; values that YAML could misread are quoted."""
    lines = [f"{key}: {_value(value)}" for key, value in fields.items()]
    return _FENCE + encoded("\n".join(lines)) + b"\n" + _FENCE


def parse(content: bytes) -> Document:
    """Take a document apart; one without front matter is all body."""
    content = content.replace(b"\r\n", b"\n") if content.startswith(b"---\r\n") else content
    end = content.find(b"\n" + _FENCE, len(_FENCE) - 1) if content.startswith(_FENCE) else -1
    if end < 0:
        return Document({}, b"", content)
    head = content[: end + 1 + len(_FENCE)]
    lines = head.decode("utf-8", "replace").splitlines()[1:-1]
    pairs = (line.partition(":") for line in lines if ":" in line)
    return Document(
        {key.strip(): _unquoted(value.strip()) for key, _, value in pairs}, head, content[len(head) :]
    )


def read(path: Path) -> Document:
    """Read a file that must not be a link."""
    return parse(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The file's content; a link in its place is an error, not a detour."""
    with os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb") as handle:
        return handle.read()


def read_if_there(path: Path) -> bytes | None:
    """The file's content; None when there is none, or a link. Any other failure is one: a file that
    cannot be read now must not be taken for lost."""
    try:
        return read_bytes(path)
    except OSError as fault:
        if fault.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours; an empty one when there is none, or it is broken."""
    try:
        found = json.loads(read_if_there(path) or b"")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def listing(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, by name; nothing where there is none."""
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_head(path: Path) -> Mapping[str, str]:
    """The front matter alone."""
    with os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb") as handle:
        return parse(handle.read(8192)).fields


def append(path: Path, content: bytes) -> None:
    """Add to the end in one write; `make_durable` brings it to the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | NO_FOLLOW), "wb", buffering=0) as handle:
        view = memoryview(content)
        while view:  # the system may take less than it is offered
            view = view[handle.write(view) :]


def make_durable(path: Path) -> None:
    """Return only when everything written to the file so far is on the disk."""
    with os.fdopen(os.open(path, os.O_RDWR | NO_FOLLOW), "r+b", buffering=0) as handle:
        files.sync_file(handle)


def write(path: Path, content: bytes, *, mode: int = WRITABLE) -> None:
    """Replace a document as a whole."""
    files.private_folder(path.parent)
    files.write_atomically(path, content, mode=mode)


def encoded(text: str) -> bytes:
    """UTF-8; what cannot be encoded becomes a visible mark instead of an error."""
    return text.encode("utf-8", "backslashreplace")


def stamp(moment: datetime) -> str:
    """A time as documents carry it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str | None) -> datetime | None:
    """A time read back; None when it is none."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _value(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "null", "yes", "no")
    return value if plain and not value.endswith(":") else json.dumps(value, ensure_ascii=False)


def _unquoted(value: str) -> str:
    try:
        return str(json.loads(value)) if value.startswith('"') else value
    except ValueError:
        return value


# --- earlier texts of a scratchpad


def history_of(scratchpad: Path) -> Path:
    """Where the earlier texts of a scratchpad stand."""
    return scratchpad.parent / ".history" / scratchpad.name.removesuffix(".md")


def keep_version(scratchpad: Path) -> Path:
    """Copy the present text to the history, under the next number."""
    content = read_bytes(scratchpad)
    last = (_numbers(scratchpad) or [0])[-1]
    if last and read_bytes(_path(scratchpad, last)) == content:
        return _path(scratchpad, last)  # kept already by a save that failed after this
    target = _path(scratchpad, last + 1)
    write(target, content)
    written = scratchpad.stat().st_mtime_ns
    os.utime(target, ns=(written, written))  # a version is as old as its text
    return target


def versions(scratchpad: Path) -> list[Version]:
    """All earlier texts, oldest first."""
    found = []
    for number in _numbers(scratchpad):
        path = _path(scratchpad, number)
        document, saved = read(path), datetime.fromtimestamp(path.stat().st_mtime, UTC)
        found.append(Version(number, saved, document.fields.get("by", ""), len(document.text), path))
    return found


def version_text(scratchpad: Path, number: int) -> str:
    """One earlier text."""
    try:
        return read(_path(scratchpad, number)).text
    except FileNotFoundError:
        count = len(versions(scratchpad))
        raise NotFound(f"{scratchpad.name} has no version {number}; it has {count}, see --history") from None


def _path(scratchpad: Path, number: int) -> Path:
    return history_of(scratchpad) / f"{number:04}.md"


def _numbers(scratchpad: Path) -> list[int]:
    names = [entry.name for entry in listing(history_of(scratchpad))]
    return sorted(int(name[:-3]) for name in names if name.endswith(".md") and name[:-3].isdecimal())
