"""Searches beside the screen, in a thread: always the newest question, never one that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from claude_memory.errors import MemoryFault
from claude_memory.memory import ConversationFilter, Memory

if TYPE_CHECKING:
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.excerpts import Wording

_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """One question as the screen asks it; the number tells an answer from one that comes too late."""

    number: int
    query: str
    within: ConversationFilter
    here: bool
    limit: int
    own_first: bool


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """What was found; `final` when meaning was weighed too. `fault` says what went wrong."""

    wanted: Wanted
    found: tuple[Recalled, ...] = ()
    asked: Wording | None = None
    final: bool = True
    fault: str = ""


class Searcher:
    """One thread that answers the newest question, by words at once, then by meaning too."""

    def __init__(self, memory: Memory, tell: Callable[[ScreenAnswer], object]) -> None:
        self._memory = memory
        self._tell = tell
        self._waiting: SimpleQueue[Wanted | None] = SimpleQueue()  # None ends the thread
        self._thread = threading.Thread(target=self._work, name="recall", daemon=True)
        self.start = self._thread.start
        self.ask = self._waiting.put

    def stop(self) -> None:
        """Answer no more; wait a little for a search that runs, so that the store can be closed."""
        self._waiting.put(None)
        self._thread.join(_PATIENCE_SECONDS)

    def _work(self) -> None:
        while (wanted := self._waiting.get()) is not None:
            if not self._waiting.empty():
                continue  # asked again since
            try:
                self._answer(wanted)
            except MemoryFault as fault:
                self._tell(ScreenAnswer(wanted, fault=str(fault)))
            except Exception as fault:  # noqa: BLE001  a thread's top: the screen says it, and lives on
                self._tell(ScreenAnswer(wanted, fault=f"unexpected {type(fault).__name__}"))

    def _answer(self, wanted: Wanted) -> None:
        asked, is_question = self._memory.conversations.asked(wanted.query), bool(wanted.query.strip())
        for quick in (True, False) if is_question else (True,):
            recalled = self._memory.recall(
                wanted.query,
                within=wanted.within,
                here=wanted.here,
                limit=wanted.limit,
                own_first=wanted.own_first,
                quick=quick,
            )
            self._tell(ScreenAnswer(wanted, tuple(recalled), asked, final=not (quick and is_question)))
            if not self._waiting.empty():
                return
