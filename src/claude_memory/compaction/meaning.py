"""Lends the summariser a model's sense of two requests; only the bundled model's.

How close is close differs from model to model, and the weights were fitted to this one.
"""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.compaction.comparing import Sense
from claude_memory.embed import turning_of
from claude_memory.embed.protocol import Embedder
from claude_memory.errors import EmbedderUnavailable

MODEL = "granite-embedding-30m-english-int8"
_UNIT = 127.0


def sense(embedder: Embedder | None) -> Sense | None:
    """What tells how near two texts are, and whether one takes the other back, if this embedder can."""
    turning = turning_of(embedder)
    if embedder is None or turning is None or not embedder.model.startswith(MODEL):
        return None
    opened, reading = embedder, turning

    def vectors(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        try:
            found = opened.embed(texts)
        except EmbedderUnavailable:
            return []
        return [[value / _UNIT for value in memoryview(one).cast("b")] for one in found]

    def turned(pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        try:
            return [told[1] - told[0] for told in reading.told(pairs)]
        except EmbedderUnavailable:
            return []

    return Sense(vectors, turned) if vectors(["ready"]) else None
