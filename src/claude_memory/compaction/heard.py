"""Two requests as a judge reads them: what was said, how the agent took it up, and what it answered.

Pure. The judge learnt from texts put together here: another form needs another training (`bench/turning.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from claude_memory.compaction.abridge import clip
from claude_memory.compaction.episodes import Episode
from claude_memory.compaction.talk import Word

SAID, TAKEN_UP, BEFORE, CONFIRMED = 300, 280, 200, 80  # characters


def earlier(old: Episode, own: Collection[int] = ()) -> str:
    """A request that may have been taken back; `own` are turns that stand for themselves."""
    text = clip(old.said.text, SAID)
    if old.confirmed:
        text += f" {clip(old.confirmed.text, CONFIRMED)}"
    text += _answered(old, own)
    if old.proposal is not None and (old.adopted or old.question):
        text += f" | after: {_end(old.proposal.text)}"
    return text


def later(new: Episode) -> str:
    """A request that may take an earlier one back."""
    text = clip(new.said.text, SAID)
    text += _answered(new)
    if new.proposal is not None:
        text += f" | after: {_end(new.proposal.text)}"
    return text


def taken_up(one: Episode, own: Collection[int] = ()) -> list[Word]:
    """What the agent says that it made of a request, without choices of its own and questions."""
    return [word for word in one.replies if not word.asks and word.index not in own]


def own_choices(found: Iterable[Episode]) -> frozenset[int]:
    """The turns in which the agent says what it chose by itself."""
    return frozenset(one.index for one in found if one.alone and one.since < 0)


def _answered(one: Episode, own: Collection[int] = ()) -> str:
    """The first of its answers and, where it said more, the last."""
    answers = taken_up(one, own)
    room = TAKEN_UP if len(answers) == 1 else TAKEN_UP * 2 // 3
    return "".join(f" → {clip(word.text, room)}" for word in dict.fromkeys([*answers[:1], *answers[-1:]]))


def _end(text: str) -> str:
    return text if len(text) <= BEFORE else text[-BEFORE:].split(" ", 1)[-1]
