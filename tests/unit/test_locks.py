"""Locks tell "taken" from "cannot lock", and keep two out of one place either way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claude_memory.errors import Conflict
from claude_memory.platform import locks


def refuse(number: int) -> object:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture(params=["ENOLCK", "ENOTSUP", "ENOSYS"])
def no_system_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("flock", "lockf"):
        monkeypatch.setattr(
            f"claude_memory.platform.locks.fcntl.{name}", refuse(getattr(errno, request.param))
        )


def owner_file(lock: Path) -> Path:
    return lock.with_name(lock.name + locks.OWNER)


HOLD = """
import errno, os, sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from claude_memory.platform import locks
def refuse(*_):
    raise OSError(errno.ENOLCK, "no locks")
locks.fcntl.flock = refuse
lock = locks.try_lock(Path(sys.argv[1]))
print(lock.__enter__(), flush=True)
sys.stdin.readline()
os._exit(9)
"""


@contextmanager
def another_process(lock: Path) -> Iterator[None]:
    """A process that holds a lock by name and dies without letting go."""
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield
        process.communicate("\n")


def test_a_lock_is_taken_once_and_free_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locks.try_lock(lock) as first, locks.try_lock(lock) as second:
        assert (first, second) == (True, False)
    with locks.try_lock(lock) as again:
        assert again
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_system_without_these_locks_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with locks.try_lock(tmp_path / ".lock") as first, locks.try_lock(tmp_path / ".lock") as second:
        assert (first, second) == (True, False)
    assert locks.why_not(tmp_path) is None


@pytest.mark.usefixtures("no_system_locks")
def test_where_nothing_can_be_locked_a_file_names_the_owner(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locks.try_lock(lock) as first, locks.try_lock(lock) as second:
        assert (first, second) == (True, False)
        assert f"pid={os.getpid()}\n" in owner_file(lock).read_text()
    assert not owner_file(lock).exists()
    with locks.try_lock(lock) as again:
        assert again


@pytest.mark.usefixtures("no_system_locks")
def test_a_living_owners_lock_is_respected_and_a_dead_ones_taken_over(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with another_process(lock), locks.try_lock(lock) as taken:
        assert not taken
    with locks.try_lock(lock) as taken:
        assert taken
    assert not list(tmp_path.glob("*owner*"))


def test_who_can_lock_respects_who_could_not(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with another_process(lock), locks.try_lock(lock) as taken:
        assert not taken
    with locks.try_lock(lock) as taken:
        assert taken


@pytest.mark.usefixtures("no_system_locks")
@pytest.mark.parametrize("content", ["", "nonsense", '{"pid": 1, "machine": "elsewhere"}'])
def test_an_owner_that_cannot_be_asked_is_dead_when_it_is_silent(tmp_path: Path, content: str) -> None:
    """On another machine, of an older version, or one that died before it named itself."""
    owner = owner_file(tmp_path / ".lock")
    owner.write_text(content)
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    past = time.time() - locks.DEAD_SECONDS - 60
    os.utime(owner, (past, past))
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken


@pytest.mark.usefixtures("no_system_locks")
def test_an_owner_shows_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 0.01)
    with locks.try_lock(tmp_path / ".lock"):
        owner = owner_file(tmp_path / ".lock")
        os.utime(owner, (1, 1))
        for _ in range(500):
            if owner.stat().st_mtime > 1:
                break
            time.sleep(0.01)
        assert owner.stat().st_mtime > 1


def test_a_lock_file_that_was_replaced_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / ".lock"
    whole = locks._take

    def replaced(descriptor: int) -> bool:
        lock.unlink()
        lock.touch()
        return whole(descriptor)

    monkeypatch.setattr(locks, "_take", replaced)
    with locks.try_lock(lock) as taken:
        assert not taken


@pytest.mark.usefixtures("no_system_locks")
def test_waiting_ends_in_the_callers_words(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with (
        locks.held(lock, wait_seconds=1, conflict=""),
        pytest.raises(Conflict, match="come back later"),
        locks.held(lock, wait_seconds=0.02, conflict="come back later"),
    ):
        pass


def test_why_locks_do_not_work_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locks.why_not(tmp_path) is None
    monkeypatch.setattr("claude_memory.platform.locks.fcntl.lockf", refuse(errno.ENOLCK))
    assert locks.why_not(tmp_path) == os.strerror(errno.ENOLCK)
    assert list(tmp_path.iterdir()) == []
