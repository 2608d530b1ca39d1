"""Vectors as rows of numpy, and cosines between them. Whoever imports this needs numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.int8]
Rows = npt.NDArray[np.void]

_TWO_THREADS_FROM = 65_536  # rows; below, starting a second thread takes longer than it saves
_BLOCK_ROWS = 4_096  # whose lengths are computed at once
_SHORTEST = np.float32(1e-9)


def row_type(dimension: int) -> np.dtype[np.void]:
    """A row: whose vector it is, how long, so that cosines are exact, and the vector."""
    return np.dtype([("passage", "<i8"), ("norm", "<f4"), ("vector", "i1", (dimension,))])


def rows_of(passages: list[int], vectors: bytes, dimension: int) -> Rows:
    """Rows of vectors that stand one behind the other."""
    made = np.empty(len(passages), row_type(dimension))
    made["passage"] = passages
    made["vector"] = np.frombuffer(vectors, np.int8).reshape(len(passages), dimension)
    for start in range(0, len(made), _BLOCK_ROWS):
        block = made["vector"][start : start + _BLOCK_ROWS].astype(np.float32)
        made["norm"][start : start + _BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return made


def cosines(rows: Rows, norms: Floats, query: Vectors) -> Floats:
    """Of every row with the query; a vector of zeros is near to nothing."""
    import simsimd

    threads = 2 if len(rows) >= _TWO_THREADS_FROM else 1
    products = np.asarray(simsimd.cdist(query.reshape(1, -1), rows["vector"], "dot", threads=threads))[0]
    lengths = np.maximum(norms * np.linalg.norm(query.astype(np.float32)), _SHORTEST)
    found: Floats = np.divide(products, lengths, dtype=np.float32, casting="same_kind")
    return found
