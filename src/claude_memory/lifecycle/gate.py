"""The write gate: what a new memory means for one that is there. Deterministic, and it never refuses.

Pure: a pair of texts, and the cosine of their vectors where there is one, give an action with its
probability and the reasons in words. What follows from an action is `writing`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from claude_memory.lifecycle.cues import changes
from claude_memory.lifecycle.evidence import content, measured


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
_NOTHING_SHARED = "they are about different things"

# Columns: added, reinforced, superseded, conflict. Fitted by bench/gate.py on 438 pairs, 185 of them
# labelled before any rule; cross-validated, 95 and 93 of 100 of these are judged right.
WITH_VECTORS: Mapping[str, tuple[float, float, float, float]] = {
    "overlap": (-0.49, 0.26, 0.34, -0.11),
    "length": (-1.52, -0.31, 1.03, 0.81),
    "numbers_same": (-0.17, 0.91, 0.03, -0.76),
    "codes_same": (0.10, 0.27, 0.11, -0.48),
    "strangers_changed": (-0.55, 0.26, 0.86, -0.56),
    "change": (-0.40, -0.40, 1.43, -0.63),
    "changed": (-0.32, -0.36, 1.21, -0.53),
    "changed_and_shared": (-0.32, -0.34, 1.20, -0.54),
    "names_old": (-0.30, -0.33, 1.11, -0.48),
    "event": (-0.36, -0.18, 0.93, -0.39),
    "event_only": (-0.52, 0.43, 1.52, -1.43),
    "event_strange": (-0.24, -0.42, 0.97, -0.30),
    "clash": (-0.27, 0.17, 0.10, 0.01),
    "denied": (-0.10, 0.16, -0.35, 0.29),
    "pure_denial": (-0.05, -0.58, -0.28, 0.91),
    "limit": (-0.48, 1.93, -0.35, -1.10),
    "agreed_no": (-0.26, 1.25, -0.37, -0.62),
    "strangers": (0.64, 0.09, -0.18, -0.55),
    "tails_differ": (0.36, -0.38, -0.03, 0.04),
    "opposites": (-0.45, -0.51, -0.46, 1.42),
    "sources": (-1.13, 0.09, -0.20, 1.25),
    "numbers_differ": (0.03, -0.59, 0.23, 0.32),
    "frame": (1.45, -2.50, -0.07, 1.11),
    "one_slot": (0.08, -0.43, -0.39, 0.74),
    "first_slot": (0.15, 0.05, -0.19, -0.01),
    "two_slots": (1.85, -0.44, -0.68, -0.73),
    "alike": (-0.36, 1.03, -0.36, -0.31),
    "turned": (-0.44, 1.36, -0.29, -0.63),
    "cosine": (-4.54, 2.88, -0.03, 1.69),
    "far": (-6.82, 4.09, 0.55, 2.17),
    "near": (-6.67, 5.60, -2.93, 4.00),
    "1": (9.43, -4.67, -1.82, -2.94),
}
WORDS_ONLY: Mapping[str, tuple[float, float, float, float]] = {
    "overlap": (-1.54, 0.90, 0.34, 0.30),
    "length": (-1.35, -0.42, 1.09, 0.69),
    "numbers_same": (-0.23, 0.96, 0.02, -0.74),
    "codes_same": (0.02, 0.32, 0.11, -0.45),
    "strangers_changed": (-0.73, 0.32, 0.93, -0.52),
    "change": (-0.46, -0.39, 1.46, -0.61),
    "changed": (-0.36, -0.36, 1.24, -0.52),
    "changed_and_shared": (-0.38, -0.31, 1.21, -0.52),
    "names_old": (-0.33, -0.31, 1.11, -0.47),
    "event": (-0.39, -0.18, 0.96, -0.39),
    "event_only": (-0.64, 0.54, 1.54, -1.44),
    "event_strange": (-0.29, -0.38, 0.96, -0.29),
    "clash": (-0.43, 0.25, 0.10, 0.07),
    "denied": (-0.16, 0.19, -0.36, 0.33),
    "pure_denial": (-0.26, -0.46, -0.29, 1.00),
    "limit": (-0.53, 1.98, -0.39, -1.07),
    "agreed_no": (-0.06, 1.13, -0.41, -0.66),
    "strangers": (0.96, -0.09, -0.19, -0.69),
    "tails_differ": (0.38, -0.41, -0.01, 0.04),
    "opposites": (-0.77, -0.44, -0.39, 1.60),
    "sources": (-1.52, 0.24, -0.15, 1.43),
    "numbers_differ": (-0.28, -0.44, 0.24, 0.48),
    "frame": (0.97, -2.28, -0.08, 1.39),
    "one_slot": (-0.05, -0.36, -0.39, 0.80),
    "first_slot": (0.25, -0.03, -0.18, -0.04),
    "two_slots": (2.27, -0.68, -0.66, -0.93),
    "alike": (-0.46, 1.08, -0.36, -0.27),
    "turned": (-0.96, 1.74, -0.30, -0.48),
    "1": (1.05, 0.64, -1.55, -0.15),
}


def judged(old: str, new: str, cosine: float | None = None) -> Judgement:
    """What a new text means for an old one of the same project."""
    if " ".join(old.casefold().split()) == " ".join(new.casefold().split()):
        return Judgement(Action.REINFORCED, 1.0, "says the same, word for word")
    if max(len(old), len(new)) > MAX_CHARACTERS or not content(old) or not content(new):
        return Judgement(Action.ADDED, 1.0, _NOTHING_SHARED)
    figures = measured(old, new, cosine)
    weights = WORDS_ONLY if cosine is None else WITH_VECTORS
    probabilities = _softmax([_sum(figures, weights, column) for column in range(4)])
    place = max(range(4), key=lambda column: probabilities[column])
    action = list(Action)[place]
    if action is Action.REINFORCED and figures["denied"]:
        action = Action.CONFLICT  # `use X` and `don't use X` are never the same, however alike they look
    return Judgement(action, probabilities[place], _words(action, old, new, figures))


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
