"""Reads the weights container of the installed model package. Parses bytes; builds and runs nothing.

Layout: magic, u64 header length, JSON header, tokenizer JSON, then the tensors in header order. An int8
tensor is its values row by row, followed by one float32 scale for each group of values along a row.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_memory.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAGIC = b"HMSEMB01"
_PREFIX = struct.Struct("<8sQ")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a RoBERTa encoder."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocab: int
    max_positions: int
    layer_norm_eps: float
    position_offset: int


@dataclass(frozen=True, slots=True)
class Quantised:
    """An int8 table whose rows are cut into groups, each with its own scale."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]

    def dequantised(self) -> NDArray[np.float32]:
        """The same numbers as float32."""
        rows, groups = self.scales.shape
        grouped = self.values.reshape(rows, groups, -1) * self.scales[:, :, None]
        return grouped.reshape(self.values.shape)


class Container:
    """The parts of one container, as views of its bytes."""

    def __init__(self, raw: bytes) -> None:
        try:
            header, body = _header(raw)
            arch = header["arch"]
            self.architecture = Architecture(**{key: arch[key] for key in Architecture.__slots__})
            self.meta: dict[str, Any] = header["meta"]
            end = body + int(header["tokenizer_len"])
            self.tokenizer = raw[body:end]
            self._tensors = _located(header["tensors"], end, len(raw))
        except (KeyError, TypeError, ValueError, struct.error) as fault:
            raise EmbedderUnavailable(f"the weights container cannot be read: {fault!r}") from None
        self._raw = raw

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor; int8 tensors are dequantised."""
        import numpy as np

        entry, start = self._tensors[name]
        if entry["dtype"] == "i8":
            return self.quantised(name).dequantised()
        flat = np.frombuffer(self._raw, "<f4", offset=start, count=entry["len"] // 4)
        return flat.reshape(entry["shape"]).astype(np.float32, copy=False)

    def quantised(self, name: str) -> Quantised:
        """An int8 tensor with its scales."""
        import numpy as np

        entry, start = self._tensors[name]
        rows, columns = entry["shape"]
        values = np.frombuffer(self._raw, np.int8, offset=start, count=rows * columns)
        count = rows * (columns // entry["group"])
        scales = np.frombuffer(self._raw, "<f4", offset=start + rows * columns, count=count)
        return Quantised(values.reshape(rows, columns), scales.reshape(rows, -1))


def _header(raw: bytes) -> tuple[dict[str, Any], int]:
    magic, length = _PREFIX.unpack_from(raw)
    if magic != _MAGIC:
        raise ValueError("wrong magic")
    body = _PREFIX.size + length
    return json.loads(raw[_PREFIX.size : body]), body


def _located(tensors: list[dict[str, Any]], start: int, size: int) -> dict[str, tuple[dict[str, Any], int]]:
    found = {}
    for entry in tensors:
        found[entry["name"]] = (entry, start)
        start += int(entry["len"])
    if start != size:
        raise ValueError("its tensors do not fill it")
    return found
