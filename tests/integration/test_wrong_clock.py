"""A clock that is wrong for a while deletes nothing: not a year ahead, not in 1970, not there and back."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory import doctor as health
from claude_memory.context.session_state import drop_old
from claude_memory.hook import claude_memory_hook as hook
from claude_memory.model import MemoryId, SearchScope
from claude_memory.store.model import EventFilter

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, 0, 5, tzinfo=UTC)


def capture(home: Path, text: str, at: datetime) -> None:
    """A hook's file whose name tells the time of a clock that may be wrong."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(home.parent)}
    event |= {"prompt": text, "prompt_id": text}
    path = Path(hook.spool(str(home), "UserPromptSubmit", "claude-code", [json.dumps(event).encode()]))
    version, _, rest = path.name.split("-", 2)
    path.rename(path.with_name(f"{version}-{int(at.timestamp() * 1e9)}-{rest}"))


def prompts(memory: Memory) -> set[str]:
    found = memory.store.archive.events(SearchScope(None), EventFilter(), limit=1000)
    return {str(event.payload["prompt"]) for event in found}


def lived(memory: Memory, start: datetime, days: int) -> None:
    """A computer that is used every day, with the right time."""
    for day in range(days):
        moment = start + day * DAY
        capture(memory.home, f"day {moment:%Y-%m-%d}", moment)
        memory.drain()
        memory.upkeep.prune(now=moment + timedelta(minutes=5))


def retention_finding(home: Path) -> health.Check:
    return next(check for check in health.check(home) if check.name == "retention")


@pytest.fixture
def forgotten(memory: Memory) -> MemoryId:
    """A store of some days, with a memory that was forgotten and could be wanted back."""
    capture(memory.home, "long ago", NOW - 200 * DAY)
    lived(memory, NOW - 3 * DAY, 4)
    kept = memory.remember(NewMemory(body="the quokkafile is obsolete"))
    memory.forget([kept.id])
    return kept.id


@pytest.mark.parametrize("jump", [400, -400, 4000, -20_000])
def test_a_jump_and_back_deletes_nothing(memory: Memory, forgotten: MemoryId, jump: int) -> None:
    everything = prompts(memory)
    wrong = NOW + jump * DAY
    capture(memory.home, "at the wrong time", wrong)
    memory.drain()
    for hours in (0, 1, 23):
        memory.upkeep.prune(now=wrong + timedelta(hours=hours))
    memory.upkeep.prune(now=NOW + timedelta(hours=30))
    memory.upkeep.prune(now=NOW + timedelta(hours=60))
    assert prompts(memory) == everything | {"at the wrong time"}
    memory.restore([forgotten])


def test_there_and_back_forty_times_deletes_nothing(memory: Memory, forgotten: MemoryId) -> None:
    everything = prompts(memory)
    for round_ in range(40):
        for jump in (400, 0, -400, 0):
            moment = NOW + jump * DAY + timedelta(minutes=round_)
            capture(memory.home, f"round {round_} {jump}", moment)
            memory.drain()
            memory.upkeep.prune(now=moment)
    assert everything <= prompts(memory)
    memory.restore([forgotten])


def test_a_clock_that_stays_ahead_for_a_day_deletes_nothing_and_doctor_tells(
    memory: Memory, forgotten: MemoryId
) -> None:
    wrong = NOW + 400 * DAY
    capture(memory.home, "at the wrong time", wrong)
    memory.drain()
    memory.upkeep.prune(now=wrong)
    found = retention_finding(memory.home)
    assert found.level == "warn"
    assert "the clock jumped" in found.message
    memory.upkeep.prune(now=wrong + timedelta(hours=25))  # now it is named, and nothing gone
    found = retention_finding(memory.home)
    assert f"events from before {wrong - 365 * DAY:%Y-%m-%d}" in found.message
    assert "long ago" in prompts(memory)
    memory.upkeep.prune(now=NOW + timedelta(days=2))
    assert "long ago" in prompts(memory)
    memory.restore([forgotten])


def test_captures_of_a_clock_that_was_not_set_are_kept_like_others(memory: Memory) -> None:
    """The very first ones, too: a small computer starts in 1970 until it has a network."""
    capture(memory.home, "first of all, 1970", EPOCH)
    memory.drain()
    lived(memory, NOW - 5 * DAY, 6)
    capture(memory.home, "in between, 1970", EPOCH)
    capture(memory.home, "in between, 2019", NOW - 2600 * DAY)
    memory.drain()
    lived(memory, NOW + DAY, 30)
    assert {"first of all, 1970", "in between, 1970", "in between, 2019"} <= prompts(memory)


def test_what_is_old_by_a_steady_clock_goes_with_what_claimed_to_be_older(memory: Memory) -> None:
    capture(memory.home, "first of all, 1970", EPOCH)
    memory.drain()
    lived(memory, NOW, 3)
    for week in range(1, 56):
        lived(memory, NOW + week * 7 * DAY, 1)
    left = prompts(memory)
    assert "first of all, 1970" not in left
    assert f"day {NOW:%Y-%m-%d}" not in left
    assert f"day {NOW + 55 * 7 * DAY:%Y-%m-%d}" in left
    assert len(left) >= 50


def test_what_was_not_used_for_years_is_all_there(memory: Memory) -> None:
    """By the newest of what is stored: nothing new came, so nothing is too old."""
    lived(memory, NOW - 900 * DAY, 5)
    for day in range(5):
        memory.upkeep.prune(now=NOW + day * DAY)
    assert len(prompts(memory)) == 5


def test_a_session_of_today_survives_a_clock_that_is_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = tmp_path / "cache" / "sessions"
    for name, age in (("today", 0), ("last-year", 300)):
        (sessions / name).mkdir(parents=True)
        past = time.time() - age * 86_400
        os.utime(sessions / name, (past, past))
    whole = time.time
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda: whole() + 400 * 86_400)
        assert drop_old(tmp_path) == 1
    assert [path.name for path in sessions.iterdir()] == ["today"]
