"""Two requests as a judge reads them: what led to each, what was said, and how the agent took it up.

Pure. The judge learnt from texts put together here: another form needs another training (`bench/turning.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from claude_memory.compaction.abridge import clip
from claude_memory.compaction.episodes import Episode, subjects
from claude_memory.compaction.talk import Word
from claude_memory.understand.sentences import spoken

ROOM = 460  # characters of each side: what a judge reads of it
SAID = 240
LEAST = 100  # of what led to it, and of what the agent made of it
CONFIRMED = 60


def both(old: Episode, new: Episode, own: Collection[int] = ()) -> tuple[str, str]:
    """A request and a later one; of long texts, what is about the other one. `own` stand for themselves."""
    taken = old.proposal is not None and bool(old.adopted or old.question)
    first = _side(old, old.proposal if taken else None, taken_up(old, own), _about(new))
    return first, _side(new, new.proposal, taken_up(new), _about(old))


def told(after: str, said: str, answer: str) -> str:
    """One side as a judge reads it."""
    return f"{f'{after} » ' if after else ''}{said}{f' → {answer}' if answer else ''}"


def taken_up(one: Episode, own: Collection[int] = ()) -> list[Word]:
    """What the agent says that it made of a request, without choices of its own and questions."""
    return [word for word in one.replies if not word.asks and word.index not in own]


def own_choices(found: Iterable[Episode]) -> frozenset[int]:
    """The turns in which the agent says what it chose by itself."""
    return frozenset(one.index for one in found if one.alone and one.since < 0)


def _side(one: Episode, after: Word | None, answers: list[Word], about: frozenset[str]) -> str:
    said = focused(one.said.text, SAID, about)
    if one.confirmed:
        said += f" {clip(one.confirmed.text, CONFIRMED)}"
    rest = ROOM - len(said)
    led = focused(after.text, rest - LEAST if answers else rest, about, end=True) if after else ""
    # The first of its answers and, where it said more, the last.
    listed = list(dict.fromkeys([*answers[:1], *answers[-1:]]))
    room = max(LEAST, rest - len(led)) // max(1, len(listed))
    return told(led, said, " → ".join(focused(word.text, room, about) for word in listed))


def _about(one: Episode) -> frozenset[str]:
    return one.chosen | one.answered


def focused(text: str, characters: int, about: frozenset[str], *, end: bool = False) -> str:
    """At most so many characters around the sentence most about it; else the beginning, or the end."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    sentences = [" ".join(sentence.said.split()) for sentence in spoken(text)]
    shared = [len(subjects(one) & about) for one in sentences]
    if not any(shared):
        return _end(line, characters) if end else clip(line, characters)
    first = last = shared.index(max(shared))
    while True:
        wider = [(first - 1, last), (first, last + 1)]
        fitting = [
            (start, stop)
            for start, stop in wider
            if start >= 0 and stop < len(sentences) and _length(sentences[start : stop + 1]) <= characters
        ]
        if not fitting:
            return clip(" ".join(sentences[first : last + 1]), characters)
        first, last = max(fitting, key=lambda span: sum(shared[span[0] : span[1] + 1]))


def _length(sentences: list[str]) -> int:
    return sum(map(len, sentences)) + len(sentences)


def _end(line: str, characters: int) -> str:
    return line[-characters:].split(" ", 1)[-1]
