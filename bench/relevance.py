"""Fits and judges the logistic models of `claude_memory.search.relevance` on the public sets.

    python bench/relevance.py DATA_FOLDER [--words-only] [--cache FOLDER]

Positives are the top hits of a store's own questions, negatives those of questions of other sets. Tiny
stores (1 to 20 memories, one of them an answer) are cut from the large ones. Every model is judged on a
set it was not fitted on. Prints coefficients, and false injections where 90% of own questions pass.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from numpy.typing import NDArray

from claude_memory import Memory
from claude_memory.embed.protocol import Embedder
from claude_memory.model import MemoryFilter, SearchScope
from claude_memory.search.ranking import ask, rank
from claude_memory.search.relevance import MEANING_ONLY, WORDS_AND_MEANING, WORDS_ONLY, features
from claude_memory.search.search import judge
from quality import LOADERS, embedder_for, feed, foreign_questions
from sets.corpus import Corpus

Floats = NDArray[np.float64]
RECALL = 0.9
TINY_SIZES = (1, 2, 3, 5, 10, 20)
TINY_QUESTIONS = 60  # of each corpus
RIDGE = 1e-4
CAUTION = 1.0  # log-odds taken off every model after the first


@dataclass(frozen=True)
class Row:
    """One question asked of one store, and the figures of its top hit."""

    family: str
    tiny: bool
    own: bool
    found: dict[str, float]


def rows(home: Path, corpora: list[Corpus], embedder: Embedder | None) -> Iterator[Row]:
    """Every corpus whole, then cut down to tiny stores."""
    dice = random.Random(5)
    number = 0
    for corpus in corpora:
        foreign = foreign_questions(corpus, corpora)
        yield from _asked(home, number, corpus, foreign, embedder, tiny=False)
        number += 1
        questions = dice.sample(corpus.questions, min(TINY_QUESTIONS, len(corpus.questions)))
        for question in questions:
            small = _cut_down(corpus, question.gold, dice)
            other = [dice.choice(foreign)]
            small = replace(small, questions=(question,))
            yield from _asked(home, number, small, other, embedder, tiny=True)
            number += 1
        print(f"  {corpus.name}", file=sys.stderr)


def _cut_down(corpus: Corpus, gold: frozenset[str], dice: random.Random) -> Corpus:
    answer = next(unit for unit in corpus.units if unit.key in gold)
    size = min(dice.choice(TINY_SIZES) - 1, len(corpus.units))
    others = [unit for unit in dice.sample(corpus.units, size) if unit.key not in gold]
    return replace(corpus, units=(answer, *others))


def _asked(
    home: Path, number: int, corpus: Corpus, foreign: Sequence[str], embedder: Embedder | None, *, tiny: bool
) -> Iterator[Row]:
    folder = home / "projects-under-test" / str(number)
    folder.mkdir(parents=True)
    flags = {"embedder": "none"} if embedder is None else {}
    with Memory.open(home, folder, flags=flags) as memory:
        if embedder is not None:
            memory._embedder = embedder
        feed(memory, corpus)
        scope = SearchScope((memory.project.id,))
        texts = [(question.text, True) for question in corpus.questions]
        for text, own in texts + [(text, False) for text in foreign]:
            ranking = rank(memory.store, ask(text, scope, MemoryFilter(), embedder))
            top = judge(memory.store, ranking, datetime.now(UTC), (), keep=20)[:1]
            if top:
                yield Row(corpus.name.split()[0], tiny, own, features(ranking, top[0].best))


def fitted(matrix: Floats, own: Floats, weights: Floats) -> Floats:
    """Logistic regression by Newton's method, with a light ridge."""
    design = np.c_[np.ones(len(matrix)), matrix]
    beta = np.zeros(design.shape[1])
    ridge = RIDGE * np.r_[0.0, np.ones(len(beta) - 1)]
    share = weights / weights.sum()
    for _ in range(60):
        chance = probability(matrix, beta)
        slope = design.T @ (share * (chance - own)) + ridge * beta
        curve = (design * (share * chance * (1 - chance))[:, None]).T @ design
        beta -= np.linalg.solve(curve + np.diag(ridge + 1e-12), slope)
    return beta


def probability(matrix: Floats, beta: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(np.c_[np.ones(len(matrix)), matrix] @ beta, -40, 40)))


def balanced(given: Sequence[Row]) -> Floats:
    """Every set, size and side counts alike, tiny stores half."""
    counts = Counter((row.family, row.tiny, row.own) for row in given)
    return np.array([(0.5 if row.tiny else 1.0) / counts[row.family, row.tiny, row.own] for row in given])


def judged(given: Sequence[Row], chance: Floats) -> str:
    """False injections at the one threshold that 90% of own questions pass, sets weighing alike."""
    families = sorted({row.family for row in given})
    own = np.array([row.own for row in given])
    tiny = np.array([row.tiny for row in given])
    family = np.array([row.family for row in given])

    def passing(threshold: float, side: bool, name: str) -> float:
        return float((chance[(own == side) & ~tiny & (family == name)] >= threshold).mean())

    thresholds = np.unique(chance[own & ~tiny])
    fit = [t for t in thresholds if np.mean([passing(t, True, name) for name in families]) >= RECALL]
    threshold = fit[-1]
    pooled = np.quantile(chance[own & ~tiny], 1 - RECALL)
    parts = [
        f"{name} {100 * passing(threshold, True, name):.0f}/{100 * passing(threshold, False, name):.1f}"
        for name in families
    ]
    small = [float((chance[tiny & (own == side)] >= threshold).mean()) for side in (True, False)]
    return (
        f"threshold {threshold:.2f}: own/foreign % passing: {', '.join(parts)}, "
        f"tiny {100 * small[0]:.0f}/{100 * small[1]:.1f}; all questions pooled: "
        f"{100 * float((chance[~own & ~tiny] >= pooled).mean()):.2f}% foreign at 90% own"
    )


def left_out(given: Sequence[Row], models: Sequence[Sequence[str]]) -> Floats:
    """The better of the models' chances for every row, by fits that never saw the row's set."""
    family = np.array([row.family for row in given])
    chance = np.zeros(len(given))
    for name in set(family):
        rest = [row for row in given if row.family != name]
        inside = [row for row in given if row.family == name]
        chance[family == name] = best_chance(inside, [fit(rest, names) for names in models], models)
    return chance


def fit(given: Sequence[Row], names: Sequence[str]) -> Floats:
    own = np.array([float(row.own) for row in given])
    return fitted(design(given, names), own, balanced(given))


def best_chance(given: Sequence[Row], betas: Sequence[Floats], models: Sequence[Sequence[str]]) -> Floats:
    chances = []
    for place, (beta, names) in enumerate(zip(betas, models, strict=True)):
        cautious = beta - CAUTION * (place > 0) * np.eye(len(beta))[0]
        chances.append(probability(design(given, names), cautious))
    return np.max(chances, axis=0)


def design(given: Sequence[Row], names: Sequence[str]) -> Floats:
    return np.array([[row.found[name] for name in names] for row in given])


def report(given: Sequence[Row], models: Sequence[Sequence[str]]) -> None:
    """Fit on all, judge on sets left out."""
    betas = [fit(given, names) for names in models]
    for beta, names in zip(betas, models, strict=True):
        coefficients = dict(zip(names, np.round(beta[1:], 2).tolist(), strict=True))
        print(f"n = {len(given)}; intercept {beta[0]:.2f}; {coefficients}")
    print("  sets left out:", judged(given, left_out(given, models)))
    print("  fitted on all:", judged(given, best_chance(given, betas, models)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--sets", nargs="+", choices=list(LOADERS), default=["devnotes", "locomo", "longmemeval"]
    )
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--cache", type=Path)
    wanted = parser.parse_args()
    corpora = [corpus for name in wanted.sets for corpus in LOADERS[name](wanted.folder)]
    with tempfile.TemporaryDirectory(prefix="relevance-") as scratch:
        embedder = None if wanted.words_only else embedder_for(Path(scratch), wanted.cache)
        given = list(rows(Path(scratch), corpora, embedder))
    models = (WORDS_ONLY,) if wanted.words_only else (WORDS_AND_MEANING, MEANING_ONLY)
    report(given, [list(model.coefficients) for model in models])


if __name__ == "__main__":
    main()
