"""Lends the summariser an embedder's sense of what two requests are about; only the bundled model's.

How close is close differs from model to model, and the weights were fitted to this one.
"""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.compaction.comparing import Near
from claude_memory.embed.protocol import Embedder
from claude_memory.errors import EmbedderUnavailable

MODEL = "granite-embedding-30m-english-int8"
_UNIT = 127.0


def near(embedder: Embedder | None) -> Near | None:
    """Texts to unit vectors, if this embedder is one that the weights know."""
    if embedder is None or not embedder.model.startswith(MODEL):
        return None
    opened = embedder

    def vectors(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        try:
            found = opened.embed(texts)
        except EmbedderUnavailable:
            return []
        return [[value / _UNIT for value in memoryview(one).cast("b")] for one in found]

    return vectors if vectors(["ready"]) else None
