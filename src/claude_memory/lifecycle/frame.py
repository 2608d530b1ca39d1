"""How two texts are built: the same sentence with another value in it, or other words in all.

Pure functions of two texts. They know no vocabulary, only the order of words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from claude_memory.text import is_stop_term, stem

_TOKEN = re.compile(r"[\w#@`'’+]+(?:[./:_-]+[\w#@+]+)*")
_LEAST_FOR_A_SLOT = 0.4


@dataclass(frozen=True, slots=True)
class Frame:
    """Two texts laid over each other.

    A slot is a place where each has words that the other has nowhere; `first` tells of one before
    anything common, which is another subject. `turned` is how much of the common comes in another order.
    """

    ratio: float
    slots: int
    first: bool
    turned: float

    @property
    def one_slot(self) -> bool:
        """Whether the texts are one sentence with another value in it."""
        return self.slots == 1 and not self.first and self.ratio >= _LEAST_FOR_A_SLOT


@lru_cache(maxsize=4096)
def framed(old: str, new: str) -> Frame:
    """Lay two texts over each other."""
    ours, theirs = _tokens(old), _tokens(new)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    slots, first, begun = 0, False, False
    for kind, start, end, start_new, end_new in matcher.get_opcodes():
        if kind == "equal":
            begun = begun or _says(ours[start:end])
        elif _says(_missing(ours[start:end], theirs)) and _says(_missing(theirs[start_new:end_new], ours)):
            slots += 1
            first = first or not begun
    return Frame(matcher.ratio(), slots, first, _turned(ours, theirs))


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(stem(word.lower().strip("'`’")) for word in _TOKEN.findall(text))


def _missing(tokens: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(token for token in tokens if token not in others)


def _says(tokens: tuple[str, ...]) -> bool:
    return any(not is_stop_term(token) for token in tokens)


def _turned(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    common = [token for token in dict.fromkeys(ours) if token in theirs and not is_stop_term(token)]
    places = [theirs.index(token) for token in common]
    pairs = [(left, right) for place, left in enumerate(places) for right in places[place + 1 :]]
    return sum(left > right for left, right in pairs) / max(len(pairs), 1)
