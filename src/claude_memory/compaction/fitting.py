"""A summary within its budget: everything becomes shorter together, and only then entries go.

Pure. What is said of a choice shares its room: a bare consent leaves it to what it consents to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from claude_memory.compaction.abridge import JOINT, abridged, telegraphic
from claude_memory.compaction.choosing import gathered, label, pick, proposals
from claude_memory.compaction.model import Decision, Remark, Solution, Summary, about_tokens, as_json
from claude_memory.compaction.points import clip
from claude_memory.distil.exchange import terms

CHANGED, ASKED = 1.3, 0.3  # of a decision's room: for one that takes back, for what ends with a question
FIRST = 16  # how much more telling what is found at the beginning is: it says what was there
STEPS = 7  # halvings on the way to what just fits


@dataclass(frozen=True, slots=True)
class Room:
    """How many characters, or entries, each part may have."""

    choice: float  # a decision with its reason
    topic: float
    reverses: float
    problem: float  # an error with its solution
    error: float
    purpose: float
    convention: float
    context: float
    contexts: float  # entries
    done: float
    dones: float  # entries
    executive: float
    citing: float  # messages and files of one entry

    def towards(self, other: Room, share: float) -> Room:
        """Between this (0) and the other (1)."""
        names = [one.name for one in fields(Room)]
        return Room(*(getattr(self, n) + share * (getattr(other, n) - getattr(self, n)) for n in names))


# Chosen on forty labelled sessions; six more tell how well that holds (docs/compaction.md).
LEAST = Room(
    choice=250,
    topic=12,
    reverses=55,
    problem=320,
    error=70,
    purpose=60,
    convention=220,
    context=500,
    contexts=3,
    done=40,
    dones=2,
    executive=240,
    citing=2,
)
MOST = Room(
    choice=350,
    topic=60,
    reverses=200,
    problem=400,
    error=140,
    purpose=240,
    convention=400,
    context=220,
    contexts=30,
    done=300,
    dones=12,
    executive=1_000,
    citing=8,
)


def tokens_of(summary: Summary) -> int:
    """About how many tokens the summary takes as it is written."""
    return about_tokens(json.dumps(as_json(summary), ensure_ascii=False, separators=(",", ":")))


def fitted(summary: Summary, max_tokens: int) -> Summary:
    """The summary within so many tokens."""
    if tokens_of(summary) <= max_tokens:
        return summary
    for snippets in (summary.code_snippets[:1], ()):
        whole = replace(summary, code_snippets=snippets)
        if tokens_of(shown := _within(whole, MOST)) <= max_tokens:
            return shown
    low, high, best = 0.0, 1.0, _within(whole, LEAST)
    for _ in range(STEPS):
        share = (low + high) / 2
        shown = _within(whole, LEAST.towards(MOST, share))
        if tokens_of(shown) <= max_tokens:
            low, best = share, shown
        else:
            high = share
    return _fewer(best, max_tokens)


def _within(summary: Summary, room: Room) -> Summary:
    citing, told, elsewhere = round(room.citing), set[str](), proposals(summary.key_decisions)
    return replace(
        summary,
        executive=_executive(summary.executive, round(room.executive)),
        key_decisions=tuple(_decision(one, room, citing, told, elsewhere) for one in summary.key_decisions),
        files_modified=tuple(
            replace(
                one,
                purpose=telegraphic(one.purpose, round(room.purpose), one.path),
                messages=one.messages[-citing:],
            )
            for one in summary.files_modified
        ),
        error_solutions=tuple(_solution(one, room, citing) for one in summary.error_solutions),
        conventions=tuple(_told(one, round(room.convention), citing) for one in summary.conventions),
        important_context=_remarks(summary.important_context, round(room.contexts), round(room.context)),
        tasks_completed=_remarks(summary.tasks_completed, round(room.dones), round(room.done)),
    )


def _decision(one: Decision, room: Room, citing: int, told: set[str], elsewhere: frozenset[str]) -> Decision:
    asks = one.decision.partition(JOINT)[0].rstrip().endswith("?")
    share = CHANGED if one.reverses else ASKED if asks else 1.0
    said, reasons = pick(one, round(room.choice * share), told, elsewhere)
    return replace(
        one,
        topic=label(one, round(room.topic)),
        decision=said,
        rationale=reasons,
        reverses=clip(one.reverses, round(room.reverses)),
        files=one.files[: max(1, citing // 3)],
        messages=_cited(one.messages, one.reversed_messages, citing),
    )


def _cited(messages: tuple[int, ...], kept: Sequence[int], most: int) -> tuple[int, ...]:
    """The last of them, and those in which something was decided that no longer holds."""
    chosen = {*messages[-max(most, 2) :], *(one for one in messages if one in kept)}
    return tuple(one for one in messages if one in chosen)


def _solution(one: Solution, room: Room, citing: int) -> Solution:
    error = telegraphic(one.error, round(room.error))
    solution = gathered(one.solution, max(40, round(room.problem) - len(error)), one.error)
    return replace(one, error=error, solution=solution, files=one.files[: max(1, citing // 3)])


def _told(one: Remark, characters: int, citing: int) -> Remark:
    return replace(one, text=abridged(one.text, characters), messages=one.messages[-citing:])


def _remarks(listed: Sequence[Remark], most: int, characters: int) -> tuple[Remark, ...]:
    """The most telling of them, in their order."""
    weight = {one: _weight(one.text) + FIRST * (place < 2) for place, one in enumerate(listed)}
    best = sorted(listed, key=lambda one: -weight[one])[:most]
    return tuple(replace(one, text=gathered(one.text, characters)) for one in listed if one in best)


@lru_cache(maxsize=4_000)
def _weight(text: str) -> float:
    """Numbers and names tell more than other words; long texts cost more."""
    telling = sum(character.isdigit() or character in "`_=/" for character in text)
    return min(telling, 12) + min(len(terms(text)), 20)


def _executive(text: str, characters: int) -> str:
    """Both paragraphs, the second one, which says what is open, with at least a third of the room."""
    first, gap, second = text.partition("\n\n")
    if len(text) <= characters or not gap:
        return clip(text, characters)
    last = min(len(second), characters // 3)
    return f"{clip(first, characters - last)}{gap}{clip(second, last)}"


def _fewer(summary: Summary, max_tokens: int) -> Summary:
    """Without entries, where even short ones are too many: the oldest go first."""
    cuts: tuple[Callable[[Summary], Summary | None], ...] = (
        _without("important_context", 0),
        _without("tasks_completed", 0),
        _without("error_solutions", 2),
        _without("key_decisions", 3),
        _without("conventions", 2),
        _without("tasks_pending", 3),
        _without("files_modified", 20),
    )
    for cut in cuts:
        while tokens_of(summary) > max_tokens:
            shorter = cut(summary)
            if shorter is None:
                break
            summary = shorter
    return summary


def _without(name: str, least: int) -> Callable[[Summary], Summary | None]:
    def cut(summary: Summary) -> Summary | None:
        listed = getattr(summary, name)
        if len(listed) <= least:
            return None
        some = max(1, (len(listed) - least) // 10)  # thousands of them go in few steps
        return replace(summary, **{name: listed[some:]})

    return cut
