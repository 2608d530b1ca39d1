"""Whether what is captured gets through: the spool into the store, the store's changes into the mirror."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory import times
from claude_memory.health.report import Check, fail, ok, warn
from claude_memory.settings import Settings
from claude_memory.spool import Spool
from claude_memory.transfer import mirror

_MB = 1 << 20
_LONG_UNDRAINED = timedelta(days=1)
_MANY_PENDING = 1000  # every write is followed by a flush, so that a healthy store has next to none
_READ_SECONDS = 2.0
_DRAIN = "`claude-memory search` or any other command drains it; see logs/ if it does not shrink"


def spool(home: Path, settings: Settings) -> Iterator[Check]:
    """What waits to be ingested, for how long, and what was refused."""
    place = Spool(home)
    unreadable = [folder for folder in (place.folder, place.new, place.rejected) if _is_closed(folder)]
    if unreadable:
        yield fail("spool", f"{unreadable[0]} cannot be read", "give yourself the rights to it")
        return
    depth = place.depth()
    size = depth.size_bytes / _MB
    text = f"{depth.count} events wait ({size:.1f} MB)"
    if depth.oldest is not None and datetime.now(UTC) - depth.oldest > _LONG_UNDRAINED:
        yield warn("spool", f"{text}, the oldest since {times.minute(depth.oldest)}", _DRAIN)
    elif size > settings.spool_cap_mb:
        yield warn("spool", f"{text}, more than the {settings.spool_cap_mb} MB of spool_cap_mb", _DRAIN)
    else:
        yield ok("spool", text)
    if depth.newer:
        yield warn(
            "spool format", f"{depth.newer} events were captured by a newer version", "upgrade claude-memory"
        )
    if depth.rejected:
        yield warn(
            "rejected",
            f"{depth.rejected} events could not be read",
            f"reasons are in {place.rejected}/*.reason",
        )


def _is_closed(folder: Path) -> bool:
    try:
        with os.scandir(folder):
            return False
    except FileNotFoundError:
        return False
    except OSError:
        return True


def mirror_files(home: Path, pending: int | None, *, deep: bool) -> Iterator[Check]:
    """Whether memories.jsonl keeps up with the store and can be read."""
    paths = mirror.paths(home)
    lines, bad, whole = _read(home, None if deep else _READ_SECONDS)
    text = f"{lines} changes in {len(paths)} files" + ("" if whole else " (the first of them read)")
    if pending is not None:
        text += f", {pending} to be written"
    if bad:
        yield warn(
            "mirror", f"{text}; {bad} lines cannot be read", "they are passed over when memories are rebuilt"
        )
    elif pending and pending > _MANY_PENDING:
        yield warn("mirror", text, "any change of a memory writes them; see logs/ if it does not")
    else:
        yield ok("mirror", text)


def _read(home: Path, seconds: float | None) -> tuple[int, int, bool]:
    deadline = None if seconds is None else time.monotonic() + seconds
    records = mirror.read(home)
    lines = 0
    for _ in records:
        lines += 1
        if deadline is not None and lines % 256 == 0 and time.monotonic() > deadline:
            return lines, records.bad, False
    return lines, records.bad, True
