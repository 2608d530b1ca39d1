"""The write gate: what a new memory means for one that is there. Deterministic, and it never refuses.

Pure: a pair of texts, the cosine of their vectors and what a judge told of them, where there are such, give
an action with its probability and the reasons in words. What follows from an action is `entry`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from claude_memory.lifecycle.cues import changes
from claude_memory.lifecycle.evidence import measured
from claude_memory.lifecycle.gate_weights import JUDGED, WITH_VECTORS, WORDS_ONLY
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
# A replacement hides the old text from a reader, so a doubt weighs more there: by counted evidence alone that
# the two may be about different things, and by a judge that has read both, of any kind.
MOST_DOUBT = 0.15
MOST_DOUBT_JUDGED = 0.25
_NOTHING_SHARED = "they are about different things"


def judged(old: str, new: str, cosine: float | None = None, told: Sequence[float] | None = None) -> Judgement:
    """What a new text means for an old one of the same project; `told` is a judge's word on each action."""
    if " ".join(old.casefold().split()) == " ".join(new.casefold().split()):
        return Judgement(Action.REINFORCED, 1.0, "says the same, word for word")
    if max(len(old), len(new)) > MAX_CHARACTERS or not content(old) or not content(new):
        return Judgement(Action.ADDED, 1.0, _NOTHING_SHARED)
    figures = measured(old, new, cosine)
    read = told is not None and cosine is not None
    probabilities = _probabilities(figures, cosine is not None, told)
    action = chosen(probabilities, by_judge=read)
    place = list(Action).index(action)
    if action is Action.REINFORCED and figures["pure_denial" if read else "denied"]:
        action = Action.CONFLICT  # `use X` and `don't use X` are never the same, however alike they look
    return Judgement(action, probabilities[place], _words(action, old, new, figures))


def _probabilities(figures: Mapping[str, float], vectors: bool, told: Sequence[float] | None) -> list[float]:
    if told is None or not vectors:
        weights = WITH_VECTORS if vectors else WORDS_ONLY
        return _softmax([_sum(figures, weights, column) for column in range(4)])
    return _softmax([_sum(figures, JUDGED, column) + told[column] for column in range(4)])


def chosen(probabilities: Sequence[float], *, by_judge: bool = False) -> Action:
    """The likeliest action; but nothing is replaced that may well be about something else."""
    actions = dict(zip(Action, probabilities, strict=True))
    if by_judge:
        doubtful = 1 - actions[Action.SUPERSEDED] > MOST_DOUBT_JUDGED
    else:
        doubtful = actions[Action.ADDED] > MOST_DOUBT
    if doubtful and max(actions, key=lambda one: actions[one]) is Action.SUPERSEDED:
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
