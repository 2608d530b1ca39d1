"""The memory behind the tools: opened on first use, one request at a time, its faults put into words.

Nothing here knows what a tool does. A request is what keeps the embedder warm. A reading request writes
nothing: what others left is brought in before it, and what it opened is noted after it, by the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from claude_memory.errors import InvalidInput, MemoryFault, NotFound, StoreBusy

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
        bring_in: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self.home = home
        self.folder = folder
        self._opened = opened
        self.is_warm = is_warm  # whether a text can be embedded without loading a model first
        self._bring_in = bring_in  # lets what others wrote be stored, by somebody else than the question
        self._memory: Memory | None = None
        self._opened_at: dict[MemoryId, datetime] = {}  # uses that wait to be noted
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
    def reading(self, *, fresh: bool = True, graph: bool = False) -> Iterator[Memory]:
        """The memory for a request that only reads.

        `fresh`: what was captured just now matters; `graph`: so does what it mentions.
        """
        if fresh:
            self._bring_in(graph)
        with self.memory() as memory:
            yield memory

    def opened(self, ids: Iterable[MemoryId]) -> None:
        """Keep in mind that memories were opened: that counts as a use."""
        with self._lock:
            self._opened_at.update(dict.fromkeys(ids, datetime.now(UTC)))

    @property
    def has_notes(self) -> bool:
        """Whether uses wait to be noted."""
        return bool(self._opened_at)

    def note_uses(self) -> None:
        """Write down what was opened; what cannot be written now waits."""
        with self._lock:
            for id_, at in list(self._opened_at.items()):
                with suppress(NotFound, InvalidInput):  # erased meanwhile
                    memory = self._open()
                    memory.lifecycle.review(memory.find([id_]), "opened", now=at)
                del self._opened_at[id_]

    @contextmanager
    def idle_memory(self, *, wait: bool = False) -> Iterator[Memory | None]:
        """The memory for work that is no request; None while a request runs, unless it shall `wait`."""
        if not self._lock.acquire(blocking=wait):
            yield None
            return
        try:
            yield self._open()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give the store back."""
        with self._lock:
            with suppress(MemoryFault, OSError):
                self.note_uses()
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    def _open(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened(self.home, self.folder)
        return self._memory
