"""Workers that read while another process writes: plain processes, joined to it by pipes.

A worker whose parent is gone finds its pipe closed and ends, so that nothing is left running. Sources
are dealt out in turn and taken back in order, so that the store is the same whatever their speed.
"""

from __future__ import annotations

import copyreg
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import fields
from operator import attrgetter
from queue import Empty, Queue
from typing import IO, Any

from claude_memory.errors import StoreFault
from claude_memory.imports.reading import Batch, Task, batches
from claude_memory.model import Event, StoredMemory
from claude_memory.settings import Settings

AHEAD = 2  # batches that each worker may be ahead, so that it goes on while the writer commits
# Messages make no cycles, and thousands of them wait: looking through them for garbage is for nothing.
_COLLECT_AFTER = (100_000, 20, 20)
_PROGRAM = "from claude_memory.imports.pool import work; work()"


def pooled(tasks: Sequence[Task], settings: Settings, count: int) -> Iterator[Batch]:
    """The batches of all tasks, in the tasks' order."""
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(*_COLLECT_AFTER)
        workers = [
            stack.enter_context(_Worker(list(tasks[number::count]), settings)) for number in range(count)
        ]
        for number in range(len(tasks)):
            worker = workers[number % count]
            while not (batch := worker.next()).last:
                yield batch
            yield batch


class _Worker:
    """One worker as the writer sees it: a thread takes its batches off the pipe, some way ahead."""

    def __init__(self, tasks: list[Task], settings: Settings) -> None:
        self._ahead: Queue[Batch | None] = Queue(AHEAD)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # an interrupt is for the writer, which ends its workers
        )
        assert self._process.stdin is not None
        _send(self._process.stdin, (tasks, settings))
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        while self._thread.is_alive():  # it may wait for room
            with suppress(Empty):
                self._ahead.get(timeout=0.05)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        self._process.wait()

    def next(self) -> Batch:
        """The worker's next batch."""
        batch = self._ahead.get()
        if batch is None:
            raise StoreFault("a reading process ended early; import again to go on where it was")
        return batch

    def _take(self) -> None:
        assert self._process.stdout is not None
        batch: Batch | None
        while True:
            try:
                batch = pickle.load(self._process.stdout)  # noqa: S301  our own process sent it
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                batch = None
            self._ahead.put(batch)
            if batch is None:
                return


def _send(pipe: IO[bytes], value: Any) -> None:
    pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _hand_over_by_position(kind: type[Any]) -> None:
    """A frozen dataclass is pickled field by field, in Python; its values in a row are handed over faster."""
    values = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda item: (kind, values(item)))


def work() -> None:
    """A worker's whole life: take the tasks, read them, hand the batches over."""
    gc.set_threshold(*_COLLECT_AFTER)
    for kind in (Event, StoredMemory):
        _hand_over_by_position(kind)
    if hasattr(os, "nice"):
        os.nice(5)
    try:
        tasks, settings = pickle.load(sys.stdin.buffer)  # noqa: S301  from our own process
        for task in tasks:
            for batch in batches(task, settings):
                _send(sys.stdout.buffer, batch)
    except (BrokenPipeError, EOFError):
        os._exit(0)  # nobody is there to hear of it
