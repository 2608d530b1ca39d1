"""Speed and memory of an import, and how searches fare meanwhile.

    python bench/import_speed.py FOLDER [--mb 200] [--plain] [--keep] [--json FILE]

Writes a format-true history of Claude Code into FOLDER (`--plain` without bookkeeping lines, which make
up half of real files), imports it with the command a user runs, and asks questions in words all the
while. Memory is the sum over the importing process and its workers, sampled ten times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from claude_memory.memory import Memory
from history import Writer

QUESTIONS = (
    "invoice parser timeout",
    "why does the webhook retry",
    "deploy rollout canary flag",
    "login cookie",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    user_home, home = arguments.folder / "user", arguments.folder / "memory"
    shutil.rmtree(home, ignore_errors=True)
    if not user_home.exists():
        Writer(user_home / ".claude", plain=arguments.plain).write(arguments.mb * 1_000_000)
    figures = measured(user_home, home)
    if not arguments.keep:
        shutil.rmtree(arguments.folder)
    text = json.dumps(figures, indent=2)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    print(text)


def measured(user_home: Path, home: Path) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in user_home.rglob("*.jsonl"))
    load = os.getloadavg()[0]
    home.mkdir(mode=0o700, parents=True)
    # What follows an import in the background is not measured here, and must not be felt.
    (home / "config.toml").write_text('embedder = "none"\nimport_in_drain_seconds = 0\n')
    with Memory.open(home, user_home) as memory:
        _ = memory.store  # made before anything is timed
        environment = {**os.environ, "HOME": str(user_home), "CLAUDE_MEMORY_HOME": str(home)}
        before = os.times()
        begun = time.perf_counter()
        command = [sys.executable, "-m", "claude_memory", "import", "--json"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=user_home)
        peak, writer, asked = watched(process, memory)
        seconds = time.perf_counter() - begun
        after = os.times()
        assert process.stdout is not None
        done = json.load(process.stdout)
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "mb": round(size / 1e6, 1),
        "seconds": round(seconds, 2),
        "mb_per_second": round(size / 1e6 / seconds, 1),
        "cpu_ms_per_mb": round(used * 1000 / (size / 1e6), 1),
        "writer_cpu_ms_per_mb": round(writer * 1000 / (size / 1e6), 1),
        "peak_rss_mb": round(peak / 1e6),
        "search_ms_median": round(statistics.median(asked), 1) if asked else None,
        "search_ms_max": round(max(asked), 1) if asked else None,
        "searches": len(asked),
        "store_mb": round((home / "memory.db").stat().st_size / 1e6, 1),
        "load_before": round(load, 2),
        "imported": done,
    }


def watched(process: subprocess.Popen[bytes], memory: Memory) -> tuple[int, float, list[float]]:
    """The peak of memory, the writer's own seconds, how long each question took, until the import ends."""
    peak, writer, asked, round_ = 0, 0.0, [], 0
    while process.poll() is None:
        peak, writer = max(peak, resident(process.pid)), max(writer, used(process.pid))
        if round_ % 20 == 0:
            begun = time.perf_counter()
            memory.search(QUESTIONS[round_ // 20 % len(QUESTIONS)], all_projects=True)
            asked.append((time.perf_counter() - begun) * 1000)
        round_ += 1
        time.sleep(0.1)
    return peak, writer, asked


def used(process: int) -> float:
    """Seconds of processor that one process has taken, without its children."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(parent: int) -> int:
    """Bytes that a process and its children hold, each counted whole, shared pages too."""
    total = 0
    for process in (parent, *children(parent)):
        try:
            for line in Path(f"/proc/{process}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def children(parent: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{parent}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
