"""The spool, and moving what hooks captured into the store: whoever comes by does it, nobody waits for it.

Commit, then unlink: a crash in between ingests a file twice, and its derived event id keeps it one
event. Writes text only; vectors are backfilled elsewhere. Files of a newer format are left for the newer
program that can read them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from claude_memory.capture.messages import messages_of
from claude_memory.capture.parse import MAX_BYTES, Unreadable, parse
from claude_memory.errors import StoreBusy
from claude_memory.hook import claude_memory_hook as hook
from claude_memory.model import Event, EventId, ProjectId
from claude_memory.platform import files, locks, logs, project
from claude_memory.platform.git import current_branch
from claude_memory.redact import redact
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.text.times import deadline

STALE_SECONDS = 3600  # a hook that has not finished within the hour is dead
BATCH_EVENTS = 500
JUST_NOW = timedelta(minutes=10)  # a branch is seldom left sooner than its work is drained
REMAINING_COUNTED = 1000  # what is left is counted no further: that it is much is all one needs to know
BATCH_BYTES = 16 << 20  # of raw input held in memory at a time
KEPT_REJECTED = 1 << 20  # characters of a rejected file that are kept, redacted
UNDERSTAND_FROM_SECONDS = 0.5  # loading the rules takes a tenth of a second, which a hook does not have
CUT_MARGIN = 8 << 10  # dropped at a cut: longer than any secret the cut could have halved

_ESCAPED_ASCII = re.compile(r"\\u00([2-7][0-9a-fA-F])")
_NAME = re.compile(r"1-(\d{1,19})-(?P<process>\d{1,10})-[0-9a-f]{1,32}-(\w{1,40})-(\w{1,40})\.json", re.ASCII)
_VERSION = re.compile(r"(\d{1,9})-")
_REASON = ".reason"
_LOOK_EVERY = 256  # files between two looks at the clock


class SpooledFile(NamedTuple):
    """One file in `new/`. `ours` is false for a name that no hook of ours made."""

    path: Path
    event: str
    agent: str
    moment: datetime
    ours: bool = True


@dataclass(frozen=True, slots=True)
class SpoolDepth:
    """What waits. `newer` counts files of a later format, which are waiting for a later program."""

    count: int
    size_bytes: int
    oldest: datetime | None
    rejected: int
    newer: int = 0


class Spool:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "spool"
        self.temporary = self.folder / "tmp"
        self.new = self.folder / "new"
        self.rejected = self.folder / "rejected"

    def put(self, event: str, raw: bytes, agent: str = hook.DEFAULT_AGENT) -> Path:
        """Spool an event exactly as the hook program does."""
        return Path(hook.spool(str(self.home), event, agent, [raw]))

    def lock(self) -> contextlib.AbstractContextManager[bool]:
        """The right to drain, taken without waiting."""
        files.private_folder(self.folder)
        return locks.try_lock(self.folder / ".lock")

    def pending(self, out_of_time: Callable[[], bool] = lambda: False) -> list[SpooledFile]:
        """What can be ingested now, oldest first; files with foreign names among it.

        Looking through a hundred thousand takes a while: when time is up, what was seen so far.
        """
        waiting = []
        for place, entry in enumerate(_entries(self.new), 1):
            file = _spooled(entry)
            waiting += [file] if file is not None else []
            if place % _LOOK_EVERY == 0 and out_of_time():
                break
        return sorted(waiting, key=lambda file: (file.moment, file.path.name))

    def depth(self) -> SpoolDepth:
        """Count and size of what waits; tolerant of a drain that runs meanwhile."""
        size = newer = 0
        moments = []
        for entry in _entries(self.new):
            found = _spooled(entry)
            if found is None:
                newer += _is_newer(entry.name)
                continue
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_size
                moments.append(found.moment)
        rejected = sum(not entry.name.endswith((_REASON, ".tmp")) for entry in _entries(self.rejected))
        return SpoolDepth(len(moments), size, min(moments, default=None), rejected, newer)

    def reject(self, file: SpooledFile, reason: str, *, kept: bytes = b"") -> None:
        """Take a file out of the way, with its reason beside it. `kept` must be redacted already."""
        files.private_folder(self.rejected)
        # A foreign name may itself say something private, or be too long for a suffix.
        foreign = f"foreign-{file.moment:%Y%m%dT%H%M%S%f}-{os.urandom(3).hex()}"
        name = file.path.name if file.ours else foreign
        files.write_atomically(self.rejected / (name + _REASON), reason.encode("utf-8", "replace") + b"\n")
        files.write_atomically(self.rejected / name, kept)
        file.path.unlink(missing_ok=True)  # Last: a crash before this rejects it again, and loses nothing.

    def remove(self, done: list[SpooledFile]) -> None:
        """Unlink what is stored. One that cannot go stays, and is recognised by its event id."""
        for file in done:
            with contextlib.suppress(OSError):
                file.path.unlink()

    def sweep(self, now: datetime) -> list[int]:
        """Remove what dead hooks left half written, never acknowledged; returns the sizes."""
        swept = []
        for entry in _entries(self.temporary):
            with contextlib.suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(state.st_mode) or now.timestamp() - state.st_mtime <= STALE_SECONDS:
                    continue
                named = _NAME.fullmatch(entry.name)
                # The hook may still live: a clock that jumped makes every file look old.
                if named is None or not locks.is_alive(int(named["process"])):
                    Path(entry.path).unlink()
                    swept.append(state.st_size)
        return swept


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _spooled(entry: os.DirEntry[str]) -> SpooledFile | None:
    if match := _NAME.fullmatch(entry.name):
        moment = datetime.fromtimestamp(int(match[1]) / 1e9, UTC)
        # Names hold no hyphen, agents' names hold no underscore: claude-code travels as claude_code.
        return SpooledFile(Path(entry.path), match[3], match[4].replace("_", "-"), moment)
    if _is_newer(entry.name) or entry.is_dir(follow_symlinks=False):
        return None
    with contextlib.suppress(OSError):
        moment = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
        return SpooledFile(Path(entry.path), "unknown", "unknown", moment, ours=False)
    return None


def _is_newer(name: str) -> bool:
    version = _VERSION.match(name)
    return version is not None and int(version[1]) > hook.FORMAT_VERSION


# --- the drain


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
    busy = False
    if not run.spool.new.is_dir():  # no hook ever wrote here, but a history may have been imported
        run.understand()
    while run.spool.new.is_dir():
        try:
            with run.spool.lock() as mine:
                busy = not mine
                if mine:
                    run.all(now)
        except StoreBusy:
            busy = True
        except OSError as fault:  # a home that may only be read, a full disk: all stays where it is
            run.log.warning("the spool cannot be drained: %s", fault.strerror)
            busy = True
        # Look once more: whoever found the lock taken while we finished relies on us.
        if busy or run.out_of_time() or not run.waiting():
            break
    left = (entry for entry in _entries(run.spool.new) if _spooled(entry))
    remaining = sum(1 for _ in islice(left, REMAINING_COUNTED))
    return Drained(**run.counts, remaining=remaining, busy=busy)


class _Drain:
    """One drain's state: what it did, what it will not try again, which projects it knows."""

    def __init__(self, spool: Spool, store: Store, settings: Settings, budget: float | None) -> None:
        self.spool, self.store, self.settings, self.budget = spool, store, settings, budget
        self.log = logs.logger("drain")
        self.out_of_time = deadline(budget)
        # The rest is for what was found: to look through a full spool may take longer than all of it.
        self.looked_enough = deadline(budget and budget / 2)
        self.counts: Counter[str] = Counter()
        self.seen: set[str] = set()
        self.project_of = functools.cache(self._project_of)
        # What the event's own project excludes, whoever drains it.
        self.exclude_of = functools.cache(project.exclusions)
        self.branch_of = functools.cache(current_branch)

    def all(self, now: datetime) -> None:
        for size in self.spool.sweep(now):
            self.log.warning("removed an unfinished capture of %d bytes from the spool", size)
        late = False
        while not late and (waiting := self.waiting()):
            left = iter(waiting)
            while not late and self.batch(left):
                late = self.out_of_time()
        self.understand()

    def waiting(self) -> list[SpooledFile]:
        """What is left to try; a file that could not be moved away is tried once."""
        return [file for file in self.spool.pending(self.looked_enough) if file.path.name not in self.seen]

    def batch(self, waiting: Iterator[SpooledFile]) -> bool:
        """Ingest one transaction's worth; false when there was nothing left."""
        finished: list[SpooledFile] = []
        events: list[Event] = []
        tried = size = 0
        for file in waiting:
            tried += 1
            self.seen.add(file.path.name)
            if (read := self.event(file, events)) is not None:
                finished.append(file)
                size += read
            if tried >= BATCH_EVENTS or size >= BATCH_BYTES or self.out_of_time():
                break
        if events:
            self.commit(events)
        self.spool.remove(finished)  # Only now: what is not committed must still be in the spool.
        return tried > 0

    def event(self, file: SpooledFile, events: list[Event]) -> int | None:
        """Parse into `events`: how many bytes were read; None when the file was rejected or is gone."""
        raw = b""
        try:
            raw = _read_bytes(file.path)
            if not file.ours:
                raise Unreadable("not a name that a hook gives")
            found = parse(
                raw, file.event, file.agent, file.moment, self.settings, self.project_of, self.exclude_of
            )
        except FileNotFoundError:
            return None  # another drainer was faster
        except Unreadable as reason:
            try:
                self.spool.reject(file, str(reason), kept=_harmless(raw))
            except OSError as fault:
                self.log.warning("a spooled file cannot be moved to rejected/: %s", fault.strerror)
            else:
                self.counts["rejected"] += 1
                self.log.warning("rejected a spooled file: %s", reason)
            return None
        if found is None:
            self.counts["ignored"] += 1
        else:
            events.append(found)
        return len(raw)

    def commit(self, events: list[Event]) -> None:
        once: dict[EventId, Event] = {}
        messages = []
        for event in events:
            if once.setdefault(event.id, event) is event:
                # The branch of something just now: what is checked out there.
                recent = event.cwd and abs(datetime.now(UTC) - event.timestamp) <= JUST_NOW
                messages += messages_of(event, self.branch_of(Path(event.cwd)) if recent else "")
        projects = {event.cwd: event.project for event in once.values()}
        added = self.store.archive.add(messages, projects, events=list(once.values()))
        self.counts.update(events=added.events, duplicates=len(events) - added.events)

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
    """The file's bytes, one more than can be read at most."""
    # A link in the spool could make us swallow any file of its owner, and a pipe would let us wait for ever.
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    try:
        descriptor = os.open(path, os.O_RDONLY | flags)
        with os.fdopen(descriptor, "rb") as handle:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("cannot be read: no regular file")
            return handle.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise Unreadable(f"cannot be read: {fault.strerror}") from None


def _harmless(raw: bytes) -> bytes:
    """What may be kept of bytes that are no event: redacted text, without the edge of a cut."""
    text = raw[: 4 * KEPT_REJECTED].decode("utf-8", "replace")
    # Broken JSON may still spell a tag or a secret in escapes, which no rule would recognise.
    text = _ESCAPED_ASCII.sub(lambda match: chr(int(match[1], 16)), text)
    cut = len(text) > KEPT_REJECTED or len(raw) > 4 * KEPT_REJECTED
    kept = redact(text[:KEPT_REJECTED])
    return (kept[:-CUT_MARGIN] if cut else kept).encode("utf-8", "replace")
