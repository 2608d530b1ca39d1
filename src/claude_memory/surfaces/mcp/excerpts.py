"""A long text cut to a budget of tokens around what was asked. Pure."""

from __future__ import annotations

import re

from claude_memory.text.tokens import CHARACTERS_PER_TOKEN, tokens
from claude_memory.text.words import index_terms, is_stop_term, query_terms

_BREAK = re.compile(r"\n{2,}|\n|(?<=[.!?。！？])\s+")
_GAP = " […] "
_READ_CHARACTERS = 400_000


def excerpt(text: str, question: str, max_tokens: int) -> str:
    """The text, or its beginning and the parts nearest to the question, in their order, within the budget."""
    if tokens(text) <= max_tokens:
        return text
    pieces = _pieces(text[:_READ_CHARACTERS], max_tokens)
    wanted = {term for term in query_terms(question) if not is_stop_term(term)}
    scores = [len(wanted.intersection(index_terms(piece))) for piece in pieces]
    # What shares most comes first, then what follows it: an answer often stands in the next sentence.
    near = [max(scores[max(at - 1, 0) : at + 2]) / 2 for at in range(len(scores))]
    order = sorted(range(len(pieces)), key=lambda at: (-max(scores[at], near[at]), at))
    chosen: set[int] = set()
    spent = 0
    for at in order:
        cost = tokens(pieces[at]) + 2
        if spent + cost <= max_tokens:
            chosen.add(at)
            spent += cost
    return _joined(pieces, chosen)


def _pieces(text: str, max_tokens: int) -> list[str]:
    """Sentences and lines, none longer than a third of the budget."""
    longest = max(int(max_tokens * CHARACTERS_PER_TOKEN / 3), 40)
    found = [part.strip() for part in _BREAK.split(text)]
    return [part[at : at + longest] for part in found for at in range(0, len(part), longest)]


def _joined(pieces: list[str], chosen: set[int]) -> str:
    parts: list[str] = []
    for at in sorted(chosen):
        if parts:
            parts.append(" " if at - 1 in chosen else _GAP)
        elif at:
            parts.append("[…] ")
        parts.append(pieces[at])
    rest = _GAP.rstrip() if chosen and max(chosen) < len(pieces) - 1 else ""
    return "".join(parts) + rest
