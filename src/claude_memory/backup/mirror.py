"""The mirror: memories.jsonl, an append-only copy of every change of a memory, one JSON line each.

The database can be rebuilt from it. A crash may leave a line twice or a last line torn: replay takes
the same line twice, and reading passes over what is no record and counts it. It never reads the store
beyond its pending changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.model import ProjectId
from claude_memory.platform import files
from claude_memory.platform.locks import held, try_lock
from claude_memory.redact.erasure import Holder, holds
from claude_memory.store.base import Store

CURRENT = "memories.jsonl"
BATCH = 5_000
LOCK = ".mirror.lock"
LOCK_WAIT_SECONDS = 10.0

_POLL_SECONDS = 0.03
_FLUSH_WAIT_SECONDS = 0.1  # longer than a turn takes; a stopped process holds up no write for long
_TAIL_BYTES = 1 << 18

_ARCHIVE = re.compile(r"memories-(\d{4}-\d{2})(?:-(\d+))?\.jsonl")
Erasure = Callable[[ProjectId | None], Holder]


def paths(home: Path) -> list[Path]:
    """The mirror's files that exist, oldest first."""
    found = (path for path in home.glob("memories*.jsonl") if path.name == CURRENT or _month_of(path))
    return sorted(found, key=lambda path: (path.name == CURRENT, _month_of(path)))


def read(home: Path, unread: list[bytes] | None = None) -> Iterator[Mapping[str, Any]]:
    """Every record, oldest first. Lines that are no record are passed over; `unread` collects them."""
    for path in paths(home):
        with path.open("rb") as lines:
            for line in lines:
                record = _parsed(line)
                if record is not None:
                    yield record
                elif line.strip() and unread is not None:
                    unread.append(line)


def last_sequence(home: Path) -> int:
    latest = 0
    for path in paths(home)[-1:]:
        with path.open("rb") as handle:
            handle.seek(max(path.stat().st_size - _TAIL_BYTES, 0))
            for line in handle.read(_TAIL_BYTES).split(b"\n"):
                number = (_parsed(line) or {}).get("sequence")
                latest = max(latest, number) if isinstance(number, int) else latest
    return latest


def flush(home: Path, store: Store, *, now: datetime | None = None) -> int:
    """Append what the store has not mirrored yet; returns the lines written, 0 if another stays at it."""
    written, deadline = 0, time.monotonic() + _FLUSH_WAIT_SECONDS
    with files.disk_faults(f"write {home / CURRENT}"):
        while store.changes_since(CURRENT, 1):
            lines = _flush_turn(home, store, now or datetime.now(UTC))
            written += lines
            # Whoever holds the lock may have looked before our commit: it does not know of ours.
            if not lines and time.monotonic() >= deadline:
                break
            if lines in (0, BATCH):  # long work lets a purge in between
                time.sleep(_POLL_SECONDS)
    return written


def _flush_turn(home: Path, store: Store, now: datetime) -> int:
    with try_lock(files.private_folder(home) / LOCK) as free:
        if not free:
            return 0
        _rotate(home, now)
        # Read under the lock: what `purge` has removed cannot be appended after it.
        changes = store.changes_since(CURRENT, BATCH)
        if changes:
            append(
                home,
                ({"sequence": c.sequence, "home": c.home, "clock": c.clock, **c.record} for c in changes),
            )
            store.changes_taken(CURRENT, changes[-1].sequence)
        return len(changes)


def purge(home: Path, ids: Collection[str], erased: Erasure | None = None) -> int:
    """Rewrite the mirror without the lines of these memories, and without those that hold what was erased.

    Returns the lines removed. `erased` gives what was erased from a project; the store writes down anew
    what is left of a memory that lost a part. Tombstones stay, other memories lose only their links to the
    erased ones, and lines that cannot be read go too, because nobody can tell whose text they hold.
    """
    removed, gone = 0, frozenset(ids)
    if not (gone or erased) or not paths(home):
        return 0
    with locked(home):
        for path in paths(home):
            temporary, changed = path.with_name(f".{path.name}.purge"), False
            temporary.unlink(missing_ok=True)  # of a process that was killed
            try:
                with path.open("rb") as source, files.new_file(temporary) as target:
                    for line in source:
                        left = _without(line, gone, erased)
                        removed += left is None
                        changed |= left != line
                        target.write(left or b"")
                    files.sync_file(target)
                if changed:
                    shutil.copystat(path, temporary)  # the month that rotation goes by
                    os.replace(temporary, path)
                    files.sync_folder(path.parent)
            finally:
                temporary.unlink(missing_ok=True)
    return removed


def carry_out_erasures(home: Path, store: Store) -> int:
    """Take what tombstones name out of plain files, store and mirror; returns how many memories."""
    from claude_memory.notes import erasing

    # Files first: a process that ends in between leaves the note that this is to be done.
    erasing.purge(home, store.memories.erased_sentences())
    flush(home, store)
    done = store.memories.apply_tombstones()
    purge(home, done.ids, cache(store.memories.erased_sentences))
    return done.memories


def locked(home: Path) -> AbstractContextManager[None]:
    """Hold the mirror still; waits for another process for a bounded time, then raises Conflict."""
    conflict = f"another process is writing {home / CURRENT}; try again"
    return held(home / LOCK, wait_seconds=LOCK_WAIT_SECONDS, conflict=conflict)


def append(home: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records at the end, all on the disk on return. The caller holds the lock."""
    path, lines = home / CURRENT, b"".join(map(_line, records))
    is_new = not path.exists()
    descriptor = os.open(
        path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), files.FILE_MODE
    )
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        os.lseek(descriptor, max(size - 1, 0), os.SEEK_SET)
        if size and os.read(descriptor, 1) != b"\n":
            lines = b"\n" + lines  # the torn line of a crash stays alone on its line
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(descriptor, view) :]
            getattr(os, "fdatasync", os.fsync)(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(descriptor, size)  # a full disk leaves no half line
            raise
    finally:
        os.close(descriptor)
    if is_new:
        files.sync_folder(home)


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str)
    # A lone surrogate becomes its JSON escape: one odd character must not hold up every later change.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _parsed(line: bytes) -> Mapping[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8"))
        if b"\\ud" in line.lower():
            json.dumps(record, ensure_ascii=False).encode("utf-8")  # no store can keep a lone surrogate
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _rotate(home: Path, now: datetime) -> None:
    """At the first write of a new month, put the current file away under the month of its last line.

    Its name sorts after every archive there is, even if the clock was set back.
    """
    current = home / CURRENT
    try:
        # The file's own time, not its records': an import writes changes of other years.
        last = datetime.fromtimestamp(current.stat().st_mtime, UTC).strftime("%Y-%m")
    except FileNotFoundError:
        return
    if last < now.strftime("%Y-%m"):
        latest, number = max(map(_month_of, paths(home))) or ("", 0)
        name = f"memories-{last}.jsonl" if last > latest else f"memories-{latest}-{number + 1}.jsonl"
        current.rename(home / name)
        files.sync_folder(home)


def _month_of(path: Path) -> tuple[str, int] | tuple[()]:
    found = _ARCHIVE.fullmatch(path.name)
    return (found[1], int(found[2] or 1)) if found else ()


def _without(line: bytes, gone: frozenset[str], erased: Erasure | None) -> bytes | None:
    record = _parsed(line)
    if record is None or "tombstone" in record:
        return line if record else None
    memory: Any = record.get("memory")
    is_memory = isinstance(memory, dict)
    if erased and holds(
        line.decode("utf-8", "replace"), erased(memory.get("project") if is_memory else None)
    ):
        return None
    if not is_memory:
        return None if any(id_.encode() in line for id_ in gone) else line
    if memory.get("id") in gone:
        return None
    linked = {key: None for key, value in memory.items() if isinstance(value, str) and value in gone}
    return _line({**record, "memory": {**memory, **linked}}) if linked else line
