"""Splits a text into sentences: the one splitter. Knows no language; standard library only, for hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_CHARACTERS = 20_000  # a longer text is a pasted file; its head is read
_LINE = re.compile(r"(?:[-*•] |\d+[.)] )?\s*(\S.*)")  # without the mark of a list
_QUOTED = re.compile(r'"[^"\n]{1,400}"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|(?<![\w`])\'[^\'\n]{3,400}\'(?!\w)')
_ONE_TOKEN = re.compile(r"[\w./:@+#-]+")
_MASKED = re.compile(r"“…+”")
_GAP = re.compile(r"(?<=[.!?;…])[\"')\]]*\s+(?=\S)|\s+[—–]\s+(?=[A-Za-z])|\s*[\U0001F300-\U0001FAFF☀-➿]+\s*")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|nr|fig|resp|cf|incl|mr|mrs|dr|st)\.|^\d+\.)$", re.IGNORECASE
)


class Sentence(NamedTuple):
    """A sentence as it was typed, and as rules read it: quoted text in it is “…”."""

    said: str
    plain: str


def sentences(text: str) -> Iterator[Sentence]:
    """Each sentence in order; none goes beyond a line or ends inside a quotation."""
    for line in (
        found[1] for line in text[:MAX_CHARACTERS].splitlines() if (found := _LINE.match(line.strip()))
    ):
        masked = _QUOTED.sub(_masked_quote, line)  # of the same length, so that places stay
        gaps = [gap.span() for gap in _GAP.finditer(masked)]
        start = 0
        for end, after in [*gaps, (len(line), 0)]:
            if after and _ABBREVIATED.search(masked[start:end]):
                continue
            if said := line[start:end].strip():
                yield Sentence(said, _MASKED.sub("“…”", masked[start:end]).strip())
            start = after


def _masked_quote(match: re.Match[str]) -> str:
    """A single name in quotes is a name; anything longer is somebody's words."""
    inner = match[0][1:-1]
    return f" {inner} " if _ONE_TOKEN.fullmatch(inner) else f"“{'…' * len(inner)}”"
