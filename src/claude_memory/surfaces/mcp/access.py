"""The memory behind the tools: opened on first use, one request at a time, its faults put into words.

Nothing here knows what a tool does. A request is what keeps the embedder warm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from claude_memory.errors import MemoryFault, StoreBusy

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.model import MemoryId


class Access:
    """One project's memory for many threads."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        opened: Callable[[Path, Path], Memory],
        is_warm: Callable[[], bool] = lambda: True,
    ) -> None:
        self.home = home
        self.folder = folder
        self._opened = opened
        self.is_warm = is_warm  # whether a text can be embedded without loading a model first
        self._memory: Memory | None = None
        self._lock = threading.RLock()
        self.last_request = time.monotonic()
        self.asked = ""  # the last question: what is opened afterwards is cut around it
        self.shown_elsewhere: set[MemoryId] = set()  # of other projects, found on explicit request

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory for one request; whatever fails becomes one line that a model can act on."""
        with self._lock:
            self.last_request = time.monotonic()
            try:
                yield self._open()
            except StoreBusy as fault:
                raise ToolError(f"{fault}; nothing was changed, try again in a moment") from None
            except MemoryFault as fault:
                raise ToolError(str(fault)) from None
            except OSError as fault:
                where = f": {fault.filename}" if fault.filename else ""
                raise ToolError(f"{fault.strerror or fault}{where}") from None
            finally:
                self.last_request = time.monotonic()

    @contextmanager
    def idle_memory(self) -> Iterator[Memory | None]:
        """The memory for work that nobody waits for; None while a request runs."""
        if not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            yield self._open()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give the store back."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    def _open(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened(self.home, self.folder)
        return self._memory
