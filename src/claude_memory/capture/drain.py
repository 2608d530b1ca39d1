"""Move what hooks captured into the store: whoever comes by does it, and nobody waits for it.

Commit, then unlink: a crash in between ingests a file twice, and its derived event id keeps it one
event. Writes text only; vectors are backfilled elsewhere.
"""

from __future__ import annotations

import errno
import functools
import operator
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory.capture.messages import messages_of
from claude_memory.capture.parse import MAX_BYTES, Captured, Unreadable, parse
from claude_memory.capture.spool import Spool, SpooledFile
from claude_memory.errors import StoreBusy
from claude_memory.model import Event, EventId, ProjectId
from claude_memory.platform import logs, project
from claude_memory.platform.git import current_branch
from claude_memory.redact import redact
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.text.times import deadline

BATCH_EVENTS = 500
JUST_NOW = timedelta(minutes=10)  # a branch is seldom left sooner than its work is drained
REMAINING_COUNTED = 1000  # what is left is counted no further: that it is much is all one needs to know
BATCH_BYTES = 16 << 20  # of raw input held in memory at a time
KEPT_REJECTED = 1 << 20  # characters of a rejected file that are kept, redacted
UNDERSTAND_FROM_SECONDS = 0.5  # loading the rules takes a tenth of a second, which a hook does not have
CUT_MARGIN = 8 << 10  # dropped at a cut: longer than any secret the cut could have halved

_ESCAPED_ASCII = re.compile(r"\\u00([2-7][0-9a-fA-F])")


@dataclass(frozen=True, slots=True)
class Drained:
    """What one drain did. `busy`: someone else holds the drain or the store; all is still there."""

    events: int = 0
    memories: int = 0
    duplicates: int = 0
    rejected: int = 0
    remaining: int = 0
    busy: bool = False
    ignored: int = 0
    waiting: int = 0  # conversations that another drain must understand: there was no time


def drain(
    home: Path, store: Store, settings: Settings, *, now: datetime, budget_seconds: float | None = None
) -> Drained:
    """Ingest what waits, oldest first, until nothing is left or the budget is spent."""
    run = _Drain(Spool(home), store, settings, budget_seconds)
    if not run.spool.new.is_dir():  # no hook ever wrote here, but a history may have been imported
        run.understand()
    while run.spool.new.is_dir():
        try:
            with run.spool.lock() as mine:
                run.busy = not mine
                if mine:
                    run.all(now)
        except StoreBusy:
            run.busy = True
        except OSError as fault:  # a home that may only be read, a full disk: all stays where it is
            logs.logger("drain").warning("the spool cannot be drained: %s", fault.strerror)
            run.busy = True
        # Look once more: whoever found the lock taken while we finished relies on us.
        if run.busy or run.out_of_time() or not run.waiting():
            break
    return Drained(**run.counts, remaining=run.spool.count(REMAINING_COUNTED), busy=run.busy)


class _Drain:
    """One drain's state: what it did, what it will not try again, which projects it knows."""

    def __init__(self, spool: Spool, store: Store, settings: Settings, budget: float | None) -> None:
        self.spool, self.store, self.settings, self.budget = spool, store, settings, budget
        self.out_of_time = deadline(budget)
        # The rest is for what was found: to look through a full spool may take longer than all of it.
        self.looked_enough = deadline(budget and budget / 2)
        self.counts: Counter[str] = Counter()
        self.busy = False
        self.seen: set[str] = set()
        self.project_of = functools.cache(self._project_of)
        # What the event's own project excludes, whoever drains it.
        self.exclude_of = functools.cache(project.exclusions)
        self.branch_of = functools.cache(current_branch)

    def all(self, now: datetime) -> None:
        for size in self.spool.sweep(now):
            logs.logger("drain").warning("removed an unfinished capture of %d bytes from the spool", size)
        late = False
        while not late and (waiting := self.waiting()):
            files = iter(waiting)
            while not late and self.batch(files):
                late = self.out_of_time()
        self.understand()

    def waiting(self) -> list[SpooledFile]:
        """What is left to try; a file that could not be moved away is tried once."""
        return [file for file in self.spool.pending(self.looked_enough) if file.path.name not in self.seen]

    def batch(self, files: Iterator[SpooledFile]) -> bool:
        """Ingest one transaction's worth; false when there was nothing left."""
        finished: list[SpooledFile] = []
        events: list[Event] = []
        tried = size = 0
        for file in files:
            tried += 1
            self.seen.add(file.path.name)
            raw = self.raw(file)
            if raw is not None and self.event(file, raw, events):
                finished.append(file)
                size += len(raw)
            if tried >= BATCH_EVENTS or size >= BATCH_BYTES or self.out_of_time():
                break
        if events:
            self.commit(events)
        self.spool.remove(finished)  # Only now: what is not committed must still be in the spool.
        return tried > 0

    def raw(self, file: SpooledFile) -> bytes | None:
        """The file's bytes, one more than can be read at most; None if it cannot be had."""
        try:
            return _read_bytes(file.path)
        except FileNotFoundError:
            return None  # another drainer was faster
        except OSError as fault:
            self.reject(file, f"cannot be read: {fault.strerror}", b"")
            return None

    def event(self, file: SpooledFile, raw: bytes, events: list[Event]) -> bool:
        """Parse into `events`; false when the file was rejected."""
        try:
            if not file.ours:
                raise Unreadable("not a name that a hook gives")
            captured = Captured(raw, file.event, file.agent, file.moment)
            found = parse(captured, self.settings, self.project_of, self.exclude_of)
        except Unreadable as fault:
            self.reject(file, str(fault), raw)
            return False
        if found is None:
            self.counts["ignored"] += 1
        else:
            events.append(found)
        return True

    def reject(self, file: SpooledFile, reason: str, raw: bytes) -> None:
        log = logs.logger("drain")
        try:
            self.spool.reject(file, reason, kept=_harmless(raw))
        except OSError as fault:
            log.warning("a spooled file cannot be moved to rejected/: %s", fault.strerror)
            return
        self.counts["rejected"] += 1
        log.warning("rejected a spooled file: %s", reason)

    def commit(self, events: list[Event]) -> None:
        once: dict[EventId, Event] = {}
        for event in events:
            once.setdefault(event.id, event)
        messages = [message for event in once.values() for message in messages_of(event, self.branch(event))]
        projects = {event.cwd: event.project for event in once.values()}
        added = self.store.archive.add(messages, projects, events=list(once.values()))
        self.counts.update(events=added.events, duplicates=len(events) - added.events)

    def branch(self, event: Event) -> str:
        """The branch that something just now was done on: what is checked out there."""
        recent = abs(datetime.now(UTC) - event.timestamp) <= JUST_NOW
        return self.branch_of(Path(event.cwd)) if event.cwd and recent else ""

    def understand(self) -> None:
        """Make exchanges and memories of what went on, or leave it to a drain that has the time."""
        if self.budget is not None and self.budget < UNDERSTAND_FROM_SECONDS:
            self.counts["waiting"] = len(self.store.archive.waiting(1))
            return
        from claude_memory.capture.understanding import understand_waiting

        new, self.counts["waiting"] = understand_waiting(self.store, self.out_of_time)
        self.counts["memories"] += new

    def _project_of(self, cwd: str) -> ProjectId:
        return project.resolve_noted(cwd, self.store.project_for, thorough=self.budget is None).id


def _read_bytes(path: Path) -> bytes:
    # A link in the spool could make us swallow any file of its owner, and a pipe would let us wait for ever.
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    descriptor = os.open(path, functools.reduce(operator.or_, flags, os.O_RDONLY))
    with os.fdopen(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        return handle.read(MAX_BYTES + 1)


def _harmless(raw: bytes) -> bytes:
    """What may be kept of bytes that are no event: redacted text, without the edge of a cut."""
    text = raw[: 4 * KEPT_REJECTED].decode("utf-8", "replace")
    # Broken JSON may still spell a tag or a secret in escapes, which no rule would recognise.
    text = _ESCAPED_ASCII.sub(lambda match: chr(int(match[1], 16)), text)
    cut = len(text) > KEPT_REJECTED or len(raw) > 4 * KEPT_REJECTED
    kept = redact(text[:KEPT_REJECTED])
    return (kept[:-CUT_MARGIN] if cut else kept).encode("utf-8", "replace")
