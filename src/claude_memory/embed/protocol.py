"""What turns text into vectors must offer, what a local model is made of, and how a vector is stored.

Standard library only until a vector is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

DEFAULT_WINDOW_TOKENS = 512
_KEPT_CHARACTERS = 4096  # a longer question is a pasted text and does not come back
_KEPT_QUERIES = 256  # one is 384 bytes; the same question comes back while an agent works
_SCALE = 127.0


class Embedder(Protocol):
    """One model. Its id names weights and pooling, so that two models never meet in one comparison."""

    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text: unit vector × 127, rounded; nothing of a long text is cut off.

        Raises EmbedderUnavailable when the model cannot be used now.
        """
        ...


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


def remembered(vector_of: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """The same for questions: the vectors of the last ones asked are kept."""
    cached = lru_cache(maxsize=_KEPT_QUERIES)(vector_of)
    return lambda text: cached(text) if len(text) <= _KEPT_CHARACTERS else vector_of(text)


def unit(vector: Vector) -> Vector:
    """The vector at length one; zero stays zero, because it points nowhere."""
    import numpy as np

    wide = vector.astype(np.float64)
    length = float(np.sqrt(wide @ wide))
    return (wide / length if length > 0 else wide).astype(np.float32)


def averaged(vectors: Sequence[Vector], weights: Sequence[int]) -> Vector:
    """One unit vector for a text read in several windows, each counting by its length."""
    import numpy as np

    if len(vectors) == 1:
        return unit(vectors[0])
    stacked = np.stack([unit(vector) for vector in vectors])
    return unit(np.asarray(weights, np.float32) @ stacked)


def to_int8(vector: Vector) -> bytes:
    """The stored form of a vector: unit length, times 127, rounded."""
    import numpy as np

    return bytes(np.rint(unit(vector) * _SCALE).astype(np.int8).tobytes())
