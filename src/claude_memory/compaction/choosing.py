"""Which clauses of a decision stay where there is little room: of its words, the answer, and its reasons.

Pure. A person who only consents leaves it to the proposal to say what was decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from claude_memory.compaction.abridge import JOINT, clip, telling
from claude_memory.compaction.model import Decision
from claude_memory.compaction.talk import PROPOSING
from claude_memory.distil.exchange import terms
from claude_memory.understand.sentences import spoken

LONG = 80  # characters of a sentence that is cut into clauses
LITTLE = 8  # words of somebody who leaves it to the proposal to say what was decided
# How much more a clause tells: the person's own, the one that was then done, words that the answer takes up …
OWN, CORE, ECHOED, TAKEN_UP, CONSENTED, PROPOSED, RESULT, ASIDE = 10.0, 5.0, 15.0, 4.0, 2.0, 3.5, 3.0, -7.0
COST = 1 / 36  # for each character
_CLAUSE = re.compile(r"(?<=;) |(?<=,) (?=(?:so|but|and|because|which|while|then|with) )")
_NAMED = re.compile(r"\d|`|\w[_./(]\w|[a-z][A-Z]")
_FIGURE = re.compile(r"\d")
_WORD = re.compile(r"[\w./@+-]*\w")


class Piece(NamedTuple):
    """A clause; `part` says where it is from: 0 its words, 1 the answer, then the reasons."""

    part: int
    text: str
    score: float


def proposals(decisions: Iterable[Decision]) -> frozenset[str]:
    """The clauses that a decision consents to: they are told there, and not as an answer before."""
    short = (one for one in decisions if len(terms(one.decision.partition(JOINT)[0])) <= LITTLE)
    return frozenset(text for one in short for text in _clauses(one.rationale.split(JOINT)[-1]))


def pick(
    one: Decision, characters: int, told: set[str], elsewhere: frozenset[str] = frozenset()
) -> tuple[str, str]:
    """The decision and its reason within so many characters together, without what is told elsewhere."""
    pieces = [
        piece
        for piece in _pieces(one)
        if piece.part == 0 or piece.text not in (elsewhere if piece.part == 1 else told)
    ]
    told.update(piece.text for piece in pieces if piece.part > 1)
    if len(one.decision) + len(one.rationale) <= characters:
        return one.decision, one.rationale
    words = [piece for piece in pieces if piece.part == 0]
    own = max(words, key=lambda piece: piece.score) if words else Piece(0, "", 0.0)
    kept, room = {own}, characters - len(own.text)
    for piece in sorted(pieces, key=lambda piece: -piece.score):
        if piece not in kept and len(piece.text) < room and piece.score > 0:
            kept.add(piece)
            room -= len(piece.text) + 1
    parts = {part: " ".join(p.text for p in pieces if p.part == part and p in kept) for part in range(9)}
    said = JOINT.join(text for part, text in parts.items() if part < 2 and text)
    return clip(said, characters), JOINT.join(text for part, text in parts.items() if part > 1 and text)


def gathered(text: str, characters: int, about: str = "") -> str:
    """The clauses of a text that tell most, within so many characters, in their order."""
    if len(text) <= characters:
        return text
    words, clauses = terms(about), _clauses(text.replace(" [", ". ["))
    score = {
        one: _score(one)
        + TAKEN_UP * min(2, len(terms(one) & words))
        + (ASIDE if one.startswith("[") else RESULT * bool(_NAMED.search(one)))  # the code says it again
        for one in clauses
    }
    kept, room = set[str](), characters
    for one in sorted(score, key=lambda one: -score[one]):
        if len(one) < room:
            kept.add(one)
            room -= len(one) + 1
    return " ".join(one for one in clauses if one in kept) or clip(text, characters)


def _pieces(one: Decision) -> list[Piece]:
    said, _, answer = one.decision.partition(JOINT)
    reasons = one.rationale.split(JOINT)[-7:] if one.rationale else []
    mine, taken = terms(said), terms(answer)
    before, short = terms(one.reverses), len(mine) <= LITTLE
    found = [Piece(0, text, _own(text, taken, before, one.core)) for text in _clauses(said)]
    found += [Piece(1, text, _score(text) + _answering(text, mine)) for text in _clauses(answer)]
    for place, reason in enumerate(reasons):
        bonus = CONSENTED * short if place == len(reasons) - 1 else ASIDE
        found += [
            Piece(place + 2, text, _score(text) + bonus + PROPOSED * bool(PROPOSING.search(text)))
            for text in _clauses(reason)
        ]
    return found


def _answering(text: str, mine: frozenset[str]) -> float:
    """An answer tells by what it takes up, and by what came out; what it asks next is another matter."""
    if text.endswith("?"):
        return ASIDE
    return TAKEN_UP * min(3, len(terms(text) & mine)) + RESULT * bool(_FIGURE.search(text))


def _own(text: str, taken: frozenset[str], before: frozenset[str], core: str) -> float:
    found = terms(text)
    score = _score(text) + OWN + min(ECHOED, 3.0 * len(found & taken)) + min(3.0, 3.0 * len(found & before))
    return score + (CORE if core and text in core else 0.0)


def _score(text: str) -> float:
    return telling(text) - COST * len(text)


def _clauses(text: str) -> list[str]:
    sentences = [" ".join(sentence.said.split()) for sentence in spoken(text)] or [text]
    return [
        part
        for sentence in sentences
        for part in (_CLAUSE.split(sentence) if len(sentence) > LONG else [sentence])
        if part
    ]


def label(one: Decision, characters: int) -> str:
    """What it is about, in a few of its words: those first that are said more than once."""
    if len(one.topic) <= characters:
        return one.topic
    texts = [*one.decision.split(JOINT), *one.rationale.split(JOINT)]
    listed = list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))
    about = {word: terms(word) for word in listed}
    told = {word: sum(about[word] <= terms(text) for text in texts) for word in listed if about[word]}
    found: list[str] = []
    for word in sorted(told, key=lambda word: (-told[word], -len(word))):
        if len(" ".join([*found, word])) <= characters and word.lower() not in (one.lower() for one in found):
            found.append(word)
    return " ".join(word for word in listed if word in found) or clip(one.topic, characters)
