"""The doctor warns before an agent deletes what nobody has kept."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tests.integration.histories import ordinary

from claude_memory.doctor import Check, check
from claude_memory.doctor.surroundings import cleanup_days
from claude_memory.memory import Memory


def finding(home: Path) -> Check:
    home.mkdir(mode=0o700, exist_ok=True)
    [found] = [item for item in check(home) if item.name == "conversations"]
    return found


def days_old(path: Path, days: float) -> None:
    moment = time.time() - days * 86_400
    os.utime(path, (moment, moment))


def test_nothing_to_keep(scratch_home: Path) -> None:
    assert finding(scratch_home / "memory").level == "ok"


def test_an_old_conversation_that_nobody_kept(scratch_home: Path) -> None:
    days_old(ordinary().write(scratch_home), 25)
    ordinary("fresh").write(scratch_home)
    found = finding(scratch_home / "memory")
    assert found.level == "warn"
    assert "0 of 2" in found.message
    assert "import" in found.hint


def test_what_is_archived_may_go(scratch_home: Path) -> None:
    days_old(ordinary().write(scratch_home), 25)
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as memory:
        memory.import_history()
    found = finding(scratch_home / "memory")
    assert (found.level, "1 of 1" in found.message) == ("ok", True)


def test_the_agents_own_setting_counts(scratch_home: Path) -> None:
    days_old(ordinary().write(scratch_home), 25)
    (scratch_home / ".claude/settings.json").write_text(json.dumps({"cleanupPeriodDays": 365}))
    assert cleanup_days() == 365
    assert finding(scratch_home / "memory").level == "ok"
    (scratch_home / ".claude/settings.json").write_text("[not an object]")
    assert cleanup_days() == 30


def test_reading_goes_on_in_slack_once_it_was_asked_for(scratch_home: Path) -> None:
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as memory:
        ordinary().write(scratch_home)
        assert memory.upkeep.import_in_slack() is None
        memory.import_history()
        ordinary("later").write(scratch_home)
        done = memory.upkeep.import_in_slack()
        assert done is not None
        assert done.messages == 11
