"""Runs one ONNX sentence model: tokens in windows, the session, pooling. Loaded only when text is embedded.

Texts go through one by one: padding makes batches slower than single texts on a CPU. One text runs on one
thread: a second that may not spin gains 0–15% alone and costs 10% more CPU on a busy machine; one that spins
halves the speed of both when the other core is taken (2 cores, 100 tokens, measured).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as _state
from tokenizers import Tokenizer

from claude_memory.embed import averaged
from claude_memory.embed.local import ModelFiles
from claude_memory.errors import EmbedderUnavailable

Vector = NDArray[np.float32]
_ERRORS_ONLY = 3
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_POOLED: Mapping[str, Callable[[Vector], Any]] = {
    "cls": lambda states: states[0],
    "last": lambda states: states[-1],
    "max": lambda states: states.max(axis=0),
    "mean": lambda states: states.mean(axis=0),
}
# The runtime's errors have no common base, so they are gathered by what they are.
_RUNTIME_FAULTS: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(item for item in vars(_state).values() if isinstance(item, type) and issubclass(item, Exception)),
)


class OnnxModel:
    """A model whose weights load beside other work until the first text; safe to use from several threads."""

    def __init__(self, files: ModelFiles) -> None:
        self._files = files
        # The runtime reads the weights without the interpreter's lock.
        beside = ThreadPoolExecutor(1, "model")
        self._loading = beside.submit(_session, files.model)
        beside.shutdown(wait=False)
        self._tokenizer = _tokenizer(files.tokenizer)
        # What the model wants before and after every text.
        whole = self._tokenizer.encode("a").ids
        plain = self._tokenizer.encode("a", add_special_tokens=False).ids
        ends = range(len(plain), len(whole) + 1)
        end = next((end for end in ends if whole[end - len(plain) : end] == plain), None)
        self._prefix = whole[: end - len(plain)] if end else []
        self._suffix = whole[end:] if end else []

    @cached_property
    def _session(self) -> Any:
        session = self._loading.result()
        if sys.platform == "linux":  # loading leaves 26 MB of scraps, which glibc keeps unless asked
            getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)(0)
        return session

    @cached_property
    def _inputs(self) -> list[str]:
        inputs = [item.name for item in self._session.get_inputs()]
        if "input_ids" not in inputs or not _KNOWN_INPUTS.issuperset(inputs):
            raise EmbedderUnavailable(f"not a sentence model: it wants the inputs {', '.join(inputs)}")
        return inputs

    @cached_property
    def _output(self) -> tuple[int, bool]:
        """Which output to take, and whether it is one vector per text already."""
        outputs = self._session.get_outputs()
        for place, item in enumerate(outputs):
            if item.name == "sentence_embedding" or (len(outputs) == 1 and len(item.shape) == 2):
                return place, True
        for place, item in enumerate(outputs):
            if len(item.shape) == 3:
                return place, False
        names = ", ".join(item.name for item in outputs)
        raise EmbedderUnavailable(f"not a sentence model: its outputs are {names}")

    def vector(self, text: str, *, query: bool = False) -> Vector:
        """The unit vector of a text of any length."""
        prompt = self._files.query_prompt if query else self._files.text_prompt
        # A lone surrogate cannot be tokenised; it becomes a question mark.
        clean = (prompt + text).encode("utf-8", "replace").decode("utf-8")
        tokens = self._tokenizer.encode(clean, add_special_tokens=False).ids
        windows = list(_windows(tokens, self._files.window_tokens - len(self._prefix) - len(self._suffix)))
        return averaged([self._run(window) for window in windows], [max(1, len(w)) for w in windows])

    def _run(self, tokens: Sequence[int]) -> Vector:
        ids = np.array([[*self._prefix, *tokens, *self._suffix] or [0]], np.int64)
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        place, is_pooled = self._output
        try:
            outputs = self._session.run(None, {name: values[name] for name in self._inputs})
        except _RUNTIME_FAULTS as fault:
            raise EmbedderUnavailable(f"the model failed: {_line(fault)}") from None
        output: Vector = outputs[place][0]
        return output if is_pooled else np.asarray(_POOLED[self._files.pooling](output))


def _windows(tokens: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Equal shares of at most `size`: a short last window would be a poor vector."""
    count = max(1, -(-len(tokens) // size))
    for place in range(count):
        yield tokens[len(tokens) * place // count : len(tokens) * (place + 1) // count]


def _tokenizer(source: Path | bytes) -> Tokenizer:
    """A tokenizer that cuts nothing off and takes every text for text."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a later fork prints a warning
    try:
        raw = source if isinstance(source, bytes) else source.read_bytes()
        tokenizer = Tokenizer.from_buffer(raw)
    except (OSError, ValueError) as fault:
        raise EmbedderUnavailable(f"the tokenizer cannot be loaded: {_line(fault)}") from None
    tokenizer.no_truncation()  # windows are cut here, so that nothing is lost
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "<s>" in a note is text, not a control token
    return tokenizer


def _session(model: Path | bytes) -> Any:
    """The runtime's session of a model: one thread, silent, at rest when nothing is asked."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # An idle server must cost nothing, also where a model brings threads of its own.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    onnxruntime.set_default_logger_severity(_ERRORS_ONLY)  # else it reports missing graphics cards
    onnxruntime.disable_telemetry_events()
    try:
        return onnxruntime.InferenceSession(
            model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
        )
    except _RUNTIME_FAULTS as fault:
        raise EmbedderUnavailable(f"the model cannot be loaded: {_line(fault)}") from None


def _line(fault: Exception) -> str:
    return " ".join(str(fault).split())[:300]
