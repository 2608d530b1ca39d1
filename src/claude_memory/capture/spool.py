"""The spool: events captured but not yet ingested, one file each.

Knows names and places, never content: what is kept of a rejected file is handed in, already
redacted. Files of a newer format are left for the newer program that can read them.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from claude_memory.hook import claude_memory_hook as hook
from claude_memory.platform import files, locks

STALE_SECONDS = 3600  # a hook that has not finished within the hour is dead

_NAME = re.compile(r"1-(\d{1,19})-(?P<process>\d{1,10})-[0-9a-f]{1,32}-(\w{1,40})-(\w{1,40})\.json", re.ASCII)
_VERSION = re.compile(r"(\d{1,9})-")
_REASON = ".reason"
_LOOK_EVERY = 256  # files between two looks at the clock


@dataclass(frozen=True, slots=True)
class SpooledFile:
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
    """The three folders under `<home>/spool`."""

    def __init__(self, home: Path) -> None:
        """Nothing is created until something is written."""
        self.home = home
        self.folder = home / "spool"
        self.temporary = self.folder / "tmp"
        self.new = self.folder / "new"
        self.rejected = self.folder / "rejected"

    def put(self, event: str, raw: bytes, agent: str = hook.DEFAULT_AGENT) -> Path:
        """Spool an event exactly as the hook program does."""
        return Path(hook.spool(str(self.home), event, agent, [raw]))

    def lock(self) -> AbstractContextManager[bool]:
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

    def count(self, most: int) -> int:
        """How many wait, counted up to `most`."""
        return sum(1 for _ in islice((entry for entry in _entries(self.new) if _spooled(entry)), most))

    def depth(self) -> SpoolDepth:
        """Count and size of what waits; tolerant of a drain that runs meanwhile."""
        count = size = newer = 0
        oldest: datetime | None = None
        for entry in _entries(self.new):
            found = _spooled(entry)
            if found is None:
                newer += _is_newer(entry.name)
                continue
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_size
                count += 1
                oldest = found.moment if oldest is None else min(oldest, found.moment)
        rejected = sum(not entry.name.endswith((_REASON, ".tmp")) for entry in _entries(self.rejected))
        return SpoolDepth(count, size, oldest, rejected, newer)

    def reject(self, file: SpooledFile, reason: str, *, kept: bytes = b"") -> None:
        """Take a file out of the way, with its reason beside it. `kept` must be redacted already."""
        files.private_folder(self.rejected)
        # A foreign name may itself say something private, or be too long for a suffix.
        foreign = f"foreign-{file.moment:%Y%m%dT%H%M%S%f}-{os.urandom(3).hex()}"
        name = file.path.name if file.ours else foreign
        files.write_atomically(self.rejected / (name + _REASON), reason.encode("utf-8", "replace") + b"\n")
        files.write_atomically(self.rejected / name, kept)
        file.path.unlink(missing_ok=True)  # Last: a crash before this rejects it again, and loses nothing.

    def remove(self, done: Iterable[SpooledFile]) -> None:
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
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _spooled(entry: os.DirEntry[str]) -> SpooledFile | None:
    match = _NAME.fullmatch(entry.name)
    if match:
        moment = datetime.fromtimestamp(int(match[1]) / 1e9, UTC)
        # Names hold no hyphen, agents' names hold no underscore: claude-code travels as claude_code.
        return SpooledFile(Path(entry.path), match[3], match[4].replace("_", "-"), moment)
    if _is_newer(entry.name) or entry.is_dir(follow_symlinks=False):
        return None
    try:
        changed = entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return None
    moment = datetime.fromtimestamp(changed, UTC)
    return SpooledFile(Path(entry.path), "unknown", "unknown", moment, ours=False)


def _is_newer(name: str) -> bool:
    version = _VERSION.match(name)
    return version is not None and int(version[1]) > hook.FORMAT_VERSION
