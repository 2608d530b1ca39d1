"""From float vectors to the stored form: unit length, times 127, rounded, int8. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_SCALE = 127.0


def unit(vector: Vector) -> Vector:
    """The vector at length one; zero stays zero, because it points nowhere."""
    wide = vector.astype(np.float64)
    length = float(np.sqrt(wide @ wide))
    return (wide / length if length > 0 else wide).astype(np.float32)


def averaged(vectors: Sequence[Vector], weights: Sequence[int]) -> Vector:
    """One unit vector for a text read in several windows, each counting by its length."""
    if len(vectors) == 1:
        return unit(vectors[0])
    stacked = np.stack([unit(vector) for vector in vectors])
    return unit(np.asarray(weights, np.float32) @ stacked)


def to_int8(vector: Vector) -> bytes:
    """The stored form of a vector; its length is set to one first."""
    return bytes(np.rint(unit(vector) * _SCALE).astype(np.int8).tobytes())
