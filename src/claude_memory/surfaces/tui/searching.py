"""Searches beside the screen, in a thread: always the newest question, never one that is out of date."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_memory.errors import MemoryFault
from claude_memory.memory import ConversationFilter, Memory

if TYPE_CHECKING:
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.excerpts import Question

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
    found: tuple[Recalled, ...]
    asked: Question | None
    final: bool
    fault: str = ""


class Searcher:
    """One thread that answers the newest question, by words at once, then by meaning too."""

    def __init__(self, memory: Memory, tell: Callable[[ScreenAnswer], object]) -> None:
        self._memory = memory
        self._tell = tell
        self._changed = threading.Condition()
        self._wanted: Wanted | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="recall", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def ask(self, wanted: Wanted) -> None:
        """ScreenAnswer this next; a question that still waits is dropped."""
        with self._changed:
            self._wanted = wanted
            self._changed.notify()

    def stop(self) -> None:
        """ScreenAnswer no more; wait a little for a search that runs, so that the store can be closed."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(_PATIENCE_SECONDS)

    def _work(self) -> None:
        while (wanted := self._next()) is not None:
            try:
                self._answer(wanted)
            except MemoryFault as fault:
                self._say(ScreenAnswer(wanted, (), None, True, str(fault)))
            except Exception as fault:  # noqa: BLE001  a thread's top: the screen says it, and lives on
                self._say(ScreenAnswer(wanted, (), None, True, f"unexpected {type(fault).__name__}"))

    def _next(self) -> Wanted | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._wanted is not None)
            wanted, self._wanted = self._wanted, None
            return None if self._stopped else wanted

    def _answer(self, wanted: Wanted) -> None:
        asked = self._memory.conversations.asked(wanted.query)
        by_words = self._found(wanted, quick=True)
        more = bool(wanted.query.strip())
        self._say(ScreenAnswer(wanted, by_words, asked, not more))
        if more and self._is_current():
            self._say(ScreenAnswer(wanted, self._found(wanted, quick=False), asked, True))

    def _found(self, wanted: Wanted, *, quick: bool) -> tuple[Recalled, ...]:
        return tuple(
            self._memory.recall(
                wanted.query,
                within=wanted.within,
                here=wanted.here,
                limit=wanted.limit,
                own_first=wanted.own_first,
                quick=quick,
            )
        )

    def _is_current(self) -> bool:
        with self._changed:
            return self._wanted is None and not self._stopped

    def _say(self, answer: ScreenAnswer) -> None:
        if not self._stopped:
            self._tell(answer)
