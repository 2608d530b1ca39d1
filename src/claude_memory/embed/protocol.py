"""What turns text into vectors must offer. Vectors are unit length, int8."""

from __future__ import annotations

from collections.abc import Sequence
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
