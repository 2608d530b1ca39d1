"""What starting costs: the version against a bare interpreter, a search against loading the model.

Each pair runs alternately in one go, so that the machine's load falls on both sides alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERSION_TARGET = 6.0
SEARCH_TARGET = 1.5
MEMORIES = 200

# What no search can do without: the libraries, the model, and the tokenizer.
LOAD_MODEL = """
import numpy, onnxruntime, tokenizers, sys
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx", options, providers=["CPUExecutionProvider"])
tokenizers.Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
"""


def command() -> str:
    """The installed program beside this interpreter."""
    found = shutil.which("claude-memory", path=str(Path(sys.executable).parent)) or shutil.which(
        "claude-memory"
    )
    if found is None:
        raise SystemExit("claude-memory is not installed beside this interpreter")
    return found


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """From start to exit."""
    start = time.perf_counter()
    subprocess.run(arguments, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - start


def pair(base: list[str], ours: list[str], environment: dict[str, str], count: int) -> dict[str, float]:
    """Medians of both sides, run alternately, and the median of the ratios."""
    for arguments in (base, ours):
        seconds(arguments, environment)
    times = [(seconds(base, environment), seconds(ours, environment)) for _ in range(count)]
    low, high = (statistics.median(side) for side in zip(*times, strict=True))
    ratios = statistics.quantiles([ours / base for base, ours in times], n=4)
    return {
        "n": count,
        "base_ms": round(low * 1e3, 1),
        "ours_ms": round(high * 1e3, 1),
        "ratio": round(high / low, 3),
        "ratio_quartiles": [round(ratios[0], 3), round(ratios[2], 3)],  # type: ignore[dict-item]
    }


def prepare(home: Path, project: Path) -> Path:
    """A memory with some content and its model converted; returns the model's folder."""
    from claude_memory import Memory, NewMemory

    project.mkdir()
    with Memory.open(home, project) as memory:
        notes = [
            NewMemory(f"Note {n}: the worker {n % 7} retries job {n % 13} after a timeout.")
            for n in range(MEMORIES)
        ]
        memory.remember_many(notes)
    [model] = (home / "cache" / "models").rglob("model.onnx")
    return model.parent


def run(count: int) -> dict[str, object]:
    """Both pairs and the load they were measured under."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "memory"), Path(folder, "project")
        model = prepare(home, project)
        names = {
            "HOME": folder,
            "CLAUDE_MEMORY_HOME": str(home),
            "PATH": os.environ.get("PATH", ""),
            "ORT_DISABLE_TELEMETRY": "1",
        }
        version = pair(
            [sys.executable, "-I", "-S", "-c", "pass"], [command(), "version"], names, max(count, 20)
        )
        search = pair(
            [sys.executable, "-c", LOAD_MODEL, str(model)],
            [command(), "--project", str(project), "search", "why was a job run again", "--json"],
            names,
            count,
        )
    return {
        "version": {**version, "target": VERSION_TARGET},
        "search": {**search, "target": SEARCH_TARGET, "memories": MEMORIES},
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else -1.0,
    }


def main() -> None:
    """Print one table; with --json, write the figures to a file as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("-n", type=int, default=20)
    options = parser.parse_args()
    result = run(options.n)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    for name, base in (("version", "bare interpreter"), ("search", "loading the model")):
        found = result[name]
        assert isinstance(found, dict)
        low, high = found["ratio_quartiles"]
        print(
            f"{name:<8} {found['ours_ms']:7.1f} ms   {base} {found['base_ms']:7.1f} ms   "
            f"ratio {found['ratio']:.2f} ({low:.2f}–{high:.2f}), "
            f"target {found['target']}   n={found['n']}"
        )
    print(f"load average {result['load']}")


if __name__ == "__main__":
    main()
