"""Many writers on one task: nothing is lost, nothing is torn, and what was acknowledged is there once."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import MemoryAPI, SessionManager

APPENDER = """
import os, sys, time
from claude_memory import MemoryAPI
storage, worker, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
api = MemoryAPI(storage, by=f"subagent:{worker}")
if os.path.exists(storage + ".wait"):
    open(f"{storage}.ready.{worker}", "w").close()
while os.path.exists(storage + ".wait"):
    time.sleep(0.001)
for number in range(count):
    text = f"{worker}/{number} " + "x" * size
    api.append_progress("busy", text)
    sys.stdout.write(f"{worker}/{number}\\n")
    sys.stdout.flush()
"""

# Where the system has no file locks, files that name their owners do the same.
WITHOUT_SYSTEM_LOCKS = (
    """
import errno, fcntl
def refuse(*_):
    raise OSError(errno.ENOLCK, "no locks")
fcntl.flock = refuse
"""
    + APPENDER
)

PLANNER = """
import sys
from claude_memory import MemoryAPI
from claude_memory.errors import Conflict
api = MemoryAPI(sys.argv[1], by=f"subagent:{sys.argv[2]}")
api.update_scratchpad("shared", f"by {sys.argv[2]}")
api.create_scratchpad(f"own-{sys.argv[2]}", "mine")
try:
    api.create_plan("shared", f"plan of {sys.argv[2]}")
    print("won")
except Conflict:
    print("lost")
"""


def started(program: str, *arguments: object, acknowledged: Path | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    if acknowledged is None:
        return subprocess.Popen(command, stdout=subprocess.PIPE)
    with acknowledged.open("wb") as target:  # a file, so that what was said outlives the speaker
        return subprocess.Popen(command, stdout=target, stderr=subprocess.DEVNULL)


def check_record(api: MemoryAPI) -> list[str]:
    """The record is whole and in order; returns the names of its entries."""
    entries = api.get_progress("busy")
    times = [entry.time for entry in entries if entry.time]
    assert times == sorted(times)
    assert len(set(times)) == len(entries)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert api.verify("busy") == []
    for entry in entries:
        worker = entry.text.split("/")[0]
        assert entry.by == f"subagent:{worker}"
    return [entry.text.split(" ")[0] for entry in entries]


def appended_by_many(storage: Path, processes: int, count: int, program: str = APPENDER) -> None:
    MemoryAPI(storage, session="s1").create_scratchpad("busy", "x")
    running = [started(program, storage, worker, count, 20) for worker in range(processes)]
    for process in running:
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        assert len(out.splitlines()) == count
    names = check_record(MemoryAPI(storage))
    assert Counter(names) == Counter(f"{w}/{n}" for w in range(processes) for n in range(count))
    for worker in range(processes):  # each one's own entries are in its own order
        own = [int(name.split("/")[1]) for name in names if name.startswith(f"{worker}/")]
        assert own == list(range(count))


def killed_at_random(storage: Path, folder: Path, processes: int, count: int, seed: int) -> None:
    MemoryAPI(storage, session="s1").create_scratchpad("busy", "x")
    chance = random.Random(seed)
    said = [folder / f"said-{worker}" for worker in range(processes)]
    running = [
        started(APPENDER, storage, worker, count, chance.choice([10, 9000]), acknowledged=said[worker])
        for worker in range(processes)
    ]
    while not any(path.stat().st_size for path in said):
        time.sleep(0.01)
    for process in chance.sample(running, k=max(1, processes * 2 // 3)):
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
    for process in running:
        process.wait(600)
    api = MemoryAPI(storage)
    api.append_progress("busy", "after/0")  # whatever a dead writer left behind, the next one goes on
    texts = [entry.text for entry in api.get_progress("busy") if "unsealed" not in entry.marks]
    names = Counter(text.split(" ")[0] for text in texts)
    acknowledged = [line for path in said for line in path.read_text().split("\n")[:-1]]
    assert acknowledged
    assert all(names[name] == 1 for name in acknowledged)
    assert max(names.values()) == 1
    assert all(
        "was changed" not in str(problem) and "missing" not in str(problem) for problem in api.verify()
    )


def test_no_append_is_lost_or_torn(tmp_path: Path) -> None:
    appended_by_many(tmp_path / "storage", processes=8, count=25)


@pytest.mark.parametrize("named", ["", "agents-own"])
def test_all_who_begin_a_task_at_once_write_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("CLAUDE_MEMORY_SESSION", named)
    storage, wait = tmp_path / "storage", tmp_path / "storage.wait"
    wait.touch()
    running = [started(APPENDER, storage, worker, 3, 20) for worker in range(8)]
    while len(list(tmp_path.glob("storage.ready.*"))) < len(running):
        time.sleep(0.01)
    wait.unlink()
    assert [process.communicate(timeout=120)[0].count(b"\n") for process in running] == [3] * 8
    api = MemoryAPI(storage)
    assert len(api.session_manager.list_sessions()) == 1
    assert len(check_record(api)) == 24


def test_no_append_is_lost_where_the_system_has_no_locks(tmp_path: Path) -> None:
    appended_by_many(tmp_path / "storage", processes=5, count=20, program=WITHOUT_SYSTEM_LOCKS)


def test_every_acknowledged_entry_survives_kill_9_once(tmp_path: Path) -> None:
    killed_at_random(tmp_path / "storage", tmp_path, processes=8, count=60, seed=1)


@pytest.mark.soak
def test_fifty_processes_two_hundred_entries_each(tmp_path: Path) -> None:
    appended_by_many(tmp_path / "storage", processes=50, count=200)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_fifty_processes_under_kill_9(tmp_path: Path, seed: int) -> None:
    killed_at_random(tmp_path / "storage", tmp_path, processes=50, count=200, seed=seed)


def test_a_clean_up_among_writers_loses_nothing(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    MemoryAPI(storage, session="s1").create_scratchpad("busy", "x")
    said = [tmp_path / f"said-{worker}" for worker in range(4)]
    running = [started(APPENDER, storage, w, 400, 20, acknowledged=said[w]) for w in range(4)]
    while not all(path.stat().st_size for path in said):
        time.sleep(0.01)
    manager = SessionManager(storage, session="another")
    now = datetime.now(UTC) + timedelta(minutes=1)  # they go on writing: what they touch now is old by then
    [archived] = manager.archive(manager.untouched(0, now=now), now=now)
    for process in running:
        process.kill()
        process.wait()
    with zipfile.ZipFile(archived) as archive:
        kept = archive.read("s1/tasks/busy-s1-progress.md").decode()
    later = [path.read_text("utf-8") for path in storage.rglob("busy-*-progress.md")]
    written = Counter(re.findall(r"^(\d+/\d+) ", "\n".join([kept, *later]), re.MULTILINE))
    acknowledged = [line for path in said for line in path.read_text().split("\n")[:-1]]
    assert all(written[name] == 1 for name in acknowledged)


def test_one_plan_wins_and_every_task_is_kept(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    MemoryAPI(storage, session="s1").create_scratchpad("shared", "x")
    running = [started(PLANNER, storage, worker) for worker in range(8)]
    outcomes = [process.communicate(timeout=120)[0].decode().strip() for process in running]
    assert sorted(outcomes) == ["lost"] * 7 + ["won"]
    api = MemoryAPI(storage)
    assert api.get_plan("shared") == f"plan of {outcomes.index('won')}"
    assert {task.name for task in api.list_tasks()} == {"shared", *(f"own-{worker}" for worker in range(8))}
    texts = {api.get_scratchpad("shared")}
    for version in api.scratchpad_history("shared"):
        texts.add(version.path.read_text("utf-8").rpartition("---\n\n")[2].strip())
    assert texts == {"x", *(f"by {worker}" for worker in range(8))}
    assert api.verify() == []


def test_a_stopped_writer_delays_but_does_not_break(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs POSIX signals")
    import signal

    from claude_memory.errors import Conflict
    from claude_memory.tasks import documents

    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfrom pathlib import Path\nfrom claude_memory.tasks import documents\n"
            "with documents.held(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n",
            str(tmp_path / "task.lock"),
        ],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.send_signal(signal.SIGSTOP)
    with (
        pytest.raises(Conflict, match="another process holds"),
        documents.held(tmp_path / "task.lock", wait_seconds=0.1),
    ):
        pass
    holder.kill()
    holder.communicate()
    with documents.held(tmp_path / "task.lock", wait_seconds=5):
        pass
