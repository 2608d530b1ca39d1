"""One or two paragraphs from facts: what was asked, decided, changed, found, and what is open. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from claude_memory.compaction.abridge import abridged
from claude_memory.compaction.model import Decision, FileChange, Remark, Solution
from claude_memory.compaction.points import clip

FIRST_CHARACTERS = 600
SECOND_CHARACTERS = 400


def executive(
    asked: str,
    decisions: Sequence[Decision],
    files: Sequence[FileChange],
    solutions: Sequence[Solution],
    done: Sequence[Remark],
    pending: Sequence[Remark],
) -> str:
    """What happened, in the order a person would tell it."""
    first = [f"Asked: {clip(asked, 160)}"] if asked else []
    if files:
        first.append(_files(files))
    if decisions:
        first.append("Decided: " + "; ".join(map(_decided, decisions[-4:])) + ".")
    second = []
    if solutions:
        second.append(
            f"{_count(len(solutions), 'problem')} looked into, last: {clip(solutions[-1].error, 80)}."
        )
    if done:
        second.append(f"{_count(len(done), 'task')} done.")
    if pending:
        second.append("Open: " + "; ".join(clip(one.text, 40) for one in pending[:5]) + ".")
    told = clip(" ".join(first), FIRST_CHARACTERS), clip(" ".join(second), SECOND_CHARACTERS)
    return "\n\n".join(filter(None, told)) or "Nothing of note happened."


def _decided(one: Decision) -> str:
    """In few words, and with what it took back, so that the earlier form is not taken up again."""
    chosen = clip(abridged(one.decision, 70), 70).rstrip(".")
    return f"{chosen} (no longer: {clip(one.reverses, 40)})" if one.reverses else chosen


def _files(files: Sequence[FileChange]) -> str:
    return f"Files: {', '.join(_counted(files))}."


def _counted(files: Sequence[FileChange]) -> Iterator[str]:
    counts = Counter(one.action for one in files)
    for action in ("created", "modified", "renamed", "deleted"):
        if counts[action]:
            yield f"{counts[action]} {action}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
