"""The log is private, rotated, leveled, and never in the way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_memory.platform import logs
from claude_memory.settings import Settings


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    logs.close()


def test_nothing_is_set_up_before_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.logger("drain").warning("not configured")
    assert capsys.readouterr() == ("", "")
    logs.configure(tmp_path, Settings())
    assert list(tmp_path.iterdir()) == []


def test_lines_at_or_above_the_level_are_written_privately(tmp_path: Path) -> None:
    logs.configure(tmp_path, Settings(log_level="warning"))
    logs.logger("drain").info("quiet")
    logs.logger("drain").warning("loud \ud800")
    path = tmp_path / "logs" / "claude-memory.log"
    text = path.read_text()
    assert "quiet" not in text
    assert "WARNING claude_memory.drain: loud" in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_full_log_is_rotated_and_three_are_kept(tmp_path: Path) -> None:
    logs.configure(tmp_path, Settings(log_max_mb=1))
    for _ in range(60):
        logs.logger("drain").warning("x" * 100_000)
    names = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert names == ["claude-memory.log", *(f"claude-memory.log.{n}" for n in (1, 2, 3))]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "logs").iterdir())


def test_a_log_that_cannot_be_written_is_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    logs.configure(tmp_path, Settings())
    logs.logger("drain").warning("lost")
    assert capsys.readouterr() == ("", "")


def test_configuring_again_leaves_one_handler(tmp_path: Path) -> None:
    logs.configure(tmp_path, Settings())
    logs.configure(tmp_path, Settings(log_level="debug"))
    kept = [h for h in logging.getLogger(logs.ROOT).handlers if not isinstance(h, logging.NullHandler)]
    assert len(kept) == 1
    assert logs.logger("x").isEnabledFor(logging.DEBUG)
