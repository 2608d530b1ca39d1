"""Two requests of a session side by side: whether both are about the same thing, and what became of it.

Pure. Says what speaks for the later one taking the earlier one back, and which part of it; weighs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from claude_memory.compaction.episodes import FEW, Episode, rarity, subjects
from claude_memory.compaction.pair import Pair, Vectors
from claude_memory.compaction.signs import Signs
from claude_memory.compaction.talk import Word
from claude_memory.compaction.wording import REASON, RULING, alike, given_up, slots

Near = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # texts to unit vectors
LOOKED_BACK = 40  # requests
EMBEDDED = 80  # requests, the latest
TEXT_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Link:
    """A request that takes an earlier one back, both by their turn; `part` is what of it, in its words."""

    new: int
    old: int
    likely: float
    part: tuple[str, ...] = ()


def _vectors(found: Sequence[Episode], near: Near | None) -> dict[int, Vectors]:
    """For each request, one vector for the whole of it and one for each thing it says."""
    if near is None:
        return {}
    latest = found[-EMBEDDED:]
    texts = [[one.text[-TEXT_CHARACTERS:], *one.statements] for one in latest]
    vectors = iter(near([text for listed in texts for text in listed]))
    made = [[vector for _, vector in zip(listed, vectors, strict=False)] for listed in texts]
    return {
        one.place: listed for one, listed in zip(latest, made, strict=True) if listed
    }  # none if it failed


@dataclass(frozen=True, slots=True)
class Comparing:
    """The requests of one session against each other."""

    found: Sequence[Episode]
    rare: Mapping[str, float]
    vectors: Mapping[int, Vectors]
    corrected: frozenset[int]

    @classmethod
    def of(
        cls,
        found: Sequence[Episode],
        said: Sequence[Word],
        near: Near | None,
        corrected: frozenset[int] = frozenset(),
    ) -> Comparing:
        return cls(found, rarity(said), _vectors(found, near), corrected)

    def all(self) -> list[tuple[Episode, list[tuple[Episode, Signs]]]]:
        """Each request that may take something back, with what speaks for each earlier one."""
        pairs = []
        for new in self.found:
            olds = [
                one
                for one in self.found[max(0, new.place - LOOKED_BACK) : new.place]
                if self._taken(one, new)
            ]
            if olds and not new.said.asks and not new.only_stays and (not new.alone or new.since >= 0):
                signs = [(old, self.pair(new, old).signs()) for old in olds]
                pairs.append((new, signs))
        return pairs

    def _taken(self, old: Episode, new: Episode) -> bool:
        """Whether it was taken at all: no question, and no choice of the agent that is corrected at once."""
        if old.said.asks:
            return False
        between = self.found[old.place + 1 : new.place]
        return not old.alone or new.alone or bool(old.confirmed) or any(not one.alone for one in between)

    def pair(self, new: Episode, old: Episode) -> Pair:
        between = self.found[old.place + 1 : new.place]
        return Pair(
            new,
            old,
            self.rare,
            (self.vectors.get(new.place, ()), self.vectors.get(old.place, ())),
            corrects=new.index in self.corrected,
            last=all(one.said.asks or one.alone for one in between),
        )

    def link(self, new: Episode, old: Episode, likely: float) -> Link:
        part = self.part(new, old)
        return Link(new.index, old.index, likely, part)

    def part(self, new: Episode, old: Episode) -> tuple[str, ...]:
        """The sentences of the earlier request that are given up; a sentence that still holds shows it.

        A reason for what is given up goes with it: what stays has a number or something in files to show.
        """
        sentences, pair = sentences_of(old), self.pair(new, old)
        scores = [
            _shown(pair, sentence) + pair.weight(subjects(sentence) & new.own) / 2 for sentence in sentences
        ]
        stands = (old.written | old.gone) - new.gone - new.written
        return tuple(
            sentence
            for sentence, score in zip(sentences, scores, strict=True)
            if score >= max(scores) / 2 or not _holds(pair, sentence, stands)
        )


def _holds(pair: Pair, sentence: str, stands: frozenset[str]) -> bool:
    """Whether a sentence decides something of its own that the code still has."""
    about = subjects(sentence)
    if len(about) < 2 or REASON.match(sentence):
        return False
    numbers = [slot for slot in slots(sentence) if slot[0] != "1"]  # “one” is often no number
    return bool(numbers or RULING.match(sentence)) or pair.weight(about & stands) > 1


def _shown(pair: Pair, text: str) -> float:
    """How far words of the earlier request are turned down, replaced in the code, or other numbers."""
    about, new = subjects(text), pair.new
    number, in_code = pair.traces.numbers(text)
    down = given_up(new.text) | (given_up(new.answer.text) if new.answer else frozenset())
    denied = frozenset(word for word in about for one in down if alike(one, word))
    return 1.5 * pair.weight(denied | ((about & new.gone) - new.written)) + number + in_code


def sentences_of(one: Episode) -> list[str]:
    """What a person said, sentence by sentence; an answer that lives from a proposal is one."""
    if one.adopted and len(one.own) <= FEW:
        return [one.said.text]
    return list(one.sentences)
