"""The drain that sums up may be killed at any moment: the next one leaves the same files, none twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.integration.test_compaction import SESSION, Session, first_part, second_part

from claude_memory import Memory
from claude_memory.summaries.shelf import Shelf

PROGRAM = """
import sys
from pathlib import Path
from claude_memory import Memory
with Memory.open(Path(sys.argv[1]), Path(sys.argv[2]), flags={"embedder": "none"}) as memory:
    memory.drain()
    print("drained", flush=True)
    memory.summaries.sum_up()
"""
KILLS = 8


def files(home: Path) -> dict[str, bytes]:
    folder = home / "sessions" / f"session_{SESSION}"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json"))}


def made(place: Path, name: str) -> tuple[Path, Path]:
    home, project = place / name, place / "project"
    project.mkdir(exist_ok=True)
    session = Session(place / f"{name}-agent", home, project)
    for _ in range(3):
        first_part(session)
        session.compact()
        second_part(session)
        session.compact()
    return home, project


def settle(home: Path, project: Path) -> None:
    with Memory.open(home, project, flags={"embedder": "none"}) as memory:
        memory.drain()
        memory.summaries.sum_up()


def test_a_drain_that_is_killed_again_and_again_leaves_the_same_files(tmp_path: Path) -> None:
    calm, project = made(tmp_path, "calm")
    settle(calm, project)
    home, project = made(tmp_path, "stormy")
    chance = random.Random(8)
    for _ in range(KILLS):
        command = [sys.executable, "-c", PROGRAM, str(home), str(project)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "HOME": str(tmp_path)}
        ) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(chance.uniform(0, 0.25))
            running.kill()
    settle(home, project)
    assert len(Shelf(home).of(SESSION)) == 6
    assert files(home).keys() == files(calm).keys()
    assert [one.document["summary"] for one in Shelf(home).of(SESSION)] == [
        one.document["summary"] for one in Shelf(calm).of(SESSION)
    ]
