"""Terms as the text index keeps them: in characters that FTS5 leaves whole, headed by their space."""

from __future__ import annotations

import re

# All of ASCII but a-z, 0-9 and the space; said so, because a set of all of Unicode takes 10 ms to compile.
_UNSAFE = re.compile(r"[\x00-\x1f!-/:-`{-\x7f]")
_CODES = {chr(code): f"_{code:02x}" for code in range(128)}


def clean(text: str) -> str:
    """Text that can be stored: halves of a surrogate pair that lost the other half are replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def key(space: int, term: str) -> str:
    """One term as it stands in index and lexicon."""
    return f"{space}_" + escaped(term).replace(" ", "_20")


def escaped(terms: str) -> str:
    """Terms in letters, digits, `_` and what is not ASCII."""
    if terms.isascii() and terms.isalnum() and terms == terms.lower():  # most, and a search asks for hundreds
        return terms
    return _UNSAFE.sub(lambda found: _CODES[found[0]], clean(terms))
