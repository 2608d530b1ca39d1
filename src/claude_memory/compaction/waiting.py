"""Which reported compactions are done with, and which kept summary is of the same compaction as another.

A hook reports a compaction before it happens and a transcript tells when it was over: only time connects
the two. Pure but for the one file that holds what is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from claude_memory.compaction.model import KeptSummary
from claude_memory.files import private_folder, write_atomically
from claude_memory.model import Event, EventKind
from claude_memory.transcripts.model import moment_of

EVENTS = "events"  # the kind of a summary that was made of hooks' reports alone
REMEMBERED = 20_000  # events that are done; one that is forgotten is looked at again and changes nothing
GIVEN_UP_AFTER = timedelta(hours=1)  # a compaction that left no boundary by then was cancelled
LONGEST = timedelta(minutes=15)  # from a compaction's first report to its boundary
LATE = timedelta(minutes=1)  # from a compaction's boundary to the report that it is over


@dataclass(frozen=True, slots=True)
class Settled:
    """The reports that need no further look, in the order in which they were settled."""

    home: Path

    @property
    def path(self) -> Path:
        return self.home / "cache" / "compactions.json"

    def ids(self) -> list[str]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def add(self, events: Sequence[str]) -> None:
        private_folder(self.path.parent)
        known = dict.fromkeys([*self.ids(), *events])
        write_atomically(self.path, json.dumps([*known][-REMEMBERED:]).encode())


def is_done(event: Event, own: Sequence[Event], boundaries: Iterable[datetime], now: datetime) -> bool:
    """Whether the compaction that an event reports is among the boundaries, or can no longer come."""
    since = _earliest(event, own)
    return any(at >= since for at in boundaries) or now - event.timestamp > GIVEN_UP_AFTER


def _earliest(event: Event, own: Sequence[Event]) -> datetime:
    """When the boundary of a reported compaction can have been written at the earliest."""
    if event.kind is EventKind.COMPACTION_START:
        return event.timestamp
    starts = (one.timestamp for one in own if one.kind is EventKind.COMPACTION_START)
    begun = [at for at in starts if at <= event.timestamp]
    return max([*begun, event.timestamp - LATE])


def stand_in(known: Iterable[KeptSummary], boundary: datetime) -> KeptSummary | None:
    """The summary that reports alone made of the compaction that was over at this moment."""
    found = [
        (at, kept.number, kept)
        for kept in known
        if kept.kind == EVENTS and (at := _moment(kept)) and timedelta() <= boundary - at <= LONGEST
    ]
    return max(found)[2] if found else None


def told_before(known: Iterable[KeptSummary], reported: datetime) -> KeptSummary | None:
    """The summary that a transcript gave of the compaction that was reported at this moment."""
    found = [
        (at, kept.number, kept)
        for kept in known
        if kept.kind in ("transcript", "archive")
        and (at := _moment(kept))
        and timedelta() <= at - reported <= LONGEST
    ]
    return min(found)[2] if found else None


def _moment(kept: KeptSummary) -> datetime | None:
    return moment_of(kept.document.get("timestamp"))
