"""Trains the judge that reads two notes at once, and says how it does on sets that the training did not see.

    python bench/judge.py --left NAME [NAME …]     train without these sets, then measure on them
    python bench/judge.py --write                  train on all, put what was learnt into the package

The bundled encoder stays as it is; learnt are a product of two narrow matrices beside each of its own, a
small head, and the weights of the gate's figures, all at once. Plain numpy: no framework, two processes,
half an hour. Sets of held pairs are never opened here: tests/quality measures them.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes share the cores
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import math
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from numpy.typing import NDArray
from tokenizers import Tokenizer

import gate as gate_bench
from claude_memory.embed import bundled
from claude_memory.embed.container import Container
from claude_memory.lifecycle import gate

Array = NDArray[np.float32]
Params = dict[str, Array]
LEARNT = Path(bundled.__file__).with_name("judge.npz")
START, PADDING, BREAK = 0, 1, 2
HIDDEN_TOKEN = 50264  # stands for a word that the training hides
TEXT_TOKENS = 110
RANK, INNER = 16, 64
BATCH = 16
RATE, DECAY, WARM_UP = 1.5e-3, 0.01, 0.1
DROPPED, HIDDEN, TURNED, SMOOTHED = 0.2, 0.04, 0.3, 0.05
FAMILY_WORTH = 0.4
FAMILIES_EACH = 5000  # pairs of families in an epoch, others each time


class Pair(NamedTuple):
    old: str
    new: str
    goal: int
    set: str
    worth: float


class Batch(NamedTuple):
    ids: NDArray[np.int64]
    mask: Array
    sides: NDArray[np.int64]
    figures: Array


@cache
def container() -> Container:
    path = bundled.container_path()
    if path is None:
        raise SystemExit(f"pip install {bundled.PACKAGE}")
    return Container(path.read_bytes())


@cache
def plain(name: str) -> Array:
    """A tensor of the encoder as it is."""
    return container().floats(name)


@cache
def tokens(text: str) -> tuple[int, ...]:
    return tuple(_tokenizer().encode(text, add_special_tokens=False).ids[:TEXT_TOKENS])


@cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(container().tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


# --- the encoder, forward and back


def matrices() -> list[tuple[str, int, int]]:
    shape = container().architecture
    wide, inner = shape.hidden, shape.intermediate
    kinds = (("qkv", 3 * wide, wide), ("ao", wide, wide), ("f1", inner, wide), ("f2", wide, inner))
    return [(f"l{layer}.{kind}", out, into) for layer in range(shape.layers) for kind, out, into in kinds]


def beginning(seed: int, figures: int) -> Params:
    """Nothing learnt yet: the encoder as it is, and a head that knows nothing."""
    chance, wide = np.random.default_rng(seed), container().architecture.hidden
    found: dict[str, Any] = {}
    for name, out, into in matrices():
        found[f"{name}.A"] = chance.standard_normal((RANK, into)) / math.sqrt(into)
        found[f"{name}.B"] = np.zeros((out, RANK))
    found["side"] = np.zeros((2, wide))
    found["h.w"] = chance.standard_normal((3 * wide, INNER)) / math.sqrt(3 * wide)
    found["h.b"] = np.zeros(INNER)
    found["o.w"] = chance.standard_normal((INNER, 4)) * 0.05
    found["o.b"] = np.zeros(4)
    found["figures"] = np.zeros((figures, 4))
    return {name: value.astype(np.float32) for name, value in found.items()}


def normed(name: str, x: Array) -> tuple[Array, tuple[Array, Array]]:
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + container().architecture.layer_norm_eps)
    centred *= scale
    return centred * plain(f"{name}.w") + plain(f"{name}.b"), (centred, scale)


def normed_back(name: str, slope: Array, kept: tuple[Array, Array]) -> Array:
    centred, scale = kept
    slope = slope * plain(f"{name}.w")
    along = (slope * centred).mean(-1, keepdims=True)
    return np.asarray(scale * (slope - slope.mean(-1, keepdims=True) - centred * along))


def gelu(x: Array) -> tuple[Array, Array]:
    """The value and the slope, by the error function's approximation 7.1.26 of Abramowitz and Stegun."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    bell = np.exp(-z * z)
    series = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(factor)
    share = np.float32(0.5) * (1 + np.copysign(1 - t * series * bell, x))
    return x * share, share + x * bell * np.float32(1 / math.sqrt(2 * math.pi))


class Pass:
    """One batch through the judge, and back."""

    def __init__(self, params: Params, batch: Batch) -> None:
        self.params, self.batch = params, batch
        self.rows, self.length = batch.ids.shape
        self.shape = container().architecture
        self.head = self.shape.hidden // self.shape.heads
        self.matrix = {
            name: plain(f"{name}.w") + params[f"{name}.B"] @ params[f"{name}.A"] for name, _, _ in matrices()
        }
        self.slopes: Params = {}
        self.kept: list[tuple[Any, ...]] = []

    def states(self) -> Array:
        first = self.shape.position_offset
        x = plain("word_emb")[self.batch.ids] + plain("pos_emb")[first : first + self.length]
        x, _ = normed("emb_ln", x + plain("type_emb")[0])
        x = (x + self.params["side"][self.batch.sides]).reshape(-1, self.shape.hidden)
        for layer in range(self.shape.layers):
            x = self._layer(f"l{layer}.", x)
        return x

    def _layer(self, name: str, x: Array) -> Array:
        q, k, v = (self._heads(part) for part in np.split(self._linear(f"{name}qkv", x), 3, -1))
        scores = q @ k.transpose(0, 1, 3, 2) * np.float32(self.head**-0.5)
        scores += ((1 - self.batch.mask) * np.float32(-1e9))[:, None, None, :]
        scores -= scores.max(-1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(-1, keepdims=True)
        mixed = self._joined(shares @ v)
        middle, kept_middle = normed(f"{name}aln", x + self._linear(f"{name}ao", mixed))
        inner, slope = gelu(self._linear(f"{name}f1", middle))
        out, kept_out = normed(f"{name}fln", middle + self._linear(f"{name}f2", inner))
        self.kept.append((x, q, k, v, shares, mixed, middle, kept_middle, inner, slope, kept_out))
        return out

    def _linear(self, name: str, x: Array) -> Array:
        return np.asarray(x @ self.matrix[name].T + plain(f"{name}.b"))

    def _heads(self, x: Array) -> Array:
        split = x.reshape(self.rows, self.length, self.shape.heads, self.head)
        return np.ascontiguousarray(split.transpose(0, 2, 1, 3))

    def _joined(self, x: Array) -> Array:
        return x.transpose(0, 2, 1, 3).reshape(self.rows * self.length, self.shape.hidden)

    def shares_of_texts(self) -> tuple[Array, Array]:
        both = [((self.batch.sides == side) & (self.batch.mask > 0)).astype(np.float32) for side in (0, 1)]
        first, second = (one / one.sum(1, keepdims=True) for one in both)
        return first, second

    def seen(self, states: Array) -> Array:
        x = states.reshape(self.rows, self.length, -1)
        means = [(x * share[..., None]).sum(1) for share in self.shares_of_texts()]
        return np.concatenate([x[:, 0], *means], -1)

    def back(self, slope_of_seen: Array) -> None:
        """From the slope of what the head sees to the slopes of all that is learnt in the encoder."""
        wide = self.shape.hidden
        parts = [slope_of_seen[:, None, wide * n : wide * (n + 1)] for n in (1, 2)]
        shares = self.shares_of_texts()
        slope = sum(part * share[..., None] for part, share in zip(parts, shares, strict=True))
        assert not isinstance(slope, int)
        slope[:, 0] += slope_of_seen[:, :wide]
        flat = slope.reshape(-1, wide).astype(np.float32)
        for layer in reversed(range(self.shape.layers)):
            flat = self._layer_back(f"l{layer}.", flat)
        whole = flat.reshape(self.rows, self.length, wide)
        sides = [((self.batch.sides == n) & (self.batch.mask > 0))[..., None] for n in (0, 1)]
        self.slopes["side"] = np.stack([(whole * side).sum((0, 1)) for side in sides])

    def _layer_back(self, name: str, slope: Array) -> Array:
        x, q, k, v, shares, mixed, middle, kept_middle, inner, inner_slope, kept_out = self.kept.pop()
        out = normed_back(f"{name}fln", slope, kept_out)
        into = self._linear_back(f"{name}f2", inner, out) * inner_slope
        slope = normed_back(f"{name}aln", out + self._linear_back(f"{name}f1", middle, into), kept_middle)
        mixed_slope = self._heads(self._linear_back(f"{name}ao", mixed, slope))
        of_shares = mixed_slope @ v.transpose(0, 1, 3, 2)
        scores = shares * (of_shares - (of_shares * shares).sum(-1, keepdims=True))
        scores *= np.float32(self.head**-0.5)
        parts = (scores @ k, scores.transpose(0, 1, 3, 2) @ q, shares.transpose(0, 1, 3, 2) @ mixed_slope)
        joined = np.concatenate([self._joined(part) for part in parts], -1)
        return np.asarray(slope + self._linear_back(f"{name}qkv", x, joined))

    def _linear_back(self, name: str, x: Array, slope: Array) -> Array:
        narrow, wide = self.params[f"{name}.A"], self.params[f"{name}.B"]
        self.slopes[f"{name}.B"] = slope.T @ (x @ narrow.T)
        self.slopes[f"{name}.A"] = (slope @ wide).T @ x
        return np.asarray(slope @ self.matrix[name])


def _softmax(values: Array) -> Array:
    raised = np.exp(values - values.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def chances(job: tuple[Params, Batch]) -> Array:
    """How likely each action is for each pair."""
    params, batch = job
    one = Pass(params, batch)
    inner = np.tanh(one.seen(one.states()) @ params["h.w"] + params["h.b"])
    return _softmax(inner @ params["o.w"] + params["o.b"] + batch.figures @ params["figures"])


def slopes(job: tuple[Params, Batch, Array, Array, tuple[int, ...]]) -> tuple[float, Params]:
    """The loss of a batch and its slope by everything that is learnt; parts are left out by chance."""
    params, batch, goals, worth, seed = job
    chance = np.random.default_rng(seed)

    def kept(like: Array) -> Array:
        return ((chance.random(like.shape) > DROPPED) / (1 - DROPPED)).astype(np.float32)

    one = Pass(params, batch)
    seen = one.seen(one.states())
    seen_kept, figures = kept(seen), batch.figures * kept(batch.figures)
    seen = seen * seen_kept
    inner = np.tanh(seen @ params["h.w"] + params["h.b"])
    inner_kept = kept(inner)
    found = _softmax(inner * inner_kept @ params["o.w"] + params["o.b"] + figures @ params["figures"])
    loss = -float((worth[:, None] * goals * np.log(found + 1e-9)).sum())
    slope = (worth[:, None] * (found - goals)).astype(np.float32)
    own = one.slopes
    own["o.w"], own["o.b"] = (inner * inner_kept).T @ slope, slope.sum(0)
    own["figures"] = figures.T @ slope
    into = slope @ params["o.w"].T * inner_kept * (1 - inner * inner)
    own["h.w"], own["h.b"] = seen.T @ into, into.sum(0)
    one.back(into @ params["h.w"].T * seen_kept)
    return loss, own


# --- training


def batch_of(
    pairs: list[tuple[str, str]], figures: Array, hidden: np.random.Generator | None = None
) -> Batch:
    """Pairs padded to one length; with `hidden`, some of their words are hidden."""
    rows = [([START, *tokens(old), BREAK], [BREAK, *tokens(new), BREAK]) for old, new in pairs]
    length = max(len(old) + len(new) for old, new in rows)
    ids = np.full((len(rows), length), PADDING, np.int64)
    mask, sides = np.zeros(ids.shape, np.float32), np.zeros(ids.shape, np.int64)
    for row, (old, new) in enumerate(rows):
        end = len(old) + len(new)
        ids[row, :end] = old + new
        mask[row, :end] = 1
        sides[row, len(old) : end] = 1
    if hidden is not None:
        ids[(hidden.random(ids.shape) < HIDDEN) & (ids > BREAK)] = HIDDEN_TOKEN
    return Batch(ids, mask, sides, figures)


class Descent:
    """Changes parameters in place, step by step along their slopes: Adam with a warm-up, then ever slower."""

    def __init__(self, params: Params, steps: int, pace: float) -> None:
        self.params, self.steps, self.pace, self.step = params, steps, pace, 0
        self.mean = {name: np.zeros_like(value) for name, value in params.items()}
        self.spread = {name: np.zeros_like(value) for name, value in params.items()}

    def follow(self, slope: Params) -> None:
        self.step += 1
        step, mean, spread = self.step, self.mean, self.spread
        size = math.sqrt(sum(float((one * one).sum()) for one in slope.values()))
        rate = self.pace * min(1.0, step / (WARM_UP * self.steps)) * max(0.0, 1 - step / self.steps)
        for name, value in self.params.items():
            pull = slope[name] * np.float32(min(1.0, 1 / (size + 1e-9)))
            mean[name] = 0.9 * mean[name] + 0.1 * pull
            spread[name] = 0.99 * spread[name] + 0.01 * pull * pull
            way = mean[name] / (1 - 0.9**step) / (np.sqrt(spread[name] / (1 - 0.99**step)) + 1e-8)
            self.params[name] = (value - rate * (way + DECAY * value)).astype(np.float32)


def trained(
    pool: Pool,
    pairs: list[Pair],
    figures: Array,
    given: list[int],
    families: list[int],
    epochs: int,
    seed: int,
    start: Params | None = None,
    pace: float = RATE,
) -> Params:
    """What is learnt from the pairs at the given places."""
    chance = random.Random(seed)
    params = start or beginning(seed, figures.shape[1])
    steps = epochs * ((len(given) + min(FAMILIES_EACH, len(families))) // BATCH + 1)
    descent, began = Descent(params, steps, pace), time.monotonic()
    for epoch in range(epochs):
        order = [*given, *chance.sample(families, min(FAMILIES_EACH, len(families)))]
        lost = 0.0
        for places in batches(pairs, order, chance):
            loss, slope = _slopes(pool, params, pairs, figures, places, chance, (seed, descent.step + 1))
            lost += loss
            descent.follow(slope)
        spent = time.monotonic() - began
        print(
            f"epoch {epoch + 1} of {epochs}: loss {lost * BATCH / len(order):.3f}, {spent:.0f} s", flush=True
        )
    return params


def batches(pairs: Sequence[Pair], order: list[int], chance: random.Random) -> list[list[int]]:
    """Pairs of about one length together, in a new order each time."""
    chance.shuffle(order)
    found = []
    for start in range(0, len(order), 32 * BATCH):
        near = sorted(order[start : start + 32 * BATCH], key=lambda n: len(pairs[n].old) + len(pairs[n].new))
        found += [near[place : place + BATCH] for place in range(0, len(near), BATCH)]
    chance.shuffle(found)
    return found


def _slopes(
    pool: Pool,
    params: Params,
    pairs: list[Pair],
    figures: Array,
    places: list[int],
    chance: random.Random,
    seed: tuple[int, int],
) -> tuple[float, Params]:
    jobs = []
    for part in (0, 1):
        some = places[part::2]
        if not some:
            continue
        # Only a change has a direction.
        texts = [
            (one.new, one.old) if one.goal != 2 and chance.random() < TURNED else (one.old, one.new)
            for one in (pairs[place] for place in some)
        ]
        goals = np.eye(4, dtype=np.float32)[[pairs[place].goal for place in some]]
        goals = (goals * (1 - SMOOTHED) + SMOOTHED / 4).astype(np.float32)
        worth = np.array([pairs[place].worth for place in some], np.float32) / len(places)
        batch = batch_of(texts, figures[some], np.random.default_rng((*seed, part)))
        jobs.append((params, batch, goals, worth, (*seed, part)))
    found = pool.map(slopes, jobs, chunksize=1)
    return sum(loss for loss, _ in found), {name: sum(own[name] for _, own in found) for name in params}


def judged_by(pool: Pool, params: Params, pairs: list[Pair], figures: Array, places: list[int]) -> Array:
    order = sorted(places, key=lambda place: len(pairs[place].old) + len(pairs[place].new))
    parts = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    jobs = [
        (params, batch_of([(pairs[place].old, pairs[place].new) for place in part], figures[part]))
        for part in parts
    ]
    rows = pool.map(chances, jobs, chunksize=1)
    found = {
        place: row
        for part, few in zip(parts, rows, strict=True)
        for place, row in zip(part, few, strict=True)
    }
    return np.array([found[place] for place in places])


# --- what there is to learn from


def read(cache_folder: Path) -> tuple[list[Pair], list[str], Array]:
    rows = [
        *gate_bench.labelled(),
        *({**row, "set": "training"} for row in gate_bench.training()),
        *({**row, "set": "families"} for row in gate_bench.families()),
    ]
    rows = [row for row in rows if row["relation"] != "different_project"]
    names, figures = gate_bench.figures_of(rows, gate_bench.cosines(rows, cache_folder))
    pairs = [
        Pair(
            row["old"]["text"],
            row["new"]["text"],
            gate_bench.ACTIONS.index(gate_bench.wanted(row)),
            row["set"],
            FAMILY_WORTH if row["set"] == "families" else 1.0,
        )
        for row in rows
    ]
    return pairs, names, figures.astype(np.float32)


def tell(name: str, pairs: list[Pair], places: list[int], found: Array) -> None:
    goals = np.array([pairs[place].goal for place in places])
    given = np.array(
        [gate_bench.ACTIONS.index(gate.chosen(tuple(row), by_judge=True).value) for row in found]
    )
    false = int(((given == 2) & (goals == 0)).sum())
    print(f"{name}: {(given == goals).mean():.3f} of {len(places)}, false supersedes {false}", flush=True)


def write(params: Params, names: list[str]) -> None:
    learnt = {name: value.astype(np.float16) for name, value in params.items() if name != "figures"}
    np.savez(LEARNT, **learnt)  # type: ignore[arg-type]
    rows = [
        f'    "{name}": ({", ".join(f"{v:.3f}" for v in row)}),'
        for name, row in zip(names, params["figures"], strict=True)
    ]
    rows.append('    "1": (0.000, 0.000, 0.000, 0.000),')
    text = gate_bench.WEIGHTS.read_text("utf-8").split("JUDGED:")[0].rstrip()
    gate_bench.WEIGHTS.write_text(text + "\n\nJUDGED: Weights = {\n" + "\n".join(rows) + "\n}\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--left", nargs="*", default=[], help="sets to leave out and to measure on")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="go on from what --keep kept, instead of from nothing")
    parser.add_argument("--keep", type=Path, help="keep what was learnt in full precision, to go on from")
    parser.add_argument("--rate", type=float, default=RATE, help="how far a step goes at most")
    parser.add_argument("--write", action="store_true", help="put what was learnt into the package")
    parser.add_argument("--cache", type=Path, help="folder of the converted model")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        pairs, names, figures = read(chosen.cache or Path(scratch))
    for pair in pairs:
        tokens(pair.old), tokens(pair.new)
    families = [place for place, pair in enumerate(pairs) if pair.set == "families"]
    given = [place for place, pair in enumerate(pairs) if pair.set not in ("families", *chosen.left)]
    print(f"{len(given)} pairs and {len(families)} of families", flush=True)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        start = dict(np.load(chosen.start)) if chosen.start else None
        params = trained(
            pool, pairs, figures, given, families, chosen.epochs, chosen.seed, start, chosen.rate
        )
        if chosen.keep:
            np.savez(chosen.keep, **params)  # type: ignore[arg-type]
        for name in chosen.left:
            places = [place for place, pair in enumerate(pairs) if pair.set == name]
            tell(name, pairs, places, judged_by(pool, params, pairs, figures, places))
    if chosen.write:
        write(params, names)


if __name__ == "__main__":
    main()
