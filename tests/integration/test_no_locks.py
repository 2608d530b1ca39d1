"""Where the file system cannot lock, what was captured still gets through, and the doctor says it loudly."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from claude_memory import Memory, NewMemory, doctor
from claude_memory.capture.drain import Spool
from claude_memory.doctor import Check
from claude_memory.errors import StoreBusy, StoreFault

REFUSES = """
import fcntl, os
def refuse(*_):
    raise OSError({number}, os.strerror({number}))
fcntl.flock = refuse
"""


@pytest.fixture
def locks_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("claude_memory.platform.locks.fcntl.flock", refuse)
    monkeypatch.setattr("claude_memory.platform.locks.fcntl.lockf", refuse)


def capture(home: Path, number: int) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(home.parent)}
    event |= {"prompt": f"Look at invoice {number} please", "prompt_id": f"p{number}"}
    Spool(home).put("UserPromptSubmit", json.dumps(event).encode())


def named(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_real_command_drains_without_locks(tmp_path: Path, number: int) -> None:
    home, patch = tmp_path / "home", tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(REFUSES.format(number=number))
    capture(home, 1)
    environment = {**os.environ, "PYTHONPATH": str(patch), "CLAUDE_MEMORY_HOME": str(home)}
    (home / "config.toml").write_text('embedder = "none"\n')

    def command(*words: str) -> subprocess.CompletedProcess[bytes]:
        program = [sys.executable, "-m", "claude_memory", *words]
        return subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, check=False)

    found = command("search", "invoice", "--json")
    assert b"invoice 1" in found.stdout, found.stderr
    assert Spool(home).depth().count == 0
    told = command("doctor", "--json")
    findings = json.loads(told.stdout)
    [locks] = [one for one in findings.get("checks", findings) if one["name"] == "locks"]
    assert locks["level"] == "fail"
    assert os.strerror(number) in locks["message"]
    assert not list(home.rglob("*.owner"))


@pytest.mark.usefixtures("locks_refused")
def test_everything_that_locks_goes_on(memory: Memory) -> None:
    capture(memory.home, 1)
    assert memory.drain().events == 1
    [id_] = memory.remember_many([NewMemory(body="ledger rows are immutable")])
    assert id_.encode() in (memory.home / "memories.jsonl").read_bytes()
    assert named(doctor.check(memory.home), "locks").level == "fail"


@pytest.mark.usefixtures("locks_refused")
def test_two_drains_without_locks_store_each_event_once(memory: Memory) -> None:
    for number in range(20):
        capture(memory.home, number)
    with Spool(memory.home).lock() as mine:
        assert mine
        assert memory.drain().busy
    assert memory.drain().events == 20
    assert memory.drain().events == 0


def test_a_store_that_cannot_be_locked_is_not_called_busy(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says "busy" for ENOLCK, too, and would say so for ever."""
    memory.remember(NewMemory(body="first"))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    writer = apsw.Connection(str(memory.home / "memory.db"))
    with contextlib.closing(writer), memory.store.transactions.hurried(1):
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            memory.remember(NewMemory(body="second"))

        monkeypatch.setattr("claude_memory.platform.locks.fcntl.lockf", refuse)
        with pytest.raises(StoreFault, match="cannot be locked") as caught:
            memory.remember(NewMemory(body="second"))
        assert not isinstance(caught.value, StoreBusy)
