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
    number = max((version.number for version in versions(scratchpad)), default=0) + 1
    target = folder_of(scratchpad) / f"{number:04}.md"
    documents.write(target, content)
    written = scratchpad.stat().st_mtime_ns
    os.utime(target, ns=(written, written))  # a version is as old as its text
    return target


def versions(scratchpad: Path) -> list[Version]:
    """All earlier texts, oldest first."""
    try:
        names = sorted(
            int(entry.name[:-3]) for entry in os.scandir(folder_of(scratchpad)) if _numbered(entry.name)
        )
    except OSError:
        return []
    return [_version(folder_of(scratchpad) / f"{number:04}.md", number) for number in names]


def text_of(scratchpad: Path, number: int) -> str:
    """One earlier text."""
    try:
        return documents.read(folder_of(scratchpad) / f"{number:04}.md").text
    except OSError:
        count = len(versions(scratchpad))
        raise NotFound(f"{scratchpad.name} has no version {number}; it has {count}, see --history") from None


def _numbered(name: str) -> bool:
    return name.endswith(".md") and name[:-3].isdigit()


def _version(path: Path, number: int) -> Version:
    document, status = documents.read(path), path.stat()
    saved = datetime.fromtimestamp(status.st_mtime, UTC)
    return Version(number, saved, document.fields.get("by", ""), len(document.text), path)
