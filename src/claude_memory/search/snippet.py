"""One line of a memory that shows why it was found. Safe to print: no control or invisible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import lru_cache

from claude_memory.text.words import index_terms, shorten

__all__ = ["WIDTH", "one_line", "shorten", "snippet"]

WIDTH = 160

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_SPACE = re.compile(r"\s+")
_LONGEST_READ = 20_000  # a memory may be huge; a snippet from its head is good enough


def one_line(text: str) -> str:
    """The text on one line, without control, bidirectional and zero-width characters."""
    spaced = _SPACE.sub(" ", text)
    if spaced.isascii() and spaced.isprintable():
        return spaced.strip()
    # Cc control, Cf format (bidi, zero-width, tags), Cs surrogates, Co private use, Zl/Zp separators
    kept = (char for char in spaced if unicodedata.category(char) not in _UNSAFE)
    return _SPACE.sub(" ", "".join(kept)).strip()


_WORD = re.compile(r"\S+")
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def snippet(text: str, weights: Mapping[str, float], *, width: int = WIDTH) -> str:
    """The sentence that shares most with the question, cut around the words they share."""
    sentences = [one_line(part) for part in _SENTENCE.split(text[:_LONGEST_READ])]
    sentences = [part for part in sentences if part]
    if not sentences:
        return ""
    best = max(sentences, key=lambda part: _shared(part, weights)) if len(sentences) > 1 else sentences[0]
    if len(best) > width:
        return _window(best, weights, width)
    return _grown(sentences, sentences.index(best), width)


def _shared(sentence: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in set(index_terms(sentence)))


def _grown(sentences: list[str], at: int, width: int) -> str:
    line = sentences[at]
    for following in sentences[at + 1 :]:
        if len(line) + 1 + len(following) > width:
            break
        line = f"{line} {following}"
    return line


def _window(sentence: str, weights: Mapping[str, float], width: int) -> str:
    start = _first_shared(sentence, weights.keys())
    begin = max(0, start - width // 3)
    if begin:
        space = sentence.find(" ", begin, begin + width // 3)
        begin = space + 1 if space != -1 else begin
        return "…" + shorten(sentence[begin:], width - 1)
    return shorten(sentence, width)


def _first_shared(sentence: str, terms: Collection[str]) -> int:
    for match in _WORD.finditer(sentence):
        if not _terms_of(match.group()).isdisjoint(terms):
            return match.start()
    return 0


@lru_cache(maxsize=8192)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(index_terms(word))
