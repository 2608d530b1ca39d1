"""Which files differ from the last commit: git is asked while the hook does other work.

Started without the module subprocess, which takes longer to load than git takes to answer.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path
from types import TracebackType
from typing import Self

GIT_SECONDS = 0.15
MAX_FILES = 50
_READ_BYTES = 1 << 16


class ChangedFiles:
    """A question to git that runs beside us; whoever does not wait for the answer loses nothing."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process = 0
        self._pipe = -1
        self._deadline = 0.0

    def __enter__(self) -> Self:
        # A repository may come from anywhere: its own settings must not name a program to run.
        quiet = ["-c", "core.fsmonitor=false", "--no-optional-locks"]
        asked = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD"]
        if hasattr(os, "posix_spawnp") and (self._root / ".git").exists():
            self._start(["git", "-C", str(self._root), *quiet, *asked])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            os.close(self._pipe)
            with contextlib.suppress(OSError):
                if os.waitpid(self._process, os.WNOHANG)[0] == 0:
                    os.kill(self._process, 9)
                    os.waitpid(self._process, 0)

    def names(self) -> tuple[str, ...]:
        """Paths from the repository's top; none if git does not answer quickly."""
        if not self._process:
            return ()
        text = b""
        while text.count(b"\0") < MAX_FILES:
            left = max(self._deadline - time.monotonic(), 0.0)
            if not select.select([self._pipe], [], [], left)[0]:
                return ()
            part = os.read(self._pipe, _READ_BYTES)
            if not part:
                break
            text += part
        return tuple(name for name in text.decode("utf-8", "replace").split("\0")[:-1])[:MAX_FILES]

    def _start(self, command: list[str]) -> None:
        self._pipe, end = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        redirect = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, end, 1),
            (os.POSIX_SPAWN_DUP2, null, 2),
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._deadline = time.monotonic() + GIT_SECONDS
        try:
            self._process = os.posix_spawnp("git", command, environment, file_actions=redirect)
        except OSError:  # no git
            os.close(self._pipe)
        finally:
            os.close(end)
            os.close(null)
