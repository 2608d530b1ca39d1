"""Millions of mutated inputs to parse, redact and the readers, guided by the code they reach.

FUZZ_RUNS sets how many inputs a soak tries over all three.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

RUNS = int(os.environ.get("FUZZ_RUNS", "2000000"))
SEED = os.environ.get("SOAK_SEED", "7")
PROGRAM = Path(__file__).parents[1] / "fuzz" / "explore.py"
SHARES = {"redact": 0.2, "readers": 0.4, "parse": 0.4}  # the slowest first


def explored(target: str, runs: int, **environment: str) -> int:
    command = [sys.executable, str(PROGRAM), target, str(runs), SEED]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert executed is not None
    return int(executed[1])


@pytest.mark.parametrize("target", SHARES)
def test_a_few_inputs_by_chance(target: str) -> None:
    assert explored(target, 1_500, EXPLORE_BY_CHANCE="1") == 1_500


@pytest.mark.soak
def test_two_million_inputs() -> None:
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda one: explored(one[0], int(RUNS * one[1])), SHARES.items()))
    print(f"executed {dict(zip(SHARES, counts, strict=True))}")
    assert sum(counts) >= RUNS
