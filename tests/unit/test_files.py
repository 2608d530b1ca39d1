"""Files survive crashes on every system: whole or not at all, private, with locks that die with us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claude_memory import files


@pytest.fixture
def no_system_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", None)


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    done.wait()
    return done.pid


def test_a_lock_is_taken_once_and_free_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with files.try_lock(lock) as first, files.try_lock(lock) as second:
        assert (first, second) == (True, False)
    with files.try_lock(lock) as again:
        assert again


@pytest.mark.usefixtures("no_system_locks")
def test_without_system_locks_a_file_names_the_owner(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with files.try_lock(lock) as first, files.try_lock(lock) as second:
        assert (first, second) == (True, False)
        assert (tmp_path / ".lock.pid").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []
    with files.try_lock(lock) as again:
        assert again


@pytest.mark.usefixtures("no_system_locks")
def test_a_dead_owners_lock_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".lock.pid").write_text(str(dead_process()))
    with files.try_lock(tmp_path / ".lock") as taken:
        assert taken
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_system_locks")
def test_a_living_owners_lock_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".lock.pid").write_text(str(os.getppid()))
    with files.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    assert (tmp_path / ".lock.pid").exists()


@pytest.mark.usefixtures("no_system_locks")
def test_a_lock_left_by_an_earlier_process_of_our_number_is_stale(tmp_path: Path) -> None:
    (tmp_path / ".lock.pid").write_text(str(os.getpid()))
    with files.try_lock(tmp_path / ".lock") as taken:
        assert taken


@pytest.mark.usefixtures("no_system_locks")
def test_an_unnamed_lock_is_stale_only_after_a_while(tmp_path: Path) -> None:
    lock = tmp_path / ".lock.pid"
    lock.write_text("")
    with files.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    os.utime(lock, (1, 1))
    with files.try_lock(tmp_path / ".lock") as taken:
        assert taken


@pytest.mark.parametrize(
    "hidden", [(), ("fdatasync",), ("O_DIRECTORY",), ("fdatasync", "O_DIRECTORY", "O_CLOEXEC")]
)
def test_replacement_is_whole_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: tuple[str, ...]
) -> None:
    for name in hidden:
        monkeypatch.delattr(os, name)
    path = tmp_path / "file"
    files.write_atomically(path, b"old")
    files.write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_folders_are_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        folder = files.private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700
