"""Which earlier choice a later one takes back: by what both speak of, and by words that turn round.

Pure. No word alone makes a reversal: the later talk must touch the subject of the earlier choice as well.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from claude_memory.compaction.model import Decision
from claude_memory.compaction.talk import Word, same, takes_back
from claude_memory.distil import exchange

ENOUGH = 2.0  # evidence that a decision takes an earlier one back
ENOUGH_FOR_WISH = 2.5  # the same, where the earlier one was carried out but never settled
CERTAIN = 3.0  # the same, where the later one is no plain decision
MIN_COMMON = 4  # a term in so few turns is rare in any session
COMMON_SHARE = 0.12
WEIGHTY = 5  # of so many words of a choice, one is enough

_TROUBLE = re.compile(
    r"\b(?:problem|trouble|snag|catch|mistake|wrong|useless|pointless|overkill|br(?:eaks?|oken?)|fail(?:s|ed|ing)?|refus\w+|forb[ia]d\w*|reject\w*|block(?:s|ed)"
    r"|not (?:allowed|ok(?:ay)?|enough|possible|supported|acceptable|an option|good)|can'?t|cannot|won'?t|doesn'?t|isn'?t|too \w+|slow(?:er)?|expensive|costs|stopped|hangs?|crash\w*|lost|loses|leaks?"
    r"|wait|hm+|ugh|meh|argh|nope|unfortunately|complain\w*|regret|worse|hates?|unusable|get nothing|no (?:good|way|longer|more)|never (?:works?|worked)|supersed\w+|deprecat\w+|vetoed|said no|says no|nobody|no one|ha(?:s|ve|d) no|there(?:'s| is) no|doubled|tripled|out of (?:support|memory|space|date)|over (?:the )?budget)\b",
    re.IGNORECASE,
)
_TAKEN_OUT = re.compile(
    r"\b(?:un(?:do|did|done|doing|install\w*)|revert\w*|roll(?:ed|ing)? (?:it )?back|rip(?:ped|ping)? (?:\w+ ){0,3}out|t(?:ake|ook|aken|aking) (?:\w+ ){0,3}out|delet(?:e|ed|ing)|remov(?:e|ed|es|ing)|drop(?:s|ped|ping)?|scrap(?:s|ped|ping)?|ditch\w*|kill(?:ed)?"
    r"|replac(?:e|ed|es|ing)|instead|rather|no longer|back (?:to|out)|go(?:es|ne)? away|gone|away from|swap(?:s|ped|ping)?|switch\w*|throw(?:n|ing)? (?:\w+ ){0,3}(?:out|away)|withdraw\w*|retir(?:e|ed|ing)|after all|chang(?:e|ed|ing) (?:\w+ ){0,2}(?:mind|plan|to)|second thoughts?|bump\w*|prefer\w*|reconsider\w*|not (?:\w+ ){1,3}any ?more|moved? (?:\w+ ){0,3}(?:over|off|away))\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:chang|switch|mov|bump|swap|revert|roll|go|put|set)\w*\b(?: \w+){0,3} (?:to|back)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s→\s")
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)*)[ -]?(%|[a-zµ]+)?", re.IGNORECASE)


@lru_cache(maxsize=2048)
def terms(text: str) -> frozenset[str]:
    """The same few texts are weighed against every earlier decision."""
    return exchange.terms(text)


@lru_cache(maxsize=2048)
def _cued_parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in _SENTENCE.split(text) if _cued(part))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A decision before it is known what became of it: what it chose, and the words around it.

    One that is not `firm` is no decision by itself; it counts only as one side of a reversal.
    """

    index: int
    decision: Decision
    chosen: frozenset[str]
    said: tuple[Word, ...]
    passed_over: frozenset[str] = frozenset()  # what was on offer and not chosen
    own: str = ""  # the very words that decide
    firm: bool = True

    @property
    def person(self) -> bool:
        return any(one.person for one in self.said if one.index == self.index)


class Reversals:
    """Weighs decisions of one session against each other; knows which terms are common in it."""

    def __init__(self, said: Sequence[Word]) -> None:
        counted = Counter(term for word in said for term in terms(word.text))
        limit = max(MIN_COMMON, len(said) * COMMON_SHARE)
        self._common = frozenset(term for term, count in counted.items() if count > limit)

    def taken_back(self, new: Candidate, standing: Sequence[Candidate]) -> Candidate | None:
        """The earlier choice that `new` most likely takes back, the latest of equals; firm ones first."""
        settled = max((one.index for one in standing if one.firm and one.person), default=-1)
        firm = self._best(new, [one for one in standing if one.firm], settled)
        if firm is not None or not new.firm:
            return firm
        near = {one.index for one in new.said}  # a wish just before it led up to it
        loose = [one for one in standing if not one.firm and one.index not in near]
        return self._best(new, loose, settled)

    def _best(self, new: Candidate, olds: Sequence[Candidate], settled: int) -> Candidate | None:
        best, found = 0.0, None
        for old in reversed(olds):
            needed = CERTAIN if not new.firm else ENOUGH if old.firm else ENOUGH_FOR_WISH
            weight = self.weight(new, old, settled)
            if weight > best and weight >= needed:
                best, found = weight, old
        return found

    def weight(self, new: Candidate, old: Candidate, settled: int = -1) -> float:
        """How much speaks for it that `new` takes `old` back; what a decision between them settled is over."""
        after = max(old.index, settled)
        later = [
            one.text for one in new.said if one.index > after and (one.index == new.index or not one.rule)
        ]
        chosen = self._rare(old.chosen) or old.chosen
        given_up = any(takes_back(text, old.chosen) for text in later)
        if not given_up and self._stays(new, chosen) and not _other_amount(new, old):
            return 0.0
        cued = [part for text in later for part in _cued_parts(text)]
        about = self._rare(frozenset().union(*map(terms, later))) & self._rare(_subject(old))
        found = 3.0 * _part(later, old.chosen) if given_up else 0.0
        found += 2.0 * _part(cued, chosen)
        found += 2.0 * self._picked_up(new, old)
        slot = (terms(new.own) & _subject(old)) - set(_amounts(new.own))
        if _other_amount(new, old) and any(not term[0].isdigit() for term in slot):
            found += 2.0 + 0.5 * len(slot)
        if about and cued:
            found += min(len(about), 3) * 0.5
        if new.firm and about and _CHANGED.search(new.own):
            found += 1.5
        if cued and set(new.decision.files) & set(old.decision.files):
            found += 0.5
        return found

    def _picked_up(self, new: Candidate, old: Candidate) -> float:
        """How far the later choice is what was on offer before and passed over then."""
        own = self._rare(terms(new.own))
        return min(1.0, 2 * len(own & old.passed_over) / len(own)) if own else 0.0

    def _rare(self, some: Iterable[str]) -> frozenset[str]:
        return frozenset(term for term in some if term not in self._common and not term.isdigit())

    @staticmethod
    def _stays(new: Candidate, chosen: frozenset[str]) -> bool:
        """Whether the later decision only says the earlier choice again, or builds on it."""
        own = terms(new.own)
        return bool(chosen) and chosen <= own and not _cued(new.own)


def _cued(text: str) -> bool:
    return _TROUBLE.search(text) is not None or _TAKEN_OUT.search(text) is not None


def _part(texts: Iterable[str], chosen: frozenset[str]) -> float:
    """How much of what was chosen the texts speak of; one word of a long wish says little."""
    spoken = frozenset().union(*map(terms, texts))
    touched = sum(any(same(word, term) for word in spoken) for term in chosen)
    return min(1.0, WEIGHTY * touched / len(chosen)) if chosen else 0.0


def _subject(old: Candidate) -> frozenset[str]:
    return old.chosen | terms(old.decision.decision) | old.passed_over


def _other_amount(new: Candidate, old: Candidate) -> bool:
    """“30 s” and later “120 s”: the same unit, another value."""
    mine, before = _amounts(new.own), _amounts(old.decision.decision)
    return any(unit in before and not values & before[unit] for unit, values in mine.items())


@lru_cache(maxsize=2048)
def _amounts(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for value, unit in _AMOUNT.findall(text):
        if unit:
            found.setdefault(unit.lower().rstrip("s") or "s", set()).add(value)
    return found
