"""A home of release 0.1.0 goes on: what somebody wrote stays, what was guessed is a proposal or made anew."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from claude_memory import Memory
from claude_memory.model import Kind, MemoryFilter, SearchScope, Status, StoredMemory, Trust

GOLDEN = Path(__file__).parents[1] / "golden" / "home-0.1.0.zip"
ALL = MemoryFilter(statuses=tuple(Status))
EVERYTHING = SearchScope(None)
WRITTEN = {
    "We sign session cookies instead of using JWT: sessions must be revocable at once.": Status.ACTIVE,
    "Always run the linter before a commit.": Status.ACTIVE,
    "Deploys happen on Tuesdays only.": Status.SUPERSEDED,
    "Deploys happen on Wednesdays only.": Status.ACTIVE,
    "I prefer short answers.": Status.ACTIVE,
    "The staging database is called heron.": Status.FORGOTTEN,
}
FORGOTTEN = "mesvc5ytt364r"  # the first prompt of the session on invoice 4711


@pytest.fixture
def home(scratch_home: Path) -> Path:
    folder = scratch_home / "memory"
    folder.mkdir(mode=0o700)
    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(folder)
    return folder


@contextmanager
def opened(home: Path, scratch_home: Path) -> Iterator[Memory]:
    with Memory.open(home, scratch_home, flags={"embedder": "none"}) as memory:
        yield memory


def everything(memory: Memory) -> dict[str, StoredMemory]:
    return {item.id: item for item in memory.store.memories.find(EVERYTHING, ALL)}


def source(item: StoredMemory) -> str:
    return str(item.provenance.get("source"))


def visible(memory: Memory) -> list[tuple[str, str, str, str, str]]:
    return sorted(
        (item.id, item.kind, item.title, item.body, item.status) for item in everything(memory).values()
    )


def before(home: Path) -> dict[str, tuple[str, ...]]:
    db = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = db.execute("SELECT id, kind, title, body, trust, status, provenance FROM memories").fetchall()
        return {row[0]: tuple(row[1:]) for row in found}
    finally:
        db.close()


def test_what_was_written_on_purpose_is_as_it_was(home: Path, scratch_home: Path) -> None:
    old = before(home)
    with opened(home, scratch_home) as memory:
        memory.drain()
        found = everything(memory)
    assert list((home / "backups").iterdir())
    written = {item.body: item for item in found.values() if source(item) == "remember"}
    assert {body: item.status for body, item in written.items()} == WRITTEN
    for item in written.values():
        assert (item.kind, item.title, item.body, item.trust, item.status) == old[item.id][:5]
    assert written["I prefer short answers."].scope == "user"
    tuesday, wednesday = (written[f"Deploys happen on {day} only."] for day in ("Tuesdays", "Wednesdays"))
    assert tuesday.superseded_by == wednesday.id
    from_files = {id_ for id_, row in old.items() if '"source":"file"' in row[-1]}
    assert from_files <= found.keys()


def test_what_was_guessed_is_a_proposal_or_gone(home: Path, scratch_home: Path) -> None:
    with opened(home, scratch_home) as memory:
        memory.drain()
        found = everything(memory).values()
    guessed = [item for item in found if source(item) in ("distilled", "compaction")]
    assert {item.status for item in guessed} <= {Status.PROPOSED}
    assert not [item for item in guessed if item.kind in (Kind.SUMMARY, Kind.OBSERVATION)]


def test_exchanges_stand_where_single_turns_did(home: Path, scratch_home: Path) -> None:
    with opened(home, scratch_home) as memory:
        memory.drain()
        found = everything(memory)
        seen = [item for item in found.values() if item.kind is Kind.OBSERVATION]
        conversations = memory.archive.conversations(EVERYTHING)
        stage = memory.archive.upgrade_stage()
    assert stage == 0
    assert {source(item) for item in seen} == {"exchange"}
    assert {item.trust for item in seen} == {Trust.AGENT}
    assert len([item for item in seen if item.session == "9045a562-6aaa-51eb-9cf8-4e8da8c3752a"]) == 2
    # Three transcripts, two sessions of hooks, and the sub-agent of one of them.
    assert len([one for one in conversations if not one.parent]) == 5
    [cookies] = [item for item in seen if "signed session cookies in a Postgres table" in item.body]
    assert cookies.session == "42882135-0e96-4149-8f61-6b754cd8315f"


def test_what_was_forgotten_stays_so(home: Path, scratch_home: Path) -> None:
    with opened(home, scratch_home) as memory:
        memory.drain()
        found = everything(memory)
        assert FORGOTTEN not in found
        hidden = [item for item in found.values() if item.status is Status.FORGOTTEN]
        [exchange] = [item for item in hidden if item.kind is Kind.OBSERVATION]
        assert "invoice 4711" in exchange.body
        assert exchange.forgotten_at is not None
        hits = memory.search("total of 30.299999999999997 invoice 4711", all_projects=True)
        assert exchange.id not in [hit.id for hit in hits]


def test_strengths_are_carried_to_the_exchange(home: Path, scratch_home: Path) -> None:
    db = apsw.Connection(str(home / "memory.db"))
    db.execute(
        """INSERT INTO strengths SELECT number, 77.5, 5.0, created_at, 4, 0, 0 FROM memories
           WHERE id = 'm96e42d4myr34'"""
    )
    db.close()
    with opened(home, scratch_home) as memory:
        memory.drain()
    db = apsw.Connection(str(home / "memory.db"))
    found = db.execute(
        "SELECT m.kind, m.body, s.stability, s.reviews FROM strengths s JOIN memories m ON m.number = s.memory"
    ).fetchall()
    db.close()
    [(_, body, _, reviews)] = [row for row in found if row[0] == "observation" and row[2] == 77.5]
    assert "paid the same invoice twice" in body
    assert reviews == 4
    assert [row for row in found if row[0] == "decision"]  # what was strong and written stays so, too


def test_a_second_drain_changes_nothing(home: Path, scratch_home: Path) -> None:
    with opened(home, scratch_home) as memory:
        first = memory.drain()
        assert first.memories > 0
        known = visible(memory)
        again = memory.drain()
        assert (again.memories, again.waiting) == (0, 0)
        assert visible(memory) == known


def test_a_rebuild_from_the_mirror_gives_the_same(home: Path, scratch_home: Path) -> None:
    with opened(home, scratch_home) as memory:
        memory.drain()
        known = visible(memory)
        memory.reindex(from_files=True)
        memory.drain()
        assert visible(memory) == known
