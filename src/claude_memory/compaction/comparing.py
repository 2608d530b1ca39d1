"""Two requests of a session side by side: whether both are about the same thing, and what became of it.

Pure. Says what speaks for the later one taking the earlier one back, and which part of it; weighs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from claude_memory.compaction.episodes import FEW, Episode, clauses_of, rarity, subjects
from claude_memory.compaction.heard import both, own_choices, taken_up
from claude_memory.compaction.pair import Pair, Vectors, nearness
from claude_memory.compaction.signs import Signs
from claude_memory.compaction.talk import FAILING, Word
from claude_memory.compaction.wording import REASON, RULING, alike, given_up, slots

Near = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # texts to unit vectors
Turned = Callable[[Sequence[tuple[str, str]]], Sequence[float]]  # each later one against its earlier one
Compared = list[tuple[Episode, list[tuple[Episode, Signs]]]]
LOOKED_BACK = 40  # requests
READ = 4  # earlier requests that are read against a later one, the likeliest
WORTH_READING = -6.0  # by words; below it a judge's word changes nothing
MOST_READ = 120  # pairs of a session, the likeliest; 12 to 50 ms each
UNREAD = -4.0
CERTAIN = 4.0
SHOWN = 1.0  # how much an answer has to show to be what is given up, in place of the request
ADDED = 4.0  # how much more an answer has to show than the request, to be what is given up
CLEAR, ABOVE = 0.3, 0.1  # the same where only meaning can show it
EMBEDDED = 80  # requests, the latest
TEXT_CHARACTERS = 600


class Sense(NamedTuple):
    """What a model tells of requests: how near they are, and whether one takes another back."""

    near: Near
    turned: Turned


@dataclass(frozen=True, slots=True)
class Link:
    """A request that takes an earlier one back, both by their turn; `part` is what of it, in its words.

    `added`: the part is what the agent had added to it, in this turn; `told`: it had told it in this turn.
    """

    new: int
    old: int
    likely: float
    part: tuple[str, ...] = ()
    added: int | None = None
    told: int | None = None


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
    near: Near | None = None

    @classmethod
    def of(
        cls,
        found: Sequence[Episode],
        said: Sequence[Word],
        sense: Sense | None,
        corrected: frozenset[int] = frozenset(),
    ) -> Comparing:
        near = sense.near if sense else None
        return cls(found, rarity(said), _vectors(found, near), corrected, near)

    def all(self) -> Compared:
        """Each request that may take something back, with what speaks for each earlier one."""
        pairs, own = [], own_choices(self.found)
        for new in self.found:
            if not new.said.states or new.only_stays or (new.begun is None and new.since < 0):
                continue
            earlier_ones = self.found[max(0, new.place - LOOKED_BACK) : new.place]
            olds = [one for one in earlier_ones if _may_change(one, new, own)]
            if olds:
                pairs.append((new, [(old, self.pair(new, old).signs()) for old in olds]))
        return pairs

    def read(self, pairs: Compared, turned: Turned, prior: Callable[[Signs], float]) -> Compared:
        """The same, with what a judge says of the likeliest pairs; nothing if it cannot be asked."""
        own = own_choices(self.found)
        ranked = [
            (prior(signs), new, old)
            for new, olds in pairs
            for old, signs in sorted(olds, key=lambda one: -prior(one[1]))[:READ]
            if prior(signs) >= WORTH_READING
        ]
        likely = [(new, old) for _, new, old in sorted(ranked, key=lambda one: -one[0])[:MOST_READ]]
        told = turned([both(old, new, own) for new, old in likely])
        known = {(new.place, old.place): one for (new, old), one in zip(likely, told, strict=False)}

        def read(new: Episode, old: Episode, signs: Signs) -> Signs:
            one = min(CERTAIN, max(UNREAD, known.get((new.place, old.place), UNREAD)))
            written, spoken_for = old.built.added or old.built.removed, max(0.0, one)
            return replace(
                signs,
                turned=one,
                turned_for=spoken_for,
                turned_task=signs.opening * spoken_for,
                only_said=0.0 if written else spoken_for,
            )

        if likely and not told:
            return []
        return [(new, [(old, read(new, old, signs)) for old, signs in olds]) for new, olds in pairs]

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
        """What of the earlier one is given up: of what was wanted, or of what the agent made of it."""
        pair = self.pair(new, old)
        wanted = sentences_of(old)
        told = [
            (one, word.index)
            for word in taken_up(old, own_choices(self.found))
            if word != new.proposal
            for one in clauses_of(word.text)
            if not FAILING.search(one)  # what it found was no choice
        ]
        texts = [*wanted, *(one for one, _ in told)]
        shown, clear = [_given_up(pair, one) for one in texts], SHOWN
        if max(shown, default=0.0) < SHOWN:  # no word says it: its meaning may
            shown, clear = self._meant(new, texts) or shown, CLEAR
        scores = shown[: len(wanted)]
        added = [(score, *one) for score, one in zip(shown[len(wanted) :], told, strict=True)]
        most, _, turn = max(added, default=(0.0, "", 0))
        above = ADDED * max(scores, default=0.0) if clear == SHOWN else max(scores, default=0.0) + ABOVE
        if added and (pair.unasked or most > max(clear, above)):
            part = tuple(one for score, one, index in added if index == turn and score >= most / 2)
            # What was proposed and taken is told again: it is given up where it stands, too.
            part += tuple(
                one for score, one in zip(scores, wanted, strict=True) if old.bare and score >= most / 2
            )
            return Link(new.index, old.index, likely, part, turn)
        repeated = turn if most > max([clear, *scores]) else None
        return Link(new.index, old.index, likely, self._part(pair, scores), told=repeated)

    def _meant(self, new: Episode, texts: Sequence[str]) -> list[float]:
        """How near in meaning each text is to the nearest thing that the later request says."""
        if self.near is None or not texts:
            return []
        mine = self.vectors.get(new.place, ())
        theirs = self.near(texts)
        return [max((nearness(one, other) for one in mine), default=0.0) for other in theirs]

    @staticmethod
    def _part(pair: Pair, scores: Sequence[float]) -> tuple[str, ...]:
        """The sentences of the earlier request that are given up; a sentence that still holds shows it.

        A reason for what is given up goes with it: what stays has a number or something in files to show.
        Of a proposal that was taken as a whole, all stays that does not show otherwise.
        """
        new, old = pair.new, pair.old
        stands = (old.built.written | old.built.gone) - new.gone - new.written
        return tuple(
            sentence
            for sentence, score in zip(sentences_of(old), scores, strict=True)
            if score >= max(scores) / 2 or not (old.bare or _holds(pair, sentence, stands))
        )


def _may_change(old: Episode, new: Episode, own: frozenset[int]) -> bool:
    """A person may change anything, or consent to it; an agent, unasked, its ideas and how it did things."""
    if new.begun is not None or old.alone:
        return True
    at_once = new.index in {word.index for word in old.replies}
    return not at_once and bool(old.adopted or taken_up(old, own))


def _holds(pair: Pair, sentence: str, stands: frozenset[str]) -> bool:
    """Whether a sentence decides something of its own that the code still has."""
    about = subjects(sentence)
    if len(about) < 2 or REASON.match(sentence):
        return False
    numbers = [slot for slot in slots(sentence) if slot[0] != "1"]  # “one” is often no number
    return bool(numbers or RULING.match(sentence)) or pair.weight(about & stands) > 1


def _given_up(pair: Pair, text: str) -> float:
    return _shown(pair, text) + pair.weight(subjects(text) & pair.new.own) / 2


def _shown(pair: Pair, text: str) -> float:
    """How far words of the earlier request are turned down, replaced in the code, or other numbers."""
    about, new = subjects(text), pair.new
    number, in_code = pair.traces.numbers(text)
    down = given_up(new.text) | (given_up(new.answer.text) if new.answer else frozenset())
    denied = frozenset(word for word in about for one in down if alike(one, word))
    return 1.5 * pair.weight(denied | ((about & new.gone) - new.written)) + number + in_code


def sentences_of(one: Episode) -> list[str]:
    """What was settled, sentence by sentence: a person's words, or the proposal that they only consent to."""
    if not one.adopted or len(one.own) > FEW:
        return list(one.sentences)
    proposed = clauses_of(one.taken_up)
    return list(proposed) if one.bare and len(proposed) > 1 else [one.said.text]
