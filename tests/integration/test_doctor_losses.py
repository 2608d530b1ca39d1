"""The doctor notices what SQLite cannot: a log that is lost, an older file, a bit that flipped in a text."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.backup_steps import create, restore

from claude_memory import Memory, NewMemory
from claude_memory import doctor as health
from claude_memory.capture.drain import Spool


def levels(home: Path) -> dict[str, str]:
    return {check.name: check.level for check in health.check(home)}


def said(memory: Memory, *bodies: str) -> None:
    for body in bodies:
        memory.remember(NewMemory(body=body))


def test_a_healthy_home_is_healthy_also_after_restore_and_rebuild(memory: Memory, tmp_path: Path) -> None:
    said(memory, "ledger rows are immutable", "Größe in Zoll, 数据 and 😀", "half a \ud83d character")
    doomed = memory.remember(NewMemory(body="erased later on, for good"))
    made = create(memory.home, memory.store, tmp_path / "made.zip")
    memory.erase([doomed.id])
    memory.close()
    assert not {"lost changes", "texts"} & levels(memory.home).keys()
    restore(made, memory.home, replace=True)
    assert not {"lost changes", "texts"} & levels(memory.home).keys()
    for path in memory.home.glob("memory.db*"):
        path.unlink()
    memory.reindex(from_files=True)
    assert not {"lost changes", "texts"} & levels(memory.home).keys()
    said(memory, "and it goes on")
    memory.close()
    assert not {"lost changes", "texts"} & levels(memory.home).keys()


def test_a_lost_log_is_noticed_and_the_mirror_repairs_it(memory: Memory, tmp_path: Path) -> None:
    said(memory, "ledger rows are immutable")
    memory.close()  # all of it is in the file now
    said(memory, "invoices are kept for ten years", "tax is rounded down")
    crashed = tmp_path / "crashed"
    shutil.copytree(memory.home, crashed)  # the home as a crash leaves it
    for suffix in ("-wal", "-shm"):
        (crashed / f"memory.db{suffix}").unlink()
    assert levels(crashed)["lost changes"] == "fail"
    with Memory.open(crashed, memory.project_root, flags={"embedder": "none"}) as repaired:
        repaired.reindex(from_files=True)
        assert repaired.search("tax rounded")
    assert "lost changes" not in levels(crashed)


def test_an_older_copy_of_the_database_is_noticed(memory: Memory, tmp_path: Path) -> None:
    said(memory, "ledger rows are immutable")
    memory.store.export(tmp_path / "older.db")
    said(memory, "invoices are kept for ten years")
    memory.close()
    shutil.copy(tmp_path / "older.db", memory.home / "memory.db")
    assert levels(memory.home)["lost changes"] == "fail"


def test_a_database_that_was_deleted_and_made_anew_is_noticed(memory: Memory) -> None:
    said(memory, "ledger rows are immutable", "invoices are kept for ten years")
    memory.close()
    (memory.home / "memory.db").unlink()
    said(memory, "a fresh start")
    memory.close()
    assert levels(memory.home)["lost changes"] == "fail"


@pytest.mark.parametrize("place", ["file", "row"])
def test_a_flipped_bit_in_a_text_is_noticed(memory: Memory, place: str) -> None:
    said(memory, "ledger rows are immutable", "invoices are kept for ten years")
    memory.close()
    path = memory.home / "memory.db"
    if place == "file":
        content = path.read_bytes()
        assert b"ten years" in content
        path.write_bytes(content.replace(b"ten years", b"tan years"))
    else:
        with apsw.Connection(str(path)) as db:
            db.execute("UPDATE memories SET title = replace(title, 'invoices', 'invoicez')")
    found = levels(memory.home)
    assert found["texts"] == "fail"
    assert found["integrity"] == "ok"  # which is why


def test_an_event_that_is_no_json_any_more_is_noticed(memory: Memory) -> None:
    Spool(memory.home).put("UserPromptSubmit", b'{"prompt": "hello", "session_id": "s"}')
    memory.drain()
    memory.close()
    with apsw.Connection(str(memory.home / "memory.db")) as db:
        db.execute("UPDATE events SET payload = replace(payload, '\"prompt\":', '\"prompt\"*')")
    with Memory.open(memory.home, flags={"embedder": "none"}) as again:
        assert "no JSON" in "; ".join(again.store.check().problems)


QUESTIONS: dict[str, Callable[[Memory], object]] = {
    "search": lambda memory: memory.search("ledger"),
    "timeline": lambda memory: memory.timeline(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_an_unknown_project_does_not_wait_for_a_stuck_writer(
    memory: Memory, tmp_path: Path, question: str
) -> None:
    said(memory, "ledger rows are immutable")
    Spool(memory.home).put("UserPromptSubmit", b'{"prompt": "hello", "session_id": "s", "cwd": "/new"}')
    writer = apsw.Connection(str(memory.home / "memory.db"))
    writer.execute("BEGIN IMMEDIATE")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".claude-memories").mkdir()
    (elsewhere / ".claude-memories" / "MEMORY.md").write_text("# A decision\n\nWe use tabs.\n")
    answers: list[object] = []

    def ask() -> None:
        # With this patience, one ordinary wait for the writer would outlast the test.
        with Memory.open(memory.home, elsewhere, flags={"embedder": "none"}, patience_ms=600_000) as unknown:
            answers.append(QUESTIONS[question](unknown))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(60)
    writer.close()
    assert answers == [[]]
