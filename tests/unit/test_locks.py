"""Locks tell "taken" from "cannot lock", and keep two out of one place either way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claude_memory.errors import Conflict
from claude_memory.platform import locks


def refuse(number: int) -> object:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture(params=["absent", "ENOLCK", "ENOTSUP", "ENOSYS"])
def no_system_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "absent":
        monkeypatch.setattr(locks, "fcntl", None)
        monkeypatch.setattr(locks, "msvcrt", None)
    else:
        for name in ("flock", "lockf"):
            monkeypatch.setattr(
                f"claude_memory.platform.locks.fcntl.{name}", refuse(getattr(errno, request.param))
            )


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    done.wait()
    return done.pid


def owned_by(lock: Path, **who: object) -> Path:
    owner = lock.with_name(lock.name + locks.OWNER)
    owner.write_text(json.dumps(locks._me() | who))
    return owner


def test_a_lock_is_taken_once_and_free_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locks.try_lock(lock) as first, locks.try_lock(lock) as second:
        assert (first, second) == (True, False)
    with locks.try_lock(lock) as again:
        assert again
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.usefixtures("no_system_locks")
def test_where_nothing_can_be_locked_a_file_names_the_owner(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locks.try_lock(lock) as first, locks.try_lock(lock) as second:
        assert (first, second) == (True, False)
        assert json.loads((tmp_path / ".lock.owner").read_text())["pid"] == os.getpid()
        assert locks.holder(lock) == f"process {os.getpid()}"
    assert not (tmp_path / ".lock.owner").exists()
    with locks.try_lock(lock) as again:
        assert again


@pytest.mark.usefixtures("no_system_locks")
def test_a_dead_owners_lock_is_taken_over(tmp_path: Path) -> None:
    owned_by(tmp_path / ".lock", pid=dead_process(), began="1")
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken
    assert not list(tmp_path.glob("*owner*"))


@pytest.mark.usefixtures("no_system_locks")
def test_a_living_owners_lock_is_not_taken_over(tmp_path: Path) -> None:
    parent = os.getppid()
    owner = owned_by(tmp_path / ".lock", pid=parent, began=locks._began(parent))
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    assert owner.exists()


@pytest.mark.usefixtures("no_system_locks")
def test_a_number_that_was_used_again_is_no_owner(tmp_path: Path) -> None:
    owned_by(tmp_path / ".lock", pid=os.getppid(), began="1")
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken
    owned_by(tmp_path / ".lock")  # our own number, and we hold nothing
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken


@pytest.mark.usefixtures("no_system_locks")
def test_an_owner_on_another_machine_is_dead_when_it_is_silent(tmp_path: Path) -> None:
    owner = owned_by(tmp_path / ".lock", machine="elsewhere", pid=dead_process())
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
        owner = tmp_path / ".lock.owner"
        os.utime(owner, (1, 1))
        for _ in range(500):
            if owner.stat().st_mtime > 1:
                break
            time.sleep(0.01)
        assert owner.stat().st_mtime > 1


@pytest.mark.usefixtures("no_system_locks")
def test_an_unnamed_lock_is_stale_only_after_a_while(tmp_path: Path) -> None:
    owner = tmp_path / ".lock.owner"
    owner.write_text("")
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    os.utime(owner, (1, 1))
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken


def test_who_can_lock_respects_who_could_not(tmp_path: Path) -> None:
    parent = os.getppid()
    owned_by(tmp_path / ".lock", pid=parent, began=locks._began(parent))
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert not taken
    owned_by(tmp_path / ".lock", pid=dead_process(), began="1")
    with locks.try_lock(tmp_path / ".lock") as taken:
        assert taken


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
        locks.try_lock(lock),
        pytest.raises(Conflict, match="come back later"),
        locks.held(lock, wait_seconds=0.02, conflict="come back later"),
    ):
        pass


def test_why_locks_do_not_work_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locks.why_not(tmp_path) is None
    monkeypatch.setattr("claude_memory.platform.locks.fcntl.lockf", refuse(errno.ENOLCK))
    assert locks.why_not(tmp_path) == os.strerror(errno.ENOLCK)
    assert list(tmp_path.iterdir()) == []
