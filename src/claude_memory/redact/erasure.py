"""What holds a sentence that was erased, and what is left of a value without it. Pure.

The one rule for store, mirror, files and summaries: a text holds a sentence when its words stand in it,
next to each other and in order, whatever the letter case, spacing, punctuation, markup or JSON escapes
between them. The sentences may be known (`Sentences`) or known only by their hashes (`Hashed`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

ERASED = "[erased]"
SHORTEST = 12  # characters; a shorter text may stand anywhere by chance
TITLE_CHARACTERS = 80
_SUBSTANCE = ("decision", "error", "solution", "code", "text", "statement", "task", "content")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrtbf])")
# A character of a script without spaces counts as a word.
_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_BROKEN_OFF = ("…", "...")


def words(text: str, *, escaped: bool = False) -> list[str]:
    """The words that are compared; `escaped` reads the text as JSON that was written into a text."""
    if escaped:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text.casefold())


def holds(text: str, holder: Holder) -> bool:
    if not holder.likely(text):
        return False
    readings = (False, True) if "\\" in text else (False,)
    return any(True for escaped in readings for _ in holder.spans(words(text, escaped=escaped)))


def says(text: str, holder: Holder) -> bool:
    """Whether a text holds one of the sentences, or is itself nothing but a piece of one."""
    return holds(text, holder) or holder.is_piece(text)


def without(value: Any, holder: Holder, *, pieces: bool = False) -> Any:
    """The value without the sentences: entries of lists go, running text loses its lines.

    With `pieces`, also what is only a part of a sentence goes: for what was made out of other texts.
    """
    told = says if pieces else holds
    if isinstance(value, dict):
        return {name: without(item, holder, pieces=pieces) for name, item in value.items()}
    if isinstance(value, list | tuple):
        kept = (item for item in value if not (isinstance(item, str) and told(item, holder)))
        left = [without(item, holder, pieces=pieces) for item in kept]
        return [item for item in left if not _lost_its_substance(item)]
    if isinstance(value, str) and told(value, holder):
        return _spared(value, holder, pieces)
    return value


def title_without(title: str, before: str, after: str, holder: Holder) -> str:
    """A title when its text `before` became `after`: one that was taken from the text is taken anew."""
    own = " ".join(words(title))
    taken = before != after and bool(own) and " ".join(words(before)).startswith(own)  # the last may be cut
    cut_short = title.rstrip().endswith(_BROKEN_OFF) and holder.is_piece(title)
    if taken or cut_short or holds(title, holder):
        line = next((line.strip() for line in after.splitlines() if line.strip()), "")
        return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1].rstrip() + "…"
    return title


def _lost_its_substance(entry: Any) -> bool:
    """Whether an entry lost what it was about; a changed file stays without its purpose."""
    return isinstance(entry, dict) and any(entry.get(name) == ERASED for name in _SUBSTANCE)


def _spared(text: str, holder: Holder, pieces: bool) -> str:
    lines = text.splitlines()
    drop: set[int] = set()
    for escaped in (False, True):
        said = [(number, word) for number, line in enumerate(lines) for word in words(line, escaped=escaped)]
        for first, last in holder.spans([word for _, word in said]):
            drop.update(range(said[first][0], said[last][0] + 1))
    left = [line for number, line in enumerate(lines) if number not in drop]
    kept = "\n".join(line for line in left if not (pieces and holder.is_piece(line)))
    return kept if words(kept) and not holds(kept, holder) else ERASED


class Sentences:
    def __init__(self, texts: Iterable[str]) -> None:
        said = {" ".join(words(text)): None for text in texts}
        self._wanted = [one for one in said if len(one) >= SHORTEST]
        self._longest = [max(one.split(" "), key=len) for one in self._wanted]

    def likely(self, text: str) -> bool:
        """False only if the text holds none of them; cheap: looks for the longest word of each."""
        if "\\u" in text:
            return bool(self._wanted)
        plain = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
        return any(word in plain for word in self._longest)

    def spans(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where sentences stand among the words: first and last of each."""
        said = " ".join(words)
        for wanted in self._wanted:
            place = said.find(wanted)
            while place >= 0:
                first = said.count(" ", 0, place)
                yield first, first + wanted.count(" ")
                place = said.find(wanted, place + 1)

    def is_piece(self, text: str) -> bool:
        """Whether the text is a part of a sentence, or ends in the beginning of one that was cut there."""
        said = " ".join(words(text))
        if len(said) < SHORTEST:
            return False
        if any(said in wanted for wanted in self._wanted):
            return True
        return text.rstrip().endswith(_BROKEN_OFF) and any(
            said.endswith(wanted[:length])
            for wanted in self._wanted
            for length in range(SHORTEST, min(len(said), len(wanted)) + 1)
        )


# --- sentences that are known only by their hashes

_ANCHOR = 12  # words; a longer sentence is told by its first words, then proved by all of them
_MODULUS = 2**61 - 1
_BASE = 1_000_003
_SHORT_HASH = 0xFFFFFF  # enough to pass over nearly every place, too little to guess words by
_HASH = re.compile(r"s(\d+)-([0-9a-f]+)-([0-9a-f]+)-(.*)", re.DOTALL)  # as `sentence_hash` writes it


def sentence_hash(salt: str, project: str, text: str) -> str | None:
    """What is kept of an erased sentence so that it can be told again; None if it is too short for that."""
    said = words(text)
    if len(" ".join(said)) < SHORTEST:
        return None
    start = 0
    for word in said[:_ANCHOR]:
        start = (start * _BASE + _number(salt, word)) % _MODULUS
    return f"s{len(said)}-{start & _SHORT_HASH:06x}-{_proof(salt, said)}-{project}"


class Hashed:
    """Sentences known by their hashes, each under the salt it was made with; of some projects, or of all."""

    def __init__(self, by_salt: Mapping[str, Iterable[str]], projects: Collection[str] | None = None) -> None:
        self._anchors: dict[tuple[str, int], dict[int, list[tuple[int, str]]]] = {}
        for salt, hash_ in ((salt, hash_) for salt, hashes in by_salt.items() for hash_ in hashes):
            told = _HASH.fullmatch(hash_)
            if told and (projects is None or told[4] in projects):
                length, start, proof = int(told[1]), int(told[2], 16), told[3]
                anchors = self._anchors.setdefault((salt, min(length, _ANCHOR)), {})
                anchors.setdefault(start, []).append((length, proof))

    def likely(self, text: str) -> bool:  # noqa: ARG002
        """Nothing can be said without looking, unless there is nothing to look for."""
        return bool(self._anchors)

    def spans(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where sentences stand among the words: first and last of each."""
        numbers = {salt: [_number(salt, word) for word in words] for salt, _ in self._anchors}
        for (salt, width), anchors in self._anchors.items():
            top = pow(_BASE, width, _MODULUS)
            rolling = 0
            for place, number in enumerate(numbers[salt]):
                rolling = rolling * _BASE + number
                if place >= width:
                    rolling -= numbers[salt][place - width] * top
                rolling %= _MODULUS
                first = place - width + 1
                for length, proof in anchors.get(rolling & _SHORT_HASH, ()) if first >= 0 else ():
                    said = words[first : first + length]
                    if len(said) == length and _proof(salt, said) == proof:
                        yield first, first + length - 1

    def is_piece(self, text: str) -> bool:  # noqa: ARG002
        """A hash tells nothing of parts."""
        return False


Holder = Sentences | Hashed


@lru_cache(maxsize=65_536)
def _number(salt: str, word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), key=_key(salt), digest_size=7)
    return int.from_bytes(digest.digest(), "big")


def _proof(salt: str, said: Sequence[str]) -> str:
    text = " ".join(said).encode("utf-8", "replace")
    return hashlib.blake2b(text, key=_key(salt), digest_size=16).hexdigest()


def _key(salt: str) -> bytes:
    return salt.encode("ascii", "replace")[:64]
