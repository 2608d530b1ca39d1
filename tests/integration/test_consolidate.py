"""Consolidation: links and archives, never merges; a second run finds nothing; undo restores equality."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from claude_memory import Memory, NewMemory
from claude_memory.errors import NotFound
from claude_memory.lifecycle.consolidate import consolidate
from claude_memory.model import Kind, MemoryFilter, SearchScope, Status, StoredMemory, Trust, memory_id

WORDS = {"embedder": "none"}
# A memory fades from when it was stored, so the runs take place long after.
OLD = datetime.now(UTC)
NOW = OLD + timedelta(days=900)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


def everything(memory: Memory) -> list[StoredMemory]:
    return memory.store.memories.find(SearchScope(None), MemoryFilter(statuses=tuple(Status)))


def tables(memory: Memory) -> dict[str, list[tuple[object, ...]]]:
    """All that a consolidation may touch, but its own log, and the clock that counts every change."""
    db = apsw.Connection(str(memory.home / "memory.db"))
    try:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(memories)") if name != "clock"]
        names = ("memories", "relations", "strengths", "passages", "exchanges", "entities", "mentions")
        wanted = dict.fromkeys(names, "*") | {"memories": ", ".join(columns)}
        return {
            name: sorted(db.execute(f"SELECT {what} FROM {name}"), key=repr) for name, what in wanted.items()
        }
    finally:
        db.close()


def filled(memory: Memory, count: int) -> None:
    """Memories of all sorts: repeated, nearly repeated, faded, a person's own."""
    project = memory.project.id
    made = []
    for number in range(count):
        base = number % (count // 2)
        body = f"note {base} about module_{base % 97} and the file src/f{base % 31}.py"
        body += " with several further words so that near twins can be told apart"
        if number % 10 == 3:
            body += " indeed"
        kind = (Kind.NOTE, Kind.OBSERVATION, Kind.DECISION)[number % 3]
        trust = (Trust.USER, Trust.AGENT, Trust.TOOL)[number % 7 % 3]
        when = (OLD, NOW)[number % 2]
        made.append(
            StoredMemory(memory_id(f"c{number}"), project, kind, body[:40], body, when, when, trust=trust)
        )
    for start in range(0, count, 2_000):
        memory.store.memories.add(made[start : start + 2_000])


def test_runs_reach_a_fixed_point_by_the_second_and_undo_restores_equality(memory: Memory) -> None:
    filled(memory, 600)
    consolidate(memory.store, memory.project, now=NOW, dry_run=True)
    while_derived = consolidate(memory.store, memory.project, now=NOW, budget_seconds=None)
    assert while_derived.repeated
    assert while_derived.archived
    memory_undo = memory.upkeep.undo_consolidation()
    assert memory_undo == while_derived.repeated + while_derived.similar + while_derived.archived
    before = tables(memory)
    first = consolidate(memory.store, memory.project, now=NOW)
    after_first = tables(memory)
    assert after_first != before
    for _ in range(5):
        again = consolidate(memory.store, memory.project, now=NOW)
        assert (again.read, again.repeated, again.similar, again.archived) == (0, 0, 0, 0)
    assert tables(memory) == after_first
    assert first.complete
    memory.upkeep.undo_consolidation()
    assert tables(memory) == before
    assert memory.store.lifecycle.last_run(memory.project.id) is None


def test_a_dry_run_changes_nothing(memory: Memory) -> None:
    filled(memory, 60)
    before = tables(memory)
    would = consolidate(memory.store, memory.project, now=NOW, dry_run=True)
    assert would.archived
    assert tables(memory) == before
    with pytest.raises(NotFound):
        memory.upkeep.undo_consolidation()


def test_nothing_is_merged_and_what_is_archived_can_still_be_found(memory: Memory) -> None:
    filled(memory, 60)
    bodies = sorted(item.body for item in everything(memory))
    consolidate(memory.store, memory.project, now=NOW)
    assert sorted(item.body for item in everything(memory)) == bodies
    [archived, *_] = [item for item in everything(memory) if item.status is Status.ARCHIVED]
    assert archived.trust is not Trust.USER or archived.kind is Kind.OBSERVATION
    shown = memory.show([hit.id for hit in memory.search(archived.body, limit=60)])
    assert archived.body in {item.body for item in shown}


def test_a_persons_own_and_the_pinned_are_not_archived(memory: Memory) -> None:
    own = memory.remember(NewMemory("mine", created_at=OLD, trust=Trust.USER))
    pinned = memory.remember(NewMemory("theirs", trust=Trust.TOOL, created_at=OLD))
    memory.revise(pinned.id, pinned=True)
    faded = memory.remember(NewMemory("nobody's", kind="observation", trust=Trust.TOOL, created_at=OLD))
    consolidate(memory.store, memory.project, now=NOW)
    found = {item.id: item.status for item in everything(memory)}
    assert found == {own.id: Status.ACTIVE, pinned.id: Status.ACTIVE, faded.id: Status.ARCHIVED}


def test_a_demotion_survives_consolidation(memory: Memory) -> None:
    kept = memory.remember(NewMemory("not so important", kind="decision", trust=Trust.AGENT))
    memory.lifecycle.review([kept], "demoted")
    for _ in range(3):
        memory.upkeep.consolidate()
    [standing] = memory.lifecycle.standing([kept], now=datetime.now(UTC) + timedelta(days=30))
    assert standing.demoted
    assert standing.state != "active"


def test_another_project_is_untouched(memory: Memory, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with Memory.open(tmp_path / "home", other, flags=WORDS) as elsewhere:
        filled(elsewhere, 60)
        before = [item for item in everything(memory) if item.project == elsewhere.project.id]
        filled_here = NewMemory("something of our own", kind="observation", created_at=OLD, trust=Trust.TOOL)
        memory.remember(filled_here)
        memory.upkeep.consolidate()
        assert [item for item in everything(memory) if item.project == elsewhere.project.id] == before


@pytest.mark.soak
def test_fifty_runs_over_twenty_thousand_memories_reach_a_fixed_point(memory: Memory) -> None:
    filled(memory, 20_000)
    consolidate(memory.store, memory.project, now=NOW)
    size, content = memory.store.stats().size_bytes, tables(memory)
    for _ in range(49):
        consolidate(memory.store, memory.project, now=NOW)
    assert tables(memory) == content
    assert memory.store.stats().size_bytes <= size


def test_history_that_was_just_imported_is_not_archived_and_fades_from_then_on(memory: Memory) -> None:
    """Years of sessions come at once; none of it had a chance to be used here."""
    long_ago = datetime.now(UTC) - timedelta(days=1500)
    made = [
        StoredMemory(
            memory_id(f"i{number}"), memory.project.id, Kind.OBSERVATION, f"step {number}",
            f"ran step {number} of the migration", long_ago, long_ago, trust=Trust.IMPORTED,
        )
        for number in range(20)
    ]  # fmt: skip
    memory.store.memories.add(made)
    assert consolidate(memory.store, memory.project, now=datetime.now(UTC)).archived == 0
    assert {standing.state for standing in memory.lifecycle.standing(made)} == {"active"}
    later = datetime.now(UTC) + timedelta(days=60)
    assert consolidate(memory.store, memory.project, now=later).archived == len(made)


def test_strength_and_uses_outlive_the_database(memory: Memory) -> None:
    """The plain files tell them, too."""
    kept = memory.remember(NewMemory("Deploys go through the blue gate.", kind=Kind.DECISION))
    gone = memory.remember(NewMemory("Alarms are tested in March.", kind=Kind.DECISION))
    memory.lifecycle.review([kept], "promoted")
    memory.lifecycle.review([kept, gone], "demoted")
    before = memory.store.lifecycle.strengths([kept.id])
    memory.erase([gone.id])
    memory.reindex(from_files=True)  # what waits for the files is written first
    memory.close()
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (memory.home / name).unlink(missing_ok=True)
    memory.reindex(from_files=True)
    assert memory.store.lifecycle.strengths([kept.id]) == before
    assert [review.reason for review in memory.store.lifecycle.reviews(kept.id)] == [
        "promoted",
        "demoted",
    ]
    assert gone.id not in (memory.home / "memories.jsonl").read_text("utf-8")
