"""Trains the judge that tells whether a request takes an earlier one back, from labelled turns of sessions.

    python bench/turning.py --keep FILE                                 from all talks
    python bench/turning.py --start FILE --families 1 --keep FILE       go on with talks and families
    python bench/turning.py --start FILE --sessions --left NAME …       go on with sessions, without these
    python bench/turning.py --start FILE --sessions --write             … with all, into the package

Begins with what the write gate's judge learnt of notes, and goes on with pairs of requests as the summariser
puts them together (`compaction/heard.py`). Few pairs are a reversal: each epoch has all of them and twice as
many others, other ones each time. A family (`sets/turning_families`) is one decision, told in three ways (D),
with turns that take it back (C) and turns that do not (N). Two judges that were each left without one half of
the sessions read that half for `bench/reversals.py`, which fits the weights of all signs. Held sessions are
never opened here.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes share the cores
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import multiprocessing
import random
import sys
import time
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import judge
import reversals as labelled
from claude_memory.compaction import heard
from claude_memory.compaction.abridge import clip
from claude_memory.embed import bundled

RATE = 6e-4
OTHERS = 2  # for each reversal
LIKELIEST = 4  # of the earlier requests, for each later one
SMOOTHED = 0.04
WORTH = (0.75, 1.5)
BESIDE = "qrstu"  # talks that are learnt again with sessions
FAMILIES = Path(__file__).parent / "sets" / "turning_families"
FAMILY_WORTH = 0.7
DISTRACTED = 0.5  # how often what led to a turn is a remark from elsewhere in the talk


def beginning() -> judge.Params:
    """What the gate's judge learnt, its four answers as two: nothing or the same, change or conflict."""
    params = {name: value.astype(np.float32) for name, value in np.load(bundled.JUDGE).items()}
    for name in ("o.w", "o.b"):
        value = params[name]
        params[name] = np.stack([value[..., :2].mean(-1), value[..., 2:].mean(-1)], -1)
    return params


def read(sessions: bool) -> list[judge.Pair]:
    """Pairs of requests of talks, or of sessions and some talks; of what is no reversal, the likeliest."""
    found = []
    listed = labelled.talks()
    if sessions:
        listed = [
            *labelled.sessions((*labelled.SETS, *labelled.LEANING)),
            *(talk for talk in listed if talk["set"] in BESIDE),
        ]
    rows = labelled.rows_of(listed, None)[0]
    for group in labelled.groups(rows):
        told = [rows[place] for place in group]
        some = sorted((row for row in told if row.verdict == 0), key=lambda row: -row.signs[0])[:LIKELIEST]
        some += [row for row in told if row.verdict == 1]
        found += [judge.Pair(*row.texts, row.verdict, row.set, WORTH[row.verdict]) for row in some]
    return found


class Turn(NamedTuple):
    """A line of a family: what led to it, what was said, what the agent made of it; empty where nothing."""

    after: str
    said: str
    answer: str

    def told(self) -> str:
        limits = (heard.ROOM - heard.SAID, heard.SAID, heard.LEAST)
        return heard.told(*(clip(text, room) for text, room in zip(self, limits, strict=True)))


class Family(NamedTuple):
    """One decision: how it may have been told, what takes it back, what does not."""

    decided: list[Turn]
    changed: list[Turn]
    others: list[Turn]


def families() -> list[Family]:
    found: list[Family] = []
    for path in sorted(FAMILIES.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            kind, *parts = line.split(" || ")
            if line.startswith("#"):
                found.append(Family([], [], []))
            elif parts:
                turn = Turn(*(part.removeprefix("AGENT: ").strip("-").strip() for part in parts))
                found[-1]["DCN".index(kind)].append(turn)
    return found


def drawn(listed: list[Family], share: float, chance: random.Random) -> list[judge.Pair]:
    """Each turn of some families against one way in which its decision was told."""
    found = []
    for family in chance.sample(listed, round(share * len(listed))):
        remarks = [turn.answer for turn in family.others if turn.answer]
        for goal, turns in enumerate((family.others, family.changed)):
            for turn in turns:
                distracted = not turn.after and remarks and chance.random() < DISTRACTED
                new = turn._replace(after=chance.choice(remarks)) if distracted else turn
                old, worth = chance.choice(family.decided).told(), FAMILY_WORTH * WORTH[goal]
                found.append(judge.Pair(old, new.told(), goal, "families", worth))
    return found


def trained(
    pool: Pool,
    pairs: list[judge.Pair],
    given: list[int],
    params: judge.Params,
    epochs: int,
    pace: float,
    share: float,
) -> judge.Params:
    turned = [place for place in given if pairs[place].goal]
    others = [place for place in given if not pairs[place].goal]
    each = min(len(others), OTHERS * len(turned))
    chance, listed = random.Random(0), families()
    size = len(turned) + each + len(drawn(listed, share, random.Random(0)))
    descent = judge.Descent(params, epochs * (size // judge.BATCH + 1), pace)
    began = time.monotonic()
    for epoch in range(epochs):
        order, lost = [*turned, *chance.sample(others, each)], 0.0
        every = [*(pairs[place] for place in order), *drawn(listed, share, chance)]
        order = list(range(len(every)))
        for places in judge.batches(every, order, chance):
            jobs = [_job(params, [every[place] for place in places], half, descent.step) for half in (0, 1)]
            told = pool.map(judge.slopes, [job for job in jobs if job is not None], chunksize=1)
            lost += sum(loss for loss, _ in told)
            descent.follow({name: sum(own[name] for _, own in told) for name in params})
        spent = time.monotonic() - began
        loss = lost * judge.BATCH / len(order)
        print(f"epoch {epoch + 1} of {epochs}: loss {loss:.3f}, {spent:.0f} s", flush=True)
    return params


def _job(
    params: judge.Params, batch: list[judge.Pair], half: int, step: int
) -> tuple[judge.Params, judge.Batch, judge.Array, judge.Array, tuple[int, ...]] | None:
    some = batch[half::2]
    if not some:
        return None
    goals = np.eye(2, dtype=np.float32)[[pair.goal for pair in some]] * (1 - SMOOTHED) + SMOOTHED / 2
    worth = np.array([pair.worth for pair in some], np.float32) / len(batch)
    hidden = np.random.default_rng((step, half))
    texts = [(pair.old, pair.new) for pair in some]
    made = judge.batch_of(texts, np.zeros((len(some), 1), np.float32), hidden)
    return params, made, goals.astype(np.float32), worth, (step, half)


def told(pool: Pool, params: judge.Params, texts: list[tuple[str, str]]) -> judge.Array:
    """What speaks for a reversal, as the difference of the two answers."""
    order = sorted(range(len(texts)), key=lambda place: sum(map(len, texts[place])))
    parts = [order[start : start + judge.BATCH] for start in range(0, len(order), judge.BATCH)]
    jobs = [
        (params, judge.batch_of([texts[place] for place in part], np.zeros((len(part), 1), np.float32)))
        for part in parts
    ]
    found = np.zeros(len(texts), np.float32)
    for part, rows in zip(parts, pool.map(judge.chances, jobs, chunksize=4), strict=True):
        found[part] = np.log(rows[:, 1] + 1e-6) - np.log(rows[:, 0] + 1e-6)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--left", nargs="*", default=[], help="sets to leave out and to measure on")
    parser.add_argument("--sessions", action="store_true", help="sessions and some talks, not all talks")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--families", type=float, default=0.0, help="which share of them in each epoch")
    parser.add_argument("--start", type=Path, help="go on from what --keep kept")
    parser.add_argument("--keep", type=Path, help="keep what was learnt in full precision, to go on from")
    parser.add_argument("--rate", type=float, default=RATE, help="how far a step goes at most")
    parser.add_argument("--write", action="store_true", help="put what was learnt into the package")
    chosen = parser.parse_args()
    pairs = read(chosen.sessions)
    for pair in pairs:
        judge.tokens(pair.old), judge.tokens(pair.new)
    given = [place for place, pair in enumerate(pairs) if pair.set not in chosen.left]
    print(f"{len(given)} pairs, {sum(pairs[place].goal for place in given)} of them reversals", flush=True)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        params = dict(np.load(chosen.start)) if chosen.start else beginning()
        params["figures"] = np.zeros((1, 2), np.float32)  # the gate's judge learns those beside the texts
        params = trained(pool, pairs, given, params, chosen.epochs, chosen.rate, chosen.families)
        if chosen.keep:
            np.savez(chosen.keep, **{name: value for name, value in params.items() if name != "figures"})
        for name in chosen.left:
            places = [place for place, pair in enumerate(pairs) if pair.set == name]
            found = told(pool, params, [(pairs[place].old, pairs[place].new) for place in places])
            goals = np.array([pairs[place].goal for place in places])
            above = (found[goals == 1][:, None] > found[goals == 0][None]).mean()
            print(f"{name}: a reversal stands above another pair in {above:.3f}, n {len(places)}", flush=True)
    if chosen.write:
        kept = {name: value.astype(np.float16) for name, value in params.items() if name != "figures"}
        np.savez(bundled.TURNING, **kept)


if __name__ == "__main__":
    main()
