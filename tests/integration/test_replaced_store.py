"""A process that has the store open goes on with the file that is there, whoever put it there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest
from tests.backup_steps import create, restore

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.errors import StoreBusy
from claude_memory.model import MemoryId


def capture(home: Path, text: str, session: str = "s1") -> None:
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session,
        "cwd": "/somewhere",
        "prompt": text,
        "prompt_id": text,
    }
    Spool(home).put("UserPromptSubmit", json.dumps(event).encode())


def stored(home: Path) -> set[str]:
    """What another process finds in the events."""
    program = (
        "import apsw, json, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "print(json.dumps([json.loads(row[0])['prompt'] for row in db.execute('SELECT payload FROM events')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home / "memory.db")], capture_output=True, check=True
    )
    return set(json.loads(done.stdout))


def test_events_after_a_restore_are_in_the_restored_store(memory: Memory, tmp_path: Path) -> None:
    capture(memory.home, "before")
    memory.drain()
    made = create(memory.home, memory.store, tmp_path / "made.zip")
    assert restore(made, memory.home, replace=True).previous is not None
    capture(memory.home, "after")
    assert memory.drain().events == 1
    assert stored(memory.home) == {"before", "after"}
    memory.remember(NewMemory(body="we restored on a Monday"))
    with Memory.open(memory.home, memory.project_root, flags={"embedder": "none"}) as other:
        assert other.search("restored Monday")


@pytest.mark.parametrize("gone", [("",), ("", "-wal"), ("", "-wal", "-shm")])
def test_events_after_a_deletion_are_in_a_new_store(memory: Memory, gone: tuple[str, ...]) -> None:
    capture(memory.home, "before")
    memory.drain()
    for suffix in gone:
        (memory.home / f"memory.db{suffix}").unlink()
    capture(memory.home, "after")
    assert memory.drain().events == 1
    assert stored(memory.home) == {"after"}
    assert memory.store.check().problems == ()


def test_a_log_that_another_process_made_meanwhile_is_left_alone(memory: Memory, tmp_path: Path) -> None:
    """Closing the old file must not delete the new file's log, which has the same name."""
    capture(memory.home, "before")
    memory.drain()
    made = create(memory.home, memory.store, tmp_path / "made.zip")
    restore(made, memory.home, replace=True)
    with Memory.open(memory.home, memory.project_root, flags={"embedder": "none"}) as other:
        capture(memory.home, "by another")
        assert other.drain().events == 1
        assert (memory.home / "memory.db-wal").stat().st_size
        assert memory.stats(all_projects=True).events == 2  # leaves the old file
        assert (memory.home / "memory.db-wal").stat().st_size
        assert stored(memory.home) == {"before", "by another"}


def test_a_log_that_was_taken_away_costs_nothing_more(memory: Memory) -> None:
    capture(memory.home, "before")
    memory.drain()
    (memory.home / "memory.db-wal").unlink()
    capture(memory.home, "after")
    assert memory.drain().events == 1
    assert "after" in stored(memory.home)


def test_every_thread_notices(memory: Memory, tmp_path: Path) -> None:
    memory.remember(NewMemory(body="first"))
    made = create(memory.home, memory.store, tmp_path / "made.zip")
    ready, go, seen = threading.Event(), threading.Event(), []

    def reader() -> None:
        memory.stats(all_projects=True)
        ready.set()
        go.wait(10)
        seen.append(sum(memory.stats(all_projects=True).memories.values()))

    thread = threading.Thread(target=reader)
    thread.start()
    ready.wait(10)
    memory.remember(NewMemory(body="second, lost by the restore"))
    restore(made, memory.home, replace=True)
    go.set()
    thread.join()
    assert seen == [1]


def test_a_commit_into_a_file_that_was_just_replaced_counts_for_nothing(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain unlinks a captured event only when it is in the file that others see."""
    from claude_memory.store.sql import write

    memory.remember(NewMemory(body="first"))
    made = create(memory.home, memory.store, tmp_path / "made.zip")
    capture(memory.home, "in between")
    whole, times = write.add_events, []

    def replaced_meanwhile(db: apsw.Connection, *arguments: object, **named: object) -> object:
        done = whole(db, *arguments, **named)  # type: ignore[arg-type]
        if not times:
            times.append(1)
            waiting = memory.home / "spool" / "new"
            restore(made, memory.home, replace=True)
            [aside] = memory.home.parent.glob("home.before-restore-*")
            shutil.copytree(aside / "spool" / "new", waiting, dirs_exist_ok=True)
        return done

    monkeypatch.setattr(write, "add_events", replaced_meanwhile)
    assert memory.drain().busy
    assert memory.drain().events == 1
    assert stored(memory.home) == {"in between"}


def test_a_store_that_was_replaced_while_it_was_written_says_so(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_memory.store.sql import erase

    [id_] = memory.remember_many([NewMemory(body="first")])
    copy = tmp_path / "copy.db"
    memory.store.export(copy)
    whole = erase.erase

    def replaced(db: apsw.Connection, ids: list[MemoryId], **named: object) -> object:
        copy.replace(memory.home / "memory.db")
        return whole(db, ids, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(erase, "erase", replaced)
    with pytest.raises(StoreBusy, match="was replaced"):
        memory.store.memories.erase([id_])
    assert [found.id for found in memory.find([id_])] == [id_]
