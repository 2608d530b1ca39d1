"""Fits the constants of relevance, and says how far it can be trusted.

    python bench/relevance.py FOLDER --questions questions.jsonl --notes DATA [--cache FOLDER] [--part dev]

Asks readers' questions of real repositories and developers' questions of their notes (bench/real.py,
bench/quality.py): each home its own and foreign ones, weighing alike. Of every hit among the first five it is
known whether it is right. One logistic regression over cosine, covered words and distance from the best
passage, one over words alone, each judged on the repository that was left out. Prints the constants for
`search/ranking.py`, and what is shown against what is right.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import real
from claude_memory import Memory
from claude_memory.model import MemoryFilter, SearchScope
from claude_memory.search import ranking as relevance
from claude_memory.search.ranking import rank
from claude_memory.search.search import Judged, judged_by
from quality import embedder_for, feed
from sets import devnotes
from sets.sessions import from_folder

HITS = 5
BINS = (0.0, 0.1, 0.3, 0.5, 0.65, 0.8, 1.01)


class Shown(NamedTuple):
    """One hit: what relevance knows of it, and whether it is right."""

    group: str
    own: bool
    place: int
    cosine: float | None  # None: found by words alone
    covered: float
    behind: float
    small: float  # ln of how much smaller the store is than usual
    right: bool


def hits(
    memory: Memory, group: str, question: str, gold: set[str] | None, of: real.Set | None
) -> Iterator[Shown]:
    """The first hits of a question with vectors and without, with all that is known of them."""
    for embedder in (memory.embedder, None):
        ranking = rank(memory.store, question, SearchScope(None), MemoryFilter(), embedder, depth=80)
        small = max(0.0, math.log(relevance.USUAL_STORE / max(ranking.statistics.passages, 1)))
        judged = judged_by(memory.store, ranking, datetime.now(UTC), (), keep=60)[:HITS]
        for place, item in enumerate(judged):
            right = gold is not None and _is_right(item, gold, of)
            covered, behind = relevance.coverage(ranking, item.best), ranking.best - item.best.fused
            yield Shown(group, gold is not None, place, item.best.cosine, covered, behind, small, right)


def _is_right(item: Judged, gold: set[str], of: real.Set | None) -> bool:
    if of is None:
        return str(item.memory.id) in gold
    [shown] = of.exchanges_of([item.memory])
    return bool({str(one) for one in shown} & gold)


def of_repositories(
    folder: Path, asked: Sequence[dict[str, Any]], scratch: Path, cache: Path | None
) -> Iterator[Shown]:
    """Readers' questions, own and foreign, of every repository."""
    embedder = embedder_for(scratch / "model", cache)
    for repository in from_folder(folder):
        made = real.built(repository, scratch, embedder, cut=False)
        for told in asked:
            own = told["repo"] == repository.name
            gold = {str(held.memory) for held in made.held if real._answers(held, told)} if own else None
            yield from hits(made.memory, repository.name, told["question"], gold, made)
        made.memory.close()


def of_notes(data: Path, foreign: Sequence[str], scratch: Path, cache: Path | None) -> Iterator[Shown]:
    """Developers' questions of their notes, and readers' questions as foreign ones."""
    [corpus] = devnotes.load(data)
    (scratch / "notes-work").mkdir()
    with Memory.open(scratch / "notes", scratch / "notes-work") as memory:
        memory._embedder = embedder_for(scratch / "model", cache)
        keys = feed(memory, corpus)
        for question in corpus.questions:
            gold = {str(id_) for id_, key in keys.items() if key in question.gold}
            yield from hits(memory, "developer notes", question.text, gold, None)
        for text in foreign:
            yield from hits(memory, "developer notes", text, None, None)


def fitted(shown: Sequence[Shown], columns: Sequence[str]) -> np.ndarray:
    """Logistic regression by Newton's method, own and foreign questions weighing alike."""
    x, offset = _inputs(shown, columns)
    y = np.array([float(one.right) for one in shown])
    own = np.array([one.own for one in shown])
    weight = np.where(own, 0.5 / own.mean(), 0.5 / max(1 - own.mean(), 1e-9))
    ridge = 1e-3 * np.eye(x.shape[1])
    w = np.zeros(x.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-(x @ w + offset)))
        slope = x.T @ (weight * (y - p)) - ridge @ w
        w += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, slope)
    return w


def _inputs(shown: Sequence[Shown], columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    x = np.array([[1.0, *(getattr(one, name) for name in columns)] for one in shown])
    share = relevance.SMALL_STORE if "cosine" in columns else 0.0
    return x, share * np.array([one.small for one in shown])


def table(title: str, shown: Sequence[Shown], columns: Sequence[str]) -> None:
    """Constants of all, and right against shown with each group left out in turn."""
    ordered: list[Shown] = []
    values: list[float] = []
    for group in sorted({one.group for one in shown}):
        here = [one for one in shown if one.group == group]
        x, offset = _inputs(here, columns)
        w = fitted([one for one in shown if one.group != group], columns)
        values += list(1 / (1 + np.exp(-(x @ w + offset))))
        ordered += here
    constants = zip(("intercept", *columns), fitted(shown, columns).round(1).tolist(), strict=True)
    print(f"\n{title}: {dict(constants)}")
    for low, high in itertools.pairwise(BINS):
        inside = [one for one, value in zip(ordered, values, strict=True) if low <= value < high]
        right = [one.right for one in inside if one.own]
        foreign = sum(not one.own and one.place == 0 for one in inside)
        share = f"{100 * sum(right) / len(right):.0f}%" if right else "–"
        print(
            f"  shown {low:.2f}–{min(high, 1):.2f}: right {share:>4} of {len(right):4d};"
            f" first hits of foreign questions {foreign}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--notes", type=Path, help="the folder of public sets with developer notes")
    parser.add_argument("--part", default="dev")
    parser.add_argument("--cache", type=Path, help="folder for vectors of repeated runs")
    chosen = parser.parse_args()
    asked = [json.loads(line) for line in chosen.questions.read_text("utf-8").splitlines()]
    asked = [told for told in asked if told["part"] == chosen.part]
    real.with_moments(asked)
    with tempfile.TemporaryDirectory(prefix="relevance-") as name:
        scratch = Path(name)
        shown = list(of_repositories(chosen.folder, asked, scratch, chosen.cache))
        if chosen.notes:
            shown += of_notes(chosen.notes, [told["question"] for told in asked], scratch, chosen.cache)
    meant = [one for one in shown if one.cosine is not None]
    table("words and meaning", meant, ("cosine", "covered", "behind"))
    table("words alone", [one for one in shown if one.cosine is None], ("covered", "behind"))


if __name__ == "__main__":
    main()
