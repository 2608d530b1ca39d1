"""Fit the write gate on labelled pairs that may be seen and on pairs of other fields.

    python bench/gate.py [--held] [--cache FOLDER]

Prints the weights that stand in lifecycle/gate_weights.py and the accuracy by cross-validation. `--held`
judges the half of the second set kept aside with the weights as they stand; no rule is made by looking at it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from claude_memory.embed import open_embedder
from claude_memory.lifecycle import gate
from claude_memory.lifecycle.evidence import measured
from claude_memory.settings import Settings

DATA = Path(__file__).parents[1] / "tests" / "quality" / "data"
# Written for the fit alone, in fields that the labelled pairs do not touch. A family says one thing in
# several ways (=), against it (x), its change (>) and something beside it (~).
TRAINING = Path(__file__).parent / "sets" / "gate_training.jsonl"
FAMILIES = Path(__file__).parent / "sets" / "gate_families.txt"
ACTIONS = ("added", "reinforced", "superseded", "conflict")
WANTED = {
    "unrelated": "added",
    "duplicate": "reinforced",
    "update": "superseded",
    "contradiction": "conflict",
    "different_project": "added",
}
PENALTY = 0.03
FAMILY_WEIGHT = 0.3  # the pairs of a family are no independent witnesses
FOLDS, SEEDS = 8, 4


def wanted(pair: dict[str, Any]) -> str:
    """What the gate should do with a pair."""
    relation = pair["expect"] if pair["relation"] == "negation" else pair["relation"]
    return WANTED[relation]


def training() -> list[dict[str, Any]]:
    """Pairs for the fit alone."""
    rows = [json.loads(line) for line in TRAINING.read_text("utf-8").splitlines()]
    return [{**row, "old": {"text": row["old"]}, "new": {"text": row["new"]}} for row in rows]


def labelled(*, held: bool) -> list[dict[str, Any]]:
    """Both halves of the first set and the development half of the second; or the half kept aside."""
    found = []
    for name in ("gate_pairs", "gate_pairs_second"):
        for line in (DATA / name / "pairs.jsonl").read_text("utf-8").splitlines():
            pair = json.loads(line)
            aside = name == "gate_pairs_second" and pair["half"] == "held"
            if aside == held:
                found.append(pair)
    return found


def families() -> list[dict[str, Any]]:
    """Every pair that the families give, and some across them."""
    chance = random.Random(0)
    read = [_family(part) for part in FAMILIES.read_text("utf-8").strip().split("\n\n")]
    found = []
    for place, family in enumerate(read):
        other = read[chance.randrange(len(read))]
        for relation, old, new in _family_pairs(family, other if other is not family else None, chance):
            pair = {"relation": relation, "family": place, "old": {"text": old}, "new": {"text": new}}
            found.append(pair)
    return found


def _family(part: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"=": [], "x": [], ">": [], "~": []}
    for line in part.splitlines():
        found[line[0]].append(line[2:].strip())
    return found


def _family_pairs(
    family: dict[str, list[str]], other: dict[str, list[str]] | None, chance: random.Random
) -> Iterator[tuple[str, str, str]]:
    same = family["="]
    yield from (("duplicate", old, new) for old in same for new in same if old != new)
    for old in same:
        for mark, relation in (("x", "contradiction"), (">", "update"), ("~", "unrelated")):
            yield from ((relation, old, new) for new in family[mark])
    yield from (("contradiction", old, chance.choice(same)) for old in family["x"])
    for beside in family["~"]:
        yield "unrelated", beside, chance.choice(same)
        for changed in family[">"]:
            yield "unrelated", beside, changed
            yield "unrelated", changed, beside
    if other is not None:
        yield "unrelated", chance.choice(same), chance.choice(other["="])
        yield "unrelated", chance.choice(same), chance.choice(other[">"] or other["="])


def cosines(pairs: list[dict[str, Any]], cache: Path) -> list[float]:
    """The cosine of each pair's texts by the product's own model."""
    embedder = open_embedder(Settings(), cache)
    if embedder is None:
        raise SystemExit("no embedder")
    texts = [pair[side]["text"] for pair in pairs for side in ("old", "new")]
    rows = np.array([np.frombuffer(vector, np.int8) for vector in embedder.embed(texts)], np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [float(rows[place] @ rows[place + 1]) for place in range(0, len(rows), 2)]


def fitted(features: np.ndarray, targets: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Softmax weights, the last row the intercepts; each pair counts by its worth."""
    mean, spread = features.mean(0), features.std(0) + 1e-9
    rows = np.c_[(features - mean) / spread, np.ones(len(features))]
    weights = np.zeros((rows.shape[1], len(ACTIONS)))
    goal = np.eye(len(ACTIONS))[targets]
    for _ in range(1500):
        gradient = rows.T @ ((_softmax(rows @ weights) - goal) * worth[:, None]) / worth.sum()
        gradient[:-1] += PENALTY * weights[:-1]
        weights -= 0.5 * gradient
    plain = weights[:-1] / spread[:, None]
    return np.asarray(np.r_[plain, (weights[-1] - mean @ plain)[None]])


def _softmax(values: np.ndarray) -> np.ndarray:
    raised = np.exp(values - values.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def cross_validated(features: np.ndarray, targets: np.ndarray, pairs: list[dict[str, Any]]) -> np.ndarray:
    """The probabilities of each pair by weights that saw neither it nor its family, over several splits."""
    groups = np.array([pair.get("family", -place - 1) for place, pair in enumerate(pairs)])
    found = np.zeros((len(targets), len(ACTIONS)))
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(np.unique(groups))
        for part in np.array_split(order, FOLDS):
            fold = np.isin(groups, part)
            weights = fitted(features[~fold], targets[~fold], worths(pairs)[~fold])
            found[fold] += _softmax(np.c_[features[fold], np.ones(fold.sum())] @ weights) / SEEDS
    return found


def worths(pairs: list[dict[str, Any]]) -> np.ndarray:
    return np.array([FAMILY_WEIGHT if "family" in pair else 1.0 for pair in pairs])


def show_fit(pairs: list[dict[str, Any]], near: list[float]) -> None:
    """Weights and accuracy, with and without vectors."""
    kept = [place for place, pair in enumerate(pairs) if pair["relation"] != "different_project"]
    chosen = [pairs[place] for place in kept]
    goals = np.array([ACTIONS.index(wanted(pair)) for pair in chosen])
    for name, cosine_of in (("WITH_VECTORS", near), ("WORDS_ONLY", [None] * len(pairs))):
        figures = [
            measured(pairs[place]["old"]["text"], pairs[place]["new"]["text"], cosine_of[place])
            for place in kept
        ]
        features = np.array([list(row.values()) for row in figures])
        _show_accuracy(name, chosen, goals, cross_validated(features, goals, chosen))
        print(f"{name}: Weights = {{")
        weights = fitted(features, goals, worths(chosen)).round(2)
        for figure, row in zip([*figures[0], "1"], weights, strict=True):
            print(f'    "{figure}": ({", ".join(f"{value:.2f}" for value in row)}),')
        print("}")


def _show_accuracy(
    name: str, pairs: list[dict[str, Any]], goals: np.ndarray, probabilities: np.ndarray
) -> None:
    given = np.array([ACTIONS.index(gate.chosen(tuple(row)).value) for row in probabilities])
    parts = {
        "labelled": [place for place, pair in enumerate(pairs) if "half" in pair],
        "first set": [place for place, pair in enumerate(pairs) if pair.get("id", "").startswith("g")],
        "second set": [place for place, pair in enumerate(pairs) if pair.get("id", "").startswith("h")],
        "families": [place for place, pair in enumerate(pairs) if "family" in pair],
    }
    for part, places in parts.items():
        right = float((given[places] == goals[places]).mean())
        wrong = int(((given[places] == 2) & (goals[places] == 0)).sum())
        print(f"# {name}, {part}: cross-validated {right:.3f} of {len(places)}, false supersedes {wrong}")


def show_held(pairs: list[dict[str, Any]], near: list[float]) -> None:
    """How the gate as it stands judges pairs."""
    for name, cosine_of in (("words and meaning", near), ("words only", [None] * len(pairs))):
        right = false_supersede = 0
        for pair, cosine in zip(pairs, cosine_of, strict=True):
            given = gate.judged(pair["old"]["text"], pair["new"]["text"], cosine).action.value
            if pair["old"]["project"] != pair["new"]["project"]:
                given = "added"  # the gate sees one project only; tests/quality proves it on stores
            right += given == wanted(pair)
            false_supersede += given == "superseded" and pair["relation"] == "unrelated"
        print(f"{name}: {right}/{len(pairs)} = {right / len(pairs):.3f}, false supersedes {false_supersede}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--held", action="store_true", help="judge the half kept aside")
    parser.add_argument("--cache", type=Path, help="folder of the converted model")
    chosen = parser.parse_args()
    pairs = labelled(held=chosen.held)
    with tempfile.TemporaryDirectory() as scratch:
        near = cosines(pairs, chosen.cache or Path(scratch))
        if not chosen.held:
            more = [*training(), *families()]
            show_fit([*pairs, *more], [*near, *cosines(more, chosen.cache or Path(scratch))])
    show_held(pairs, near)


if __name__ == "__main__":
    main()
