"""Whatever a killed process left half made is gone after an hour, and nothing else."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from claude_memory import Memory
from claude_memory import doctor as health
from claude_memory.platform import leftovers

OURS = (
    ".config.toml.0123456789ab.tmp",
    "sessions/s1/.summary.json.0123456789ab.tmp",
    "cache/.retention.json.0123456789ab.tmp",
    "cache/.backup.0123456789ab.tmp/memory.db",
    "backups/.claude-memory-20260101T000000Z.zip.0123456789ab.tmp",
    "projects/p1/.patterns.json.4711.tmp",
    "spool/rejected/.x.reason.0123456789ab.tmp",
    ".memories.jsonl.purge",
    ".plugin-abc/hooks.json",
)
THEIRS = ("MEMORY.md", "notes.tmp", ".hidden", "sessions/2026-11-15.jsonl", "memory.db.damaged-2026")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    root = tmp_path / "home"
    for name in (*OURS, *THEIRS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    (scratch / f"{leftovers.VERIFYING}abc").mkdir()
    (scratch / f"{leftovers.VERIFYING}abc" / "memory.db").write_bytes(b"x")
    (tmp_path / ".home.restore-abc.tmp").mkdir()
    return root


def age(folder: Path, seconds: float = 7200) -> None:
    then = time.time() - seconds
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then))


def kept(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()} - {"cache/swept"}


def test_what_is_young_stays(home: Path) -> None:
    before = kept(home)
    assert leftovers.sweep(home) == 0
    assert kept(home) == before


def test_what_is_old_goes_and_nothing_else(home: Path, tmp_path: Path) -> None:
    age(tmp_path)
    assert len(leftovers.stale(home)) == len(OURS) + 2
    assert leftovers.sweep(home) == len(OURS) + 2
    assert kept(home) == set(THEIRS)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / ".home.restore-abc.tmp").exists()


def test_a_folder_in_which_something_grows_is_in_the_making(home: Path, tmp_path: Path) -> None:
    age(tmp_path)
    (home / "cache/.backup.0123456789ab.tmp/memory.db").write_bytes(b"more")
    leftovers.sweep(home)
    assert (home / "cache/.backup.0123456789ab.tmp/memory.db").exists()


def test_one_outside_the_home_is_found_by_its_note(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "usb"
    outside.mkdir()
    half, mine = outside / ".made.zip.0123456789ab.tmp", outside / "made.zip"
    for path in (half, mine):
        path.write_bytes(b"x")
        known = set((home / "cache").iterdir())
        with leftovers.noted(home, path):
            [note] = set((home / "cache").iterdir()) - known
            content = note.read_bytes()
        assert not note.exists()  # who ends in an orderly way leaves no note
        note.write_bytes(content)
    age(tmp_path)
    leftovers.sweep(home)
    assert [path.name for path in outside.iterdir()] == ["made.zip"]
    assert not list((home / "cache").glob(".elsewhere*"))


def test_the_sweep_looks_once_an_hour(home: Path, tmp_path: Path) -> None:
    assert leftovers.sweep(home) == 0
    for path in home.rglob("*"):
        if path.name != "swept":
            os.utime(path, (1, 1))
    assert leftovers.sweep(home) == 0
    os.utime(home / "cache" / "swept", (1, 1))
    assert leftovers.sweep(home)
    os.utime(home / "cache" / "swept", (time.time() + 9e6,) * 2)  # a clock that was ahead
    (home / ".x.tmp").touch()
    os.utime(home / ".x.tmp", (1, 1))
    assert leftovers.sweep(home)


def test_a_drain_sweeps_home_and_project_and_doctor_counts(tmp_path: Path) -> None:
    project = tmp_path / "project"
    half = project / ".claude-memories" / "sessions" / ".plan.md.0123456789ab.tmp"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"x")
    with Memory.open(tmp_path / "home", project, flags={"embedder": "none"}) as memory:
        memory.drain()
        (memory.home / ".x.0123456789ab.tmp").write_bytes(b"x")
        age(tmp_path)
        [found] = [check for check in health.check(memory.home) if check.name == "leftovers"]
        assert found.level == "warn"
        memory.drain()
        assert not half.exists()
        assert "leftovers" not in {check.name for check in health.check(memory.home)}
