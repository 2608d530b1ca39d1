"""Words of a text as the index keeps them, and slices of it that fit an embedding model.

Index and query go through the same functions, so that a store's tokenizer never matters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import Stemmer

PASSAGE_CHARACTERS = 1800  # about 450 tokens of prose: whole notes beat slices, so slice late
PASSAGE_OVERLAP = 150

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CHUNK = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}][\w+#./:@\\-]*", re.UNICODE)
_CJK_RUN = re.compile(rf"[{_CJK}]+")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_EDGE = "./:@\\-#"
_WORD_LIMIT = 64  # a longer run of letters is data, not a word; its head still identifies it

_stemmer = Stemmer.Stemmer("english")

STOP_WORDS = frozenset(
    """a about above after again against all am an and any are as at be because been before being below
    between both but by can could did do does doing don down during each few for from further had has have
    having he her here hers herself him himself his how i if in into is it its itself just let me more most
    my myself no nor not now of off on once only or other our ours ourselves out over own s same she should
    so some such t than that the their theirs them themselves then there these they this those through to
    too under until up us very was we were what when where which while who whom why will with would you your
    yours yourself yourselves""".split()
)


def index_terms(text: str) -> list[str]:
    """Every term of a text in order: stems, identifiers whole and split, CJK characters and pairs."""
    return list(_terms(text))


def query_terms(text: str) -> list[str]:
    """Terms of a question, each once, in order; stop words left out unless nothing else is there."""
    found = dict.fromkeys(_terms(text[:20_000]))
    kept = [term for term in found if term not in _STOP_STEMS]
    return kept or list(found)


def date_terms(moment: datetime) -> list[str]:
    """Words by which a person names a day: month, year, the day's number."""
    return [stem(moment.strftime("%B").lower()), str(moment.year), f"{moment:%Y-%m-%d}"]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The word's stem by Snowball's English rules."""
    return str(_stemmer.stemWord(word))


_STOP_STEMS = STOP_WORDS | {stem(word) for word in STOP_WORDS}


def _terms(text: str) -> Iterator[str]:
    for match in _CHUNK.finditer(unicodedata.normalize("NFKC", text)):
        chunk = match.group().strip(_EDGE)
        if not chunk:
            continue
        if _CJK_RUN.match(chunk):
            yield from chunk
            yield from (chunk[i : i + 2] for i in range(len(chunk) - 1))
            continue
        yield from _word_terms(chunk)


@lru_cache(maxsize=65_536)
def _word_terms(chunk: str) -> tuple[str, ...]:
    whole = chunk.lower()[:_WORD_LIMIT]
    pieces = [piece.lower()[:_WORD_LIMIT] for piece in _PIECE.findall(chunk)]
    if pieces == [whole] or not pieces:
        return (stem(whole),)
    return (whole, *(stem(piece) for piece in pieces))


def passages(text: str) -> list[str]:
    """Cut a long text at paragraphs, lines, sentences or words; nothing is left out."""
    slices = []
    start = 0
    while len(text) - start > PASSAGE_CHARACTERS:
        end = _cut(text, start)
        slices.append(text[start:end])
        start = max(end - PASSAGE_OVERLAP, start + 1)
    slices.append(text[start:])
    return slices


def _cut(text: str, start: int) -> int:
    limit = start + PASSAGE_CHARACTERS
    earliest = start + PASSAGE_CHARACTERS // 2
    for mark in ("\n\n", "\n", ". ", " "):
        place = text.rfind(mark, earliest, limit)
        if place != -1:
            return place + len(mark)
    return limit
