"""Makes the weights of the write-ahead scan from labelled prompts: `python tests/quality/fit_write_ahead.py`.

Prints figures by cross-validation first (each prompt is judged by weights that did not see it; rules were made
with sight of the first two sets, so only the later ones tell something), then writes `rules/en_weights.py`.
Items with half `held` of the second set are never read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claude_memory.layers import triggers
from claude_memory.layers.rules import en, weighing
from claude_memory.layers.spoken import sentences

DATA = Path(__file__).parent / "data"
TARGET = Path(en.__file__).with_name("en_weights.py")
SETS = {
    "first": "prompts/prompts.jsonl",
    "second": "prompts_second/prompts.jsonl",
    "a": "prompts_third/a.jsonl",
    "b": "prompts_third/b.jsonl",
    "c": "prompts_third/c.jsonl",
    "practice": "prompts_practice/prompts.jsonl",
}
LEAST = 5  # sentences a feature must be in
RIDGE = 2.0
STEPS = 250
FOLDS = 5
SHARE = 0.6

Numbers = NDArray[np.float32]


class Row(NamedTuple):
    """A sentence of a prompt."""

    set: str
    prompt: str
    features: frozenset[str]
    fired: frozenset[str]
    barred: frozenset[str]
    labels: frozenset[str]


def items(name: str) -> list[dict[str, Any]]:
    """The prompts of a set that may be read."""
    found = map(json.loads, (DATA / SETS[name]).read_text("utf-8").splitlines())
    return [item for item in found if name != "second" or item["half"] == "dev"]


def rows(name: str) -> list[Row]:
    """The sentences of a set."""
    found = []
    for item in items(name):
        typed = list(sentences(item["text"]))
        for sentence, judged in zip(typed, triggers.judged(en, typed), strict=True):
            labels = frozenset(span["label"] for span in item["spans"] if _covers(span["text"], sentence))
            fired, barred = frozenset(judged.fired), frozenset(judged.barred)
            found.append(Row(name, item["id"], frozenset(judged.features), fired, barred, labels))
    return found


def _covers(span: str, sentence: str) -> bool:
    one, other = Counter(triggers._words(en, span)), Counter(triggers._words(en, sentence))
    common = (one & other).total()
    return common > 0 and common >= SHARE * min(one.total(), other.total())


def fit(train: Sequence[Row]) -> dict[str, tuple[int, ...]]:
    """Weights in tenths; the row named "" is where each label begins."""
    counts = Counter(feature for row in train for feature in row.features)
    names = sorted(name for name, count in counts.items() if count >= LEAST)
    given = matrix(train, names)
    wanted = np.array([[label in row.labels for label in weighing.LABELS] for row in train], np.float32)
    weights, start = _descend(given, wanted)
    tenths = np.rint(weights * weighing.UNIT).astype(int)
    found = {"": tuple(np.rint(start * weighing.UNIT).astype(int).tolist())}
    found.update((name, tuple(row.tolist())) for name, row in zip(names, tenths, strict=True) if row.any())
    return found


def matrix(some: Sequence[Row], names: Sequence[str]) -> Numbers:
    """Which sentence has which feature."""
    places = {name: place for place, name in enumerate(names)}
    found = np.zeros((len(some), len(names)), np.float32)
    for number, row in enumerate(some):
        found[number, [places[name] for name in row.features if name in places]] = 1
    return found


def _descend(given: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Logistic regression with a ridge, by Adam over all sentences at once."""
    count, width = given.shape
    given = np.hstack([given, np.ones((count, 1), np.float32)])
    weights = np.zeros((width + 1, wanted.shape[1]), np.float32)
    weights[-1] = -2
    ridge = np.full((width + 1, 1), RIDGE / count, np.float32)
    ridge[-1] = 0
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        off = 1 / (1 + np.exp(-(given @ weights))) - wanted
        slope = given.T @ off / count + ridge * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        pace = 0.08 * min(1.0, (STEPS - step) / 100)
        weights -= pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights[:-1], weights[-1]


def figures(name: str, some: Sequence[Row], weights: dict[str, tuple[int, ...]]) -> Counter[str]:
    """How a set is judged: right, wrong and missed, by prompt and by label."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in some:
        chosen = weighing.choose(weighing.weigh(row.features, weights), row.fired)
        found[row.prompt] |= set(chosen) - row.barred
    count: Counter[str] = Counter()
    for item in items(name):
        if any(row.prompt == item["id"] for row in some):
            said, heard = set(item["labels"]), found[item["id"]]
            count["said"] += bool(said)
            count["heard"] += bool(heard)
            count["both"] += bool(said and heard)
            count["right"] += len(said & heard)
            count["wrong"] += len(heard - said)
            count["missed"] += len(said - heard)
    return count


def shown(count: Counter[str]) -> str:
    """Precision and recall of hits and of labels."""
    hit = count["both"] / max(count["heard"], 1), count["both"] / max(count["said"], 1)
    right = count["right"]
    label = right / max(right + count["wrong"], 1), right / max(right + count["missed"], 1)
    return f"hit P {hit[0]:.3f} R {hit[1]:.3f}  label P {label[0]:.3f} R {label[1]:.3f}"


def _fold(prompt: str) -> int:
    return int(hashlib.blake2b(prompt.encode(), digest_size=4).hexdigest(), 16) % FOLDS


def cross_validated(every: Sequence[Row]) -> dict[str, Counter[str]]:
    """Figures by set, each prompt judged by weights made from others."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in SETS}
    for fold in range(FOLDS):
        weights = fit([row for row in every if _fold(row.prompt) != fold])
        for name in {row.set for row in every}:
            some = [row for row in every if row.set == name and _fold(row.prompt) == fold]
            counts[name].update(figures(name, some, weights))
    return counts


def write(weights: dict[str, tuple[int, ...]]) -> None:
    """The weights as a module of data."""
    lines = [f"    {json.dumps(name, ensure_ascii=False)}: {row}," for name, row in weights.items()]
    TARGET.write_text(
        '"""What words weigh in English. Made by tests/quality/fit_write_ahead.py; do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        "# correction, decision, architecture, priority, value; in tenths\n"
        "WEIGHTS: dict[str, tuple[int, ...]] = {\n" + "\n".join(lines) + "\n}\n",
        "utf-8",
    )


def main() -> None:
    """Figures, then the file."""
    every = [row for name in SETS for row in rows(name)]
    for name, count in cross_validated(every).items():
        print(f"{name:9} {shown(count)}")
    weights = fit(every)
    print(len(weights), "weights")
    if "--write" in sys.argv:
        write(weights)


if __name__ == "__main__":
    main()
