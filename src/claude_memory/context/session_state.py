"""What one session was already given and touched: tiny marker files, no lock, no database.

Asking twice for the same call or sub-agent gives the same answer: a server and the hook that did not
wait for it may both ask.

Hooks of one session run in parallel, so every step is one atomic file operation. All of it is
cache: losing it repeats a line of context, nothing more. Paths are plain texts: hooks load this.
"""

from __future__ import annotations

import os
import time
from zlib import crc32

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_PENDING_SECONDS = 120.0
_KEPT_SECONDS = 14 * 86_400.0
_SEEN_SECONDS = 7 * 86_400.0
_PLAIN_NAME = 64
_NO_KEY = 16  # shorter than any key; longer names stay as they are only if they are of an id's letters
_HEX = "0123456789abcdefABCDEF"


class SessionState:
    """Markers of one session, under the home's cache."""

    def __init__(self, home: str | os.PathLike[str], session: str) -> None:
        self._folder = f"{home}/cache/sessions/{_name(session)}"

    def given(self) -> set[str]:
        """Ids of the memories this session was given since its last compaction."""
        return set((self.read("given") or "").split())

    def give(self, ids: Iterable[str]) -> None:
        if line := " ".join(ids):
            with os.fdopen(self._open("given", os.O_APPEND), "ab") as handle:
                handle.write(line.encode("ascii", "replace") + b"\n")

    def start_over(self) -> None:
        """After a compaction or a clear the agent knows nothing of it any more."""
        for name in ("given", *self._markers("touched-")):
            _unlink(f"{self._folder}/{name}")

    def first_touch(self, of: str, by: str) -> bool:
        """Whether this is touched for the first time in the session, by the call of that id."""
        name = f"touched-{_name(of)}"
        return self._create(name, by) or (bool(by) and self.read(name) == by)

    def note(self, name: str, content: str) -> None:
        """Keep a text of the session's own, in place of an earlier one."""
        temporary = f".{name}.{os.urandom(6).hex()}.tmp"
        self._create(temporary, content)
        os.replace(f"{self._folder}/{temporary}", f"{self._folder}/{name}")

    def expect_agent(self, tool_use_id: str, kind: str, prompt: str, *, told: bool = False) -> None:
        """A sub-agent of this kind is about to start with this prompt, which may hold its context already."""
        call = _name(tool_use_id) if tool_use_id else f"{time.time_ns():020d}"
        # Without hyphens in it one kind is not the beginning of another.
        self._create(f"agent-{_name(kind).replace('-', '_')}-{call}", ("t" if told else "-") + prompt)

    def started_agent(self, kind: str, by: str) -> tuple[str, bool]:
        """What the sub-agent that starts now was asked, and whether it was told already in its prompt.

        Nothing is known where several of its kind could be meant: the prompts of the others are dropped, for
        the last of them would look alone. The sub-agent of the id `by` gets the same answer again: a server
        that answers too late has asked for it already.
        """
        answer = f"started-{_name(by)}"
        noted = self.read(answer) if by else None
        if noted is None:
            names = self._markers(f"agent-{_name(kind).replace('-', '_')}-")
            waiting = [name for name in names if age_seconds(f"{self._folder}/{name}") < _PENDING_SECONDS]
            for name in waiting if len(waiting) > 1 else ():
                self.note(name, (self.read(name) or "-")[0])
            for name in waiting[:1]:
                noted = self.read(name)
                _unlink(f"{self._folder}/{name}")
                if by:
                    self._create(answer, noted or "-")
        return (noted[1:], noted[0] == "t") if noted else ("", False)

    def read(self, name: str) -> str | None:
        """A marker's content; None if there is no such marker."""
        try:
            with open(f"{self._folder}/{name}", encoding="utf-8", errors="replace") as handle:  # noqa: PTH123
                return handle.read()
        except OSError:
            return None

    def _markers(self, start: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.startswith(start))  # noqa: PTH208
        except OSError:
            return []

    def _create(self, name: str, content: str) -> bool:
        try:
            with os.fdopen(self._open(name, os.O_EXCL), "wb") as handle:
                handle.write(content.encode("utf-8", "replace"))
        except FileExistsError:
            return False
        return True

    def _open(self, name: str, flag: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | flag
        try:
            return os.open(f"{self._folder}/{name}", flags, FILE_MODE)
        except FileNotFoundError:
            os.makedirs(self._folder, FOLDER_MODE, exist_ok=True)  # noqa: PTH103
            return os.open(f"{self._folder}/{name}", flags, FILE_MODE)


def tells_of_subagents(home: str) -> bool:
    """Whether the client told of a sub-agent's start lately: older ones do not, and a person may go back."""
    marker = f"{home}/cache/subagent-start"
    return os.path.exists(marker) and age_seconds(marker) < _SEEN_SECONDS  # noqa: PTH110


def note_subagent_start(home: str) -> None:
    try:
        os.makedirs(f"{home}/cache", FOLDER_MODE, exist_ok=True)  # noqa: PTH103
        os.close(os.open(f"{home}/cache/subagent-start", os.O_WRONLY | os.O_CREAT, FILE_MODE))
        os.utime(f"{home}/cache/subagent-start")
    except OSError:
        return


def drop_old(home: str | os.PathLike[str]) -> int:
    """Remove the markers of sessions that ended long ago."""
    from shutil import rmtree

    top = f"{home}/cache/sessions"
    try:
        folders = [f"{top}/{name}" for name in os.listdir(top)]  # noqa: PTH208
    except OSError:
        return 0
    # By the youngest of them: a clock that is a year ahead for a day must not end the sessions of today.
    youngest = max(min(map(age_seconds, folders), default=0.0), 0.0)
    old = [folder for folder in folders if age_seconds(folder) - youngest > _KEPT_SECONDS]
    for folder in old:
        rmtree(folder, ignore_errors=True)
    return len(old)


def age_seconds(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime  # noqa: PTH116
    except OSError:
        return 0.0


def _unlink(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


def _name(value: str) -> str:
    """A file name for any id or path: ids come from outside and may be hostile."""
    letters = value.replace("-", "")
    is_id = len(value) < _NO_KEY or not letters.strip(_HEX)
    if is_id and len(value) <= _PLAIN_NAME and value.isascii() and letters.isalnum():
        return value
    raw = value.encode("utf-8", "surrogatepass")  # two that meet cost a line of context
    return f"{crc32(raw):08x}{crc32(raw[::-1]):08x}{len(raw):x}"
