"""The write gate: what a new memory means for one that is there. Deterministic, and it never refuses.

Pure: a pair of texts, and the cosine of their vectors where there is one, give an action with its
probability and the reasons in words. What follows from an action is `writing`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from claude_memory.lifecycle.cues import changes
from claude_memory.lifecycle.evidence import measured
from claude_memory.lifecycle.gate_weights import WITH_VECTORS, WORDS_ONLY
from claude_memory.lifecycle.matching import content


class Action(StrEnum):
    """What the gate does with a new memory."""

    ADDED = "added"
    REINFORCED = "reinforced"
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One pair judged."""

    action: Action
    probability: float
    words: str


# Longer texts say more than one thing; no figure here speaks for them.
MAX_CHARACTERS = 600
# A replacement hides the old text from a reader, so a doubt weighs more there: on sets of
# pairs that the fit did not see this leaves no false one in a thousand, and costs three right ones.
MOST_DOUBT = 0.15
_NOTHING_SHARED = "they are about different things"


def judged(old: str, new: str, cosine: float | None = None) -> Judgement:
    """What a new text means for an old one of the same project."""
    if " ".join(old.casefold().split()) == " ".join(new.casefold().split()):
        return Judgement(Action.REINFORCED, 1.0, "says the same, word for word")
    if max(len(old), len(new)) > MAX_CHARACTERS or not content(old) or not content(new):
        return Judgement(Action.ADDED, 1.0, _NOTHING_SHARED)
    figures = measured(old, new, cosine)
    weights = WORDS_ONLY if cosine is None else WITH_VECTORS
    probabilities = _softmax([_sum(figures, weights, column) for column in range(4)])
    action = chosen(probabilities)
    place = list(Action).index(action)
    if action is Action.REINFORCED and figures["denied"]:
        action = Action.CONFLICT  # `use X` and `don't use X` are never the same, however alike they look
    return Judgement(action, probabilities[place], _words(action, old, new, figures))


def chosen(probabilities: Sequence[float]) -> Action:
    """The likeliest action; but nothing is replaced that may well be about something else."""
    actions = dict(zip(Action, probabilities, strict=True))
    if actions[Action.ADDED] > MOST_DOUBT and max(actions, key=lambda one: actions[one]) is Action.SUPERSEDED:
        del actions[Action.SUPERSEDED]
    return max(actions, key=lambda one: actions[one])


def _sum(figures: Mapping[str, float], weights: Mapping[str, tuple[float, ...]], column: int) -> float:
    return weights["1"][column] + sum(value * weights[name][column] for name, value in figures.items())


def _softmax(values: list[float]) -> list[float]:
    raised = [math.exp(value - max(values)) for value in values]
    return [value / sum(raised) for value in raised]


def _words(action: Action, old: str, new: str, figures: Mapping[str, float]) -> str:
    shared = ", ".join(term for term in content(new) if term in set(content(old)))
    about = f"both are about {shared}" if shared else "both are close in meaning"
    if action is Action.ADDED:
        return _NOTHING_SHARED
    if action is Action.REINFORCED:
        return f"says the same: {about}"
    if action is Action.SUPERSEDED:
        said = changes(old, new)
        return f"{about}, and the new one says `{said[0]}`" if said else f"{about}, and the new one is later"
    return f"{about}, and {_difference(figures)}; neither says which one stands"


def _difference(figures: Mapping[str, float]) -> str:
    for name, words in (
        ("clash", "one denies what the other says"),
        ("opposites", "they say opposite things"),
        ("numbers_differ", "their figures differ"),
    ):
        if figures[name]:
            return words
    return "they say different things"
