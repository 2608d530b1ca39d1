"""Writes an ONNX model: the few messages of its protobuf format that an encoder needs, and no others.

The package `onnx` would do it, too: 35 MB, installed by everybody for one conversion of bytes into bytes. Its
checker reads what is written here, in the tests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

FLOAT, INT8, INT64 = 1, 3, 7
_ELEMENTS = {"float32": FLOAT, "int8": INT8, "int64": INT64}
_AN_INT, _A_FLOAT, _A_STRING, _INTS = 2, 1, 3, 7  # types of attributes


def model(
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    inputs: Iterable[bytes],
    output: bytes,
    *,
    opset: int,
    ir_version: int,
) -> bytes:
    """A whole model of one graph."""
    graph = b"".join((*(_field(1, item) for item in nodes), _field(2, "encoder")))
    graph += b"".join((*(_field(5, item) for item in tensors), *(_field(11, item) for item in inputs)))
    graph += _field(12, output)
    return _field(1, ir_version) + _field(7, graph) + _field(8, _field(1, "") + _field(2, opset))


def node(operator: str, inputs: Iterable[str], output: str, **attributes: Any) -> bytes:
    """One operation on named values."""
    names = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    return names + _field(4, operator) + b"".join(_field(5, _attribute(*item)) for item in attributes.items())


def tensor(name: str, values: NDArray[Any]) -> bytes:
    """Constant numbers."""
    dimensions = b"".join(_field(1, size) for size in values.shape)
    return (
        dimensions + _field(2, _ELEMENTS[values.dtype.name]) + _field(8, name) + _field(9, values.tobytes())
    )


def value(name: str, element: int, *shape: int | str) -> bytes:
    """An input or output; a dimension with a name may have any size."""
    sizes = (_field(2, size) if isinstance(size, str) else _field(1, size) for size in shape)
    dimensions = b"".join(_field(1, size) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, element) + _field(2, dimensions)))


def _attribute(name: str, given: object) -> bytes:
    match given:
        case float():
            return _field(1, name) + _key(2, 5) + struct.pack("<f", given) + _field(20, _A_FLOAT)
        case int():
            return _field(1, name) + _field(3, given) + _field(20, _AN_INT)
        case str():
            return _field(1, name) + _field(4, given) + _field(20, _A_STRING)
        case tuple():
            return _field(1, name) + b"".join(_field(8, item) for item in given) + _field(20, _INTS)
    raise TypeError(f"an attribute cannot be {given!r}")


def _field(number: int, content: int | str | bytes) -> bytes:
    if isinstance(content, int):
        return _key(number, 0) + _varint(content)
    raw = content.encode() if isinstance(content, str) else content
    return _key(number, 2) + _varint(len(raw)) + raw


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative numbers stand in two's complement
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*written, number))
