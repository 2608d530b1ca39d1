"""The model in a process of its own, so that its memory comes back whole when the process ends.

A runtime gives little of what it took back to the system while it stays loaded. The child reads requests
from its standard input and ends with it, so it never outlives the server, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from claude_memory.embed.protocol import remembered
from claude_memory.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder

_PROGRAM = (
    "import os, sys; sys.path[:0] = sys.argv[1].split(os.pathsep); "
    "from claude_memory.embed.process import child; child(sys.argv[2], sys.argv[3])"
)


class EmbedderProcess:
    """Makes vectors like the embedder it stands for; the process starts with the first text."""

    def __init__(self, named: Embedder, home: Path, setting: str) -> None:
        self._named = named  # tells the model's name; it never loads anything here
        self._home = home
        self._setting = setting
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._query = remembered(lambda text: self._made([text], query=True)[0])
        self._ready = False

    @property
    def model(self) -> str:
        """Names weights and pooling."""
        return self._named.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._named.dimensions

    @property
    def is_running(self) -> bool:
        """Whether there is a process that holds the model or is loading it."""
        return self._process is not None

    @property
    def is_warm(self) -> bool:
        """Whether the next text finds the model loaded."""
        return self._ready

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text."""
        return [self._query(text) for text in texts] if query else self._made(texts)

    def release(self) -> None:
        """End the process; the next text starts another."""
        with self._lock:
            self._stop()

    def _made(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        with self._lock:
            return self._asked(list(texts), query)

    def _asked(self, *request: object) -> list[Any]:
        for attempt in (1, 2):  # a child that was killed is no reason to go without
            try:
                return self._exchange(self._started(), request)
            except (OSError, EOFError):
                self._stop()
                if attempt == 2:
                    raise EmbedderUnavailable("the embedder's process ended unexpectedly, twice") from None
        raise AssertionError("unreachable")

    def _exchange(self, process: subprocess.Popen[bytes], request: object) -> list[Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        _send(process.stdin, request)
        status, value = _received(process.stdout)
        self._ready = True
        if status != "made":
            raise EmbedderUnavailable(str(value))
        return list(value)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            package = str(Path(__file__).parents[2])
            path = os.pathsep.join([package, *(entry for entry in sys.path if entry)])
            command = [sys.executable, "-I", "-S", "-c", _PROGRAM, path, str(self._home), self._setting]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        return self._process

    def _stop(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()


def child(home: str, setting: str) -> None:
    """Answer requests until the server goes."""
    from claude_memory.embed import open_embedder
    from claude_memory.settings import Settings

    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not meet the answers
    embedder = open_embedder(Settings(embedder=setting), Path(home) / "cache" / "models")
    while True:
        try:
            request = _received(requests)
        except (EOFError, OSError):
            return
        answer: tuple[str, Any]
        try:
            texts, query = request
            answer = ("made", list(embedder.embed(texts, query=query)) if embedder else [])
        except EmbedderUnavailable as fault:
            answer = ("fault", str(fault))
        try:
            _send(answers, answer)
        except OSError:  # the server went while we worked
            return


def _send(stream: BinaryIO | Any, value: object) -> None:
    pickle.dump(value, stream, protocol=5)
    stream.flush()


def _received(stream: BinaryIO | Any) -> Any:
    # Both ends are this very program on a private pipe; nothing from outside is read here.
    try:
        return pickle.load(stream)  # noqa: S301
    except pickle.UnpicklingError:  # the other end was killed while it wrote
        raise EOFError from None
