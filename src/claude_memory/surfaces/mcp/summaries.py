"""Compaction summaries as files hold them: `sessions/session_<id>/summaries/compact_NNN.json`.

Reads only, and tolerates what it does not know. Whose session it is, the caller must have settled.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_BYTES = 4 << 20
_NAME = re.compile(r"compact_(\d{3,})\.json")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """One summary: which compaction of which session, and what the file says."""

    session: str
    number: int
    document: dict[str, Any]

    @property
    def id(self) -> str:
        """What names it within its session."""
        return f"{self.number:03d}"

    @property
    def executive(self) -> str:
        """Its text in short."""
        inner = self.document.get("summary")
        found = inner.get("executive") if isinstance(inner, dict) else inner
        return found if isinstance(found, str) else ""


def sessions(home: Path) -> list[str]:
    """Sessions that have a folder of their own, the one that changed last first."""
    try:
        folders = [path for path in (home / "sessions").glob("session_*") if path.is_dir()]
    except OSError:
        return []
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.name.removeprefix("session_") for path in folders]


def of_session(home: Path, session: str) -> list[KeptSummary]:
    """All summaries of a session that can be read, oldest first."""
    if not _SESSION.fullmatch(session):
        return []
    folder = home / "sessions" / f"session_{session}" / "summaries"
    try:
        names = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    except OSError:
        return []
    found = [_read(session, path) for path in names]
    return sorted((item for item in found if item is not None), key=lambda item: item.number)


def _read(session: str, path: Path) -> KeptSummary | None:
    match = _NAME.fullmatch(path.name)
    try:
        if match is None or path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return KeptSummary(session, int(match.group(1)), document) if isinstance(document, dict) else None
