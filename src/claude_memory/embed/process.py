"""The model in a process of its own, so that its memory comes back whole when the process ends.

A runtime gives little of what it took back to the system while it stays loaded.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.embed.protocol import remembered
from claude_memory.errors import EmbedderUnavailable
from claude_memory.platform.child import Child, parent_pipes, receive, send

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder


class EmbedderProcess:
    """Makes vectors like the embedder it stands for; the process starts with the first text."""

    def __init__(self, named: Embedder, home: Path, setting: str) -> None:
        self._named = named  # tells the model's name; it never loads anything here
        self._arguments = (str(home / "cache" / "models"), setting)
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._query = remembered(lambda text: self._made([text], query=True)[0])
        self.is_warm = False  # whether the next text finds the model loaded

    @property
    def model(self) -> str:
        """Names weights and pooling."""
        return self._named.model

    @property
    def is_running(self) -> bool:
        """Whether there is a process that holds the model or is loading it."""
        return self._child is not None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text."""
        return [self._query(text) for text in texts] if query else self._made(texts)

    def release(self) -> None:
        """End the process; the next text starts another."""
        with self._lock:
            self._end()

    def _made(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        with self._lock:
            for _ in range(2):  # a child that was killed is no reason to go without
                try:
                    self._child = self._child or Child(__name__, "child", *self._arguments)
                    self._child.send((list(texts), query))
                    vectors, fault = self._child.receive()
                except (OSError, EOFError):
                    self._end()
                    continue
                self.is_warm = True
                if fault:
                    raise EmbedderUnavailable(fault)
                return list(vectors)
        raise EmbedderUnavailable("the embedder's process ended unexpectedly, twice")

    def _end(self) -> None:
        child, self._child, self.is_warm = self._child, None, False
        if child is not None:
            child.end()


def child(cache: str, setting: str) -> None:
    """Answer requests with vectors, or with what is wrong, until the server goes."""
    from claude_memory.embed import open_embedder
    from claude_memory.settings import Settings

    requests, answers = parent_pipes()
    embedder = open_embedder(Settings(embedder=setting), Path(cache))
    with contextlib.suppress(EOFError, OSError):
        while True:
            texts, query = receive(requests)
            try:
                send(answers, (embedder.embed(texts, query=query) if embedder else [], ""))
            except EmbedderUnavailable as fault:
                send(answers, ([], str(fault)))
