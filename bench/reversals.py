"""Fits the weights by which a decision is known to take an earlier one back, and says how well they do.

Run: python bench/reversals.py [--meaning] [-v]: with an embedder; with what goes wrong. Reads labelled
sessions of tests/quality/data. Folds are by session, then each set is judged by weights learnt without it;
the direction of every sign is fixed beforehand.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.quality.test_compaction_quality import turns_of

from claude_memory.compaction import reversals
from claude_memory.compaction.episodes import Episode, episodes
from claude_memory.compaction.signs import IN_CODE, Signs
from claude_memory.compaction.summarise import spoken_kinds
from claude_memory.compaction.talk import words
from claude_memory.distil.turns import Origin
from claude_memory.model import Kind, ProjectId, SessionId

DATA = Path(__file__).parents[1] / "tests" / "quality" / "data"
SETS = ("long_sessions", "reversals", "sessions")
RIDGE = 3.0
FOLDS = 8
SHUFFLES = 4
AGAINST = ("asked", "rule", "corrects", "stands", "unsettled")
SIGNS = [one.name for one in fields(Signs)]
DIRECTION = np.array([-1.0 if name in AGAINST else 1.0 for name in SIGNS] + [0.0])


def sessions() -> list[dict[str, Any]]:
    found = []
    for name in SETS:
        for line in (DATA / name / "sessions.jsonl").read_text("utf-8").splitlines():
            found.append(json.loads(line) | {"set": name})
    return found


# The long sessions are labelled by fact: here by turn, of each earlier form and of what took it back.
LONG = {
    "ls01": [([16], [31, 33])],
    "ls02": [([12, 13], [18]), ([66], [70])],
    "ls03": [([12], [23])],
    "ls04": [([15], [18])],
    "ls05": [([13], [44, 46])],
    "ls06": [([33], [48, 50]), ([65], [70]), ([75], [76])],
    "ls07": [([11], [23])],
    "ls08": [([16], [26, 28]), ([41], [44])],
    "ls09": [([11], [18]), ([36], [41])],
    "ls10": [([14], [23, 25])],
    "ls12": [([19], [32]), ([32], [41])],
    "ls13": [([11], [40, 42]), ([26], [68])],
    "ls14": [([46, 47], [51])],
    "ls15": [([24], [40])],
    "ls16": [([13], [30]), ([48], [52])],
    "ls17": [([36], [49])],
    "ls18": [([15], [20]), ([56], [58, 60])],
    "ls19": [([23], [26, 28])],
    "ls20": [([56], [66])],
    # of the short sessions, which have decisions and corrections, these two have a reversal
    "ses-010": [([5], [8])],
    "ses-045": [([3], [5])],
}


def labelled(session: dict[str, Any]) -> list[tuple[set[int], set[int]]]:
    """For each reversal: turns of the earlier form, and of the one that took it back."""
    pairs = [(set(before), set(after)) for before, after in LONG.get(session["id"], ())]
    for fact in session.get("key_facts", ()):
        if "reversed_turns" in fact:
            spoken = [index for index in fact["evidence_turns"] if session["turns"][index]["role"] == "user"]
            chain = [*fact["reversed_turns"], max(spoken)]
            pairs += [({old}, {new}) for old, new in itertools.pairwise(chain)]
    return pairs


def verdict(old: Episode, new: Episode, pairs: list[tuple[set[int], set[int]]]) -> int:
    """1 for a labelled reversal, 0 for none, -1 for what says neither."""
    for before, after in pairs:
        told, said = before & {*old.ends}, after & {*new.ends}
        if told and said:
            return 1 if max(after) in said else -1
        if said and after & {*old.ends}:
            return -1
        if told and any(later & {*new.ends} and after & first for first, later in pairs):
            return -1
    return 0


def near() -> reversals.Near | None:
    if "--meaning" not in sys.argv:
        return None
    from claude_memory.compaction.meaning import near as opened
    from claude_memory.embed import open_embedder
    from claude_memory.settings import Settings

    return opened(open_embedder(Settings(), Path(tempfile.gettempdir(), "claude-memory-bench")))


def fitted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logistic regression with a ridge; a sign whose weight has the wrong direction is left out."""
    used = np.ones(x.shape[1], bool)
    weights = np.zeros(x.shape[1])
    for _ in range(6):
        part = x[:, used]
        solution = np.zeros(part.shape[1])
        ridge = np.eye(part.shape[1]) * RIDGE
        ridge[-1, -1] = 0
        for _ in range(25):
            p = 1 / (1 + np.exp(-np.clip(part @ solution, -30, 30)))
            hessian = (part * (p * (1 - p))[:, None]).T @ part + ridge
            solution -= np.linalg.solve(hessian, part.T @ (p - y) + ridge @ solution)
        weights = np.zeros(x.shape[1])
        weights[used] = solution
        wrong = weights * DIRECTION < 0
        if not wrong.any():
            break
        used &= ~wrong
    weights[weights * DIRECTION < 0] = 0
    return weights


def main() -> None:
    rows, wanted = _rows(near())
    names = list(dict.fromkeys(row.session for row in rows))
    print(f"{len(rows)} pairs of requests, {len(wanted)} labelled reversals")
    for talk in (False, True):
        _tell("talk" if talk else "work", _learnt(rows, talk))
    guessed = np.zeros(len(rows))
    for seed in range(SHUFFLES):
        random.Random(seed).shuffle(names)
        folds = [set(names[fold::FOLDS]) for fold in range(FOLDS)]
        guessed = _unseen(rows, [[row.session in fold for row in rows] for fold in folds])
        _report(f"folds {seed}", rows, guessed, wanted)
    for name in SETS:
        held = [row.set == name for row in rows]
        _report(f"without {name}", rows, _unseen(rows, [held]), wanted, name)
    if "-v" in sys.argv:
        for row, p in sorted(zip(rows, guessed, strict=True), key=lambda one: -one[1]):
            if (p >= 0.2 and row.verdict == 0) or (p < 0.2 and row.verdict == 1):
                told = {name: round(value, 2) for name, value in zip(SIGNS, row.signs, strict=True) if value}
                print(f"{p:.2f}", row.session, row.old, row.new, row.verdict, row.shown, row.worked, told)


def _learnt(rows: list[Row], talk: bool) -> np.ndarray:
    """Weights and bias; for talk alone, as if nothing had been changed for any request."""
    known = [row for row in rows if row.verdict >= 0]
    x = np.array([row.talk if talk else row.signs for row in known])
    spread = x.std(0) + 1e-9
    weights = fitted(np.c_[x / spread, np.ones(len(x))], np.array([float(row.verdict) for row in known]))
    return np.append(weights[:-1] / spread, weights[-1])


def _unseen(rows: list[Row], folds: list[list[bool]]) -> np.ndarray:
    """How likely each pair is by weights that were learnt from the other folds."""
    guessed = np.zeros(len(rows))
    for held in folds:
        rest = [row for row, out in zip(rows, held, strict=True) if not out]
        work, talk = _learnt(rest, talk=False), _learnt(rest, talk=True)
        for place in np.flatnonzero(held):
            row = rows[place]
            shown = _chance(row.signs, work) if row.worked else 0.0
            told = _chance(row.talk, talk) if row.witnessed else 0.0
            guessed[place] = max(shown, told if told >= reversals.TALK_AT_LEAST else 0.0)
    return guessed


def _chance(signs: list[float], weights: np.ndarray) -> float:
    return float(1 / (1 + np.exp(-(np.append(signs, 1.0) @ weights))))


def _tell(name: str, weights: np.ndarray) -> None:
    raw = ", ".join(
        f"{name}={value:.2f}" for name, value in zip(SIGNS, weights, strict=False) if abs(value) > 0.005
    )
    print(f"{name}: Signs({raw}), bias {weights[-1]:.2f}")


class Row(NamedTuple):
    session: str
    set: str
    old: int
    new: tuple[int, ...]
    verdict: int
    signs: list[float]
    talk: list[float]  # the signs if nothing had been changed
    worked: bool
    witnessed: bool
    shown: bool


def _rows(meaning: reversals.Near | None) -> tuple[list[Row], list[tuple[str, set[int]]]]:
    rows: list[Row] = []
    wanted: list[tuple[str, set[int]]] = []
    for session in sessions():
        turns = turns_of(session)
        said = words(turns)
        pairs = labelled(session)
        wanted += [(session["id"], after) for _, after in pairs]
        origin = Origin(SessionId(session["id"]), ProjectId("p"), session.get("cwd", ""))
        kinds = spoken_kinds(turns, origin)
        corrected = frozenset(index for index, kind in kinds.items() if kind is Kind.CORRECTION)
        found = episodes(turns, said)
        comparing = reversals.Comparing.of(found, said, meaning, corrected)
        for new, olds in comparing.all():
            for old, signs in olds:
                rows.append(
                    Row(
                        session["id"],
                        session["set"],
                        old.index,
                        new.ends,
                        verdict(old, new, pairs),
                        [getattr(signs, name) for name in SIGNS],
                        [0.0 if name in IN_CODE else getattr(signs, name) for name in SIGNS],
                        bool(new.work.added or new.work.removed),
                        reversals.witnessed(signs),
                        comparing.link(new, old, 1.0).shown,
                    )
                )
    return rows, wanted


def _report(
    name: str, rows: list[Row], guessed: np.ndarray, wanted: list[tuple[str, set[int]]], only: str = ""
) -> None:
    """As `links` chooses: the likeliest, those first whose own words are turned down."""
    if only:
        guessed = guessed * [row.set == only for row in rows]
        ids = {row.session for row in rows if row.set == only}
        wanted = [one for one in wanted if one[0] in ids]
    for_new: dict[tuple[str, tuple[int, ...]], list[tuple[float, Row]]] = {}
    for row, p in zip(rows, guessed, strict=True):
        for_new.setdefault((row.session, row.new), []).append((p, row))
    chosen = [row for listed in for_new.values() for row in reversals.best(listed, lambda row: row.shown)]
    right = sum(row.verdict == 1 for row in chosen)
    wrong = [row for row in chosen if row.verdict == 0]
    hit = [
        any(
            row.session == session and after & {*row.new} and row.verdict and row.old not in after
            for row in chosen
        )
        for session, after in wanted
    ]
    print(f"{name}: {sum(hit)} of {len(hit)} noted, {right} right links, {len(wrong)} wrong")


if __name__ == "__main__":
    main()
