"""Less room for what was said: the sentences that decide stay, greetings and tales go. Pure."""

from __future__ import annotations

import re

from claude_memory.compaction.talk import ORDERING, SETTLING
from claude_memory.compaction.wording import CONCLUDING
from claude_memory.distil.exchange import terms
from claude_memory.understand.sentences import spoken

JOINT = " → "
_TELLING = re.compile(r"\d|`|\w[_=./]\w")
_REASON = re.compile(r"\W*(?:i'?m?|it'?s?|that'?s?|this|because|since|they)\b|.*\bbecause\b", re.IGNORECASE)
_MAX_TERMS = 8
ECHOED = 9  # at most, for words that the agent's answer takes up


def clip(text: str, characters: int) -> str:
    """At most so many characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def telegraphic(text: str, characters: int, known: str = "") -> str:
    """At most so many characters: without small words, and without words that stand in `known` anyway."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    told = [
        word for word in line.split() if terms(word) and word.strip("`.,;:()'\"").lower() not in known.lower()
    ]
    return clip(" ".join(told or line.split()), characters)


def abridged(text: str, characters: int, about: str = "", core: str = "") -> str:
    """At most so many characters, by leaving out what tells least: first the answer, then sentences.

    The sentence `core` tells most; next, what speaks of the same as `about`, which was given up.
    """
    said, joint, answer = text.partition(JOINT)
    if len(text) <= characters:
        return text
    if joint and len(said) <= characters and len(terms(said)) > 2:
        room = characters - len(said) - len(joint)
        return f"{said}{joint}{clip(answer, room)}" if room > 60 else said
    sentences = _sentences(said) if len(terms(said)) > 2 else []
    kept = _most_telling(sentences, characters, terms(about), core, terms(answer))
    return " ".join(kept) if kept else clip(text, characters)


def _sentences(text: str) -> list[str]:
    return [" ".join(sentence.said.split()) for sentence in spoken(text)]


def _most_telling(
    sentences: list[str],
    characters: int,
    about: frozenset[str],
    core: str = "",
    answered: frozenset[str] = frozenset(),
) -> list[str]:
    """As many sentences as fit, the most telling first, in the order they were said."""
    kept: set[int] = set()
    room = characters
    score = [
        telling(one)
        + min(3, 3 * len(terms(one) & about))
        + min(ECHOED, 3 * len(terms(one) & answered))
        + 12 * (one == core)
        for one in sentences
    ]
    for place in sorted(range(len(sentences)), key=lambda place: (-score[place], -place)):
        if len(sentences[place]) < room:
            kept.add(place)
            room -= len(sentences[place]) + 1
        elif not kept:
            return []
    return [sentences[place] for place in sorted(kept)]


def telling(sentence: str) -> int:
    """How much a sentence seems to settle."""
    score = min(len(terms(sentence)), _MAX_TERMS)
    score += 4 * bool(SETTLING.search(sentence)) + 3 * bool(ORDERING.search(sentence))
    concludes = CONCLUDING.search(sentence) is not None
    score += 4 * concludes + 3 * bool(_TELLING.search(sentence))
    return score if concludes else score - 4 * bool(_REASON.match(sentence))
