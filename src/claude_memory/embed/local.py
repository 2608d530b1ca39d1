"""The embedder for a model on this machine, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.embed import open_embedder, remembered, to_int8
from claude_memory.errors import EmbedderUnavailable
from claude_memory.platform.child import Child, parent_pipe

if TYPE_CHECKING:
    from claude_memory.embed import Embedder
    from claude_memory.embed.models import BundledModel, FolderModel
    from claude_memory.embed.onnx_model import OnnxModel

_WORKERS = min(2, os.cpu_count() or 1)  # texts are independent: two at a time use two idle cores in full
_WORTH_WORKERS = 4


class LocalEmbedder:
    """Costs nothing until the first text; loads its model once, whichever thread comes first."""

    def __init__(self, source: BundledModel | FolderModel) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._model: OnnxModel | None = None
        self._query = remembered(lambda text: self._vector(text, query=True))

    @cached_property
    def model(self) -> str:
        return self._source.model_id()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        if query:
            return [self._query(text) for text in texts]
        if len(texts) < _WORTH_WORKERS or _WORKERS == 1:
            return [self._vector(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_WORKERS, "embed") as workers:
            return list(workers.map(self._vector, texts))

    def prepare(self) -> None:
        """Begin to load the model, the weights beside other work; what fails, the next text tells."""
        with contextlib.suppress(EmbedderUnavailable):
            self._load()

    def _vector(self, text: str, *, query: bool = False) -> bytes:
        return to_int8(self._load().vector(text, query=query))

    def _load(self) -> OnnxModel:
        with self._lock:
            if self._model is None:
                try:
                    from claude_memory.embed.onnx_model import OnnxModel
                except ImportError as fault:
                    raise EmbedderUnavailable(f"the model's runtime cannot be loaded: {fault}") from None
                self._model = OnnxModel(self._source.files())
            return self._model


class EmbedderProcess:
    """Makes vectors like the embedder it stands for, in a process that starts with the first text.

    A runtime gives little of what it took back to the system while it stays loaded; a process gives all.
    """

    def __init__(self, named: Embedder, home: Path, setting: str) -> None:
        self.model = named.model
        self._arguments = (str(home / "cache" / "models"), setting)
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._query = remembered(lambda text: self._made([text], query=True)[0])
        self.is_warm = False  # whether the next text finds the model loaded

    @property
    def is_running(self) -> bool:
        """Whether there is a process that holds the model or is loading it."""
        return self._child is not None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
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
    from claude_memory.settings import Settings

    parent = parent_pipe()
    embedder = open_embedder(Settings(embedder=setting), Path(cache))
    with contextlib.suppress(EOFError, OSError):
        while True:
            texts, query = parent.receive()
            try:
                parent.send((embedder.embed(texts, query=query) if embedder else [], ""))
            except EmbedderUnavailable as fault:
                parent.send(([], str(fault)))
