"""Which sessions a list of hits speaks of. Pure arithmetic on hits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from claude_memory.model import Hit, SessionId

# Several fair hits outweigh one good hit, but not by their mere number: ln Σ exp(10·score).
SHARPNESS = 10.0


def rank_sessions(hits: Iterable[Hit]) -> list[tuple[SessionId, float]]:
    """Sessions with their score, best first; hits without a session are left out."""
    sums: dict[SessionId, float] = {}
    for hit in hits:
        if hit.session is not None:
            sums[hit.session] = sums.get(hit.session, 0.0) + math.exp(SHARPNESS * min(hit.score, 1.0))
    ranked = [(session, math.log(total)) for session, total in sums.items()]
    return sorted(ranked, key=lambda pair: -pair[1])


def together(scores: Iterable[float]) -> float:
    """What several scores in one session come to, on the same scale as `rank_sessions`."""
    return math.log(sum(math.exp(SHARPNESS * min(score, 1.0)) for score in scores))
