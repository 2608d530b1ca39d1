"""Terms as the text index keeps them: in characters that FTS5 leaves whole, headed by their space."""

from __future__ import annotations

import re

from claude_memory.text.quotation import clean

# All of ASCII but a-z, 0-9 and the space; said so, because a set of all of Unicode takes 10 ms to compile.
_UNSAFE = re.compile(r"[\x00-\x1f!-/:-`{-\x7f]")
_CODES = {chr(code): f"_{code:02x}" for code in range(128)}


def key(space: int, term: str) -> str:
    """One term as it stands in index and lexicon."""
    return head(space) + escaped(term).replace(" ", "_20")


def head(space: int) -> str:
    """What a term of a space begins with: `12_`, or `p2_` for what is another person's."""
    return f"{space}_" if space >= 0 else f"p{-space}_"


def escaped(terms: str) -> str:
    """Terms in letters, digits, `_` and what is not ASCII."""
    if terms.isascii() and terms.isalnum() and terms == terms.lower():  # most, and a search asks for hundreds
        return terms
    return _UNSAFE.sub(lambda found: _CODES[found[0]], clean(terms))
