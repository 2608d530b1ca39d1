"""What turns text into vectors must offer, and what compares two texts. Vectors are unit length, int8."""

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


class Judge(Protocol):
    """Reads an older and a newer text at once; an embedder may bring one along as its `judge`."""

    def told(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, ...]]:
        """For each pair some numbers, on any scale on which a sum with other evidence makes sense.

        It reads two notes: what speaks for nothing in common, for the same again, for a change, for a
        conflict.

        Raises EmbedderUnavailable when the model cannot be used now.
        """
        ...
