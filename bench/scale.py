"""Speed of the store at 20,000, 100,000 and 1,000,000 synthetic memories.

    python bench/scale.py FOLDER [--sizes 20000 100000] [--queries 30] [--keep] [--json FILE]

Builds each store in FOLDER (real writes, in batches; synthetic vectors), then measures finding
candidates, and a whole search in words and meaning, beside a bare numpy scan of as many int8 vectors
and the embedding of the question, alternating in one run. Figures are medians in milliseconds with
their number of runs and the load average; `ratio` is search ÷ (embedding + bare scan), and
`ratio_in_blocks` the same with the fastest scan that numpy alone can do.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# The threads of BLAS spin for a while after each product, and would take a core from what is measured next.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from claude_memory.embed import Embedder, open_embedder
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    PassageId,
    ProjectId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.search.search import search
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.text import words as text

MODEL = "synthetic-384"
DIMENSIONS = 384
BATCH = 5000
_SYLLABLES = (
    "ba be ca co da de di fo ga go ha ja ka ki la li lo ma me mi na no pa pe ra re ri ro sa se ta te".split()
)
_START = datetime(2025, 1, 1, tzinfo=UTC)
_IDENTITY = ProjectIdentity(("path:/bench/scale",), "scale", "/bench/scale")


class Words:
    """A vocabulary of 60,000 words whose frequencies follow Zipf's law."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        syllables = [_SYLLABLES[:], _SYLLABLES, _SYLLABLES, ["", "n", "r", "s"]]
        words = ["".join(parts) for parts in itertools.product(*syllables)]
        random.Random(0).shuffle(words)  # the same ranks for every seed
        self.words = words[:60_000]
        share = 1 / np.arange(2, len(self.words) + 2)
        self._cumulative = np.cumsum(share / share.sum())

    def sample(self, count: int) -> list[str]:
        """Words as a text uses them."""
        places = np.searchsorted(self._cumulative, self._random.random(count))
        return [self.words[place] for place in places]


def memories(project: ProjectId, count: int, seed: int = 1) -> Iterator[StoredMemory]:
    """Memories of 10 to 40 words, half of them turns of sessions of 20."""
    words, dice = Words(seed), random.Random(seed)
    for number in range(count):
        chosen = words.sample(dice.randint(10, 40))
        at = _START + timedelta(seconds=30 * number)
        in_session = (number // 20) % 2 == 0
        yield StoredMemory(
            id=MemoryId(f"m{number:012d}"),
            project=project,
            kind=Kind.OBSERVATION if number % 3 else Kind.DECISION,
            title=" ".join(chosen[:6]),
            body=" ".join(chosen),
            created_at=at,
            updated_at=at,
            session=SessionId(f"s{number // 20}") if in_session else None,
        )


def vectors(count: int, seed: int = 2) -> Matrix:
    """Unit vectors × 127."""
    found = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.round(found * 127).astype(np.int8)


def build(home: Path, count: int) -> dict[str, float]:
    """A store of `count` memories with vectors; rates of writing."""
    store = open_store(home, Settings())
    project = store.project_for(_IDENTITY).id
    source = memories(project, count)
    spent_text = spent_vectors = 0.0
    passage = 1
    for start in range(0, count, BATCH):
        batch = list(itertools.islice(source, BATCH))
        began = time.perf_counter()
        store.memories.add(batch)
        spent_text += time.perf_counter() - began
        made = vectors(len(batch), seed=start)
        rows = [(PassageId(passage + place), vector.tobytes()) for place, vector in enumerate(made)]
        began = time.perf_counter()
        store.memories.add_vectors(MODEL, rows)
        spent_vectors += time.perf_counter() - began
        passage += len(batch)
        last = store.changes_since("memories.jsonl", 2 * BATCH)
        store.changes_taken("memories.jsonl", last[-1].sequence)
    store.close()
    return {"memories_per_second": count / spent_text, "vectors_per_second": count / spent_vectors}


class SameModel:
    """The real embedder under the name of the store's synthetic vectors, so that one search meets both."""

    model = MODEL
    dimensions = DIMENSIONS

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return self._inner.embed(texts, query=query)


Matrix = np.ndarray[Any, np.dtype[np.int8]]
Query = np.ndarray[Any, np.dtype[np.float32]]


def bare_scan(matrix: Matrix, query: Query) -> None:
    """The yardstick: all vectors times the question in one expression, and the best 50."""
    scores = matrix.astype(np.float32) @ query
    np.argpartition(-scores, 50)[:50]


def scan_in_blocks(matrix: Matrix, query: Query) -> None:
    """A harder yardstick: blocks that stay in the cache and start no threads of BLAS."""
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), 512):
        block = matrix[start : start + 512]
        scores[start : start + len(block)] = block.astype(np.float32) @ query
    np.argpartition(-scores, 50)[:50]


def measure(home: Path, count: int, queries: int) -> dict[str, list[tuple[float, float]]]:
    """Wall and processor times of each step in milliseconds, alternating."""
    store = open_store(home, Settings())
    scope = SearchScope((store.project_for(_IDENTITY).id,))
    words, matrix = Words(77), vectors(min(count, 100_000))
    matrix = np.concatenate([matrix] * (count // len(matrix)))
    embedder = open_embedder(Settings(), home / "cache" / "models")
    assert embedder is not None
    times: dict[str, list[tuple[float, float]]] = {}
    for number in range(queries + 2):
        question = " ".join(words.sample(8))
        query = vectors(1, seed=10**6 + number)[0]
        steps = _steps(store, scope, text.query_terms(question), query, matrix)
        steps += _whole(store, scope, embedder, question)
        for name, step in steps:
            began, began_cpu = time.perf_counter(), time.process_time()
            step()
            spent = 1000 * (time.perf_counter() - began)
            spent_cpu = 1000 * (time.process_time() - began_cpu)
            if number >= 2:  # the first two warm caches
                times.setdefault(name, []).append((spent, spent_cpu))
    store.close()
    return times


def _steps(
    store: Store,
    scope: SearchScope,
    asked: Sequence[str],
    query: Matrix,
    matrix: Matrix,
) -> list[tuple[str, Callable[[], object]]]:
    every, terms = MemoryFilter(), dict.fromkeys(asked, 1.0)
    decisions = MemoryFilter(kinds=(Kind.DECISION,))
    found: list[PassageId] = []
    return [
        ("bare scan", lambda: bare_scan(matrix, query.astype(np.float32))),
        ("bare scan in blocks", lambda: scan_in_blocks(matrix, query.astype(np.float32))),
        (
            "vector_candidates",
            lambda: store.memories.vector_candidates(scope, every, query.tobytes(), MODEL, 50),
        ),
        ("term_statistics", lambda: store.memories.term_statistics(scope, asked)),
        ("text_candidates", lambda: found.extend(store.memories.text_candidates(scope, every, terms, 50))),
        ("text_candidates, kind", lambda: store.memories.text_candidates(scope, decisions, terms, 50)),
        ("passages", lambda: store.memories.passages(found)),
        ("memories, newest 20", lambda: store.memories.find(scope, every, limit=20)),
    ]


def _whole(
    store: Store, scope: SearchScope, embedder: Embedder, question: str
) -> list[tuple[str, Callable[[], object]]]:
    # Two texts of one length: the embedder remembers questions, and the search must embed its own.
    now = datetime.now(UTC)
    return [
        ("embedding", lambda: embedder.embed([f"{question} a"], query=True)),
        (
            "search",
            lambda: search(
                store,
                SameModel(embedder),
                scope,
                f"{question} b",
                filter_=MemoryFilter(),
                limit=10,
                min_relevance=0.0,
                now=now,
            ),
        ),
    ]


def write_cost(home: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of one `add` of one memory to the store as it stands."""
    store = open_store(home, Settings())
    project = store.project_for(_IDENTITY).id
    times = []
    run_id = f"{time.time_ns():x}"  # a kept store may have seen this measure before
    for number, memory in enumerate(memories(project, 40, seed=count)):
        fresh = StoredMemory(
            **{name: getattr(memory, name) for name in ("project", "kind", "title", "body")},
            id=MemoryId(f"w{run_id}-{number}"),
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            session=SessionId(f"write-cost-{run_id}"),
        )
        began, began_cpu = time.perf_counter(), time.process_time()
        store.memories.add([fresh])
        times.append((1000 * (time.perf_counter() - began), 1000 * (time.process_time() - began_cpu)))
    store.close()
    return {"one add": times}


def run(folder: Path, count: int, queries: int, *, keep: bool) -> dict[str, Any]:
    """Build, measure, clean up."""
    home = folder / f"scale-{count}"
    rates = {} if (home / "memory.db").exists() else build(home, count)
    size = (home / "memory.db").stat().st_size
    times = {**measure(home, count, queries), **write_cost(home, count)}
    if not keep:
        shutil.rmtree(home)
    wall, cpu, worst = (
        {name: pick(values) for name, values in times.items()}
        for pick in (
            lambda values: statistics.median(spent for spent, _ in values),
            lambda values: statistics.median(spent for _, spent in values),
            lambda values: max(spent for spent, _ in values),
        )
    )
    return {
        "memories": count,
        "queries": queries,
        "load": os.getloadavg()[0],
        "bytes_per_memory": size / count,
        **rates,
        "ratio": wall["search"] / (wall["embedding"] + wall["bare scan"]),
        "ratio_in_blocks": wall["search"] / (wall["embedding"] + wall["bare scan in blocks"]),
        "milliseconds": wall,
        "cpu_milliseconds": cpu,
        "slowest": worst,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--keep", action="store_true", help="leave the stores for another run")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    for count in options.sizes:
        result = run(options.folder, count, options.queries, keep=options.keep)
        results.append(result)
        head = {name: round(value, 2) for name, value in result.items() if not isinstance(value, dict)}
        print(head)
        for name, value in result["milliseconds"].items():
            cpu, worst = (result[kind].get(name, 0.0) for kind in ("cpu_milliseconds", "slowest"))
            print(f"  {name:24} {value:9.2f} ms   cpu {cpu:9.2f}   slowest {worst:9.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
