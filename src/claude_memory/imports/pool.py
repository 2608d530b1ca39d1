"""Workers that read while another process writes: plain processes, joined to it by pipes.

A worker whose parent is gone finds its pipe closed and ends, so that nothing is left running. Sources
are dealt out in turn and taken back in order, so that the store is the same whatever their speed.
"""

from __future__ import annotations

import copyreg
import gc
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import fields
from operator import attrgetter
from typing import IO, Any

from claude_memory.errors import StoreFault
from claude_memory.imports.reading import Batch, Task, batches
from claude_memory.model import Event, StoredMemory
from claude_memory.settings import Settings
from claude_memory.store.archive_model import NewMessage

AHEAD_BYTES = 12 << 20  # that each worker may be ahead, so that it goes on while the writer commits
# Messages make no cycles, and thousands of them wait: looking through them for garbage is for nothing.
_COLLECT_AFTER = (100_000, 20, 20)
_LENGTH = struct.Struct(">Q")
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


class _Waiting:
    """Batches as they came off the pipe, up to so many bytes; they are unpickled one at a time."""

    def __init__(self) -> None:
        self._held: deque[bytes | None] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._closed = False

    def put(self, content: bytes | None) -> bool:
        """Add one when there is room for it, None for the end; false if nobody wants any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._bytes < AHEAD_BYTES)
            self._held.append(content)
            self._bytes += len(content or b"")
            self._changed.notify_all()
            return not self._closed

    def get(self) -> bytes | None:
        """The next one, as soon as it is there; None for the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._held)
            content = self._held.popleft()
            self._bytes -= len(content or b"")
            self._changed.notify_all()
            return content

    def close(self) -> None:
        """Let nobody wait for room any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Worker:
    """One worker as the writer sees it: a thread takes its batches off the pipe, some way ahead."""

    def __init__(self, tasks: list[Task], settings: Settings) -> None:
        self._waiting = _Waiting()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # an interrupt is for the writer, which ends its workers
        )
        _send(_pipe(self._process.stdin), (tasks, settings))
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._waiting.close()
        self._thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _pipe(pipe).close()
        self._process.wait()

    def next(self) -> Batch:
        """The worker's next batch."""
        content = self._waiting.get()
        if content is None:
            raise StoreFault("a reading process ended early; import again to go on where it was")
        batch: Batch = pickle.loads(content)  # noqa: S301  our own process sent it
        return batch

    def _take(self) -> None:
        content: bytes | None = b""
        while content is not None:
            content = _receive(_pipe(self._process.stdout))
            if not self._waiting.put(content):
                return


def _pipe(handle: IO[bytes] | None) -> IO[bytes]:
    assert handle is not None
    return handle


def _send(pipe: IO[bytes], value: Any) -> None:
    content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """What the other side sent; None when it is gone."""
    try:
        head = pipe.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        content = pipe.read(length)
        return content if len(content) == length else None
    except (OSError, ValueError):
        return None


def _hand_over_by_position(kind: type[Any]) -> None:
    """A frozen dataclass is pickled field by field, in Python; its values in a row are handed over faster."""
    values = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda item: (kind, values(item)))


def work() -> None:
    """A worker's whole life: take the tasks, read them, hand the batches over."""
    gc.set_threshold(*_COLLECT_AFTER)
    for kind in (NewMessage, Event, StoredMemory):
        _hand_over_by_position(kind)
    if hasattr(os, "nice"):
        os.nice(5)
    given = _receive(sys.stdin.buffer)
    tasks, settings = pickle.loads(given) if given else ((), Settings())  # noqa: S301  from our own process
    try:
        for task in tasks:
            for batch in batches(task, settings):
                _send(sys.stdout.buffer, batch)
    except BrokenPipeError:
        os._exit(0)  # nobody is there to hear of it
