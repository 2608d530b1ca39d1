"""A process of our own beside this one, joined to it by pipes that carry pickled values both ways.

The child reads its standard input and ends with it, so it never outlives its parent, however that ends. Both
ends are this very program; nothing from outside is read here.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

PROGRAM = (
    "import importlib, os, sys; sys.path[:0] = sys.argv[1].split(os.pathsep); "
    "getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(*sys.argv[4:])"
)


class Pipe:
    """One end of it; where the other is gone, EOFError or OSError."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink

    def send(self, value: object) -> None:
        pickle.dump(value, self._sink, pickle.HIGHEST_PROTOCOL)
        self._sink.flush()

    def receive(self) -> Any:
        try:
            return pickle.load(self._source)  # noqa: S301  our own process sent it
        except (pickle.UnpicklingError, ValueError):
            raise EOFError from None


class Child(Pipe):
    def __init__(self, module: str, function: str, *arguments: str) -> None:
        places = os.pathsep.join([str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, places, module, function, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for the parent, which ends its children
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        super().__init__(self._process.stdout, self._process.stdin)

    def end(self) -> None:
        with contextlib.suppress(OSError), self._process:  # closes the pipes, and waits
            self._process.kill()


def parent_pipe() -> Pipe:
    """In a child: the parent. What a library prints goes elsewhere."""
    pipe = Pipe(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    return pipe
