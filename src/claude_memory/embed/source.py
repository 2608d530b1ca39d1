"""What a local model is made of, before anything of it is loaded. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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
