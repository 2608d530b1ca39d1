"""kill -9 over every operation: nothing acknowledged is lost, nothing stands twice, nothing is left over.

SOAK_KILLS sets how many processes a soak kills.
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
PROGRAM = Path(__file__).with_name("storm.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the storm forks")


def storm(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), str(kills), str(seed)], capture_output=True, text=True
    )
    assert done.stdout, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(report))
    return report


@pytest.mark.parametrize("kills", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_every_operation_may_be_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    report = storm(tmp_path, kills, seed=int(os.environ.get("SOAK_SEED", "7")))
    assert report["problems"] == []
    assert sum(report["kills"].values()) >= kills
    if kills > 200:
        assert all(
            report["kills"].get(name) for name in ("hook", "drain", "import", "consolidate", "reindex")
        )
        assert all(report["kills"].get(name) for name in ("backup", "restore", "remember"))
