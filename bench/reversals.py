"""Fits the weights by which a decision is known to take an earlier one back, and says how well they do.

Run: python bench/reversals.py [--words]: with the bundled model and its judge, which has never seen a
session, or by words alone. Reads labelled sessions of tests/quality/data. Each set is judged by weights that
were learnt without it (each set has a writer of its own); the direction of nearly every sign is fixed.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.quality.test_compaction_quality import reversing_turn, turns_of

from claude_memory.compaction import comparing, heard, reversals
from claude_memory.compaction.episodes import Episode, episodes
from claude_memory.compaction.heard import taken_up
from claude_memory.compaction.signs import Signs
from claude_memory.compaction.summarise import spoken_kinds
from claude_memory.compaction.talk import words
from claude_memory.distil.turns import Origin
from claude_memory.model import Kind, ProjectId, SessionId

DATA = Path(__file__).parents[1] / "tests" / "quality" / "data"
SETS = (
    "long_sessions",
    "reversals",
    "reversals second",
    "reversals third_a",
    "reversals third_b",
    "reversals third",
    "reversals fourth_a",
    "reversals fourth_b",
    "reversals fourth_c",
    "reversals seventh",
    "sessions",
    "sessions_second",
)
# Sets that each lean to one way in which decisions change.
LEANING = tuple(
    f"reversals {name}_{letter}"
    for name, letters in (("ninth", "abcdef"), ("tenth", "abcd"), ("eleventh", "abcde"))
    for letter in letters
)
# Of a request, in the fit: some sessions are as long as what is compacted, some less like daily work.
WORTH = {"long_sessions": 3.0, **dict.fromkeys(LEANING, 0.3)}
RIDGE = 6.0
STEPS = 15
AGAINST = ("rule", "corrects", "unsettled", "opening", "wonders", "staying", "asked", "unasked")
EITHER = ("turned_task",)
SIGNS = [one.name for one in fields(Signs)]
DIRECTION = np.array([0.0 if name in EITHER else -1.0 if name in AGAINST else 1.0 for name in SIGNS] + [0.0])


def sessions(sets: Sequence[str] = SETS) -> list[dict[str, Any]]:
    found = []
    for name in sets:
        folder, _, file = name.partition(" ")
        for line in (DATA / folder / f"{file or 'sessions'}.jsonl").read_text("utf-8").splitlines():
            found.append(json.loads(line) | {"set": name})
    return found


def talks() -> list[dict[str, Any]]:
    found = []
    for path in sorted((DATA / "changed_minds").glob("?.jsonl")):
        found += [json.loads(line) | {"set": path.stem} for line in path.read_text("utf-8").splitlines()]
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
    # of the short sessions, which have decisions and corrections, these have a reversal
    "ses-010": [([5], [8])],
    "ses-045": [([3], [5])],
    "set-07": [([3], [5])],
    "set-15": [([15], [17])],
}


class Labels(NamedTuple):
    """Turns of each earlier form and of what took it back; what says neither; and what is to be noted."""

    pairs: list[tuple[set[int], set[int]]]
    between: list[tuple[set[int], set[int]]]
    wanted: list[tuple[set[int], set[int]]]


def labelled(session: dict[str, Any]) -> Labels:
    """The reversals of a session. Back at the first form, that form was taken back on the way, too."""
    pairs = [(set(before), set(after)) for before, after in LONG.get(session["id"], ())]
    pairs += [({one["old"]}, {one["new"]}) for one in session.get("reversals", ())]
    found = Labels(pairs, [], [*pairs])
    for one, other in itertools.permutations(pairs, 2):
        if one[1] & other[0]:  # changed twice
            found.between.append((one[0], other[1]))
    for fact in session.get("key_facts", ()):
        if "reversed_turns" in fact:
            chain = [*fact["reversed_turns"], reversing_turn(fact, session)]
            links = [({old}, {new}) for old, new in itertools.pairwise(chain)]
            found.wanted.append(({*chain[:-1]}, {chain[-1]}))
            first = {index for index in fact["evidence_turns"] if index < chain[0]}
            after = {index for index in fact["evidence_turns"] if chain[-2] < index < chain[-1]}
            found.pairs.extend([*links, (first, {chain[0]})] if first else links)
            found.between.extend([(first, {chain[-1]}), ({*chain[:-1]}, after), ({*chain[:-2]}, {chain[-1]})])
    return found


def verdict(old: Episode, new: Episode, labels: Labels, own: frozenset[int]) -> int:
    """1 for a labelled reversal, 0 for none, -1 for what says neither."""
    theirs, mine = _turns(old, own), {*new.ends}
    if any(before & theirs and after & mine for before, after in labels.between):
        return -1
    for before, after in labels.pairs:
        told, said = before & theirs, after & mine
        if told and said:
            return 1 if max(after) in said else -1
        if said and (after & theirs or before & {word.index for word in old.replies}):
            return -1
        if told and any(later & mine and after & first for first, later in labels.pairs):
            return -1
    return 0


def _corrected_at_once(session: dict[str, Any], old: Episode, new: Episode) -> bool:
    """The short sessions label a correction of what the agent just chose as such, and not as a reversal."""
    return session["set"].startswith("sessions") and old.alone and new.place == old.place + 1


def _turns(old: Episode, own: frozenset[int]) -> set[int]:
    return {*old.decided, *(word.index for word in taken_up(old, own))}


def model() -> comparing.Sense | None:
    """What the bundled model tells, with its judge."""
    from claude_memory.compaction.meaning import sense
    from claude_memory.embed import open_embedder
    from claude_memory.settings import Settings

    return sense(open_embedder(Settings(), Path(tempfile.gettempdir(), "claude-memory-bench")))


def fitted(x: np.ndarray, y: np.ndarray, groups: list[np.ndarray], worth: list[float]) -> np.ndarray:
    """A choice among the earlier requests and none, with a ridge; by groups of rows, one for each request.

    A sign whose weight has the wrong direction is left out.
    """
    used = np.ones(x.shape[1], bool)
    weights = np.zeros(x.shape[1])
    for _ in range(6):
        weights = _solved(x, y, groups, worth, used)
        wrong = weights * DIRECTION < 0
        if not wrong.any():
            break
        used &= ~wrong
    return weights


def _solved(
    x: np.ndarray, y: np.ndarray, groups: list[np.ndarray], worth: list[float], used: np.ndarray
) -> np.ndarray:
    """Newton's method on the signs in use."""
    weights = np.zeros(x.shape[1])
    ridge = np.eye(x.shape[1]) * RIDGE
    ridge[-1, -1] = 1e-3
    for _ in range(STEPS):
        slope, bend = ridge @ weights, ridge.copy()
        for group, counts in zip(groups, worth, strict=True):
            part = x[group]
            p = np.array(reversals.chances(list(part @ weights)))
            aim = p * y[group]
            if aim.any():
                aim /= aim.sum()
            slope += counts * part.T @ (p - aim)
            mean = part.T @ p
            bend += counts * ((part * p[:, None]).T @ part - np.outer(mean, mean))
        step = np.zeros_like(weights)
        step[used] = np.linalg.solve(bend[np.ix_(used, used)], slope[used])
        weights -= np.clip(step, -3, 3)
        if abs(step).max() < 1e-4:
            break
    return weights


def main() -> None:
    told = None if "--words" in sys.argv[1:] else model()
    rows, wanted = rows_of(sessions((*SETS, *LEANING)), told)
    print(f"{len(rows)} pairs of requests, {len(wanted)} labelled reversals")
    _tell(_learnt(rows))
    guessed = np.zeros(len(rows))
    for name in (*SETS, *LEANING):
        guessed += _unseen(rows, [row.set == name for row in rows])
        _report(f"without {name}", rows, guessed, wanted, (name,))
    _report("all but those that lean", rows, guessed, wanted, SETS)
    _report("those that lean", rows, guessed, wanted, LEANING)


def groups(rows: list[Row]) -> list[list[int]]:
    found: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault((row.session, row.new), []).append(place)
    return list(found.values())


def _learnt(rows: list[Row]) -> np.ndarray:
    """Weights and bias."""
    known = [row for row in rows if row.verdict >= 0]
    x = np.array([row.signs for row in known])
    spread = x.std(0) + 1e-9
    y = np.array([float(row.verdict) for row in known])
    listed = [np.array(one) for one in groups(known)]
    worth = [WORTH.get(known[one[0]].set, 1.0) for one in listed]
    weights = fitted(np.c_[x / spread, np.ones(len(x))], y, listed, worth)
    return np.append(weights[:-1] / spread, weights[-1])


def _unseen(rows: list[Row], held: list[bool]) -> np.ndarray:
    """How likely each of these pairs is by weights that were learnt from the others; 0 for the others."""
    guessed = np.zeros(len(rows))
    weights = _learnt([row for row, out in zip(rows, held, strict=True) if not out])
    for group in groups(rows):
        if held[group[0]]:
            weighed = [float(np.append(rows[place].signs, 1.0) @ weights) for place in group]
            guessed[group] = reversals.chances(weighed)
    return guessed


def _tell(weights: np.ndarray) -> None:
    raw = ", ".join(
        f"{name}={value:.2f}" for name, value in zip(SIGNS, weights, strict=False) if abs(value) > 0.005
    )
    print(f"Signs({raw}), bias {weights[-1]:.2f}")


class Row(NamedTuple):
    session: str
    set: str
    old: int
    new: tuple[int, ...]
    verdict: int
    signs: list[float]
    notes: frozenset[int]  # places among what is to be noted
    texts: tuple[str, str]


def rows_of(listed: list[dict[str, Any]], sense: comparing.Sense | None) -> tuple[list[Row], list[str]]:
    """Each earlier with each later request, and the session of all that is to be noted."""
    rows: list[Row] = []
    wanted: list[str] = []
    for session in listed:
        turns = turns_of(session)
        said = words(turns)
        labels = labelled(session)
        origin = Origin(SessionId(session["id"]), ProjectId("p"), session.get("cwd", ""))
        kinds = spoken_kinds(turns, origin)
        corrected = frozenset(index for index, kind in kinds.items() if kind is Kind.CORRECTION)
        against = comparing.Comparing.of(episodes(turns, said), said, sense, corrected)
        pairs, own = against.all(), heard.own_choices(against.found)
        if sense is not None:
            pairs = against.read(pairs, sense.turned, reversals.by_words)
        for new, olds in pairs:
            for old, signs in olds:
                theirs = _turns(old, own)
                notes = [
                    len(wanted) + number
                    for number, (before, after) in enumerate(labels.wanted)
                    if before & theirs and after & {*new.ends}
                ]
                rows.append(
                    Row(
                        session["id"],
                        session["set"],
                        old.index,
                        new.ends,
                        -1 if _corrected_at_once(session, old, new) else verdict(old, new, labels, own),
                        [getattr(signs, name) for name in SIGNS],
                        frozenset(notes),
                        heard.both(old, new, own),
                    )
                )
        wanted += [session["id"]] * len(labels.wanted)
    return rows, wanted


def _report(name: str, rows: list[Row], guessed: np.ndarray, wanted: list[str], only: Sequence[str]) -> None:
    """As `links` chooses; a note is wrong if nothing of what it names was labelled."""
    rest = {row.session for row in rows if row.set in only}
    notes = [
        [rows[place] for _, place in reversals.best([(guessed[place], place) for place in group])]
        for group in groups(rows)
        if rows[group[0]].session in rest
    ]
    notes = [note for note in notes if note]
    wrong = [note for note in notes if not any(row.verdict for row in note)]
    noted = {place for note in notes for row in note for place in row.notes}
    count = sum(session in rest for session in wanted)
    print(f"{name}: {len(noted)} of {count} noted, {len(wrong)} of {len(notes)} notes wrong")


if __name__ == "__main__":
    main()
