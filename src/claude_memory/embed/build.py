"""Makes an ONNX model of the weights container that the installed model package holds, and a wheel of it.

The container: magic, u64 header length, JSON header, tokenizer JSON, then the tensors in header order. An
int8 tensor is its values row by row, then one float32 scale for each group of values along a row. The model:
a RoBERTa encoder with CLS pooling and the container's own numbers; the word table stays int8 with its scales.
Imported only while converting; a change of the graph needs a new number of the recipe in `local`.

`python -m claude_memory.embed.build FOLDER` makes a wheel that holds the model and nothing else. It makes an
installation independent of that package: where it is installed, the setting `embedder = "bundled"` takes it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import struct
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claude_memory.embed.local import CARRIED, PACKAGE, converted
from claude_memory.errors import EmbedderUnavailable, MemoryFault

_MAGIC = b"HMSEMB01"
_PREFIX = struct.Struct("<8sQ")


class Container:
    """The parts of one container, as views of its bytes."""

    def __init__(self, raw: bytes) -> None:
        try:
            magic, length = _PREFIX.unpack_from(raw)
            body = _PREFIX.size + length
            header = json.loads(raw[_PREFIX.size : body])
            self.architecture = SimpleNamespace(**header["arch"])
            start = body + int(header["tokenizer_len"])
            self.tokenizer = raw[body:start]
            self._tensors: dict[str, tuple[dict[str, Any], int]] = {}
            for entry in header["tensors"]:
                self._tensors[entry["name"]] = (entry, start)
                start += int(entry["len"])
        except (KeyError, TypeError, ValueError, struct.error) as fault:
            raise EmbedderUnavailable(f"the weights container cannot be read: {fault!r}") from None
        if magic != _MAGIC or start != len(raw):
            raise EmbedderUnavailable("the weights container cannot be read: it is cut off, or none")
        self._raw = raw

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor; int8 tensors are dequantised."""
        entry, start = self._tensors[name]
        if entry["dtype"] == "i8":
            values, scales = self.quantised(name)
            return (values.reshape(*scales.shape, -1) * scales[:, :, None]).reshape(values.shape)
        flat = np.frombuffer(self._raw, "<f4", offset=start, count=entry["len"] // 4)
        return flat.reshape(entry["shape"]).astype(np.float32, copy=False)

    def quantised(self, name: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """An int8 tensor, and the scale of each group of its rows' values."""
        entry, start = self._tensors[name]
        rows, columns = entry["shape"]
        values = np.frombuffer(self._raw, np.int8, offset=start, count=rows * columns)
        count = rows * (columns // entry["group"])
        scales = np.frombuffer(self._raw, "<f4", offset=start + rows * columns, count=count)
        return values.reshape(rows, columns), scales.reshape(rows, -1)


_OPSET = 20  # the first with Gelu
_IR_VERSION = 9
_FAR_BELOW = -1e9  # added to the scores of padding: its weight becomes zero


class Encoder:
    """The model as ONNX: collects nodes and weights; a private method returns the name of a value."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._shape = container.architecture
        self._nodes: list[bytes] = []
        self._weights: dict[str, bytes] = {}

    def serialised(self) -> bytes:
        """`input_ids`, `attention_mask` → `sentence_embedding`."""
        hidden, mask = self._embeddings(), self._mask()
        for layer in range(self._shape.layers - 1):
            hidden = self._layer(f"l{layer}", hidden, hidden, mask)
        # Only the first token is pooled, so the last layer is computed for it alone.
        first = self._add("Slice", hidden, self._ints("from", 0), self._ints("to", 1), self._ints("axis1", 1))
        pooled = self._layer(f"l{self._shape.layers - 1}", first, hidden, mask)
        flat = self._add("Squeeze", pooled, self._ints("axis1", 1))
        self._nodes.append(_node("LpNormalization", [flat], "sentence_embedding", axis=-1, p=2))
        inputs = [_value(name, _INT64, "batch", "tokens") for name in ("input_ids", "attention_mask")]
        output = _value("sentence_embedding", _FLOAT, "batch", self._shape.hidden)
        graph = b"".join((*(_field(1, item) for item in self._nodes), _field(2, "encoder")))
        graph += b"".join(_field(5, item) for item in self._weights.values())
        graph += b"".join(_field(11, item) for item in inputs) + _field(12, output)
        return _field(1, _IR_VERSION) + _field(7, graph) + _field(8, _field(1, "") + _field(2, _OPSET))

    def _embeddings(self) -> str:
        table, group_scales = self._container.quantised("word_emb")
        values = self._add("Gather", self._weight("words", table), "input_ids", axis=0)
        values = self._add("Cast", values, to=_FLOAT)
        values = self._add("Reshape", values, self._ints("by_group", 0, 0, group_scales.shape[1], -1))
        scales = self._add("Gather", self._weight("word_scales", group_scales), "input_ids", axis=0)
        scales = self._add("Unsqueeze", scales, self._ints("axis3", 3))
        words = self._add("Reshape", self._add("Mul", values, scales), self._ints("flat", 0, 0, -1))
        # Texts are padded on the right, so the n-th token has the n-th row; token type is always 0.
        rows = self._container.floats("pos_emb")[self._shape.position_offset :]
        positions = self._weight("positions", rows + self._container.floats("type_emb")[0])
        length = self._add("Shape", "input_ids", start=1, end=2)
        places = self._add("Slice", positions, self._ints("from", 0), length, self._ints("axis0", 0))
        return self._norm("emb_ln", self._add("Add", words, places))

    def _mask(self) -> str:
        kept = self._add("Cast", "attention_mask", to=_FLOAT)
        padding = self._add("Sub", self._number("one", 1.0), kept)
        scores = self._add("Mul", padding, self._number("far_below", _FAR_BELOW))
        return self._add("Unsqueeze", scores, self._ints("axes12", 1, 2))

    def _layer(self, name: str, queries: str, hidden: str, mask: str) -> str:
        attended = self._attention(name, queries, hidden, mask)
        attended = self._add("Add", self._linear(f"{name}.ao", attended), queries)
        attended = self._norm(f"{name}.aln", attended)
        inner = self._add("Gelu", self._linear(f"{name}.f1", attended), approximate="none")
        return self._norm(f"{name}.fln", self._add("Add", self._linear(f"{name}.f2", inner), attended))

    def _attention(self, name: str, queries: str, hidden: str, mask: str) -> str:
        width = self._shape.hidden
        query = self._heads(self._linear(f"{name}.qkv", queries, 0, width), (0, 2, 1, 3))
        key = self._heads(self._linear(f"{name}.qkv", hidden, width, 2 * width), (0, 2, 3, 1))
        value = self._heads(self._linear(f"{name}.qkv", hidden, 2 * width, 3 * width), (0, 2, 1, 3))
        scale = self._number("scale", (width // self._shape.heads) ** -0.5)
        scores = self._add("Mul", self._add("MatMul", query, key), scale)
        scores = self._add("Add", scores, mask)
        shares = self._add("Softmax", scores, axis=-1)
        mixed = self._add("Transpose", self._add("MatMul", shares, value), perm=(0, 2, 1, 3))
        return self._add("Reshape", mixed, self._ints("flat", 0, 0, -1))

    def _heads(self, value: str, order: tuple[int, ...]) -> str:
        split = self._add("Reshape", value, self._ints("by_head", 0, 0, self._shape.heads, -1))
        return self._add("Transpose", split, perm=order)

    def _linear(self, name: str, value: str, start: int = 0, end: int | None = None) -> str:
        matrix = self._container.floats(f"{name}.w")[start:end].T
        bias = self._container.floats(f"{name}.b")[start:end]
        product = self._add("MatMul", value, self._weight(f"{name}.w{start}", matrix))
        return self._add("Add", product, self._weight(f"{name}.b{start}", bias))

    def _norm(self, name: str, value: str) -> str:
        scale = self._weight(f"{name}.w", self._container.floats(f"{name}.w"))
        bias = self._weight(f"{name}.b", self._container.floats(f"{name}.b"))
        eps = self._shape.layer_norm_eps
        return self._add("LayerNormalization", value, scale, bias, axis=-1, epsilon=eps)

    def _add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"v{len(self._nodes)}"
        self._nodes.append(_node(operator, inputs, output, **attributes))
        return output

    def _weight(self, name: str, values: NDArray[Any]) -> str:
        if name not in self._weights:
            values = np.ascontiguousarray(values)
            tensor = b"".join(_field(1, size) for size in values.shape)
            tensor += _field(2, _ELEMENTS[values.dtype.name]) + _field(8, name)
            self._weights[name] = tensor + _field(9, values.tobytes())
        return name

    def _ints(self, name: str, *values: int) -> str:
        return self._weight(name, np.array(values, np.int64))

    def _number(self, name: str, value: float) -> str:
        return self._weight(name, np.array(value, np.float32))


# The few messages of ONNX's protobuf format that an encoder needs. The package `onnx` would write them, too:
# 35 MB, installed by everybody for one conversion of bytes into bytes. Its checker reads ours, in the tests.
_FLOAT, _INT8, _INT64 = 1, 3, 7
_ELEMENTS = {"float32": _FLOAT, "int8": _INT8, "int64": _INT64}
_AN_INT, _A_FLOAT, _A_STRING, _INTS = 2, 1, 3, 7  # types of attributes


def _node(operator: str, inputs: Iterable[str], output: str, **attributes: Any) -> bytes:
    names = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    return names + _field(4, operator) + b"".join(_field(5, _attribute(*item)) for item in attributes.items())


def _value(name: str, element: int, *shape: int | str) -> bytes:
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


# --- the wheel

VERSION = "1.0"
_WHEEL = "Wheel-Version: 1.0\nGenerator: claude-memory\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same weights make the same wheel


def wheel(folder: Path) -> Path:
    model, tokenizer = converted()
    module, info = CARRIED, f"{CARRIED}-{VERSION}.dist-info"
    about = f"The sentence model of claude-memory, from {PACKAGE} (Apache-2.0)."
    metadata = f"Metadata-Version: 2.1\nName: claude-memory-model\nVersion: {VERSION}\nSummary: {about}\n"
    files = {
        f"{module}/__init__.py": f'"""{about}"""\n'.encode(),
        f"{module}/model.onnx": model,
        f"{module}/tokenizer.json": tokenizer,
        f"{module}/config.json": b'{"pooling": "cls", "max_position_embeddings": 512}\n',
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
    }
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return path


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 and one line when the weights are not there or the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m claude_memory.embed.build", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is written")
    folder = parser.parse_args(arguments).folder
    try:
        path = wheel(folder)
    except (MemoryFault, OSError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
