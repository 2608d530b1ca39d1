"""What a backup at a place costs: bytes of the first push and of one after one more conversation, and memory.

    python bench/backup_size.py FOLDER [--mb 100] [--fill-mb 0] [--json FILE]

Imports a format-true history of so many MB, adds plain files of so many more, and runs the commands that a
user runs: push, one more session, push, pull, and a `.tar.zst`. Memory is the largest that any of them took.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from history import Writer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--fill-mb", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = measured(arguments.folder, arguments.mb, arguments.fill_mb)
    text = json.dumps(figures, indent=2)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    print(text)


def measured(folder: Path, history_mb: int, fill_mb: int) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    user, home, place = folder / "user", folder / "memory", folder / "place"
    home.mkdir(mode=0o700, parents=True)
    (home / "config.toml").write_text('embedder = "none"\nimport_in_drain_seconds = 0\n')
    writer = Writer(user / ".claude", plain=True)
    writer.write(history_mb * 1_000_000)
    command(folder, home, "import")
    command(
        folder, home, "backup", "create", str(folder / "first.tar.zst")
    )  # does what an import leaves to do
    fill(home / "sessions", fill_mb)
    peaks: list[int] = []
    began = time.monotonic()
    full = json.loads(command(folder, home, "backup", "push", str(place), "--json", peaks=peaks))
    first_seconds = time.monotonic() - began
    writer.session(1)
    command(folder, home, "import")
    began = time.monotonic()
    more = json.loads(command(folder, home, "backup", "push", str(place), "--json", peaks=peaks))
    second_seconds = time.monotonic() - began
    command(folder, folder / "restored", "backup", "pull", str(place), peaks=peaks)
    command(folder, home, "backup", "create", str(folder / "whole.tar.zst"), peaks=peaks)
    return {
        "home_mb": round(full["size_bytes"] / 1e6, 1),
        "database_mb": round((home / "memory.db").stat().st_size / 1e6, 1),
        "full_push_mb": round(full["sent_bytes"] / 1e6, 2),
        "full_push_seconds": round(first_seconds, 1),
        "next_push_mb": round(more["sent_bytes"] / 1e6, 3),
        "next_push_share": round(more["sent_bytes"] / full["sent_bytes"], 4),
        "next_push_seconds": round(second_seconds, 1),
        "peak_mb": round(max(peaks) / 1024, 1),
        "peaks_mb_push_push_pull_create": [round(peak / 1024, 1) for peak in peaks],
        "load": round(os.getloadavg()[0], 1),
    }


def fill(folder: Path, size_mb: int) -> None:
    """Plain files of words, which pack about as well as what people write."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(3)
    words = [f"{chance.getrandbits(32):x}" for _ in range(20_000)]
    for number in range(size_mb // 10):
        text = " ".join(chance.choices(words, k=1_150_000))
        (folder / f"2020-01-{number:03}.jsonl").write_text(text[:10_000_000])


def command(folder: Path, home: Path, *words: str, peaks: list[int] | None = None) -> str:
    """What a command prints; `peaks` gets the most memory that it took, in KB."""
    environment = {**os.environ, "HOME": str(folder / "user"), "CLAUDE_MEMORY_HOME": str(home)}
    words = (sys.executable, "-m", "claude_memory", *words)
    with subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} failed")
    if peaks is not None:
        peaks.append(used.ru_maxrss)
    return printed


if __name__ == "__main__":
    main()
