"""Runs the ONNX judge: two texts read at once, and what was learnt to see in them.

Loaded only when a pair is judged. What the numbers of an answer mean is the business of who asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claude_memory.embed.onnx_model import clean, open_session, open_tokenizer, outputs_of
from claude_memory.embed.source import ModelFiles

_TEXT_TOKENS = 110  # of each text; the pairs it learnt from were cut alike
_START, _BREAK = 0, 2
_QKV = ".qkv"  # three matrices in one: the graph multiplies by each alone

Learnt = Mapping[str, NDArray[np.float32]]


class PairModel:
    """A loaded encoder of pairs; what it sees in them is fed with each. Safe to use from several threads."""

    def __init__(self, files: ModelFiles) -> None:
        self._tokenizer = open_tokenizer(files.tokenizer)
        self._session = open_session(files.model)

    def told(self, learnt: Learnt, old: str, new: str) -> tuple[float, ...]:
        """The numbers that this learning gives for an older and a newer text."""
        first, second = self._tokens(old), self._tokens(new)
        ids = [_START, *first, _BREAK, _BREAK, *second, _BREAK]
        sides = [0] * (len(first) + 2) + [1] * (len(second) + 2)
        values: dict[str, NDArray[Any]] = {
            "input_ids": np.array([ids], np.int64),
            "sides": np.array([sides], np.int64),
            **learnt,
        }
        return tuple(float(value) for value in outputs_of(self._session, values)[0][0])

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(clean(text), add_special_tokens=False).ids
        return found[:_TEXT_TOKENS]


def read_learnt(path: Path) -> Learnt:
    """What a training put into a file, as the graph takes it: the other way round, and `qkv` in three."""
    found: dict[str, NDArray[np.float32]] = {}
    with np.load(path) as kept:
        for name in kept:
            value = kept[name].astype(np.float32)
            if name.endswith(".A"):
                found[name] = np.ascontiguousarray(value.T)
            elif name.endswith(".B"):
                parts = np.split(value, 3) if name.removesuffix(".B").endswith(_QKV) else [value]
                starts = (number * len(part) for number, part in enumerate(parts))
                found |= {
                    f"{name}{start}": np.ascontiguousarray(part.T)
                    for start, part in zip(starts, parts, strict=True)
                }
            else:
                found[name] = value
    return found
