"""kill -9 over every operation: nothing acknowledged is lost, nothing stands twice, nothing is left over.

SOAK_KILLS sets how many processes a soak kills: three fifths of them here in all weathers, a fifth under a
clock that jumps, and a fifth in test_kill.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FEW = 30  # a bounded share for every run of the tests
MANY = int(os.environ.get("SOAK_KILLS", "5000"))
SEED = os.environ.get("SOAK_SEED", "7")
PROGRAM = Path(__file__).with_name("storm.py")
EVERY_OPERATION = ("hook", "drain", "remember", "import", "consolidate", "reindex", "backup", "restore")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the storm forks")


def storm(folder: Path, kills: int, *weathers: str) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), str(folder), str(kills), SEED, *weathers]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(report))
    assert report["problems"] == []
    return report


def test_operations_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    assert sum(storm(tmp_path, FEW, "calm")["kills"].values()) >= FEW


@pytest.mark.soak
def test_thousands_of_kills_on_full_read_only_and_lockless_disks(tmp_path: Path) -> None:
    kills = MANY * 3 // 5
    report = storm(tmp_path, kills, "calm", "full", "nolock", "readonly")
    assert sum(report["kills"].values()) >= kills
    if kills >= 1_000:  # a few may miss what is rare
        assert all(report["kills"].get(name) for name in EVERY_OPERATION)
    if report["skipped"]:
        pytest.skip(f"the rest held, but: {report['skipped']}")


@pytest.mark.soak
def test_a_clock_that_jumps_400_days_and_back_meanwhile(tmp_path: Path) -> None:
    report = storm(tmp_path, MANY // 5, "clock")
    if report["skipped"]:
        pytest.skip(str(report["skipped"]))
    assert sum(report["kills"].values()) >= MANY // 5
    assert report["acknowledged"]["clock changes"]
