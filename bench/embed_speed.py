"""How fast and how big the bundled embedder is: `python bench/embed_speed.py [--json FILE]`.

Starts from an empty cache in a scratch folder. Loading is measured in new processes. The load average stands
beside the figures, because they mean little on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from claude_memory.embed.local import MODEL_ID, BundledModel, LocalEmbedder

QUERY = "where did the throttle numbers on our endpoints come from"
TEXT = (
    "Production migrations roll forward, never back. Every schema change ships as an additive step first, "
    "and the destructive half lands in a separate release at least one deploy later, so the running program "
    "is always compatible with both the previous and the next schema. The guard in the pipeline fails on "
    "dropped columns and on index creation without the concurrent option, unless the migration carries a "
    "marker and a linked ticket. To undo a change, write a new forward migration, reviewed by two people. "
)

LOAD = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
import numpy, onnxruntime, tokenizers
imported = time.perf_counter()
from claude_memory.embed import open_embedder
from claude_memory.settings import Settings
embedder = open_embedder(Settings(), Path(sys.argv[1]))
opened = time.perf_counter()
embedder.embed(["hello"], query=True)
ready = time.perf_counter()
try:  # the resource module would count the parent's peak too
    [peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
except OSError:
    peak = 0
print(json.dumps({"imports": imported - start, "open": opened - imported, "load": ready - opened,
                  "mb": int(peak) / 1024}))
"""


def measured(repeat: int) -> dict[str, float]:
    figures: dict[str, float] = {
        "load average before": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    }
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch)
        embedder = BundledModel(cache)
        figures["conversion, s"] = _seconds(embedder.files)
        figures["cache, MB"] = sum(path.stat().st_size for path in (cache / MODEL_ID).iterdir()) / 1e6
        figures["check at load, ms"] = 1e3 * _median(embedder.files, repeat)
        figures |= _new_process(cache, max(3, repeat // 4))
        embedder.embed(["warm"])
        figures["12-token query, ms"] = 1e3 * _varied(embedder, QUERY, repeat)
        figures["100-token text, ms"] = 1e3 * _varied(embedder, TEXT, repeat)
        texts = [f"{number} {TEXT}" for number in range(2 * repeat)]
        figures["100-token texts, per s, together"] = len(texts) / _seconds(lambda: embedder.embed(texts))
    return figures


def _new_process(cache: Path, repeat: int) -> dict[str, float]:
    runs = [
        json.loads(subprocess.check_output([sys.executable, "-c", LOAD, str(cache)])) for _ in range(repeat)
    ]
    middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return {
        "imports (numpy, onnxruntime, tokenizers), ms": 1e3 * middle["imports"],
        "open, ms": 1e3 * middle["open"],
        "load and first query, ms": 1e3 * middle["load"],
        "memory of that process, MB": middle["mb"],
    }


def _varied(embedder: LocalEmbedder, text: str, repeat: int) -> float:
    """Median over texts that differ in one word, so that none is a kept one."""
    count = iter(range(repeat))
    return _median(lambda: embedder.embed([f"{next(count)} {text}"]), repeat)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _median(call: Callable[[], object], repeat: int) -> float:
    return statistics.median(_seconds(call) for _ in range(repeat))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = measured(arguments.repeat)
    for name, value in figures.items():
        print(f"{name:<48}{value:10.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
