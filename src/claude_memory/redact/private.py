"""Spans between `<private>` and `</private>`: nested, unclosed, running across strings.

Privacy wins over convenience: whatever reads as an opening tag opens a span, in backticks, in code or
self-closing too, and a span that nobody closes runs to the end of the document. `&lt;private&gt;` is text
about the tag and stays. A closing tag without an opening one stays as it is.
"""

from __future__ import annotations

import re

MARK = "[private]"

# Every repetition is bounded or excludes what may follow it, so matching stays linear. A mark inside a
# would-be tag is never an attribute: otherwise a second pass could see a tag that the first one made.
_TAG = re.compile(
    r"(?:<|\\+u003c|\\+x3c)\s{0,8}(?P<close>/|\\+/)?\s{0,8}private"
    r"(?:[\s/](?:[^<>\[\\]|\[(?!private\]|secret:)|\\(?!u003[ce]|x3[ce])){0,200})?"
    r"(?:>|\\+u003e|\\+x3e)",
    re.IGNORECASE,
)


class PrivateSpans:
    """Follows the tags through the strings of one document, in order."""

    def __init__(self) -> None:
        self.depth = 0
        self.cut_count = 0

    def cut(self, text: str) -> str:
        """The string without its private parts; each part leaves one mark."""
        if self.depth == 0 and not may_open(text):
            return text
        kept: list[str] = []
        place = 0
        if self.depth and text:
            kept.append(MARK)
        for tag in _TAG.finditer(text):
            place = self._step(tag, text, place, kept)
        if self.depth == 0:
            kept.append(text[place:])
        return "".join(kept)

    def _step(self, tag: re.Match[str], text: str, place: int, kept: list[str]) -> int:
        """Keep what stood outside up to this tag; return where the next outside part may begin."""
        if tag["close"]:
            if self.depth == 0:
                return place
            self.depth -= 1
            return tag.end()
        if self.depth == 0:
            kept += (text[place : tag.start()], MARK)
            self.cut_count += 1
        self.depth += 1
        return tag.end()


def may_open(text: str) -> bool:
    """Whether a tag can stand in the text at all; cheap enough for every string."""
    return "private" in text.lower()
