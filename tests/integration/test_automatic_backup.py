"""The backup after each conversation: by itself, only when something changed, one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory, doctor
from claude_memory.backup import backups as automatic
from claude_memory.backup import home_state
from claude_memory.backup.backups import Backups
from claude_memory.platform.locks import try_lock
from claude_memory.store.base import Store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "volume"


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have waited."""
    waited: list[float] = []
    monkeypatch.setattr(automatic.time, "sleep", waited.append)
    return waited


def after_a_conversation(memory: Memory, place: Path | str) -> list[str]:
    backups = Backups(memory.home, replace(memory.settings, backup_to=str(place)))
    backups.push_if_changed(memory.store, memory.drain)
    return [item.id for item in Backups(memory.home, memory.settings).list(str(place))]


def remember(memory: Memory, body: str) -> None:
    memory.remember(NewMemory(body, trust="user"))


def test_nothing_happens_without_the_setting(memory: Memory) -> None:
    remember(memory, "x")
    Backups(memory.home, memory.settings).push_if_changed(memory.store, memory.drain)
    assert not (memory.home / home_state.FILE).exists()


def test_each_conversation_is_pushed_once_and_not_twice_in_half_a_minute(
    memory: Memory, place: Path, naps: list[float]
) -> None:
    remember(memory, "first")
    assert len(after_a_conversation(memory, place)) == 1
    assert len(after_a_conversation(memory, place)) == 1
    assert naps == []
    remember(memory, "second")
    assert len(after_a_conversation(memory, place)) == 2
    assert len(naps) == 1
    assert 0 < naps[0] <= automatic.QUIET_SECONDS


def test_what_is_said_during_a_push_goes_with_the_next(
    memory: Memory, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, said = Backups._pushed, iter(["during the push"])

    def slow(self: Backups, store: Store) -> bool:
        done = real(self, store)
        for body in said:
            remember(memory, body)
            break
        return done

    monkeypatch.setattr(Backups, "_pushed", slow)
    remember(memory, "before")
    assert len(after_a_conversation(memory, place)) == 2


def test_whoever_comes_while_another_pushes_leaves_it_to_that_one(memory: Memory, place: Path) -> None:
    remember(memory, "x")
    (memory.home / "cache").mkdir(exist_ok=True)
    with try_lock(memory.home / "cache" / automatic.LOCK) as mine:
        assert mine
        assert after_a_conversation(memory, place) == []


def test_a_place_that_fails_is_told_by_doctor_until_it_works(memory: Memory, tmp_path: Path) -> None:
    remember(memory, "x")
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, no folder")
    backups = Backups(memory.home, replace(memory.settings, backup_to=str(blocked / "in")))
    backups.push_if_changed(memory.store, memory.drain)
    (memory.home / "config.toml").write_text(f'backup_to = "{blocked / "in"}"\nembedder = "none"\n')

    def told() -> tuple[str, str]:
        [check] = [check for check in doctor.check(memory.home) if check.name == "backup_to"]
        return check.level, check.message

    assert told()[0] == "fail"
    assert str(blocked) in told()[1]
    blocked.unlink()
    backups.push_if_changed(memory.store, memory.drain)
    assert told()[0] == "ok"
