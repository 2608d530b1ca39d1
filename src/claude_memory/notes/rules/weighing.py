"""What the words of a sentence weigh: a second opinion on what the rows of a language found.

Rows know phrases; weights know which words such sentences have in common, and which ones plain tasks, reports
and descriptions have. The weights are data, made from labelled prompts by `tests/quality/fit_write_ahead.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from claude_memory.notes.rules import STOPS, Families, is_name, is_number

LABELS = ("correction", "decision", "architecture", "priority", "value")
UNIT = 10  # weights are written as tenths
ZERO = 128  # of a byte
FIRED = 33  # a row of this label fits
ENOUGH = 5
APART = 15  # what a second label of one sentence must have more
MORE = 10  # what a second label of a prompt must have
LONG = 5  # steps of four words

Weights = tuple[Mapping[str, int], bytes]  # where the bytes of a feature begin, one a label; and those


def features(
    words: Sequence[str], families: Families, weighed: Iterable[str], moods: Iterable[str]
) -> set[str]:
    """What can have a weight: words, pairs of them, those that begin a clause, families, moods, length."""
    found = {f"<{mood}>" for mood in moods}
    before, kept = "", "^"
    for word in words:
        kind = "=num" if is_number(word) else "=id" if is_name(word) else word
        found.add(f"{kept} {kind}")
        found.add(kind)
        kept = kind
        if kind == word:
            if not before or before in STOPS or before in families["openers"]:
                found.add(f"{'~' if before else '^'}{word}")
            if len(word) > 4 and word.endswith(("ed", "ing")):
                found.add("-ed" if word[-1] == "d" else "-ing")
        before = word
    found.add(f"{kept} $")
    present = set(words)
    found.update(f"@{name}" for name in weighed if not families[name].isdisjoint(present))
    if words:
        found.update(f"^@{name}" for name in weighed if words[0] in families[name])
    found.add(f"<{min(len(words) // 4, LONG)}>")
    return found


def weigh(found: Iterable[str], weights: Weights) -> list[int]:
    """The sum for each label."""
    places, values = weights
    totals = [0] * len(LABELS)
    for feature in ("", *found):
        at = places.get(feature)
        if at is not None:
            for place in range(len(LABELS)):
                totals[place] += values[at + place] - ZERO
    return totals


def choose(totals: Sequence[int], fired: Collection[str]) -> dict[str, int]:
    """The labels that weigh enough, and how much more: the heaviest, and others only when they are sure."""
    sums = {
        label: total + FIRED * (label in fired) - ENOUGH for label, total in zip(LABELS, totals, strict=True)
    }
    most = max(sums.values())
    return {label: total for label, total in sums.items() if total > 0 and (total == most or total > APART)}


def surest(sums: Collection[int]) -> int:
    """What a label needs to be kept: what is said once in a prompt needs no more, what else is said does."""
    return min(max(sums, default=0), MORE)
