"""Makes the vectors that passages lack: newest first, one process at a time, until none is missing.

What is made is in the store at once, so that work which was killed goes on where it was. A file in the cache
keeps how fast it goes, and whether a person stopped it: until the next import or `reindex`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import EmbedderUnavailable
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.model import MemoryId, Passage
    from claude_memory.opening import Opened

ASKED_FOR = 512  # passages a look: in a store of a million the look itself takes seconds
BATCH = 32  # vectors a commit: about a second's work
WAIT_SECONDS = 0.5  # between two looks at what another process made
Watch = Callable[[int, int], None]  # is told how many vectors were made, and how many are missing still


@dataclass(frozen=True, slots=True)
class VectorProgress:
    """How many passages lack a vector, and what becomes of them."""

    passages: int
    missing: int
    working: bool = False  # a process is at it
    stopped: bool = False  # by a person
    per_second: float = 0.0  # as measured last; 0 if never

    @property
    def words(self) -> str:
        """In a line, for a person and an agent alike."""
        if not self.missing:
            return f"all {self.passages:,} passages have a vector"
        rest = "is found by words, until a session's end or `claude-memory reindex`"
        if self.stopped:
            rest = "was stopped: `claude-memory reindex` goes on"
        elif self.working:
            rest = "is being made in the background"
            if seconds := self.missing / self.per_second if self.per_second else 0:
                rest += f", about {seconds:.0f} s" if seconds < 100 else f", about {seconds / 60:.0f} min"
        made = f"{self.passages - self.missing:,} of {self.passages:,} passages"
        return f"{made} have a vector; the rest {rest}"


def is_working(home: Path) -> bool:
    if not _lock(home).exists():
        return False
    with try_lock(_lock(home)) as free:
        return not free


def noted(home: Path, passages: int, missing: int) -> VectorProgress:
    """The progress of a home whose passages were counted."""
    is_at_work, speed = bool(missing) and is_working(home), _noted(home).get("per_second", 0.0)
    return VectorProgress(passages, missing, is_at_work, _is_stopped(home), float(speed))


def stop(home: Path, *, stopped: bool = True) -> None:
    """Let nobody make vectors in the background, or let it go on; whoever is at it ends with its batch."""
    if stopped != _is_stopped(home):
        _note(home, stopped=stopped)


class VectorWork:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @property
    def progress(self) -> VectorProgress:
        """How far it is; without an embedder nothing is missing."""
        embedder = self._opened.embedder
        passages, missing = self._opened.store.memories.coverage(embedder.model) if embedder else (0, 0)
        return noted(self._opened.home, passages, missing)

    def of(self, ids: Collection[MemoryId]) -> int:
        """Of these memories alone, where they are among the newest: what waits longer is not waited for."""
        return self._made(lambda: False, only=ids)

    def some(self, *, budget_seconds: float | None = None) -> int:
        """Make vectors until none is missing or the time is over; in passing, none that a person stopped."""
        if budget_seconds is not None and _is_stopped(self._opened.home):
            return 0
        return self._made(times.deadline(budget_seconds))

    def rest(self, *, budget_seconds: float | None = None) -> int:
        """In the background: all that are missing, unless another process is at it or a person stops it."""
        home, is_late = private_folder(self._opened.home / "cache").parent, times.deadline(budget_seconds)
        with try_lock(_lock(home)) as free:  # two would only share the same cores
            return self._made(lambda: is_late() or _is_stopped(home)) if free else 0

    def all(self, watch: Watch | None = None) -> int:
        """With a person waiting: all that are missing, by this process or the one that is at it."""
        private_folder(self._opened.home / "cache")
        first = last = self.progress.missing
        while last:
            with try_lock(_lock(self._opened.home)) as free:
                if free:
                    return first - last + self._made(lambda: False, watch, before=first - last)
            time.sleep(WAIT_SECONDS)
            last = self.progress.missing
            if watch is not None:
                watch(max(0, first - last), last)
        return first

    def _made(
        self,
        is_over: Callable[[], bool],
        watch: Watch | None = None,
        *,
        before: int = 0,
        only: Collection[MemoryId] | None = None,
    ) -> int:
        """How many vectors were kept: others may have been faster. A failing embedder ends it."""
        embedder, memories = self._opened.embedder, self._opened.store.memories
        began, made = time.monotonic(), 0
        waiting: list[Passage] = []
        while embedder is not None and not is_over():
            if not waiting:
                lacking = memories.unembedded(embedder.model, ASKED_FOR)
                waiting = [passage for passage in lacking if only is None or passage.memory in only]
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            if not batch:
                break
            try:
                vectors = embedder.embed([passage.text for passage in batch])
            except EmbedderUnavailable as fault:
                self._opened.lose_embedder(fault)
                break
            pairs = [(passage.id, vector) for passage, vector in zip(batch, vectors, strict=True)]
            made += memories.add_vectors(embedder.model, pairs)
            if watch is not None:
                watch(before + made, memories.coverage(embedder.model)[1])
        if made >= BATCH:
            _note(self._opened.home, per_second=round(made / (time.monotonic() - began), 1))
        return made


def _lock(home: Path) -> Path:
    return home / "cache" / "embed.lock"


def _is_stopped(home: Path) -> bool:
    return _noted(home).get("stopped") is True


def _noted(home: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((home / "cache" / "vector-work").read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _note(home: Path, **values: object) -> None:
    path = private_folder(home / "cache") / "vector-work"
    write_atomically(path, json.dumps({**_noted(home), **values}).encode())
