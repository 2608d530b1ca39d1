"""A session as requests: what the person said, what they answered, and what was done about it.

Pure. A question belongs to no request of its own: what is done after it is done for the one before.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from claude_memory.compaction.talk import DIFFICULTY, Word
from claude_memory.compaction.undoing import Ledger, Work, stem
from claude_memory.distil.exchange import terms
from claude_memory.distil.turns import Turn

SMALL = 30  # turns of talk below which a word that is said twice is no common one
RECENT = 4  # turns of talk that lead up to a request
FEW = 3  # words of a person so short that they live from what they answer
_CHOICES = re.compile(r"\b(?:options?|either|alternatives?|versus|vs)\b", re.IGNORECASE)
_PIECE = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)*")
NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60"}


@dataclass(frozen=True)
class Episode:
    """One request. `place` counts requests; `asked` is empty for words that answer nobody."""

    place: int
    said: Word
    proposal: Word | None = None
    answer: Word | None = None
    recent: tuple[Word, ...] = ()
    work: Work = field(default_factory=Work)
    confirmed: Word | None = None  # the consent to how the agent understood it, before anything was done

    @property
    def ends(self) -> tuple[int, ...]:
        """The turns in which the person said it."""
        return (self.index, self.confirmed.index) if self.confirmed else (self.index,)

    @property
    def index(self) -> int:
        return self.said.index

    @cached_property
    def own(self) -> frozenset[str]:
        return subjects(self.said.text)

    @cached_property
    def adopted(self) -> str:
        """The proposal that the person takes, if they take one."""
        if self.proposal is None:
            return ""
        taken = self.said.assents or len(self.own) <= FEW or len(self.own & subjects(self.proposal.text)) > 1
        return self.proposal.text if taken else ""

    @cached_property
    def chosen(self) -> frozenset[str]:
        return self.own | subjects(self.adopted) | (self.answered if self.confirmed else frozenset())

    @cached_property
    def answered(self) -> frozenset[str]:
        return subjects(self.answer.text) if self.answer else frozenset()

    @cached_property
    def written(self) -> frozenset[str]:
        return self.work.written

    @cached_property
    def gone(self) -> frozenset[str]:
        return self.work.gone

    @cached_property
    def files(self) -> frozenset[str]:
        return self.work.files

    @cached_property
    def leading(self) -> tuple[Word, ...]:
        """What led up to it, without rules that were given on the way."""
        return tuple(word for word in self.recent if not word.rule)

    @property
    def last(self) -> int:
        """The turn with which it was taken up."""
        if self.confirmed:
            return self.confirmed.index
        return self.answer.index if self.answer else self.said.index

    @cached_property
    def text(self) -> str:
        said = f"{self.adopted} . {self.said.text}" if self.adopted else self.said.text
        return f"{said} . {self.confirmed.text}" if self.confirmed else said


def episodes(turns: Sequence[Turn], said: Sequence[Word]) -> list[Episode]:
    """The requests of a session in order, each with the changes made for it."""
    found: list[Episode] = []
    for number, word in enumerate(said):
        if not word.person:
            continue
        before = said[number - 1] if number and not said[number - 1].person else None
        after = said[number + 1] if number + 1 < len(said) and not said[number + 1].person else None
        if word.empty and before is None:
            continue
        if found and before is not None and _confirms(word, before, found[-1]):
            found[-1] = replace(found[-1], confirmed=word)
            continue
        recent = tuple(said[max(0, number - RECENT) : number])
        found.append(Episode(len(found), word, before, after, recent))
    _do(turns, found)
    return found


def _confirms(word: Word, before: Word, request: Episode) -> bool:
    """Whether it consents to how the agent understood the request right before, with nothing done yet."""
    if request.place == 0 or request.said.asks or word.asks or request.confirmed or word.rule:
        return False  # what is asked first is the task: how it is done is settled after it
    at_once = request.index + 1 == before.index == word.index - 1
    return at_once and word.assents and not (DIFFICULTY.search(before.text) or _CHOICES.search(before.text))


def _do(turns: Sequence[Turn], found: Sequence[Episode]) -> None:
    ledger = Ledger()
    waiting = list(reversed(found))
    current: Episode | None = None
    for index, turn in enumerate(turns):
        while waiting and waiting[-1].index <= index:
            following = waiting.pop()
            if current is None or not following.said.asks:
                current = following
        if current is not None:
            ledger.note(turn, current.place, current.work)


@lru_cache(maxsize=2_000)
def subjects(text: str) -> frozenset[str]:
    """What a text is about: its words without endings, joined names in parts, numbers as digits."""
    found: set[str] = set()
    for term in terms(text):
        for piece in _PIECE.findall(term):
            for part in piece.lower().split("_"):
                word = NUMBERS.get(part, part)
                if word[:1].isdigit():
                    found.add(word)
                elif len(word) > 1:
                    found.add(stem(word))
    return frozenset(found)


def rarity(said: Sequence[Word]) -> Mapping[str, float]:
    """How telling each word is in this session: 1 for what is said once, near 0 for what all say."""
    count: Counter[str] = Counter()
    for word in said:
        count.update(subjects(word.text))
    turns = max(len(said), SMALL) + 1
    return {word: math.log(turns / number) / math.log(turns) for word, number in count.items()}
