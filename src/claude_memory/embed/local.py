"""The embedder for a model on this machine. Costs nothing until the first text."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from claude_memory.embed.protocol import remembered, to_int8
from claude_memory.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from claude_memory.embed.models import BundledModel, FolderModel
    from claude_memory.embed.onnx_model import OnnxModel

_WORKERS = min(2, os.cpu_count() or 1)  # texts are independent: two at a time use two idle cores in full
_WORTH_WORKERS = 4


class LocalEmbedder:
    """Loads its model once, on first use, whichever thread comes first."""

    def __init__(self, source: BundledModel | FolderModel) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._begun: OnnxModel | None = None
        self._loaded: OnnxModel | None = None
        self._query = remembered(lambda text: self._vector(text, query=True))
        self._model_id: str | None = None

    @property
    def model(self) -> str:
        """Names weights and pooling."""
        if self._model_id is None:
            self._model_id = self._source.model_id()
        return self._model_id

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text; nothing of a long text is cut off."""
        if query:
            return [self._query(text) for text in texts]
        if len(texts) < _WORTH_WORKERS or _WORKERS == 1:
            return [self._vector(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor

        self._load()
        with ThreadPoolExecutor(_WORKERS, "embed") as workers:
            return list(workers.map(self._vector, texts))

    def prepare(self) -> None:
        """Begin to load the model, the weights beside other work; what fails, the next text tells."""
        with contextlib.suppress(EmbedderUnavailable), self._lock:
            if self._loaded is None:
                self._begin()

    def _vector(self, text: str, *, query: bool = False) -> bytes:
        return to_int8(self._load().vector(text, query=query))

    def _load(self) -> OnnxModel:
        with self._lock:
            if self._loaded is None:
                model, self._begun = self._begin(), None
                self._loaded = model.finish()
                _return_memory()  # loading leaves 26 MB of scraps; this takes 2 ms
            return self._loaded

    def _begin(self) -> OnnxModel:
        if self._begun is None:
            try:
                from claude_memory.embed.onnx_model import OnnxModel
            except ImportError as fault:
                raise EmbedderUnavailable(f"the model's runtime cannot be loaded: {fault}") from None
            self._begun = OnnxModel(self._source.files())
        return self._begun


def _return_memory() -> None:
    """Freed memory goes back to the system: glibc keeps it unless asked, other C libraries need no asking."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
