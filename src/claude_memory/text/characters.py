"""Characters that can be written down. Imports nothing: hooks need it in a hurry."""

from __future__ import annotations


def clean(text: str) -> str:
    """Text that can be stored: halves of a surrogate pair that lost the other half are replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
