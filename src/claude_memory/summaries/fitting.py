"""Cuts a summary to its budget: every text to the same length, those on the present state to a longer one.

Pure. Nothing is ranked; only where even short texts are too many, the middle of the story goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from claude_memory.summaries.model import Remark, Summary, about_tokens, as_json

SHORTEST, LONGEST = 60, 4_000
STATE = 3  # how much longer what is open and where things stand may be than the rest


def clip(text: str, length: int) -> str:
    """A text cut at a word's end, and marked where it is cut."""
    if len(text) <= length:
        return text
    cut = text[: max(length - 1, 1)]
    word = cut.rfind(" ", length // 2)
    return (cut[:word] if word > 0 else cut).rstrip(" ,;:([{“") + "…"


def tokens_of(summary: Summary) -> int:
    """How many tokens a summary takes in its file, about."""
    return about_tokens(json.dumps(as_json(summary), ensure_ascii=False))


def fitted(summary: Summary, max_tokens: int) -> Summary:
    """The summary with every text cut evenly, as little as the budget asks for."""
    if tokens_of(summary) <= max_tokens:
        return summary
    shortest = _cut(summary, SHORTEST)
    while tokens_of(shortest) > max_tokens and len(summary.important_context) > 8:
        summary = replace(summary, important_context=_without_middle(summary.important_context))
        shortest = _cut(summary, SHORTEST)
    length = _largest(lambda length: tokens_of(_cut(summary, length)) <= max_tokens)
    return _cut(summary, length)


def _largest(fits: Callable[[int], bool]) -> int:
    low, high = SHORTEST, LONGEST
    while high - low > 8:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _without_middle(told: Sequence[Remark]) -> tuple[Remark, ...]:
    """A tenth less, taken from before the last third: the beginning and the end say most."""
    count = max(1, len(told) // 10)
    start = max(1, 2 * len(told) // 3 - count)
    return (*told[:start], *told[start + count :])


def _cut(summary: Summary, length: int) -> Summary:
    long = STATE * length
    return replace(
        summary,
        executive=summary.executive
        if len(summary.executive) <= 2 * long
        else clip(summary.executive, 2 * long),
        key_decisions=tuple(
            replace(one, topic=clip(one.topic, length), decision=clip(one.decision, length))
            for one in summary.key_decisions
        ),
        files_modified=tuple(
            replace(one, purpose=clip(one.purpose, length)) for one in summary.files_modified
        ),
        code_snippets=tuple(replace(one, code=clip(one.code, length)) for one in summary.code_snippets),
        tasks_completed=_remarks(summary.tasks_completed, length),
        tasks_pending=_remarks(summary.tasks_pending, long),
        important_context=(
            *_remarks(summary.important_context[:1], long),
            *_remarks(summary.important_context[1:], length),
        ),
        error_solutions=tuple(
            replace(one, error=clip(one.error, length), solution=clip(one.solution, length))
            for one in summary.error_solutions
        ),
        conventions=_remarks(summary.conventions, length),
    )


def _remarks(told: Sequence[Remark], length: int) -> tuple[Remark, ...]:
    return tuple(replace(one, text=clip(one.text, length)) for one in told)
