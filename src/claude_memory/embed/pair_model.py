"""Runs the ONNX judge: two texts read at once, and how the second stands to the first.

Loaded only when a pair is judged. What the four numbers of an answer mean is the write gate's business.
"""

from __future__ import annotations

import numpy as np

from claude_memory.embed.onnx_model import clean, open_session, open_tokenizer, outputs_of
from claude_memory.embed.source import ModelFiles

_TEXT_TOKENS = 110  # of each text; the pairs it learnt from were cut alike
_START, _BREAK = 0, 2


class PairModel:
    """A loaded judge. Safe to use from several threads."""

    def __init__(self, files: ModelFiles) -> None:
        self._tokenizer = open_tokenizer(files.tokenizer)
        self._session = open_session(files.model)

    def told(self, old: str, new: str) -> tuple[float, ...]:
        """What speaks for nothing in common, for the same again, for a change, for a conflict."""
        first, second = self._tokens(old), self._tokens(new)
        ids = [_START, *first, _BREAK, _BREAK, *second, _BREAK]
        sides = [0] * (len(first) + 2) + [1] * (len(second) + 2)
        values = {"input_ids": np.array([ids], np.int64), "sides": np.array([sides], np.int64)}
        return tuple(float(value) for value in outputs_of(self._session, values)[0][0])

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(clean(text), add_special_tokens=False).ids
        return found[:_TEXT_TOKENS]
