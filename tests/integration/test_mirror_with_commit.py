"""What is committed stands in the mirror at once: a crash at any time costs it at most the last commit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.backup import mirror
from claude_memory.capture import drain as drain_module
from claude_memory.capture.drain import Spool
from claude_memory.store.base import Store


def capture(home: Path, count: int, sessions: int = 1) -> None:
    spool = Spool(home)
    for number in range(count):
        session = f"s{number % sessions + 1}"
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(home.parent)}
        event |= {"prompt": f"Look at invoice {number} please", "prompt_id": f"p{number}"}
        spool.put("UserPromptSubmit", json.dumps(event).encode())


def without_its_database(home: Path) -> None:
    for path in home.glob("memory.db*"):
        path.unlink()


def test_an_intention_outlives_the_database(memory: Memory) -> None:
    kept = memory.intentions.set("renew the certificate")
    late = memory.intentions.set("ask Ines about the invoice")
    memory.intentions.snooze(late.id, "3 days")
    memory.close()
    without_its_database(memory.home)
    memory.reindex(from_files=True)
    found = {one.id: one for one in memory.intentions.list()}
    assert found.keys() == {kept.id, late.id}
    assert found[late.id].snoozed_until is not None


@pytest.mark.parametrize("change", ["complete", "cancel"])
def test_a_closed_intention_stays_closed(memory: Memory, change: str) -> None:
    kept = memory.intentions.set("renew the certificate")
    getattr(memory.intentions, change)(kept.id)
    memory.close()
    without_its_database(memory.home)
    memory.reindex(from_files=True)
    assert memory.intentions.list() == []


def test_a_change_made_beside_the_verbs_is_mirrored_too(memory: Memory) -> None:
    """Whoever writes to the store, by whatever part of it, the mirror follows."""
    [id_] = memory.remember_many([NewMemory(body="ledger rows are immutable")])
    memory.store.lifecycle.archive([id_])
    assert memory.store.changes_since("memories.jsonl", 1) == []
    assert [record["change"] for record in mirror.read(memory.home)][-1] == "archive"


def test_every_batch_of_a_drain_is_mirrored_before_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_module, "BATCH_EVENTS", 5)
    capture(memory.home, 20)
    waiting: list[int] = []
    whole = drain_module._Drain.batch

    def counted(run: drain_module._Drain, *arguments: object) -> bool:
        waiting.append(len(memory.store.changes_since("memories.jsonl", 10_000)))
        return whole(run, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(drain_module._Drain, "batch", counted)
    assert memory.drain().events == 20
    assert waiting == [0] * len(waiting)
    assert len(waiting) > 4


def test_a_killed_drain_leaves_one_batch_and_the_next_question_repairs_it(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    capture(home, 30, sessions=30)
    program = f"""
        import os, signal
        from claude_memory import Memory
        from claude_memory.capture import drain
        from claude_memory.backup import mirror
        drain.BATCH_EVENTS = 5
        turns = []
        whole = mirror._flush_turn
        def killed(*arguments):
            turns.append(1)
            if len(turns) > 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments)
        mirror._flush_turn = killed
        with Memory.open({str(home)!r}, {str(project)!r}, flags={{"embedder": "none"}}) as memory:
            memory.drain()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -signal.SIGKILL
    with Memory.open(home, project, flags={"embedder": "none"}) as memory:
        assert 0 < len(memory.store.changes_since("memories.jsonl", 10_000)) <= 6  # one commit's
        for path in Spool(home).pending():
            path.path.unlink()
        memory.search("invoice")
        assert memory.store.changes_since("memories.jsonl", 1) == []
        mirrored = {record["memory"]["id"] for record in mirror.read(home) if "memory" in record}
        assert mirrored == ids(memory.store)


def ids(store: Store) -> set[str]:
    from claude_memory.model import MemoryFilter, SearchScope

    return {found.id for found in store.memories.find(SearchScope(None), MemoryFilter())}
