"""How well a text answers a question, and which of its lines shows it. Pure; reads no store.

A message is judged by its text alone: the question as it stands, its words side by side, its words. Lines are
safe to print: no control or invisible characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from claude_memory.search.ranking import idf
from claude_memory.text.words import STOP_WORDS, index_terms, shorten

# A question that stands in a message as a line of its own is that very error or command; inside a
# longer line it may be the beginning of another one. Words alone reach neither, not even in five
# messages of one conversation together: ln 5·exp(10·0.78) < 10·0.95.
WHOLE_LINE = 1.0
PHRASE = 0.95
WORDS_AT_MOST = 0.78
PAIRS_SHARE = 0.3  # words side by side beside words anywhere
# Tool output holds many words by chance. Only matches by words are lowered: a phrase is no chance.
ROLE_FACTOR = {"result": 0.85, "call": 0.95, "summary": 0.95, "task": 0.95, "note": 0.8}
STOP_FACTOR = 0.1
QUESTION_WORDS = 96
QUOTE_WIDTH = 160

_Item = TypeVar("_Item")

_WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")
_QUOTING = str.maketrans("", "", "\\\"'`")  # calls may be kept as JSON, which quotes what was said
_ASCII_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_CERTAIN = 20  # characters from which a phrase may begin or end within a word
_READ = 100_000
_PROMPT = "$ "  # before a command, where it was typed, copied or kept


@dataclass(frozen=True, slots=True)
class Wording:
    """A question taken apart; `meant` leads from a message's word to the question's word it stands for."""

    phrase: str
    weights: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]
    meant: Mapping[str, str]

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where a line holds the question: as it stands, else each of its telling words."""
        place = line.lower().find(self.phrase) if len(self.weights) > 1 else -1
        if place >= 0 and len(line.lower()) == len(line):
            return [(place, place + len(self.phrase))]
        return [
            match.span()
            for match in _WORD.finditer(line)
            if (word := self.meant.get(_lowered(match.group()))) and word not in STOP_WORDS
        ]

    def holds_phrase(self, text: str) -> bool:
        """Whether a text says the question as it stands."""
        longest = max(self.phrase.split(), key=len, default="")  # a quick test for many texts
        return longest in text.translate(_QUOTING).lower() and phrase(self, text) > 0


def words_of(text: str) -> list[str]:
    """Words of a text in order, as the index of messages splits them."""
    return _WORD.findall(_lowered(text))


def _lowered(text: str) -> str:
    """Only ASCII letters lose their case, as in the index."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def question(
    text: str, messages: int, counts: Mapping[str, int], meant: Mapping[str, str] | None = None
) -> Wording:
    """Take a question apart; `counts` says in how many of all messages each word stands."""
    said = words_of(text)[:QUESTION_WORDS]
    weights = {
        word: idf(messages, counts.get(word, 0)) * (STOP_FACTOR if word in STOP_WORDS else 1.0)
        for word in dict.fromkeys(said)
    }
    pairs = {pair: weights[pair[0]] + weights[pair[1]] for pair in pairwise(said) if pair[0] != pair[1]}
    own = {word: word for word in weights}
    return Wording(plain(text).removeprefix(_PROMPT), weights, pairs, {**(meant or {}), **own})


def plain(text: str) -> str:
    """A text in small letters on one line, without marks of quotation."""
    return " ".join(text[:_READ].translate(_QUOTING).lower().split())


def match(asked: Wording, text: str, role: str = "user") -> float:
    """From 0, nothing in common, to 1, the very line."""
    exact = phrase(asked, text)
    if exact and len(asked.weights) > 1:  # one word is no phrase
        return exact
    words = _in_question(asked, text)
    coverage = _share(asked.weights, words)
    near = _share(asked.pairs, pairwise(words)) if asked.pairs else coverage
    by_words = (1.0 - PAIRS_SHARE) * coverage + PAIRS_SHARE * near
    return WORDS_AT_MOST * by_words * ROLE_FACTOR.get(role, 1.0)


def phrase(asked: Wording, text: str) -> float:
    """How exactly a text holds the question as it stands; 0 if it does not."""
    whole, wanted = plain(text), asked.phrase
    if not wanted or wanted not in whole:
        return 0.0
    if len(wanted) < _CERTAIN and not re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", whole):
        return 0.0
    lines = [plain(line).removeprefix(_PROMPT) for line in text[:_READ].splitlines()]
    within = wanted not in lines and any(wanted in line for line in lines)
    return PHRASE if within else WHOLE_LINE  # over several lines it is no chance either


def quote(asked: Wording, text: str) -> str:
    """The line of a text that shares most with the question, cut around what they share."""
    lines = [line for line in (one_line(part) for part in text[:_READ].splitlines()) if line]

    def worth(line: str) -> float:
        words = _in_question(asked, line)
        exact = sum(asked.weights.values()) if asked.phrase and asked.phrase in plain(line) else 0.0
        return exact + weight_of(asked.weights, words) + weight_of(asked.pairs, pairwise(words))

    best = max(lines, key=worth, default="")
    return _around(best, min((start for start, _ in asked.spans(best)), default=0), QUOTE_WIDTH)


def _in_question(asked: Wording, text: str) -> list[str]:
    """The text's words as the question means them; all others are empty."""
    return [asked.meant.get(word, "") for word in words_of(text[:_READ])]


def weight_of(weights: Mapping[_Item, float], items: Iterable[_Item]) -> float:
    """What those of the weights come to that the items hold, the same in every process."""
    held = set(items)  # whose own order is another one each time, and so would be the last digit of its sum
    return sum(weight for item, weight in weights.items() if item in held)


def _share(weights: Mapping[_Item, float], items: Iterable[_Item]) -> float:
    total = sum(weights.values())
    return weight_of(weights, items) / total if total else 0.0


def _around(line: str, start: int, width: int) -> str:
    """A line, cut to the width around what begins there."""
    begin = max(0, start - width // 3) if len(line) > width else 0
    if not begin:
        return shorten(line, width)
    space = line.find(" ", begin, begin + width // 3)
    return "…" + shorten(line[space + 1 if space != -1 else begin :], width - 1)


# --- one line of a memory that shows why it was found

WIDTH = 200

_NAMES = re.compile(r"(?:Edited|Read|Ran|Tasks): |Commit [0-9a-f]{7,40} ")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_SPACE = re.compile(r"\s+")
_TOKEN = re.compile(r"\S+")
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LONGEST_READ = 20_000  # a memory may be huge; a snippet from its head is good enough


def one_line(text: str) -> str:
    """The text on one line, without control, bidirectional and zero-width characters."""
    spaced = _SPACE.sub(" ", text)
    if spaced.isascii() and spaced.isprintable():
        return spaced.strip()
    # Cc control, Cf format (bidi, zero-width, tags), Cs surrogates, Co private use, Zl/Zp separators
    kept = (char for char in spaced if unicodedata.category(char) not in _UNSAFE)
    return _SPACE.sub(" ", "".join(kept)).strip()


def snippet(text: str, weights: Mapping[str, float], *, title: str = "", whole: str = "") -> str:
    """The sentence that shares most with the question, cut around the words they share.

    What the title says already, questions and lists of names come after sentences that tell something.
    A slice that lists names alone is told by what else stands in the `whole` that it was cut from.
    """
    text = _from_a_line(text, whole)
    parts = _sentences(_telling(text)) or _sentences(_telling(whole)) or _sentences(text)
    said = one_line(title).rstrip("…").casefold()
    besides = [part for part in parts if part.casefold() != said] or parts
    parts = [part for part in besides if not (said and said in part.casefold())] or besides

    def worth(sentence: str) -> float:
        return (0.5 if sentence.endswith("?") else 1.0) * weight_of(weights, index_terms(sentence))

    best = max(parts, key=worth, default="")
    if len(best) > WIDTH:
        terms = ((match.start(), index_terms(match.group())) for match in _TOKEN.finditer(best))
        shared = (start for start, told in terms if not weights.keys().isdisjoint(told))
        return _around(best, next(shared, 0), WIDTH)
    for following in parts[parts.index(best) + 1 :] if best else ():
        if len(best) + 1 + len(following) > WIDTH:
            break
        best = f"{best} {following}"
    return best


def _sentences(text: str) -> list[str]:
    return [part for part in map(one_line, _SENTENCE.split(text[:_LONGEST_READ])) if part]


def _telling(text: str) -> str:
    return "\n".join(line for line in text[:_LONGEST_READ].splitlines() if not _NAMES.match(line))


def _from_a_line(part: str, whole: str) -> str:
    """A slice with the beginning of its first line; where that is far, from its first whole word on."""
    at = whole.find(part)
    if at <= 0:
        return part
    begin = whole.rfind("\n", 0, at) + 1
    if at - begin <= 2 * WIDTH:
        return whole[begin:at] + part
    return part if whole[at - 1].isspace() else part.partition(" ")[2] or part
