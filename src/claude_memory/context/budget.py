"""Tokens of a text, estimated without a tokenizer, and the cut that keeps whole lines.

The estimate leans high: a context over its budget costs an agent more than a line left out.
"""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 3.6  # English prose and code measure 3.7 to 4.5; the lower end is the safe one


def tokens(text: str) -> int:
    """About how many tokens a text takes; characters beyond ASCII count as one each."""
    ascii_count = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return -int(-ascii_count // CHARACTERS_PER_TOKEN) + (len(text) - ascii_count)
