"""Makes the weights of the write-ahead scan from labelled prompts: `python tests/quality/fit_write_ahead.py`.

Prints figures by cross-validation first (each set is judged by weights made from the others; rows were made with
sight of all of them, so unseen prompts are judged somewhat worse), then, with `--write`, makes
`rules/en_weights.py`. `--search` tries the numbers of `rules/weighing.py`. Items kept aside are never read.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claude_memory.notes import triggers
from claude_memory.notes.rules import en, weighing
from claude_memory.notes.spoken import sentences

DATA = Path(__file__).parent / "data"
TARGET = Path(en.__file__).with_name("en_weights.py")
SETS = {
    "first": "prompts/prompts.jsonl",
    "second": "prompts_second/prompts.jsonl",
    "a": "prompts_third/a.jsonl",
    "b": "prompts_third/b.jsonl",
    "c": "prompts_third/c.jsonl",
    "d": "prompts_third/d.jsonl",
    "e": "prompts_third/e.jsonl",
    "practice": "prompts_practice/prompts.jsonl",
}
LEAST = 4  # sentences a feature must be in
SLIGHT = 2  # tenths; what weighs less is left out
RIDGE = 2.0
STEPS = 250
SHARE = 0.6

Numbers = NDArray[np.float32]
Weighed = tuple["Row", list[int]]


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


def fit(train: Sequence[Row]) -> weighing.Weights:
    """Weights in tenths; those named "" are where each label begins."""
    counts = Counter(feature for row in train for feature in row.features)
    names = sorted(name for name, count in counts.items() if count >= LEAST)
    given = matrix(train, names)
    wanted = np.array([[label in row.labels for label in weighing.LABELS] for row in train], np.float32)
    weights, start = _descend(given, wanted)
    tenths = np.rint(np.vstack([start, weights]) * weighing.UNIT)
    kept = [place for place, row in enumerate(tenths) if not place or abs(row).max() >= SLIGHT]
    places = {["", *names][place]: number * len(weighing.LABELS) for number, place in enumerate(kept)}
    values = np.clip(tenths[kept] + weighing.ZERO, 0, 255).astype(np.uint8)
    return places, values.tobytes()


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


def weighed(some: Sequence[Row], weights: weighing.Weights) -> list[Weighed]:
    """What the sentences weigh."""
    return [(row, weighing.weigh(row.features, weights)) for row in some if row.features]


def figures(name: str, some: Sequence[Weighed]) -> Counter[str]:
    """How a set is judged: right, wrong and missed, by prompt and by label."""
    found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for row, totals in some:
        chosen = weighing.choose(totals, row.fired)
        found[row.prompt] += [item for item in chosen.items() if item[0] not in row.barred]
    count: Counter[str] = Counter()
    for item in items(name):
        least = weighing.surest([total for _, total in found[item["id"]]])
        said, heard = set(item["labels"]), {label for label, total in found[item["id"]] if total >= least}
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


def left_out(every: Sequence[Row]) -> dict[str, list[Weighed]]:
    """Each set, weighed by what was made from the others."""
    return {
        name: weighed(
            [row for row in every if row.set == name], fit([row for row in every if row.set != name])
        )
        for name in SETS
    }


def search(sets: dict[str, list[Weighed]]) -> None:
    """Other numbers than those in use, the best of them by figures over all sets."""
    tried = []
    for numbers in itertools.product((20, 25, 30), (-8, -4, 0, 4), (10, 15), (5, 10, 15)):
        weighing.FIRED, weighing.ENOUGH, weighing.APART, weighing.MORE = numbers
        count = sum((figures(name, some) for name, some in sets.items()), Counter[str]())
        balance = 2 * count["both"] / (count["heard"] + count["said"])
        right = 2 * count["right"]
        tried.append((balance + right / (right + count["wrong"] + count["missed"]), numbers, shown(count)))
    for _, numbers, text in sorted(tried, reverse=True)[:8]:
        print(numbers, text)


def write(weights: weighing.Weights) -> None:
    """The weights as a module of data: names apart by tabs, and a byte for each label of each."""
    places, values = weights
    names = list(places)
    rows = ["\\t".join(names[at : at + 8]) for at in range(0, len(names), 8)]
    lines = [values[at : at + 40].hex() for at in range(0, len(values), 40)]
    TARGET.write_text(
        '"""What words weigh in English. Made by tests/quality/fit_write_ahead.py; do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        '_NAMES = """\\\n' + "\\t\\\n".join(rows) + '"""\n'
        "# correction, decision, architecture, priority, value; tenths above 128\n"
        '_VALUES = """\n' + "\n".join(lines) + '\n"""\n'
        '_PLACES = _NAMES.split("\\t")\n'
        "WEIGHTS = dict(zip(_PLACES, range(0, 5 * len(_PLACES), 5), strict=True)), bytes.fromhex(_VALUES)\n",
        "utf-8",
    )


def main() -> None:
    """Figures, then the file."""
    every = [row for name in SETS for row in rows(name)]
    sets = left_out(every)
    counts = {name: figures(name, some) for name, some in sets.items()}
    for name, count in counts.items():
        print(f"{name:9} {shown(count)}")
    print(f"{'all':9} {shown(sum(counts.values(), Counter[str]()))}")
    print(f"{'third':9} {shown(sum((counts[name] for name in 'abcde'), Counter[str]()))}")
    weights = fit(every)
    print(len(weights[0]), "weights")
    if "--write" in sys.argv:
        write(weights)
    if "--search" in sys.argv:
        search(sets)


if __name__ == "__main__":
    main()
