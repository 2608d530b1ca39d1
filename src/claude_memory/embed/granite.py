"""Builds an ONNX graph from a weights container: the RoBERTa encoder with CLS pooling.

The numbers are the container's own: the word table stays int8 with its scales, everything else is
dequantised once, here.
Imported only while converting; a change of a graph needs a new number of the recipe in `bundled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from claude_memory.embed import onnx_format as onnx
from claude_memory.embed.container import Container

_OPSET = 20  # the first with Gelu
_IR_VERSION = 9
_FAR_BELOW = -1e9  # added to the scores of padding: its weight becomes zero


def onnx_bytes(container: Container) -> bytes:
    """The serialised model: `input_ids`, `attention_mask` → `sentence_embedding`."""
    graph = _Graph(container)
    graph.encoder()
    return graph.serialised()


class _Graph:
    """Collects nodes and weights; every method returns the name of a value."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._shape = container.architecture
        self._nodes: list[bytes] = []
        self._weights: dict[str, bytes] = {}

    def encoder(self) -> None:
        hidden, mask = self._embeddings(), self._mask()
        for layer in range(self._shape.layers - 1):
            hidden = self._layer(f"l{layer}", hidden, hidden, mask)
        # Only the first token is pooled, so the last layer is computed for it alone.
        first = self._add("Slice", hidden, self._ints("from", 0), self._ints("to", 1), self._ints("axis1", 1))
        pooled = self._layer(f"l{self._shape.layers - 1}", first, hidden, mask)
        flat = self._add("Squeeze", pooled, self._ints("axis1", 1))
        self._nodes.append(onnx.node("LpNormalization", [flat], "sentence_embedding", axis=-1, p=2))

    def serialised(self) -> bytes:
        taken = [onnx.value(name, onnx.INT64, "batch", "tokens") for name in ("input_ids", "attention_mask")]
        given = onnx.value("sentence_embedding", onnx.FLOAT, "batch", self._shape.hidden)
        return onnx.model(
            self._nodes, self._weights.values(), taken, given, opset=_OPSET, ir_version=_IR_VERSION
        )

    def _embeddings(self) -> str:
        words = self._container.quantised("word_emb")
        groups = words.scales.shape[1]
        values = self._add("Gather", self._weight("words", words.values), "input_ids", axis=0)
        values = self._add("Cast", values, to=onnx.FLOAT)
        values = self._add("Reshape", values, self._ints("by_group", 0, 0, groups, -1))
        scales = self._add("Gather", self._weight("word_scales", words.scales), "input_ids", axis=0)
        scales = self._add("Unsqueeze", scales, self._ints("axis3", 3))
        word = self._add("Reshape", self._add("Mul", values, scales), self._ints("flat", 0, 0, -1))
        return self._norm("emb_ln", self._add("Add", word, self._positions()))

    def _positions(self) -> str:
        # Texts are padded on the right, so the n-th token has the n-th row; token type is always 0.
        table = self._container.floats("pos_emb")[self._shape.position_offset :]
        rows = self._weight("positions", table + self._container.floats("type_emb")[0])
        length = self._add("Shape", "input_ids", start=1, end=2)
        return self._add("Slice", rows, self._ints("from", 0), length, self._ints("axis0", 0))

    def _mask(self) -> str:
        kept = self._add("Cast", "attention_mask", to=onnx.FLOAT)
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
        self._nodes.append(onnx.node(operator, inputs, output, **attributes))
        return output

    def _weight(self, name: str, values: NDArray[Any]) -> str:
        if name not in self._weights:
            self._weights[name] = onnx.tensor(name, np.ascontiguousarray(values))
        return name

    def _ints(self, name: str, *values: int) -> str:
        return self._weight(name, np.array(values, np.int64))

    def _number(self, name: str, value: float) -> str:
        return self._weight(name, np.array(value, np.float32))
