"""What turns text into vectors must offer, and what a local model is made of. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Embedder(Protocol):
    """One model. Its id names weights and pooling, so that two models never meet in one comparison."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text: unit vector × 127, rounded; nothing of a long text is cut off.

        Raises EmbedderUnavailable when the model cannot be used now.
        """
        ...


DEFAULT_WINDOW_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """An ONNX sentence model and how to use it.

    A part is a path, or its bytes when there is nowhere to keep it.
    """

    model: Path | bytes
    tokenizer: Path | bytes
    window_tokens: int = DEFAULT_WINDOW_TOKENS
    pooling: str = "mean"
    query_prompt: str = ""
    text_prompt: str = ""


class ModelSource(Protocol):
    """Where a local model comes from."""

    def model_id(self) -> str:
        """Names weights and pooling; equal ids mean comparable vectors."""
        ...

    def known_dimensions(self) -> int | None:
        """The vector length, when it is known without loading the model."""
        ...

    def files(self) -> ModelFiles:
        """Ready-to-load files; may convert. Raises EmbedderUnavailable."""
        ...
