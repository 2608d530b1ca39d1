"""Which decision takes back which: the same subject again, with signs that the choice became another.

Pure. Every sign is a number with a weight (`signs.py`). The earlier requests compete with each other and
with the chance that nothing is taken back. Where a model lends its sense, it tells whether two requests are
about the same thing, and a judge reads the likeliest pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

from claude_memory.compaction.comparing import Comparing, Link, Sense
from claude_memory.compaction.episodes import Episode
from claude_memory.compaction.signs import MEANING, MEANING_BIAS, WORDS, WORDS_BIAS, Signs
from claude_memory.compaction.talk import Word

T = TypeVar("T")
AT_LEAST = 0.4
BESIDE = 0.5  # a second earlier decision counts if it is nearly as likely
AT_MOST = 2  # earlier decisions taken back by one


def links(
    found: Sequence[Episode],
    said: Sequence[Word],
    sense: Sense | None = None,
    corrected: frozenset[int] = frozenset(),
) -> list[Link]:
    """What was taken back, in order; at most two earlier decisions by one.

    `corrected` are turns known to set right what the agent did.
    """
    comparing = Comparing.of(found, said, sense, corrected)
    pairs, weights, bias = comparing.all(), WORDS, WORDS_BIAS
    if sense is not None and (read := comparing.read(pairs, sense.turned, by_words)):
        pairs, weights, bias = read, MEANING, MEANING_BIAS
    linked: list[Link] = []
    heirs: dict[int, Episode] = {}  # what took the place of a request, by the place of that
    for new, olds in pairs:
        weighed = {old.place: _weighed(signs, weights, bias) for old, signs in olds}
        likely = chances(list(weighed.values()))
        for one, old in best([(one, old) for one, (old, _) in zip(likely, olds, strict=True)]):
            heir = heirs.get(old.place)
            if heir is not None and heir.place not in weighed:
                continue  # what took its place is not for this one to change
            followed = heir is not None and weighed[heir.place] > 0  # likely by itself
            taken = heir if heir is not None and followed else old
            linked.append(comparing.link(new, taken, one))
            heirs[taken.place] = new
    return linked


def by_words(signs: Signs) -> float:
    """How likely it is before a judge was asked."""
    return _weighed(signs, WORDS, WORDS_BIAS)


def chances(weighed: Sequence[float]) -> list[float]:
    """How likely each earlier request is the one that is taken back; what is left is that none is."""
    most = max(0.0, *weighed)
    parts = [math.exp(one - most) for one in weighed]
    total = math.exp(-most) + sum(parts)
    return [part / total for part in parts]


def best(likely: Sequence[tuple[float, T]]) -> list[tuple[float, T]]:
    """The likeliest, and a second one that is nearly as likely; none if no one is likely enough."""
    ranked = sorted(likely, key=lambda one: -one[0])[:AT_MOST]
    if not ranked or ranked[0][0] < AT_LEAST:
        return []
    return [one for one in ranked if one[0] >= BESIDE * ranked[0][0]]


def _weighed(signs: Signs, weights: Signs, bias: float) -> float:
    total: float = sum(getattr(signs, one.name) * getattr(weights, one.name) for one in fields(Signs))
    return bias + total
