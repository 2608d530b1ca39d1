"""Walking a large knowledge graph: 100,000 nodes, 500,000 edges.

    python bench/graph.py [--memories N] [--json FILE]

Prints the median and the 95th percentile of a neighbourhood of two hops and of spreading activation.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory import Memory
from claude_memory.graph.walk import activated
from claude_memory.model import Kind, StoredMemory, memory_id
from claude_memory.store.model import Entity, Mention

THINGS = 40_000
EDGES_EACH = 8
ROUNDS = 60
START = datetime(2024, 1, 1, tzinfo=UTC)


def filled(memory: Memory, count: int) -> list[Entity]:
    """Memories that mention things, some of them everywhere, most of them rarely."""
    chance = random.Random(7)
    things = [Entity(("file", "symbol", "topic")[n % 3], f"thing_{n}") for n in range(THINGS)]
    for start in range(0, count, 5_000):
        made = [
            StoredMemory(
                memory_id(f"g{n}"),
                memory.project.id,
                Kind.NOTE,
                f"t{n}",
                f"b{n}",
                *(2 * [START + timedelta(n)]),
            )
            for n in range(start, min(start + 5_000, count))
        ]
        memory.store.memories.add(made)
        memory.store.graph.put(
            {
                one.id: [
                    Mention(one.id, "mentions", things[int(THINGS * chance.random() ** 2.5)])
                    for _ in range(EDGES_EACH + 1)
                ]
                for one in made
            }
        )
    return things


def milliseconds(work: Callable[[Entity], object], starts: list[Entity]) -> tuple[float, float]:
    """Median and 95th percentile over many starts."""
    taken = []
    for start in starts:
        began = time.perf_counter()
        work(start)
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=60_000)
    parser.add_argument("--json", type=Path, help="write the report here")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="graph-") as scratch:
        base = Path(scratch)
        with Memory.open(base / "home", base, flags={"embedder": "none"}) as memory:
            things = filled(memory, wanted.memories)
            graph, project = memory.store.graph, memory.project.id
            starts = [things[n] for n in (0, 1, 2, *random.Random(3).sample(range(THINGS), ROUNDS))]
            starts = [start for start in starts if graph.find(project, start.name)]
            near = milliseconds(lambda start: memory.graph.around(":".join(start)), starts)
            spread = milliseconds(lambda start: activated(graph, project, {start: 1.0}), starts)
    report = {
        "nodes": wanted.memories + THINGS,
        "edges": wanted.memories * (EDGES_EACH + 1),
        "neighbourhood_ms": near,
        "activation_ms": spread,
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }
    print(json.dumps(report))
    if wanted.json:
        wanted.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
