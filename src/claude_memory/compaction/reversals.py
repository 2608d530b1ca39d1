"""Which decision takes back which: the same subject again, with signs that the choice became another.

Pure. Every sign is a number; their weights were fitted to labelled sessions (`bench/reversals.py`), with
the direction of each fixed beforehand. Meaning, where an embedder lends it, only helps to tell whether two
requests are about the same thing.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import mul
from typing import TypeVar

from claude_memory.compaction.episodes import FEW, NUMBERS, Episode, rarity, subjects
from claude_memory.compaction.talk import TAKING_BACK, TOKEN, Word
from claude_memory.compaction.undoing import stem
from claude_memory.distil.exchange import STOPWORDS
from claude_memory.distil.sentences import spoken

T = TypeVar("T")
Near = Callable[[Sequence[str]], Sequence[Sequence[float]]]  # texts to unit vectors
LOOKED_BACK = 40  # requests
EMBEDDED = 80  # requests, the latest
TEXT_CHARACTERS = 600
_AROUND = 6  # words on each side of a number
_UNKNOWN = 0.9  # a word that only code has said
_PIECE = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)*")
_TURNING_BACK = re.compile(
    r"\b(?:scrap|scratch that|forget (?:what|that|it|about|the)|second thoughts?|walk (?:that|this|it)?.{0,10}back"
    r"|back to|(?:go|going|went) back|chang(?:e|ed) (?:my|our) mind|change of plan|no longer|any ?more|instead"
    r"|rather than|was (?:wrong|dumb|stupid|a mistake)|(?:is|are) dead|convinced|you were right|revert\w*|undo\w*"
    r"|kill|drop|remove[sd]?|take \w+ out|out again|we invert|switch(?:ing|ed)? (?:to|back|over)|after all"
    r"|reconsider\w*|too optimistic|it is (?:again|then)|not worth|give up|abandon\w*|get rid|ditch|bring back"
    r"|replace\w*|rip \w+ out)\b",
    re.IGNORECASE,
)

_DROPPING = re.compile(
    r"\b(?:drop(?:s|ped|ping)?|scrap|kill|ditch|abandon|remov(?:e|es|ing)|get rid of|rip out|take out|throw out|undo|revert|replace|instead of|rather than|no more|no longer|stop using)\s+(?:the |a |an |our |this |that |all |use |using |with )*((?:[\w'/.+-]+ ?){1,2})",
    re.IGNORECASE,
)
_OFFERING = re.compile(r"\b(?:or|either|options?|alternatives?|candidates?|versus|vs)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\W*(?:i|i'\w+|it|its|it's|that|that's|this|because|since|we've|nobody|they|there)\b", re.IGNORECASE
)
_RULING = re.compile(r"\W*(?:and |but |also )?(?:no|never|always|only|keep|must)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for one request taking an earlier one back; the last three speak against it."""

    subject: float  # how far both are about the same thing
    negated: float  # the later names what was chosen and turns it down
    dropped: float  # the same in plain words: “drop Celery”, “scrap”, “instead of”
    number: float  # another number in the same place of the sentence
    number_in_code: float  # the number said earlier left the code, the one said later came in
    undone: float  # what was written for the earlier one was taken out
    replaced: float  # words said earlier left the code, words said later came in
    turned_back: float  # what was written was taken out, and the person says so
    alternative: float  # the later one takes what the earlier one was offered and left
    same_file: float
    asked: float  # the agent asked: a neighbouring question is the rule
    rule: float
    corrects: float  # it sets right what the agent did by itself


# Of 58 labelled reversals in 92 sessions, in folds by session: 47 found and 8 wrong links by words,
# 48 and 7 with meaning. Most wrong ones are corrections of the agent in the short sessions.
WORDS = Signs(1.20, 2.42, 0.0, 1.34, 2.46, 3.13, 3.01, 1.65, 4.40, 3.20, -1.37, -0.62, -3.80)
WORDS_BIAS = -6.21
MEANING = Signs(3.10, 2.86, 0.0, 0.97, 2.74, 2.89, 3.10, 1.46, 4.25, 4.04, -1.18, -0.40, -3.03)
MEANING_BIAS = -7.37
# Where nothing was changed for the later request, code says nothing: fitted with all code left out.
TALK_WORDS = Signs(3.49, 2.42, 1.57, 0.97, 0, 0, 0, 0, 0, 0, -2.22, -0.63, -1.54)
TALK_WORDS_BIAS = -5.87
TALK_MEANING = Signs(6.31, 2.56, 0.94, 0.75, 0, 0, 0, 0, 0, 0, -2.25, -0.46, -1.07)
TALK_MEANING_BIAS = -7.48
TALK_AT_LEAST = 0.4  # talk alone finds half of them, and is wrong more often
AT_LEAST = 0.15
UNSHOWN_AT_LEAST = 0.5  # where nothing of the earlier words themselves is turned down
BESIDE = 0.7  # a second earlier decision counts if it is nearly as likely


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
        weights, bias, least = _weights(new, near is not None)
        likely = [(_likely(signs, weights, bias), old) for old, signs in olds if _witnessed(new, signs)]
        nearest = [(chance, comparing.link(new, old, chance)) for chance, old in likely if chance >= least]
        linked += best(nearest, lambda link: link.shown)
    return linked


def _weights(new: Episode, meaning: bool) -> tuple[Signs, float, float]:
    if new.work.added or new.work.removed:
        return (MEANING, MEANING_BIAS, AT_LEAST) if meaning else (WORDS, WORDS_BIAS, AT_LEAST)
    talk = (TALK_MEANING, TALK_MEANING_BIAS) if meaning else (TALK_WORDS, TALK_WORDS_BIAS)
    return (*talk, TALK_AT_LEAST)


def _witnessed(new: Episode, signs: Signs) -> bool:
    """Where no change shows it, words must say outright that something is taken back."""
    worked = bool(new.work.added or new.work.removed)
    return worked or signs.dropped > 0 or _TURNING_BACK.search(new.said.text) is not None


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
        if len(about) < 2 or _REASON.match(sentence):
            return False
        numbers = [slot for slot in _slots(sentence) if slot[0] != "1"]  # “one” is often no number
        return bool(numbers or _RULING.match(sentence)) or self.weight(about & stands) > 1

    def _shown(self, new: Episode, text: str) -> float:
        """How far words of the earlier request are turned down, replaced in the code, or other numbers."""
        about = subjects(text)
        written, gone = new.written, new.gone
        number, in_code = self._numbers(text, new.text, written, gone)
        down = given_up(new.text) | (given_up(new.answer.text) if new.answer else frozenset())
        denied = frozenset(word for word in about for one in down if _alike(one, word))
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
        turns = _TURNING_BACK.search(new.said.text) is not None
        return Signs(
            subject=subject,
            negated=subject * self._negated(new, old) if subject else 0.0,
            dropped=self._dropped(new, old),
            number=subject * number,
            number_in_code=in_code,
            undone=subject * mine,
            replaced=min(1.0, left) * min(1.0, came),
            turned_back=mine if turns else 0.0,
            alternative=self._alternative(new, old) if mine else 0.0,
            same_file=subject * bool(old.files & new.files),
            asked=float(new.proposal is not None and new.proposal.asks),
            rule=float(new.said.rule),
            corrects=float(new.index in self.corrected),
        )

    def _alternative(self, new: Episode, old: Episode) -> float:
        """How telling a word is that was offered, left by the earlier request, and taken by the later one."""
        if old.proposal is None or not _OFFERING.search(old.proposal.text):
            return 0.0
        left = [
            word
            for word in subjects(old.proposal.text)
            if not any(_begins(word, one) for one in old.own) and not word[0].isdigit()
        ]
        found = [self.rare.get(word, 0.0) for word in left if any(_begins(word, one) for one in new.own)]
        return max(found, default=0.0)

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
        found = [self.rare.get(word, 0.0) for one in down for word in old.chosen if _alike(one, word)]
        return max(found, default=0.0)

    def _dropped(self, new: Episode, old: Episode) -> float:
        """How telling a word of the earlier choice is that is dropped outright, by a person or with consent."""
        later = new.proposal is not None and new.proposal.index > old.index
        chosen = old.own or old.chosen
        plainly = dropped(new.said.text) | (dropped(new.adopted) if later else frozenset())
        found = [self.rare.get(word, 0.0) for one in plainly for word in chosen if _alike(one, word)]
        return max(found, default=0.0)

    def _numbers(
        self, old: str, new: str, written: frozenset[str], gone: frozenset[str]
    ) -> tuple[float, float]:
        """Whether a number took another's place: beside the same words, or in the code."""
        before, after = _slots(old), _slots(new)
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


def _alike(word: str, chosen: str) -> bool:
    """`tag` and `apriltag`; numbers and short words must be the very same."""
    if word == chosen:
        return True
    if min(len(word), len(chosen)) < 3 or chosen[0].isdigit():
        return False
    return chosen.startswith(word) or word.startswith(chosen) or chosen.endswith(word)


def _begins(one: str, other: str) -> bool:
    """`timescale` and `timescaledb`."""
    return one == other or (
        min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))
    )


@lru_cache(maxsize=2_000)
def _slots(text: str) -> list[tuple[str, str, str, frozenset[str]]]:
    """Each number of a text with the word after it, the telling word before it, and the words around."""
    tokens = [NUMBERS.get(token.lower(), token.lower()) for token in _PIECE.findall(text)]
    found = []
    for place, token in enumerate(tokens):
        if not token[0].isdigit():
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        unit = "" if after in STOPWORDS or after[:1].isdigit() else stem(after)
        before = [one for one in tokens[max(0, place - 3) : place] if one not in STOPWORDS]
        label = stem(before[-1]) if before and not before[-1][0].isdigit() else ""
        around = tokens[max(0, place - _AROUND) : place + _AROUND + 1]
        words = frozenset(stem(one) for one in around if one not in STOPWORDS and not one[0].isdigit())
        found.append((token, unit, label, words))
    return found


@lru_cache(maxsize=2_000)
def given_up(text: str) -> frozenset[str]:
    """The words that stand where a text turns something down: “drop Celery”, “the hosted one is removed”."""
    tokens = [token.lower() for token in TOKEN.findall(text.replace("’", "'"))]
    found: list[str] = []
    for place, token in enumerate(tokens):
        reach = TAKING_BACK.get(token)
        if reach is not None:
            around = tokens[max(0, place - reach[0]) : place + reach[1] + 1]
            found += [word for word in around if word != token]
    return subjects(" ".join(found))


@lru_cache(maxsize=2_000)
def dropped(text: str) -> frozenset[str]:
    """What a text does away with in plain words; the two words after the verb say what."""
    found = " ".join(match[1] for match in _DROPPING.finditer(text.replace("’", "'")))
    return subjects(found)
