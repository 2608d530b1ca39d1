"""The write gate: what a new memory means for one that is there. Deterministic, and it never refuses.

Pure: a pair of texts, and the cosine of their vectors where there is one, give an action with its
probability and the reasons in words. What follows from an action is `writing`'s part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from claude_memory.lifecycle.evidence import changes, content, measured


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

# Columns: added, reinforced, superseded, conflict. Fitted by bench/gate.py on 185 labelled pairs;
# cross-validated, 88 and 87 of 100 are judged right, and no unrelated pair is superseded.
WITH_VECTORS: Mapping[str, tuple[float, float, float, float]] = {
    "overlap": (-0.42, -0.01, 0.24, 0.20),
    "length": (-1.23, 0.28, 1.05, -0.10),
    "strangers": (0.79, -0.10, -0.19, -0.49),
    "strangers_changed": (-0.41, -0.39, 1.12, -0.32),
    "change": (-0.28, -0.38, 1.09, -0.43),
    "changed": (-0.26, -0.35, 1.05, -0.44),
    "changed_and_shared": (-0.30, -0.37, 1.12, -0.44),
    "hint": (-0.12, -0.11, 0.42, -0.19),
    "names_old": (-0.32, -0.33, 0.99, -0.34),
    "clash": (-0.29, -0.16, 0.10, 0.35),
    "denied": (-0.12, -0.30, -0.37, 0.79),
    "agreed_no": (0.01, 0.63, -0.22, -0.42),
    "negated_new": (-0.27, -0.09, 0.15, 0.21),
    "negated_old": (-0.06, 1.44, -0.17, -1.21),
    "tails_differ": (0.08, -0.45, -0.06, 0.43),
    "opposites": (-0.63, -0.44, -0.11, 1.17),
    "sources": (-1.01, 0.16, -0.12, 0.97),
    "numbers_differ": (0.24, -0.56, -0.04, 0.36),
    "alike": (-0.43, 1.48, -0.30, -0.75),
    "cosine": (-4.96, 2.36, 0.23, 2.38),
    "far": (-6.87, 3.06, 0.97, 2.83),
    "1": (10.65, -4.03, -2.36, -4.27),
}
WORDS_ONLY: Mapping[str, tuple[float, float, float, float]] = {
    "overlap": (-1.51, 0.55, 0.34, 0.62),
    "length": (-1.23, 0.19, 1.14, -0.10),
    "strangers": (1.06, -0.27, -0.21, -0.58),
    "strangers_changed": (-0.37, -0.40, 1.13, -0.36),
    "change": (-0.30, -0.37, 1.11, -0.44),
    "changed": (-0.25, -0.35, 1.05, -0.44),
    "changed_and_shared": (-0.36, -0.37, 1.15, -0.43),
    "hint": (-0.19, -0.06, 0.40, -0.15),
    "names_old": (-0.36, -0.33, 1.02, -0.33),
    "clash": (-0.37, -0.13, 0.11, 0.39),
    "denied": (-0.18, -0.27, -0.38, 0.83),
    "agreed_no": (0.07, 0.59, -0.23, -0.43),
    "negated_new": (-0.42, -0.09, 0.18, 0.33),
    "negated_old": (0.13, 1.28, -0.20, -1.22),
    "tails_differ": (0.09, -0.44, -0.08, 0.43),
    "opposites": (-0.95, -0.33, -0.06, 1.35),
    "sources": (-1.21, 0.26, -0.11, 1.06),
    "numbers_differ": (0.01, -0.49, -0.00, 0.49),
    "alike": (-0.58, 1.57, -0.29, -0.70),
    "1": (1.85, 0.04, -1.56, -0.33),
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
