"""What one session was already given and touched: tiny marker files, no lock, no database.

Asking twice for the same call or sub-agent gives the same answer: a server and the hook that did not
wait for it may both ask.

Hooks of one session run in parallel, so every step is one atomic file operation. All of it is
cache: losing it repeats a line of context, nothing more.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from claude_memory.platform.files import FILE_MODE, private_folder

_PENDING_SECONDS = 120.0
_KEPT_SECONDS = 14 * 86_400.0
_SEEN_SECONDS = 7 * 86_400.0
_PLAIN_NAME = 64
_NO_KEY = 16  # shorter than any key; longer names stay as they are only if they are of an id's letters
_HEX = "0123456789abcdefABCDEF"


class SessionState:
    """Markers of one session, under the home's cache."""

    def __init__(self, home: Path, session: str) -> None:
        self._folder = home / "cache" / "sessions" / _name(session)

    def given(self) -> set[str]:
        """Ids of the memories this session was given since its last compaction."""
        try:
            return set((self._folder / "given").read_text("ascii", "replace").split())
        except OSError:
            return set()

    def give(self, ids: list[str]) -> None:
        """Note that these were given."""
        if ids:
            self._append("given", " ".join(ids) + "\n")

    def start_over(self) -> None:
        """After a compaction or a clear the agent knows nothing of it any more."""
        with contextlib.suppress(OSError):
            (self._folder / "given").unlink()
        for marker in self._markers("touched"):
            with contextlib.suppress(OSError):
                marker.unlink()

    def first_touch(self, path: str, by: str = "") -> bool:
        """Whether this file is touched for the first time in the session, by the call of that id."""
        name = f"touched-{_name(path)}"
        return self._create(name, by.encode("utf-8", "replace")) or (bool(by) and self._read(name) == by)

    def expect_agent(self, tool_use_id: str, kind: str, prompt: str, *, told: bool = False) -> None:
        """A sub-agent of this kind is about to start with this prompt."""
        call = _name(tool_use_id) if tool_use_id else f"{time.time_ns():020d}"
        name = f"agent-{_word(kind)}-{call}{'-told' if told else ''}"
        self._create(name, prompt.encode("utf-8", "replace"))

    def started_agent(self, kind: str, by: str = "") -> tuple[str, bool] | None:
        """What the sub-agent that starts now was asked, and whether it was told already in its prompt.

        None when several of its kind could be meant. The sub-agent of the id `by` gets the same answer
        again: a server that answers too late has asked for it already.
        """
        answer = f"started-{_name(by)}"
        if by and (known := self._read(answer)) is not None:
            return (known[1:], known[0] == "t") if known else None
        waiting = [
            marker
            for marker in self._markers(f"agent-{_word(kind)}")
            if _age_seconds(marker) < _PENDING_SECONDS
        ]
        if not waiting:
            return None
        alone = len(waiting) == 1 and not waiting[0].name.endswith("-crowd")
        told = waiting[0].name.endswith("-told")
        prompt = (self._read(waiting[0].name) or "") if alone else ""
        if by:
            kept = ("t" if told else "-") + prompt if alone or told else ""
            self._create(answer, kept.encode("utf-8", "replace"))
        with contextlib.suppress(OSError):
            waiting[0].unlink()
        for other in waiting[1:]:
            _mark_crowd(other)
        return (prompt, told) if alone or told else None

    def _markers(self, kind: str) -> list[Path]:
        try:
            return sorted(self._folder.glob(f"{kind}-*"))
        except OSError:
            return []

    def _read(self, name: str) -> str | None:
        try:
            return (self._folder / name).read_text("utf-8", "replace")
        except OSError:
            return None

    def _create(self, name: str, content: bytes) -> bool:
        private_folder(self._folder)
        try:
            descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
        return True

    def _append(self, name: str, text: str) -> None:
        private_folder(self._folder)
        descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        with os.fdopen(descriptor, "ab") as handle:
            handle.write(text.encode("ascii", "replace"))


class SubagentStarts:
    """Whether the client tells of sub-agents that start; older ones do not."""

    def __init__(self, home: Path) -> None:
        self._marker = home / "cache" / "subagent-start"

    def seen(self) -> bool:
        """Whether one was told of lately: a person may go back to an older client."""
        return self._marker.exists() and _age_seconds(self._marker) < _SEEN_SECONDS

    def note(self) -> None:
        """One was told of just now."""
        with contextlib.suppress(OSError):
            private_folder(self._marker.parent)
            self._marker.touch(FILE_MODE)


def drop_old(home: Path) -> int:
    """Remove the markers of sessions that ended long ago."""
    dropped = 0
    folders = list((home / "cache" / "sessions").glob("*"))
    # By the youngest of them: a clock that is a year ahead for a day must not end the sessions of today.
    youngest = min(map(_age_seconds, folders), default=0.0)
    for folder in folders:
        if _age_seconds(folder) - max(youngest, 0.0) > _KEPT_SECONDS:
            for marker in folder.glob("*"):
                with contextlib.suppress(OSError):
                    marker.unlink()
            with contextlib.suppress(OSError):
                folder.rmdir()
                dropped += 1
    return dropped


def _age_seconds(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _mark_crowd(marker: Path) -> None:
    """Of several that start together the last would look alone, and get whichever prompt is left."""
    if not marker.name.endswith(("-crowd", "-told")):
        with contextlib.suppress(OSError):
            marker.rename(marker.with_name(f"{marker.name}-crowd"))


def _word(kind: str) -> str:
    """A name without hyphens, so that one kind is not the beginning of another."""
    return _name(kind).replace("-", "_")


def _name(value: str) -> str:
    """A file name for any id or path: ids come from outside and may be hostile."""
    letters = value.replace("-", "")
    is_id = len(value) < _NO_KEY or not letters.strip(_HEX)
    if is_id and len(value) <= _PLAIN_NAME and value.isascii() and letters.isalnum():
        return value
    import hashlib

    return hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
