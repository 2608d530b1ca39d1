"""Whether what is captured gets through: the spool into the store, the store's changes into the mirror."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.backup import mirror
from claude_memory.capture.spool import Spool
from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.settings import Settings
from claude_memory.store.model import Inspection
from claude_memory.store.records import digest
from claude_memory.text import times

_MB = 1 << 20
_LONG_UNDRAINED = timedelta(days=1)
_MANY_PENDING = 1000  # every write is followed by a flush, so that a healthy store has next to none
_READ_SECONDS = 2.0
_REPLAY = "`claude-memory reindex --from-files` brings back what the mirror tells, or restore a backup"
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
    if size > settings.spool_cap_mb:
        yield fail("spool", f"{text}, more than the {settings.spool_cap_mb} MB of spool_cap_mb", _DRAIN)
    elif depth.oldest is not None and datetime.now(UTC) - depth.oldest > _LONG_UNDRAINED:
        yield warn("spool", f"{text}, the oldest since {times.minute(depth.oldest)}", _DRAIN)
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


def mirror_files(home: Path, view: Inspection, *, deep: bool) -> Iterator[Check]:
    """Whether memories.jsonl keeps up with the store, can be read, and says the same."""
    paths = mirror.paths(home)
    copy = _Copy()
    lines, bad, whole = _read(home, None if deep else _READ_SECONDS, copy)
    text = f"{lines} changes in {len(paths)} files" + ("" if whole else " (the first of them read)")
    pending = view.pending_changes
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
    if view.last_change is not None and mirror.last_sequence(home) > view.last_change:
        yield fail(
            "lost changes",
            f"the database knows {view.last_change} changes, its mirror {mirror.last_sequence(home)}: it is "
            "older than it was, or its log is lost",
            _REPLAY,
        )
    if whole and view.texts is not None:
        yield from _compared(view.texts, copy.texts)


def _compared(stored: Mapping[str, bytes], mirrored: Mapping[str, bytes]) -> Iterator[Check]:
    """A bit that flips in a text leaves a sound database; only a second copy tells."""
    differing = [id_ for id_, words in stored.items() if mirrored.get(id_, words) != words]
    if differing:
        yield fail(
            "texts",
            f"{len(differing)} memories say something else than their mirror, among them {differing[0]}",
            f"compare `claude-memory show {differing[0]}` with memories.jsonl; {_REPLAY}",
        )


class _Copy:
    """The words of every memory as the mirror tells them last."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}

    def note(self, record: Mapping[str, Any]) -> None:
        memory = record.get("memory")
        if isinstance(memory, dict) and isinstance(memory.get("id"), str):
            title, body = (str(memory.get(name, "")) for name in ("title", "body"))
            self.texts[memory["id"]] = digest(title, body)


def _read(home: Path, seconds: float | None, copy: _Copy) -> tuple[int, int, bool]:
    deadline = None if seconds is None else time.monotonic() + seconds
    records = mirror.read(home)
    lines = 0
    for record in records:
        lines += 1
        copy.note(record)
        if deadline is not None and lines % 256 == 0 and time.monotonic() > deadline:
            return lines, records.bad, False
    return lines, records.bad, True
