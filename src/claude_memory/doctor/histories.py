"""Whether the histories that agents delete by themselves are kept here before they go."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from claude_memory.doctor.report import Check, ok, warn
from claude_memory.settings import Settings
from claude_memory.store import files_read
from claude_memory.transcripts import sources
from claude_memory.transcripts.model import SourceFile

DEFAULT_DAYS = 30  # Claude Code's cleanupPeriodDays
WARNED_DAYS = 7
_IMPORT = "`claude-memory import` keeps them"


def histories(home: Path, settings: Settings, *, user_home: Path | None = None) -> Iterator[Check]:
    """How many conversations of agents are archived, and which are about to be deleted before they are."""
    found = list(sources.discover(user_home or Path.home()))
    if not found:
        yield ok("conversations", "no agent keeps any here")
        return
    kept = files_read(home, settings)
    waiting = [source for source in found if not _is_kept(source, kept)]
    days = cleanup_days()
    ending = [
        source
        for source in waiting
        if source.agent == "claude-code" and _age_days(source) > days - WARNED_DAYS
    ]
    archived = f"{len(found) - len(waiting)} of {len(found)} files of agents are archived"
    if ending:
        text = (
            f"{len(ending)} are deleted by Claude Code within {WARNED_DAYS} days (it keeps them for {days})"
        )
        yield warn("conversations", f"{archived}; of the others {text}", _IMPORT)
    else:
        yield ok("conversations", archived, _IMPORT if waiting else "")


def cleanup_days() -> int:
    """After how many days Claude Code deletes a transcript, by the person's own settings of it."""
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    try:
        days = json.loads((folder / "settings.json").read_text("utf-8")).get("cleanupPeriodDays")
    except (OSError, ValueError, AttributeError):
        return DEFAULT_DAYS
    return days if isinstance(days, int) and days > 0 else DEFAULT_DAYS


def _age_days(source: SourceFile) -> float:
    return (time.time() - source.modified_ns / 1e9) / 86_400


def _is_kept(source: SourceFile, kept: dict[str, tuple[int, int]]) -> bool:
    return kept.get(str(source.path)) == (source.size, source.modified_ns)
