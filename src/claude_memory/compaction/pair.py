"""What is said with two requests: whether both are about the same thing, and that the choice became another.

Pure. One earlier and one later request at a time; puts together all signs of the two, and weighs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import mul

from claude_memory.compaction.episodes import FEW, Episode, clauses_of, subjects
from claude_memory.compaction.signs import Signs
from claude_memory.compaction.talk import FAILING, OFFERING_ELSE, Word
from claude_memory.compaction.traces import Traces
from claude_memory.compaction.wording import (
    APART,
    CONCLUDING,
    DID_IT,
    EVERYWHERE,
    IDEA,
    OFFERING,
    YOU_DID_IT,
    alike,
    begins,
    given_way,
    names_in,
    refused,
)

TELLING = 0.5  # a word that not everybody says
Vectors = Sequence[Sequence[float]]  # of a request: for the whole of it, then for each thing it says


@dataclass(frozen=True)
class Pair:
    """One earlier and one later request of a session."""

    new: Episode
    old: Episode
    rare: Mapping[str, float]
    vectors: tuple[Vectors, Vectors] = ((), ())  # of the later and of the earlier one
    corrects: bool = False  # the later one is known to set right what the agent did
    last: bool = False  # nothing was asked for in between

    @cached_property
    def traces(self) -> Traces:
        return Traces(self.new, self.old, self.rare)

    @cached_property
    def between(self) -> list[Word]:
        """What led up to the later request after the earlier one was taken up, or tried."""
        new, old = self.new, self.old
        tried = new.proposal.index if new.proposal and new.proposal.index > old.index + 1 else -1
        return [word for word in new.leading if word.index > old.last or word.index == tried]

    def weight(self, words: frozenset[str]) -> float:
        return self.traces.weight(words)

    def signs(self) -> Signs:
        """All that speaks for, and against, the later one taking the earlier one back."""
        new, old, traces, subject = self.new, self.old, self.traces, self.subject
        number, in_code = traces.numbers(old.text)
        return Signs(
            subject=subject,
            close=self.close,
            overlap=self._overlap(),
            number=subject * number,
            number_in_code=in_code,
            undone=subject * traces.share,
            erased=traces.erased,
            gone=traces.gone,
            replaced=traces.gone * traces.came,
            swapped=traces.swapped(),
            slot=traces.slot(),
            same_file=subject * bool(old.built.files & new.files),
            alternative=self._alternative() if traces.share else 0.0,
            left_before=self._alternative(named_in(old)),
            option=self._option(),
            rescued=0.0 if self.last else self._countered(),
            gives_way=self._gives_way(),
            refused=self._told(refused(new.settled)),
            concludes=subject * bool(CONCLUDING.search(new.settled)),
            recalled=self._recalled(),
            narrowed=subject * self._narrowed(),
            did_it=subject * bool(DID_IT.search(new.said.text) or YOU_DID_IT.search(new.adopted)),
            opening=float(old.place == 0 and old.proposal is None),
            wonders=self._wonders(),
            staying=self.weight(old.chosen & new.staying) / (self.weight(old.chosen & new.own) + 0.01),
            rule=_rules(new),
            corrects=self._corrects(),
            asked=float(old.said.asks),
            unasked=float(self.unasked),
            unsettled=_unsettled(new, old),
        )

    @property
    def unasked(self) -> bool:
        """Whether an agent changes by itself how it had done what a person wanted."""
        return self.new.begun is None and not (self.old.alone or self.old.adopted)

    @cached_property
    def subject(self) -> float:
        """0 to 1, from the words that both share, weighed by how rare they are, and from their meaning."""
        new, old = self.new, self.old
        mine, theirs = new.chosen - new.staying, old.chosen | subjects(old.question)
        shared = self.weight(old.chosen & mine)
        around = (
            self.weight((theirs | old.answered) & (mine | subjects(new.question) | new.answered)) - shared
        )
        before = frozenset().union(*(subjects(word.text) for word in self.between))
        leading = min(2.0, self.weight(theirs & before))
        same = min(1.0, (shared + 0.4 * around + 0.4 * leading) / 2)
        if not all(self.vectors):
            return same
        return 0.5 * same + 0.5 * max(nearness(self.vectors[0][0], self.vectors[1][0]), self.close)

    @cached_property
    def close(self) -> float:
        """How near in meaning the two nearest things are that the requests say."""
        mine, theirs = self.vectors
        if not mine or not theirs:
            return 0.0
        found = [nearness(one, other) for one in mine[1:] for other in theirs[1:]]
        return max(found, default=nearness(mine[0], theirs[0]))

    def _wonders(self) -> float:
        """How much of what both say is only asked."""
        new, old = self.new, self.old
        asked = [one for one in new.clauses if "?" in one]
        if not asked or len(asked) == len(new.clauses):
            return float(bool(asked))
        both = (old.chosen | subjects(old.question)) & new.own
        told = subjects(" . ".join(one for one in new.clauses if "?" not in one))
        return self.weight(both - told) / (self.weight(both) + 0.01) if both else 0.5

    def _alternative(self, among: frozenset[str] | None = None) -> float:
        """How telling a word is that was offered, left by the earlier request, and taken by the later one."""
        new, old = self.new, self.old
        if old.proposal is None or not OFFERING.search(old.proposal.text):
            return 0.0
        offered = subjects(old.proposal.text) if among is None else subjects(old.proposal.text) & among
        left = [
            word for word in offered if not (word[0].isdigit() or any(begins(word, one) for one in old.own))
        ]
        return self._most(word for word in left if any(begins(word, o) or alike(word, o) for o in new.own))

    def _option(self) -> float:
        """How telling a word is that was there to choose, was left, and is taken now."""
        new, old = self.new, self.old
        if not old.options & old.own:
            return 0.0
        left = (old.options - old.own - old.answered) & (new.own - new.staying)
        return self._most(word for word in left if not word[0].isdigit())

    def _corrects(self) -> float:
        """A correction of the agent; less so the more it speaks of what the person had said."""
        if not self.corrects:
            return 0.0
        return 1.0 - 0.5 * min(1.0, self.weight(self.old.own & self.new.own) / 2)

    def _countered(self) -> float:
        """How telling a word is that the agent tried and finds fault with, if its other way is taken."""
        new, old, offer = self.new, self.old, self.new.proposal
        if offer is None or not new.adopted or not _fails(offer, old):
            return 0.0
        faulted = [one for one in clauses_of(offer.text) if FAILING.search(one)]
        return self._most((subjects(" . ".join(faulted)) & old.own) - new.own)

    def _gives_way(self) -> float:
        """Whether a proposal that the person takes does away with a telling word of the earlier choice."""
        new, old, offer = self.new, self.old, self.new.proposal
        if offer is None or offer.index <= old.index + 1 or not new.adopted or old.place == 0:
            return 0.0
        other = (new.own & subjects(offer.text)) - old.chosen
        takes = bool(other) or (new.said.assents and len(new.own) <= FEW)
        if not takes or not OFFERING_ELSE.search(offer.text):
            return 0.0
        return float(self._told(given_way(offer.text)) >= TELLING)

    def _told(self, down: frozenset[str]) -> float:
        """How telling a word of the earlier choice is that is turned down plainly."""
        return self._most(word for one in down for word in self.old.chosen if alike(one, word))

    def _most(self, words: Iterable[str]) -> float:
        return max((self.rare.get(word, 0.0) for word in words), default=0.0)

    def _narrowed(self) -> float:
        """Whether what was for all is split: the later one speaks of a part, and of the rest."""
        new, old = self.new, self.old
        if not any(APART.search(one) for one in new.clauses):
            return 0.0
        wide = [subjects(one) for one in clauses_of(old.text) if EVERYWHERE.search(one)]
        found = [self.weight(one & new.own) for one in wide]
        return min(2.0, max(found, default=0.0))

    def _overlap(self) -> float:
        """How much of one thing that both say is the same, by words."""
        mine = [subjects(one) for one in self.new.clauses]
        theirs = [subjects(one) for one in clauses_of(self.old.text)]
        found = [
            self.weight(one & other) / math.sqrt((self.weight(one) + 1) * (self.weight(other) + 1))
            for one in mine
            for other in theirs
            if one & other
        ]
        return max(found, default=0.0)

    def _recalled(self) -> float:
        """How telling a name of the earlier choice is that comes up again before or with the later one."""
        new, old = self.new, self.old
        names = names_in(old.said.text) | names_in(old.adopted)
        texts = [*(word.text for word in self.between), new.said.text]
        if new.answer is not None:
            texts.append(new.answer.text)
        return self._most(names & frozenset().union(*map(subjects, texts)))


def _fails(offer: Word, old: Episode) -> bool:
    """Whether an agent that had begun with a request says what is wrong, and offers something else."""
    tried = offer.index > old.index + 1
    return tried and bool(FAILING.search(offer.text)) and bool(OFFERING_ELSE.search(offer.text))


def _rules(new: Episode) -> float:
    """How much of it is a rule for the future."""
    ruling = [one for one in new.clauses if replace(new.said, text=one).rule]
    return len(ruling) / len(new.clauses) if new.clauses else 0.0


def nearness(one: Sequence[float], other: Sequence[float]) -> float:
    """0 for what has nothing to do with each other, 1 for the same."""
    cosine: float = sum(map(mul, one, other))
    return min(1.0, max(0.0, (cosine - 0.5) * 4))


def named_in(old: Episode) -> frozenset[str]:
    """What the agent's offer calls by a name of its own."""
    return names_in(old.proposal.text) if old.proposal else frozenset()


def _unsettled(new: Episode, old: Episode) -> float:
    """An idea: nothing was done for it, it orders nothing, and the person goes on to answer themselves."""
    if old.question or old.alone or old.said.asks:
        return 0.0
    if "?" in old.said.text:
        return 1.0
    if not old.work.added and IDEA.search(old.said.text):
        return 2.0
    if old.work.added or old.work.removed or old.said.orders or old.said.assents:
        return 0.0
    return 1.0 if new.place == old.place + 1 else 0.3
