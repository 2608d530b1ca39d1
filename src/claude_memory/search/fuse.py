"""Words and meaning joined into one score per passage. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

# Flat between .3 and .5 on developer notes, LoCoMo and LongMemEval alike.
LEXICAL_SHARE = 0.4
# The best match by words counts in full only from a seventh of all that the question's words could
# tell, or the worth of one rare word and a bit: in a small store one chance word otherwise outweighs
# meaning (first place for 14 of 20 paraphrased questions without the floor, 17 with it; tests/quality).
# It was chosen on those 20 questions; it moves no figure of the public sets by more than 0.2.
FLOOR_OF_QUESTION = 0.15
FLOOR_IN_RARE_WORDS = 1.25


def lexical_floor(information: float, rarest: float) -> float:
    """The BM25 score from which a match by words is a full one, given what the question's words tell."""
    return min(FLOOR_OF_QUESTION * information, FLOOR_IN_RARE_WORDS * rarest)


def fused(
    lexical: Sequence[float],
    cosines: Sequence[float | None] | None,
    cosine_minimum: float,
    *,
    lexical_floor: float = 0.0,
    share: float = LEXICAL_SHARE,
) -> list[float]:
    """Scores in 0 to 1, by convex combination of both signals, each scaled by its true extremes.

    The true minimum of BM25 is 0 and that of the cosine is the scan's, over the whole scope: minima
    of the candidates alone would stretch noise (−6 points). A best BM25 below `lexical_floor` does not
    count as a full match. `cosines` is None without an embedder.
    """
    if cosines is None:
        return _scaled(lexical, 0.0)
    words = _scaled([*lexical, lexical_floor], 0.0)[:-1]
    known = [value for value in cosines if value is not None]
    meaning = iter(_scaled(known, min([cosine_minimum, *known])))
    # A passage that has no vector yet is judged by its words alone, not sunk for being new.
    return [
        word if cosine is None else share * word + (1.0 - share) * next(meaning)
        for word, cosine in zip(words, cosines, strict=True)
    ]


def _scaled(values: Sequence[float], minimum: float) -> list[float]:
    width = max(values, default=minimum) - minimum
    if width <= 0.0:
        # All alike: one vector alone in its store is the nearest there is, no words at all are none.
        return [1.0 if minimum > 0.0 else 0.0] * len(values)
    return [(value - minimum) / width for value in values]
