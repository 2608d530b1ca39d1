"""What the words of a sentence weigh: a second opinion on what the rows of a language found.

Rows know phrases; weights know which words such sentences have in common, and which ones plain tasks, reports
and descriptions have. The weights are data, made from labelled prompts by `tests/quality/fit_write_ahead.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from claude_memory.layers.rules import STOPS, Families, is_name, is_number

LABELS = ("correction", "decision", "architecture", "priority", "value")
UNIT = 10  # weights are written as tenths
FIRED = 30  # a row of this label fits
FIRED_ANY = 5  # a row of any label does
ENOUGH = 8
APART = 10  # what a second label of one sentence must have more
LONG = 5  # steps of four words

Weights = Mapping[str, tuple[int, ...]]


def features(
    words: Sequence[str], families: Families, weighed: Iterable[str], moods: Iterable[str]
) -> set[str]:
    """What can have a weight: words, words that begin a clause, families of words, moods, the length."""
    found = {f"<{mood}>" for mood in moods}
    before = ""
    for word in words:
        if is_number(word):
            found.add("=num")
        elif is_name(word):
            found.add("=id")
        else:
            found.add(word)
            if not before or before in STOPS or before in families["openers"]:
                found.add(f"{'~' if before else '^'}{word}")
            if len(word) > 4 and word.endswith(("ed", "ing")):
                found.add("-ed" if word[-1] == "d" else "-ing")
        before = word
    present = set(words)
    found.update(f"@{name}" for name in weighed if not families[name].isdisjoint(present))
    if words:
        found.update(f"^@{name}" for name in weighed if words[0] in families[name])
    found.add(f"<{min(len(words) // 4, LONG)}>")
    return found


def weigh(found: Iterable[str], weights: Weights) -> list[int]:
    """The sum for each label."""
    totals = list(weights[""])
    for feature in found:
        row = weights.get(feature)
        if row is not None:
            for place, weight in enumerate(row):
                totals[place] += weight
    return totals


def choose(totals: Sequence[int], fired: Collection[str]) -> list[str]:
    """The labels that weigh enough: the heaviest, and others only when they are sure."""
    some = FIRED_ANY if fired else 0
    sums = [
        total + some + FIRED * (label in fired) - ENOUGH for label, total in zip(LABELS, totals, strict=True)
    ]
    most = max(sums)
    return [
        label
        for label, total in zip(LABELS, sums, strict=True)
        if total > 0 and (total == most or total > APART)
    ]
