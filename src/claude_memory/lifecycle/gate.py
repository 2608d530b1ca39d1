"""The write gate: what a new memory means for one that is there. It never refuses, merges or replaces.

Pure. The same words again strengthen what is known; a text close in meaning is linked as the newer one on
the same subject, and both stay. Only a person replaces a memory, by `--supersedes` or `revise`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_CHARACTERS = 600  # longer texts say more than one thing
# Cosine from which two statements are about the same thing. A denial is as close as an agreement, so
# nothing more than a link follows from it.
NEAR = 0.9


class Action(StrEnum):
    """What the gate does with a new memory."""

    ADDED = "added"
    REINFORCED = "reinforced"
    LINKED = "linked"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One pair judged: how close the two are, and why in words."""

    action: Action
    closeness: float
    words: str


def judged(old: str, new: str, cosine: float | None = None) -> Judgement:
    """What a new text means for an old one of the same project."""
    if _plain(old) == _plain(new):
        return Judgement(Action.REINFORCED, 1.0, "says the same, word for word")
    if cosine is None or cosine < NEAR or max(len(old), len(new)) > MAX_CHARACTERS:
        return Judgement(Action.ADDED, cosine or 0.0, "they are about different things")
    return Judgement(Action.LINKED, cosine, "newer on the same subject; both are kept")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!")
