"""The size of a text in tokens, estimated without a tokenizer, and the marks around what is handed over.

The estimate leans high: a context over its budget costs an agent more than a line left out.
"""

from __future__ import annotations

import math
import re

# What we hand over stands between these, so that a later import of the conversation knows it for ours.
# Nothing from a memory can close it early: tags are taken out of whatever is quoted.
OPENING, CLOSING = "<claude-memory>", "</claude-memory>"
CHARACTERS_PER_TOKEN = 3.6  # English prose and code measure 3.7 to 4.5; the lower end is the safe one


def tokens(text: str) -> int:
    """About how many tokens a text takes; characters beyond ASCII count as one each."""
    ascii_count = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return -int(-ascii_count // CHARACTERS_PER_TOKEN) + (len(text) - ascii_count)


def marked(text: str) -> str:
    """The text as it is handed over."""
    return f"{OPENING}\n{text}\n{CLOSING}"


MARK_TOKENS = tokens(marked("")) + 1
MARK_CHARACTERS = len(marked(""))

# Code and logs take more tokens than prose of the same length. Fitted to a tokenizer that was published
# for Claude: over 30 long sessions 4% below it on average, for their summaries 3% above.
_WORD, _DIGIT, _SIGN = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]"), re.compile(r"[!-/:-@\[-`{-~]")
_GAP = re.compile(r"[ \t]{2,}")


def about_tokens(text: str) -> int:
    """About how many tokens a text takes: closer than `tokens`, slower, and it does not lean high."""
    words = _WORD.findall(text)
    odd = 0 if text.isascii() else len(text) - sum(map(str.isascii, text))
    return math.ceil(
        0.6 * len(words)
        + 0.13 * sum(map(len, words))
        + 0.55 * len(_DIGIT.findall(text))
        + 0.45 * len(_SIGN.findall(text))
        + 1.5 * text.count("\n")
        + len(_GAP.findall(text))
        + odd
    )
