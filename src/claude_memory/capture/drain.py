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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory.capture.messages import messages_of
from claude_memory.capture.parse import MAX_BYTES, Captured, Unreadable, parse
from claude_memory.capture.spool import Spool, SpooledFile
from claude_memory.errors import StoreBusy
from claude_memory.model import Event, EventId, ProjectId
from claude_memory.platform import logs, project
from claude_memory.platform.repository import current_branch
from claude_memory.redact import redact
from claude_memory.settings import Settings
from claude_memory.store.protocol import Store
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
    run = _Drain(
        Spool(home),
        store,
        settings,
        deadline(budget_seconds),
        hurried=budget_seconds is not None,
        # The rest is for what was found: to look through a full spool may take longer than all of it.
        looked_enough=deadline(budget_seconds and budget_seconds / 2),
    )
    at_once = budget_seconds is None or budget_seconds >= UNDERSTAND_FROM_SECONDS
    if not run.spool.new.is_dir():  # no hook ever wrote here, but a history may have been imported
        run.understand(at_once=at_once)
    while run.spool.new.is_dir():
        try:
            with run.spool.lock() as mine:
                if not mine:
                    run.done = replace(run.done, busy=True)
                    break
                run.sweep(now)
                run.all()
                run.understand(at_once=at_once)
        except StoreBusy:
            run.done = replace(run.done, busy=True)
            break
        except OSError as fault:  # a home that may only be read, a full disk: all stays where it is
            logs.logger("drain").warning("the spool cannot be drained: %s", fault.strerror)
            run.done = replace(run.done, busy=True)
            break
        # Look once more: whoever found the lock taken while we finished relies on us.
        if run.out_of_time() or not any(run.waiting(1)):
            break
    return replace(run.done, remaining=run.spool.count(REMAINING_COUNTED))


@dataclass(slots=True)
class _Drain:
    """One drain's state: what it did, what it will not try again, which projects it knows."""

    spool: Spool
    store: Store
    settings: Settings
    out_of_time: Callable[[], bool]
    hurried: bool = False
    looked_enough: Callable[[], bool] = lambda: False
    done: Drained = field(default_factory=Drained)
    seen: set[str] = field(default_factory=set)
    projects: dict[str, ProjectId] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)  # by folder, as they are now
    exclude_of: Callable[[str], tuple[str, ...]] = field(
        default_factory=lambda: functools.cache(project.exclusions)
    )  # what the event's own project excludes, whoever drains it

    def sweep(self, now: datetime) -> None:
        for size in self.spool.sweep(now):
            logs.logger("drain").warning("removed an unfinished capture of %d bytes from the spool", size)

    def all(self) -> None:
        while batch := self.waiting(None):
            files = iter(batch)
            while self.batch(files):
                if self.out_of_time():
                    return

    def waiting(self, limit: int | None) -> list[SpooledFile]:
        """What is left to try; a file that could not be moved away is tried once."""
        # A known file may hide an unknown one, so the limit counts from behind the known ones.
        reach = None if limit is None else limit + len(self.seen)
        waiting = self.spool.pending(reach, out_of_time=self.looked_enough)
        return [file for file in waiting if file.path.name not in self.seen]

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
            found = parse(
                Captured(raw, file.event, file.agent, file.moment),
                self.settings,
                self.project_of,
                self.exclude_of,
            )
        except Unreadable as fault:
            self.reject(file, str(fault), raw)
            return False
        if found is None:
            self.count(ignored=1)
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
        self.count(rejected=1)
        log.warning("rejected a spooled file: %s", reason)

    def commit(self, events: list[Event]) -> None:
        once: dict[EventId, Event] = {}
        for event in events:
            once.setdefault(event.id, event)
        told = list(once.values())
        messages = [message for event in told for message in messages_of(event, self.branch(event))]
        projects = {event.cwd: event.project for event in told}
        added = self.store.archive.add(messages, projects, events=told)
        self.count(events=added.events, duplicates=len(events) - added.events)

    def branch(self, event: Event) -> str:
        """The branch that something just now was done on: what is checked out there."""
        if not event.cwd or abs(datetime.now(UTC) - event.timestamp) > JUST_NOW:
            return ""
        return self.branches.setdefault(event.cwd, current_branch(Path(event.cwd)))

    def count(self, **more: int) -> None:
        self.done = replace(self.done, **{name: getattr(self.done, name) + n for name, n in more.items()})

    def understand(self, *, at_once: bool) -> None:
        """Make exchanges and memories of what went on, or leave it to a drain that has the time."""
        if not at_once:
            left = len(self.store.archive.waiting(1))
            self.done = replace(self.done, waiting=left)
            return
        from claude_memory.capture.understanding import understand_waiting

        new, left = understand_waiting(self.store, self.out_of_time)
        self.count(memories=new)
        self.done = replace(self.done, waiting=left)

    def project_of(self, cwd: str) -> ProjectId:
        if cwd not in self.projects:
            found = project.resolve_noted(cwd, self.store.project_for, thorough=not self.hurried)
            self.projects[cwd] = found.id
        return self.projects[cwd]


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
    kept = redact(text[:KEPT_REJECTED]).text
    return (kept[:-CUT_MARGIN] if cut else kept).encode("utf-8", "replace")
