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


class Child:
    """A running function of ours in a process of its own; a dead one raises EOFError or OSError."""

    def __init__(self, module: str, function: str, *arguments: str) -> None:
        places = os.pathsep.join([str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, places, module, function, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for the parent, which ends its children
        )

    def send(self, value: object) -> None:
        """Hand a value over."""
        send(self._process.stdin, value)

    def receive(self) -> Any:
        """The next value that the child sends."""
        return receive(self._process.stdout)

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()


def parent_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """In a child: what the parent sends, and where answers go. What a library prints goes elsewhere."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return requests, answers


def send(stream: IO[bytes] | None, value: object) -> None:
    """Write a value to the other end."""
    assert stream is not None
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: IO[bytes] | None) -> Any:
    """The next value from the other end; EOFError when it is gone, also in the middle of a value."""
    assert stream is not None
    try:
        return pickle.load(stream)  # noqa: S301  our own process sent it
    except (pickle.UnpicklingError, ValueError):
        raise EOFError from None
