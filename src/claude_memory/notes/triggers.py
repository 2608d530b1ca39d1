"""The write-ahead scan: which sentences of a prompt must be written down before the agent acts.

Each sentence is brought to plain words, its mood is told (asked, supposed, handed on, a task, said), and
what is said in the person's own voice is held against the rules of a language; what the words weigh decides.
Standard library only: it runs inside the prompt hook.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from claude_memory.notes.rules import LANGUAGES, STOPS, Rules, weighing
from claude_memory.notes.spoken import sentences

MAX_FOUND = 12
MAX_WORDS = 80
SENTENCE_CHARACTERS = 400
DESCRIPTION = 3  # sentences
FRAGMENT = 2  # words
VALUE = "value"
CORRECTION = "correction"
DECISION = "decision"
ARCHITECTURE = "architecture"
PRIORITY = "priority"
MOODS = ("SUPPOSED", "HANDED_ON", "TASK")
_EDGES = "\"'“”‘’.!?…*"
# What a sentence is taken for when several rules fit: a correction says what is right instead, which
# is no decision of its own.
_HIDES: dict[str, tuple[str, ...]] = {
    CORRECTION: (DECISION, ARCHITECTURE, PRIORITY),
    PRIORITY: (DECISION, ARCHITECTURE),
    ARCHITECTURE: (DECISION,),
}


class Found(NamedTuple):
    """One sentence worth writing down, and why."""

    label: str
    text: str


class _Said:
    """A sentence as plain words, without what people say before they come to it."""

    __slots__ = ("asked", "present", "words")

    def __init__(self, words: list[str], asked: bool) -> None:
        self.words = words
        self.present = frozenset(words)
        self.asked = asked


class Judged(NamedTuple):
    """What rows say of a sentence, what it has that weighs, and which labels it cannot have."""

    fired: tuple[str, ...]
    features: frozenset[str]
    barred: tuple[str, ...]


def scan(text: str) -> list[Found]:
    """What the prompt corrects, decides, rules, ranks or names; in its order, each sentence once a label."""
    found: dict[tuple[str, str], int] = {}
    typed = list(sentences(text))
    for name in LANGUAGES:
        language = _language(name)
        for sentence, one in zip(typed, judged(language, typed), strict=True):
            if one.features:
                chosen = weighing.choose(weighing.weigh(one.features, language.WEIGHTS), one.fired)
                for label, total in chosen.items():
                    if label not in one.barred:
                        found.setdefault((label, sentence[:SENTENCE_CHARACTERS]), total)
    least = weighing.surest(found.values())
    return [Found(*item) for item, total in found.items() if total >= least][:MAX_FOUND]


def judged(language: ModuleType, typed: Sequence[str]) -> list[Judged]:
    """Each sentence of a prompt, held against the rules."""
    said = [_said(language, sentence) for sentence in typed]
    every = tuple(language.RULES)
    if any(_fits(language.NOT_MEANT, one) for one in said):
        return [Judged((), frozenset(), every) for _ in said]
    return [
        _judged(language, one, barred) for one, barred in zip(said, _described(language, said), strict=True)
    ]


def _judged(language: ModuleType, said: _Said, barred: tuple[str, ...]) -> Judged:
    told = _told(language, said)
    if not told.words:
        return Judged((), frozenset(), tuple(language.RULES))
    moods = {name for name in MOODS if _fits(getattr(language, name), said)}
    if said.asked:
        moods.add("?")
    otherwise = {f"not {label}" for label, rules in language.UNLESS.items() if _fits(rules, said)}
    found = weighing.features(said.words, language.FAMILIES, language.WEIGHED, moods | otherwise)
    fired = tuple(label for label in _labels(language, told, moods) if label not in barred)
    return Judged(fired, frozenset(found), barred)


def _labels(language: ModuleType, said: _Said, moods: Collection[str]) -> list[str]:
    if "SUPPOSED" in moods or ("HANDED_ON" in moods and not _fits(language.OWN_VOICE, said)):
        return []
    meant = set(language.RULES)
    if said.asked:
        meant -= {VALUE, ARCHITECTURE}  # what stands before a question is what it asks about
    if "TASK" in moods:
        meant = {label for label in meant if _fits(language.FIRM[label], said)}
    places = {
        label: found
        for label, rules in language.RULES.items()
        if label in meant and (found := _places(rules, language.UNLESS[label], said))
    }
    shown = [label for label in places if not _is_hidden(language, label, places, said.words)]
    if {DECISION, ARCHITECTURE} <= set(shown) and not _fits(language.FIRM[ARCHITECTURE], said):
        shown.remove(ARCHITECTURE)  # “one table, no sharding” says more of the thing at hand
    return shown


def _is_hidden(language: ModuleType, label: str, places: dict[str, list[int]], words: list[str]) -> bool:
    """A decision stands beside what else is said if it has a clause of its own."""
    above = [other for other, hides in _HIDES.items() if label in hides and other in places]
    if label != DECISION or CORRECTION in above:
        return bool(above)
    openers = language.FAMILIES["openers"]
    taken = [place for other in above for place in places[other]]
    return any(_same_clause(own, place, words, openers) for own in places[label] for place in taken)


def _same_clause(one: int, other: int, words: list[str], openers: frozenset[str]) -> bool:
    first, last = sorted((one, other))
    return STOPS.isdisjoint(words[first:last]) and not (last > first and words[last - 1] in openers)


def _told(language: ModuleType, said: _Said) -> _Said:
    """Without the question: “we can't start until it is merged, so what is missing?” says something, too."""
    if _fits(language.ASKED, said):
        return _Said([], True)
    if not said.asked:
        return said
    stops = [place for place, word in enumerate(said.words) if word in STOPS]
    if not stops:
        return _Said([], True)
    tail = said.words[stops[-1] + 1 :]
    while tail and tail[0] in language.FILLERS:
        tail = tail[1:]
    head = said.words[: stops[-1]]
    asks = bool(tail) and tail[0] in language.FAMILIES["asking"]
    return _Said(head if asks else [], True)


def _described(language: ModuleType, said: Sequence[_Said]) -> list[tuple[str, ...]]:
    """Which labels a sentence cannot have because it describes: three or more in nobody's voice do."""
    announced = _announced(language, said)
    if announced < len(said):
        voices = language.FAMILIES["speaking"]
        plain = [_is_plain(language, one, voices) for one in said]
        every = tuple(language.RULES)
        return [every if one and place >= announced else () for place, one in enumerate(plain)]
    plain = [_is_plain(language, one, language.FAMILIES["personal"]) for one in said]
    describes = sum(plain) >= DESCRIPTION and not any(_fits(language.BANS, one) for one in said)
    return [(DECISION, ARCHITECTURE) if describes and one else () for one in plain]


def _announced(language: ModuleType, said: Sequence[_Said]) -> int:
    """Where a text begins that was announced: “this commit message:”, “here is the spec.”"""
    for place, one in enumerate(said):
        opens = not place and _fits(language.DESCRIBING, one)
        if opens or (one.words and one.words[-1] == ":" and _fits(language.ANNOUNCING, one)):
            return place + (not opens)
    return len(said)


def _is_plain(language: ModuleType, said: _Said, voices: frozenset[str]) -> bool:
    """A sentence in which nobody speaks, asks or orders."""
    long = len(said.words) > FRAGMENT
    return long and not said.asked and said.present.isdisjoint(voices) and not _fits(language.TASK, said)


def _fits(rules: Rules, said: _Said) -> bool:
    return rules.fit(said.words, said.present)


def _places(rules: Rules, unless: Rules, said: _Said) -> list[int]:
    """Where rules fit, in clauses that do not say it otherwise."""
    return [
        place
        for place in set(rules.places(said.words, said.present))
        if not _fits(unless, _clause(said, place))
    ]


def _clause(said: _Said, place: int) -> _Said:
    stops = [-1, *(number for number, word in enumerate(said.words) if word in STOPS), len(said.words)]
    before = max(stop for stop in stops if stop < max(place, 0) or stop == -1)
    words = said.words[before + 1 : min(stop for stop in stops if stop > before and stop >= place)]
    return _Said(words, said.asked)


def _said(language: ModuleType, sentence: str) -> _Said:
    words = _words(language, sentence)
    text = f" {' '.join(words)} "
    for phrase, plain in language.PHRASES.items():
        if phrase in text:
            text = text.replace(phrase, plain)
    words = [word for word in text.split() if word not in language.SKIPPED][:MAX_WORDS]
    agreed = False
    while words and (words[0] in language.FILLERS or words[0] in STOPS):
        agreed = agreed or words[0] in language.ASSENT
        words = words[1:]
    if agreed and words:
        words = ["yes>", *words]
    return _Said(words, sentence.rstrip(" \"')")[-2:].count("?") > 0)


def _words(language: ModuleType, sentence: str) -> list[str]:
    """Words and the marks between them; what stands in backticks is one word."""
    found: list[str] = []
    for number, part in enumerate(sentence.replace("’", "'").lower().split("`")):
        if number % 2:
            found.append("`" + "".join(part.split()))
            continue
        for piece in part.replace("--", " — ").replace("–", "—").replace("=", " = ").split():
            found += _word(language, piece)
    return found


def _word(language: ModuleType, piece: str) -> list[str]:
    if piece in ("—", "-", "->", "→"):
        return ["—"]
    before = ["("] if piece.startswith(("(", "[")) else []
    word = piece.lstrip("([{" + _EDGES[:5]).rstrip(_EDGES)
    after = []
    while word and word[-1] in ",:;)]}" + _EDGES:
        after.append({";": ",", ")": ")", "]": ")", "}": ")"}.get(word[-1], word[-1]))
        word = word[:-1]
    after = [mark for mark in after if mark in STOPS]
    return [*before, *(_plain(language, word) if word else ()), *after]


def _plain(language: ModuleType, word: str) -> list[str]:
    """“don't” and “dont” are “do not”; “the feed's” is “the feed”."""
    if word in language.SHORT:
        return list(language.SHORT[word].split())
    if "'" in word:
        for ending, plain in language.ENDINGS.items():
            if word.endswith(ending):
                return [word[: -len(ending)], *plain.split()]
    return [word]


@cache
def _language(name: str) -> ModuleType:
    return import_module(f"claude_memory.notes.rules.{name}")
