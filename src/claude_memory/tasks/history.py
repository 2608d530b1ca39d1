"""Earlier texts of a scratchpad: every save keeps the one before, numbered, and nothing is dropped."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.errors import NotFound
from claude_memory.tasks import documents
from claude_memory.tasks.model import Version


def folder_of(scratchpad: Path) -> Path:
    """Where the earlier texts of a scratchpad stand."""
    return scratchpad.parent / ".history" / scratchpad.name.removesuffix(".md")


def keep(scratchpad: Path) -> Path:
    """Copy the present text to the history, under the next number."""
    content = documents.read_bytes(scratchpad)
    last = max(_numbers(scratchpad), default=0)
    if last and documents.read_bytes(_path(scratchpad, last)) == content:
        return _path(scratchpad, last)  # kept already by a save that failed after this
    target = _path(scratchpad, last + 1)
    documents.write(target, content)
    written = scratchpad.stat().st_mtime_ns
    os.utime(target, ns=(written, written))  # a version is as old as its text
    return target


def versions(scratchpad: Path) -> list[Version]:
    """All earlier texts, oldest first."""
    return [_version(_path(scratchpad, number), number) for number in sorted(_numbers(scratchpad))]


def text_of(scratchpad: Path, number: int) -> str:
    """One earlier text."""
    try:
        return documents.read(_path(scratchpad, number)).text
    except FileNotFoundError:
        count = len(versions(scratchpad))
        raise NotFound(f"{scratchpad.name} has no version {number}; it has {count}, see --history") from None


def _path(scratchpad: Path, number: int) -> Path:
    return folder_of(scratchpad) / f"{number:04}.md"


def _numbers(scratchpad: Path) -> list[int]:
    try:
        names = [entry.name for entry in os.scandir(folder_of(scratchpad))]
    except FileNotFoundError:
        return []
    return [int(name[:-3]) for name in names if name.endswith(".md") and name[:-3].isdecimal()]


def _version(path: Path, number: int) -> Version:
    document, status = documents.read(path), path.stat()
    saved = datetime.fromtimestamp(status.st_mtime, UTC)
    return Version(number, saved, document.fields.get("by", ""), len(document.text), path)
