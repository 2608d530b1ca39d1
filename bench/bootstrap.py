"""A 95% interval for a mean, by resampling with a fixed seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def interval(values: Sequence[float], *, rounds: int = 2000, seed: int = 7) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of the mean over resamples."""
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return (0.0, 0.0)
    draws = np.random.default_rng(seed).integers(0, len(data), (rounds, len(data)))
    low, high = np.percentile(data[draws].mean(axis=1), [2.5, 97.5])
    return (float(low), float(high))
