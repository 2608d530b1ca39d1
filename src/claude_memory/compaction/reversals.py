"""Which decision takes back which: the same subject again, with signs that the choice became another.

Pure. Every sign is a number with a weight (`signs.py`). Meaning, where an embedder lends it, only helps to
tell whether two requests are about the same thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import mul
from typing import TypeVar

from claude_memory.compaction.episodes import FEW, Episode, rarity, subjects
from claude_memory.compaction.signs import (
    MEANING,
    MEANING_BIAS,
    TALK_MEANING,
    TALK_MEANING_BIAS,
    TALK_WORDS,
    TALK_WORDS_BIAS,
    WORDS,
    WORDS_BIAS,
    Signs,
)
from claude_memory.compaction.talk import DIFFICULTY, Word
from claude_memory.compaction.wording import (
    IDEA,
    OFFERING,
    REASON,
    RULING,
    TURNING_BACK,
    alike,
    begins,
    dropped,
    given_up,
    names_in,
    slots,
)
from claude_memory.distil.sentences import spoken

T = TypeVar("T")
Near = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # texts to unit vectors
LOOKED_BACK = 40  # requests
EMBEDDED = 80  # requests, the latest
TEXT_CHARACTERS = 600
_UNKNOWN = 0.9  # a word that only code has said
TALK_AT_LEAST = 0.5  # talk alone finds half of them, and is wrong more often
AT_LEAST = 0.25
UNSHOWN_AT_LEAST = 0.35  # where nothing of the earlier words themselves is turned down
BESIDE = 0.5  # a second earlier decision counts if it is nearly as likely


@dataclass(frozen=True, slots=True)
class Link:
    """A request that takes an earlier one back, both by their turn; `part` is what of it, in its words."""

    new: int
    old: int
    likely: float
    part: tuple[str, ...] = ()
    shown: bool = True  # whether the words of the part themselves were turned down or replaced


def links(
    found: Sequence[Episode],
    said: Sequence[Word],
    near: Near | None = None,
    corrected: frozenset[int] = frozenset(),
) -> list[Link]:
    """What was taken back, in order; at most two earlier decisions by one.

    `corrected` are turns known to set right what the agent did.
    """
    comparing = Comparing.of(found, said, near, corrected)
    linked: list[Link] = []
    for new, olds in comparing.all():
        likely = [(chance(new, signs, near is not None), old) for old, signs in olds]
        nearest = [(one, comparing.link(new, old, one)) for one, old in likely if one >= AT_LEAST]
        linked += best(nearest, lambda link: link.shown)
    return linked


def chance(new: Episode, signs: Signs, meaning: bool) -> float:
    """How likely it takes the earlier one back: by what was changed, or by words that say so outright."""
    work, work_bias, talk, talk_bias = (
        (MEANING, MEANING_BIAS, TALK_MEANING, TALK_MEANING_BIAS)
        if meaning
        else (WORDS, WORDS_BIAS, TALK_WORDS, TALK_WORDS_BIAS)
    )
    shown = _likely(signs, work, work_bias) if new.work.added or new.work.removed else 0.0
    told = _likely(signs, talk, talk_bias) if witnessed(signs) else 0.0
    return max(shown, told if told >= TALK_AT_LEAST else 0.0)


def witnessed(signs: Signs) -> bool:
    """Whether words say outright that something is taken back, or a way round a difficulty is accepted."""
    return signs.says_so > 0 or signs.dropped > 0 or signs.countered >= 1


def best(likely: Sequence[tuple[float, T]], shown: Callable[[T], bool]) -> list[T]:
    """At most two, nearly as likely as one another; what was not turned down in words must be likelier."""
    ranked = sorted(likely, key=lambda one: -one[0])[:2]
    near = [(chance, one) for chance, one in ranked if chance >= max(AT_LEAST, BESIDE * ranked[0][0])]
    said = [one for _, one in near if shown(one)]
    return said or [one for chance, one in near if chance >= UNSHOWN_AT_LEAST][:1]


def _likely(signs: Signs, weights: Signs, bias: float) -> float:
    total = bias + sum(getattr(signs, one.name) * getattr(weights, one.name) for one in fields(Signs))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def _vectors(found: Sequence[Episode], near: Near | None) -> dict[int, Sequence[float]]:
    if near is None:
        return {}
    latest = found[-EMBEDDED:]
    vectors = near([one.text[-TEXT_CHARACTERS:] for one in latest])
    return {one.place: vector for one, vector in zip(latest, vectors, strict=False)}  # none if it failed


@dataclass(frozen=True, slots=True)
class Comparing:
    """The requests of one session against each other."""

    found: Sequence[Episode]
    rare: Mapping[str, float]
    vectors: Mapping[int, Sequence[float]]
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
                one for one in self.found[max(1, new.place - LOOKED_BACK) : new.place] if not one.said.asks
            ]
            if olds and not new.said.asks:
                signs = [(old, self._signs(new, old, self._subject(new, old))) for old in olds]
                pairs.append((new, signs))
        return pairs

    def link(self, new: Episode, old: Episode, likely: float) -> Link:
        part = self.part(new, old)
        return Link(new.index, old.index, likely, part, self._shown(new, " ".join(part)) > 0)

    def part(self, new: Episode, old: Episode) -> tuple[str, ...]:
        """The sentences of the earlier request that are given up; a sentence that still holds shows it.

        A reason for what is given up goes with it: what stays has a number or something in files to show.
        """
        sentences = sentences_of(old)
        scores = [self._shown(new, sentence) for sentence in sentences]
        if not any(scores):
            scores = [self.weight(subjects(sentence) & new.chosen) for sentence in sentences]
        stands = (old.written | old.gone) - new.gone - new.written
        return tuple(
            sentence
            for sentence, score in zip(sentences, scores, strict=True)
            if score >= max(scores) / 2 or not self._holds(sentence, stands)
        )

    def _holds(self, sentence: str, stands: frozenset[str]) -> bool:
        about = subjects(sentence)
        if len(about) < 2 or REASON.match(sentence):
            return False
        numbers = [slot for slot in slots(sentence) if slot[0] != "1"]  # “one” is often no number
        return bool(numbers or RULING.match(sentence)) or self.weight(about & stands) > 1

    def _shown(self, new: Episode, text: str) -> float:
        """How far words of the earlier request are turned down, replaced in the code, or other numbers."""
        about = subjects(text)
        written, gone = new.written, new.gone
        number, in_code = self._numbers(text, new.text, written, gone)
        down = given_up(new.text) | (given_up(new.answer.text) if new.answer else frozenset())
        denied = frozenset(word for word in about for one in down if alike(one, word))
        return 1.5 * self.weight(denied | ((about & gone) - written)) + number + in_code

    def weight(self, words: frozenset[str]) -> float:
        return sum(self.rare.get(word, _UNKNOWN) for word in words)

    def _subject(self, new: Episode, old: Episode) -> float:
        """0 to 1, from the words that both share, weighed by how rare they are, and from their meaning."""
        shared = self.weight(old.chosen & new.chosen)
        around = self.weight((old.chosen | old.answered) & (new.chosen | new.answered)) - shared
        before = [subjects(word.text) for word in _between(old, new)]
        leading = min(2.0, self.weight(old.chosen & frozenset().union(*before)))
        same = min(1.0, (shared + 0.4 * around + 0.4 * leading) / 2)
        mine, theirs = self.vectors.get(new.place), self.vectors.get(old.place)
        if mine is None or theirs is None:
            return same
        cosine: float = sum(map(mul, mine, theirs))
        return 0.5 * same + 0.5 * min(1.0, max(0.0, (cosine - 0.5) * 4))

    def _signs(self, new: Episode, old: Episode, subject: float) -> Signs:
        written, gone = new.written, new.gone
        number, in_code = self._numbers(old.text, new.text, written, gone)
        undone = new.work.undone[old.place]
        share = undone / sum(new.work.undone.values()) if undone else 0.0
        mine = max(min(1.0, undone / 3), share)
        left = self.weight((old.chosen & gone) - written - new.chosen)
        came = self.weight(new.chosen & written)
        dropping = self._dropped(new, old)
        turns = TURNING_BACK.search(new.said.text) is not None
        return Signs(
            subject=subject,
            negated=subject * self._negated(new, old) if subject else 0.0,
            dropped=dropping,
            number=subject * number,
            number_in_code=in_code,
            undone=subject * mine,
            replaced=min(1.0, left) * min(1.0, came),
            alternative=self._alternative(new, old) if mine else 0.0,
            left_before=self._alternative(new, old, named_in(old)),
            countered=self._countered(new, old),
            says_so=subject * (turns or dropping > 0),
            same_file=subject * bool(old.files & new.files),
            asked=float(new.proposal is not None and new.proposal.asks),
            rule=float(new.said.rule),
            corrects=self._corrects(new, old),
            stands=float(bool(old.files & new.files) and not undone and not in_code),
            unsettled=_unsettled(new, old),
        )

    def _alternative(self, new: Episode, old: Episode, among: frozenset[str] | None = None) -> float:
        """How telling a word is that was offered, left by the earlier request, and taken by the later one."""
        if old.proposal is None or not OFFERING.search(old.proposal.text):
            return 0.0
        left = [
            word
            for word in subjects(old.proposal.text)
            if (among is None or word in among)
            and not any(begins(word, one) for one in old.own)
            and not word[0].isdigit()
        ]
        found = [
            self.rare.get(word, 0.0)
            for word in left
            if any(begins(word, one) or alike(word, one) for one in new.own)
        ]
        return max(found, default=0.0)

    def _corrects(self, new: Episode, old: Episode) -> float:
        """A correction of the agent; less so the more it speaks of what the person had said."""
        if new.index not in self.corrected:
            return 0.0
        return 1.0 - 0.5 * min(1.0, self.weight(old.own & new.own) / 2)

    def _countered(self, new: Episode, old: Episode) -> float:
        """Whether the request right before met a difficulty, and the person takes what was named instead."""
        offer = new.proposal
        if offer is None or offer.asks or not new.adopted:
            return 0.0
        if not all(one.said.asks for one in self.found[old.place + 1 : new.place]):
            return 0.0
        other = (new.own & subjects(offer.text)) - old.chosen
        return float(DIFFICULTY.search(offer.text) is not None) * (1.0 if other else 0.4)

    def _negated(self, new: Episode, old: Episode) -> float:
        """How telling a word of the earlier choice is that the later talk turns down."""
        texts = [new.said.text, *(word.text for word in _between(old, new)[-3:] if word.person)]
        if new.proposal is not None and new.proposal.index > old.index + 1:  # not what took it up
            texts.append(new.adopted)
        if new.answer is not None:
            texts.append(new.answer.text)
        down = frozenset().union(*map(given_up, texts))
        if plain := down & old.chosen:
            return max(self.rare.get(word, 0.0) for word in plain)
        found = [self.rare.get(word, 0.0) for one in down for word in old.chosen if alike(one, word)]
        return max(found, default=0.0)

    def _dropped(self, new: Episode, old: Episode) -> float:
        """How telling a word of the earlier choice is that is dropped outright."""
        later = new.proposal is not None and new.proposal.index > old.index
        chosen = old.own or old.chosen
        plainly = dropped(new.said.text) | (dropped(new.adopted) if later else frozenset())
        found = [self.rare.get(word, 0.0) for one in plainly for word in chosen if alike(one, word)]
        return max(found, default=0.0)

    def _numbers(
        self, old: str, new: str, written: frozenset[str], gone: frozenset[str]
    ) -> tuple[float, float]:
        """Whether a number took another's place: beside the same words, or in the code."""
        before, after = slots(old), slots(new)
        known = {slot[0] for slot in before}
        named = {slot[0] for slot in after}
        said = code = 0.0
        for was, unit, label, near in before:
            for now, other_unit, other_label, other_near in after:
                if was == now or now in known:
                    continue
                alike = self._same_word(unit, other_unit) + self._same_word(label, other_label)
                alike += was in named and was.count(".") == now.count(".")
                alike += 0.7 * (len(near & other_near) > 1)
                said = max(said, alike)
                if was in gone - written and now in written - gone:
                    code = max(code, 1.0 if alike else 0.5)
        return min(said, 2.0), code

    def _same_word(self, one: str, other: str) -> float:
        return 0.3 + 0.7 * self.rare.get(one, 1.0) if one and one == other else 0.0


def sentences_of(one: Episode) -> list[str]:
    """What a person said, sentence by sentence; an answer that lives from a proposal is one."""
    if one.adopted and len(one.own) <= FEW:
        return [one.said.text]
    return [" ".join(sentence.said.split()) for sentence in spoken(one.said.text)]


def _between(old: Episode, new: Episode) -> list[Word]:
    """What led up to the later request after the earlier one was taken up."""
    return [word for word in new.leading if word.index > old.last]


def named_in(old: Episode) -> frozenset[str]:
    """What the agent's offer calls by a name of its own."""
    return names_in(old.proposal.text) if old.proposal else frozenset()


def _unsettled(new: Episode, old: Episode) -> float:
    """An idea: nothing was done for it, it orders nothing, and the person goes on to answer themselves."""
    if "?" in old.said.text:
        return 1.0
    if not old.work.added and IDEA.search(old.said.text):
        return 2.0
    if old.work.added or old.work.removed or old.said.orders or old.said.assents:
        return 0.0
    return 1.0 if new.place == old.place + 1 else 0.3
