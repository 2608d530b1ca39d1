"""A session as requests: what the person said, what they answered, and what was done about it.

Pure. A question belongs to no request of its own: what is done after it is done for the one before. What
an agent says that it chose by itself counts like a request, because it can be changed like one.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from claude_memory.compaction.talk import (
    DIFFICULTY,
    FAILING,
    STAYING,
    SUGGESTING,
    Word,
    chosen_alone,
    proposed,
    revised_alone,
)
from claude_memory.compaction.undoing import Ledger, Work, stem
from claude_memory.distil.exchange import terms
from claude_memory.understand.sentences import spoken
from claude_memory.distil.turns import PERSON, TOOL, Turn

SMALL = 30  # turns of talk below which a word that is said twice is no common one
RECENT = 4  # turns of talk that lead up to a request
CONSENT = 8  # words of a consent that says nothing else
NEWS = 3  # words of a consent that neither the request nor the answer to it had
FEW = 3  # words of a person so short that they live from what they answer
_CHOICES = re.compile(r"\b(?:options?|either|alternatives?|versus|vs)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"(?:,|;)? (?:but|while|whereas|though) |; | · ", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|versus|vs)\b", re.IGNORECASE)
_UNSURE = re.compile(r"\W*(?:hm+|ugh)\b", re.IGNORECASE)
_SHORT = 24  # characters of a clause that lives from the one before
STATEMENTS = 6
STATEMENT_CHARACTERS = 240
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
    replies: tuple[Word, ...] = ()  # all that the agent says before the person speaks again
    recent: tuple[Word, ...] = ()
    work: Work = field(default_factory=Work)
    confirmed: Word | None = None  # the consent to how the agent understood it, before anything was done
    lone: bool = False  # the proposal tells what the agent had chosen by itself
    since: int = -1  # for an agent that changes its own choice: the turn after which it did so
    along: tuple[int, ...] = ()  # and the turns in which it says so on the way
    inside: Episode | None = None  # for a choice of the agent's own: the request that it was made for

    @property
    def alone(self) -> bool:
        """Whether the agent chose it without being asked."""
        return not self.said.person

    @property
    def begun(self) -> int | None:
        """The turn in which a person wants it; an agent's own idea has one only with their consent."""
        if not self.alone:
            return self.index
        return self.confirmed.index if self.confirmed else None

    @property
    def ends(self) -> tuple[int, ...]:
        """The turns in which it was said."""
        confirmed = (self.confirmed.index,) if self.confirmed else ()
        return (self.index, *self.along, *confirmed)

    @property
    def decided(self) -> tuple[int, ...]:
        """The turns in which it was decided: a consent with the proposal that it takes up."""
        taken = self.proposal is not None and (self.bare or bool(self.own & subjects(self.adopted)))
        return (*((self.proposal.index,) if self.proposal and taken else ()), *self.ends)

    @property
    def bare(self) -> bool:
        """Whether the person takes what was proposed, and says nothing of their own."""
        if not self.adopted or not self.own:
            return bool(self.adopted)
        return self.said.assents and len(self.own) == 1 and not any(map(str.isdigit, *self.own))

    @property
    def index(self) -> int:
        return self.said.index

    @cached_property
    def own(self) -> frozenset[str]:
        return subjects(self.said.text)

    @cached_property
    def adopted(self) -> str:
        """The proposal that the person takes, if they take one."""
        if self.proposal is None or self.lone:
            return ""
        taken = self.said.assents or len(self.own) <= FEW or len(self.own & subjects(self.proposal.text)) > 1
        return self.proposal.text if taken else ""

    @cached_property
    def taken_up(self) -> str:
        """What of the adopted proposal is a proposal; what the agent found is no choice."""
        return proposed(self.adopted) if self.adopted else ""

    @cached_property
    def chosen(self) -> frozenset[str]:
        return self.own | subjects(self.taken_up) | (self.answered if self.confirmed else frozenset())

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return tuple(" ".join(one.said.split()) for one in spoken(self.said.text))

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        """Its sentences, cut where one turns: “web rows fail, but kiosk rows stay”."""
        return clauses_of(self.said.text)

    @cached_property
    def staying(self) -> frozenset[str]:
        """What it says only to leave it as it is."""
        stays = [one for one in self._parts if STAYING.search(one)]
        other = [one for one in self._parts if not STAYING.search(one)]
        return subjects(" . ".join(stays)) - subjects(" . ".join(other))

    @cached_property
    def _parts(self) -> list[str]:
        return [part for one in self.clauses for part in one.split(", ")]

    @cached_property
    def only_stays(self) -> bool:
        """Whether it says nothing but that something is left as it is."""
        return bool(self.staying) and not self.own - self.staying

    @cached_property
    def question(self) -> str:
        """What the agent had asked, if it did."""
        if self.proposal is None or "?" not in self.proposal.text:
            return ""
        asked = [" ".join(one.said.split()) for one in spoken(self.proposal.text)]
        return " ".join(one for one in asked if one.rstrip(" )\"'").endswith("?"))

    @cached_property
    def options(self) -> frozenset[str]:
        """What the agent had offered to choose from: “PIN, card or QR code?”."""
        sentences = [] if self.proposal is None else clauses_of(self.proposal.text)
        return subjects(" . ".join(one for one in sentences if _OR.search(one)))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """What it says, one by one: an answer with its question, what is taken over as it was proposed."""
        own = [one for one in self.clauses if len(one) >= _SHORT or self.question or len(self.clauses) == 1]
        found = [f"{self.question} {one}" if self.question else one for one in own]
        if self.adopted:
            found += [" ".join(one.said.split()) for one in spoken(self.taken_up)]
        return tuple(one[-STATEMENT_CHARACTERS:] for one in found)[:STATEMENTS]

    @cached_property
    def answered(self) -> frozenset[str]:
        return subjects(self.answer.text) if self.answer else frozenset()

    @cached_property
    def built(self) -> Work:
        """What was done for it; for a choice of the agent's own with what was done for the request."""
        if self.inside is None:
            return self.work
        both = Work()
        both.include(self.inside.work)
        both.include(self.work)
        return both

    @cached_property
    def doers(self) -> frozenset[int]:
        """The places of the requests whose work it is part of."""
        return frozenset({self.place} if self.inside is None else {self.place, self.inside.place})

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
    def settled(self) -> str:
        """All words in which it was settled: with a consent, also what that consents to."""
        if self.confirmed is None:
            return self.said.text
        answer = f"{self.answer.text} " if self.answer else ""
        return f"{self.said.text} {answer}{self.confirmed.text}"

    @cached_property
    def text(self) -> str:
        said = f"{self.taken_up} . {self.said.text}" if self.adopted else self.said.text
        return f"{said} . {self.confirmed.text}" if self.confirmed else said


def episodes(turns: Sequence[Turn], said: Sequence[Word]) -> list[Episode]:
    """The requests of a session in order, each with the changes made for it."""
    found: list[Episode] = []
    for number, word in enumerate(said):
        before = said[number - 1] if number else None
        if not word.person:
            after = said[number + 1] if number + 1 < len(said) else None
            if before is not None and (after is None or after.person):
                found += _own_choices(_run(said, number), turns, len(found))
            continue
        before = before if before is not None and not before.person else None
        after = said[number + 1] if number + 1 < len(said) and not said[number + 1].person else None
        if word.empty and before is None:
            continue
        place = _confirmed(word, before, found)
        if place is not None:
            found[place] = replace(found[place], confirmed=word)
            continue
        recent = tuple(said[max(0, number - RECENT) : number])
        lone = before is not None and bool(found) and found[-1].alone and found[-1].index == before.index
        replies = tuple(itertools.takewhile(lambda one: not one.person, said[number + 1 :]))
        found.append(Episode(len(found), word, before, after, replies, recent, lone=lone))
    _do(turns, found)
    return found


def _run(said: Sequence[Word], last: int) -> list[Word]:
    """What an agent said in one go, with what the person had said before it."""
    first = last
    while first and not said[first].person:
        first -= 1
    return list(said[first : last + 1])


def _own_choices(run: Sequence[Word], turns: Sequence[Turn], place: int) -> list[Episode]:
    """What the agent says that it chose, or changed, without being asked, while it worked."""
    before, own = run[0], [word for word in run[1:] if not word.asks]
    if not own:
        return []
    text = " ".join(word.text for word in own)
    at_work = len(own) > 1 or own[0].index > before.index + 1
    if revised_alone(text, at_work=at_work) or _failed_before(own):
        return _revised(own, before.index, place)
    told = [chosen_alone(word.text, at_once=_acted(word, turns)) for word in own]
    chosen = [replace(word, text=one) for word, one in zip(own, told, strict=True) if one]
    return [Episode(place + number, word) for number, word in enumerate(chosen)]


def _revised(own: Sequence[Word], since: int, place: int) -> list[Episode]:
    """A change of the agent's own choice, after that choice where it was told in the same go."""
    first = [one for one in own[:-1] if chosen_alone(one.text) and not FAILING.search(one.text)]
    after = [one for one in own if not first or one.index > first[-1].index]
    chosen = [replace(one, text=chosen_alone(one.text)) for one in first]
    said = replace(after[-1], text=" ".join(one.text for one in after))
    along = tuple(one.index for one in after[:-1])
    change = Episode(place + len(first), said, since=first[-1].index if first else since, along=along)
    return [*(Episode(place + number, one) for number, one in enumerate(chosen)), change]


def _acted(word: Word, turns: Sequence[Turn]) -> bool:
    """Whether the agent changed something right after it, without waiting for an answer."""
    after = itertools.takewhile(lambda turn: turn.role == TOOL, turns[word.index + 1 :])
    return any(turn.changed_file for turn in after)


def _failed_before(own: Sequence[Word]) -> bool:
    """Whether the agent found something failing on the way, and does not end by offering another thing."""
    last = own[-1]
    about = subjects(last.text) if SUGGESTING.search(last.text) else None
    failing = (subjects(word.text) for word in own[:-1] if FAILING.search(word.text))
    return any(about is None or bool(about & one) for one in failing)


def _confirmed(word: Word, before: Word | None, found: Sequence[Episode]) -> int | None:
    """Which request it consents to, if it is the consent to how the agent understood or changed one."""
    if before is None or not found or word.asks or word.rule:
        return None
    last = found[-1]
    if last.alone and last.index == before.index and not last.confirmed:
        news = subjects(word.text) - subjects(before.text)
        return last.place if word.assents and len(news) <= 1 else None
    asked = next((one for one in reversed(found) if not one.alone), None)
    return asked.place if asked is not None and _confirms(word, before, asked) else None


def _confirms(word: Word, before: Word, request: Episode) -> bool:
    """Whether it consents to how the agent understood the request right before, with nothing done yet."""
    if request.place == 0 or request.said.asks or request.confirmed:
        return False  # what is asked first is the task: how it is done is settled after it
    about = subjects(word.text)
    news = about - subjects(before.text) - request.own
    says_else = len(news) > NEWS or any(one[0].isdigit() for one in news) or _UNSURE.match(word.text)
    at_once = request.index + 1 == before.index == word.index - 1 and len(about) <= CONSENT and not says_else
    return at_once and word.assents and not (DIFFICULTY.search(before.text) or _CHOICES.search(before.text))


def _do(turns: Sequence[Turn], found: list[Episode]) -> None:
    """Give each request what was done for it; what an agent took out by itself is its own."""
    ledger = Ledger()
    begun = [(one.begun, one) for one in found if one.begun is not None]
    waiting = sorted(begun, key=lambda one: -one[0])
    revising = [one for one in reversed(found) if one.since >= 0]
    alone = {one.index: one for one in found if one.alone and one.since < 0}
    current: Episode | None = None
    for index, turn in enumerate(turns):
        while waiting and waiting[-1][0] <= index:
            following = waiting.pop()[1]
            if current is None or not following.said.asks:
                current = following
        while revising and revising[-1].index < index and turn.role == PERSON:
            revising.pop()
        if index in alone:
            found[alone[index].place] = replace(alone[index], inside=current)
        if current is None:
            continue
        work = Work()
        ledger.note(turn, current.place, work)
        by_itself = bool(revising) and revising[-1].since < index
        if by_itself:
            revising[-1].work.include(work)
        if not (by_itself and work.undone):
            current.work.include(work)


@lru_cache(maxsize=2_000)
def clauses_of(text: str) -> tuple[str, ...]:
    """The sentences of a text, cut where one turns."""
    sentences = (" ".join(one.said.split()) for one in spoken(text))
    return tuple(part for one in sentences for part in _CLAUSE.split(one) if part)


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
