"""Words of a text as the index keeps them, and slices of it that fit an embedding model.

Index and query go through the same functions, so that a store's tokenizer never matters. No input
makes them fail. A change of the terms needs `reindex`.
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
QUERY_CHARACTERS = 20_000  # a pasted log is a question too, but only its head is read
QUERY_TERMS = 256

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_ASCII_CHUNK = re.compile(r"[^\W_](?:\w|[+#./:@\\'-])*", re.ASCII)
_COMPONENT = re.compile(r"[/\\:@]+")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_APOSTROPHE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)?(?![^\W_])|['’]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_TAIL = "./:@\\-'’"  # not + and #, which name languages
_WORD_LIMIT = 64  # a longer run of letters is data, not a word; its head still identifies it
_MONTHS = "january february march april may june july august september october november december".split()

_stemmer = Stemmer.Stemmer("english")

# Function words only: dropping them is worth 5 points of turn recall on LoCoMo. Words that carry a
# developer's question (use, make, get, run, name, new) stay; `may` stays, because it is a month.
STOP_WORDS = frozenset(
    """a about above after again against ain all also although am an and any anyone anything are aren as at
    be because been before being below between both but by can cannot could couldn d did didn do does doesn
    doing don down during each either else ever every few for from further had hadn has hasn have haven
    having he her here hers herself him himself his how however i if in into is isn it its itself just let
    ll m me might mightn mine more most much must my myself neither no nor not now of off on once only onto
    or other our ours ourselves out over own per quite rather re really s same shall she should shouldn
    since so some someone something such t than that the their theirs them themselves then there therefore
    these they this those though through thus to too toward towards under until up upon us ve very was wasn
    we were weren what whatever when whenever where whether which while who whoever whom whose why will with
    within without won would wouldn yet you your yours yourself yourselves""".split()
)


def shorten(line: str, width: int) -> str:
    """The line, cut at a word with an ellipsis if it is too long."""
    if len(line) <= width:
        return line
    head = line[: width - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > width // 2 else head).rstrip() + "…"


def index_terms(text: str) -> list[str]:
    """Every term of a text in order: stems, identifiers whole and split, CJK characters and pairs."""
    return list(_terms(text))


def query_terms(text: str) -> list[str]:
    """Terms of a question, each once, in order; stop words left out unless nothing else is there."""
    found = dict.fromkeys(_terms(text[:QUERY_CHARACTERS]))
    kept = [term for term in found if term not in _STOP_STEMS]
    return (kept or list(found))[:QUERY_TERMS]


def is_stop_term(term: str) -> bool:
    return term in _STOP_STEMS


def date_terms(moment: datetime) -> list[str]:
    """Words by which a person names a day: month, year, the whole date."""
    return [stem(_MONTHS[moment.month - 1]), str(moment.year), moment.date().isoformat()]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


_STOP_STEMS = STOP_WORDS | {stem(word) for word in STOP_WORDS}


@lru_cache(maxsize=1)
def _wide() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Chunks of any script, and the start of a CJK run; made on first need, for compiling them is slow."""
    chunk = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}](?:[^\W{_CJK}]|[+#./:@\\'’-])*")
    return chunk, re.compile(rf"[{_CJK}]")


def _terms(text: str) -> Iterator[str]:
    if text.isascii():
        for match in _ASCII_CHUNK.finditer(text):
            yield from _word_terms(match.group().rstrip(_TAIL))
        return
    wide_chunk, cjk = _wide()
    # Lone surrogates cannot be stored as UTF-8, so they must not become part of a term.
    decomposed = unicodedata.normalize("NFKD", text.encode("utf-8", "replace").decode("utf-8"))
    for match in wide_chunk.finditer(unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed))):
        chunk = match.group()
        if cjk.match(chunk):
            yield from chunk
            yield from (chunk[i : i + 2] for i in range(len(chunk) - 1))
        else:
            yield from _word_terms(chunk.rstrip(_TAIL))


@lru_cache(maxsize=65_536)
def _word_terms(chunk: str) -> tuple[str, ...]:
    if "'" in chunk or "’" in chunk:
        parts = (part.rstrip(_TAIL) for part in _APOSTROPHE.sub(" ", chunk).split())
        return tuple(term for part in parts for term in _word_terms(part))
    components = [part for part in _COMPONENT.split(chunk) if part]
    if len(components) > 1:
        return (_bounded(chunk), *(term for part in components for term in _identifier_terms(part)))
    return _identifier_terms(chunk)


def _identifier_terms(word: str) -> tuple[str, ...]:
    whole = _bounded(word)
    pieces = [_bounded(piece) for piece in (_PIECE if word.isascii() else _LETTERS_OR_DIGITS).findall(word)]
    if not whole:
        return ()
    if pieces == [whole] or not pieces:
        return (stem(whole),)
    return (whole, *(stem(piece) for piece in pieces))


def _bounded(word: str) -> str:
    return word.casefold()[:_WORD_LIMIT]


def passages(text: str) -> list[str]:
    """Cut a long text at paragraphs, lines, sentences or words; nothing is left out."""
    slices = []
    start = 0
    while len(text) - start > PASSAGE_CHARACTERS:
        limit, earliest = start + PASSAGE_CHARACTERS, start + PASSAGE_CHARACTERS // 2
        cuts = ((text.rfind(mark, earliest, limit), mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((place + len(mark) for place, mark in cuts if place != -1), limit)
        slices.append(text[start:end])
        start = max(end - PASSAGE_OVERLAP, start + 1)
    slices.append(text[start:])
    return slices


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_in(item)
