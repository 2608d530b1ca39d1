"""If the database is lost, the mirror's files bring every memory back, and what was erased stays away."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory.backup import mirror
from claude_memory.model import (
    Kind,
    MemoryFilter,
    ProjectIdentity,
    SearchScope,
    Status,
    StoredMemory,
    memory_id,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store, set_damaged_aside
from claude_memory.store.base import Store

EVERYTHING = SearchScope(None)
ALL = MemoryFilter(statuses=tuple(Status))
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store(home, Settings())
    yield opened
    opened.close()


def memory(store: Store, body: str, *, day: int = 0, **more: object) -> StoredMemory:
    project = store.project_for(ProjectIdentity(("remote:host/p",), "p", "/p"))
    moment = START + timedelta(days=day)
    made = StoredMemory(memory_id(body), project.id, Kind.NOTE, body[:20], body, moment, moment)
    return replace(made, **more)  # type: ignore[arg-type]


def everything(store: Store) -> dict[str, StoredMemory]:
    return {found.id: found for found in store.memories.find(EVERYTHING, ALL)}


def lost(home: Path, store: Store) -> Store:
    """The same home after its database was deleted."""
    store.close()
    for path in home.glob("memory.db*"):
        path.unlink()
    return open_store(home, Settings())


def test_every_memory_in_its_last_state_comes_back(home: Path, store: Store) -> None:
    first = memory(store, "use jwt", topics=("auth",), files=("src/auth.py",), provenance={"by": "ana"})
    second = memory(store, "数据库 in WAL mode", day=1, kind=Kind.DECISION, pinned=True)
    third = memory(store, "forgotten", day=2)
    store.memories.add([first, second, third])
    mirror.flush(home, store)
    store.memories.update(replace(first, body="use paseto", updated_at=START + timedelta(days=5)))
    store.memories.update(
        replace(
            third,
            status=Status.FORGOTTEN,
            forgotten_at=START + timedelta(days=3),
            updated_at=START + timedelta(days=3),
        )
    )
    mirror.flush(home, store)
    before = everything(store)

    rebuilt = lost(home, store)
    assert rebuilt.replay(mirror.read(home)).memories == 3
    assert everything(rebuilt) == before
    assert {project.name for project in rebuilt.projects()} == {"p"}
    rebuilt.memories.rebuild_index()
    assert rebuilt.check().problems == ()
    rebuilt.close()


def test_replaying_twice_or_over_a_sound_store_changes_nothing(home: Path, store: Store) -> None:
    store.memories.add([memory(store, f"note {number}") for number in range(20)])
    mirror.flush(home, store)
    before = everything(store)
    store.replay(mirror.read(home))
    store.replay(mirror.read(home))
    assert everything(store) == before
    assert mirror.flush(home, store) == 0  # nothing is written twice


def test_a_crash_between_file_and_store_is_made_good_by_replay(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.memories.add([memory(store, "one"), memory(store, "two")])

    def crash(cursor: str, through: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "changes_taken", crash)
        with pytest.raises(KeyboardInterrupt):
            mirror.flush(home, store)
    mirror.flush(home, store)
    assert sum("memory" in record for record in mirror.read(home)) == 4
    rebuilt = lost(home, store)
    rebuilt.replay(mirror.read(home))
    assert {found.body for found in everything(rebuilt).values()} == {"one", "two"}
    rebuilt.close()


def test_what_was_erased_is_in_no_file_and_does_not_come_back(home: Path, store: Store) -> None:
    secret = memory(store, "the launch code is zebra")
    store.memories.add([secret, memory(store, "harmless")])
    mirror.flush(home, store)
    old_lines = (home / mirror.CURRENT).read_bytes()
    store.memories.erase([secret.id])
    mirror.purge(home, [secret.id])
    mirror.flush(home, store)
    store.close()
    assert b"zebra" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())

    with (home / mirror.CURRENT).open("ab") as handle:
        handle.write(old_lines)  # as if an older copy had been merged back
    rebuilt = lost(home, store)
    rebuilt.replay(mirror.read(home))
    assert {found.body for found in everything(rebuilt).values()} == {"harmless"}
    rebuilt.close()


def test_a_damaged_database_is_set_aside_and_a_sound_one_stays(home: Path, store: Store) -> None:
    store.memories.add([memory(store, f"note {number} " + "x" * 500) for number in range(200)])
    mirror.flush(home, store)
    store.close()
    database = home / "memory.db"
    assert set_damaged_aside(home, Settings()) is None
    assert set_damaged_aside(home / "nowhere", Settings()) is None

    content = bytearray(database.read_bytes())
    content[8192:60_000] = b"\xaa" * (60_000 - 8192)
    database.write_bytes(content)
    aside = set_damaged_aside(home, Settings())
    assert aside is not None
    assert aside.exists()
    assert not database.exists()

    rebuilt = open_store(home, Settings())
    assert rebuilt.replay(mirror.read(home)).memories == 200
    rebuilt.close()


def test_what_is_no_database_at_all_is_set_aside(home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(b"hello" * 1000)
    (home / "memory.db-wal").write_bytes(b"log")
    aside = set_damaged_aside(home, Settings())
    assert aside is not None
    assert aside.read_bytes() == b"hello" * 1000
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"log"
    assert sorted(path.name for path in home.iterdir() if path.name.startswith("memory.db-")) == []


def test_several_processes_flush_one_store_without_losing_or_tearing_a_line(home: Path, store: Store) -> None:
    store.memories.add([memory(store, f"note {number}") for number in range(600)])
    script = (
        "import sys; from pathlib import Path; from claude_memory.store import open_store, set_damaged_aside;"
        "from claude_memory.settings import Settings; from claude_memory.backup import mirror;"
        "home = Path(sys.argv[1]); store = open_store(home, Settings()); mirror.BATCH = 7;"
        "exec('while store.changes_since(mirror.CURRENT, 1): mirror.flush(home, store)')"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, home]) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    unread: list[bytes] = []
    records = mirror.read(home, unread)
    found = [record["memory"]["body"] for record in records if "memory" in record]
    assert sorted(found) == sorted(f"note {number}" for number in range(600))
    assert len(unread) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_again_and_again_the_mirror_never_falls_behind_for_good(home: Path, store: Store) -> None:
    script = """
import sys
import time
sys.path.insert(0, sys.argv[2])
from test_mirror_rebuild import *
home = Path(sys.argv[1])
store = open_store(home, Settings())
print("ready", flush=True)
for number in range(100_000):
    store.memories.add([memory(store, f"{sys.argv[3]} {number}")])
    mirror.flush(home, store)
"""
    command = [sys.executable, "-c", script, home, Path(__file__).parent]
    for round_ in range(6):
        with subprocess.Popen([*command, str(round_)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            writer.stdout.readline()
            time.sleep(0.05 + 0.03 * round_)
            writer.kill()
    mirror.flush(home, store)
    unread: list[bytes] = []
    records = mirror.read(home, unread)
    mirrored = {record["memory"]["body"] for record in records if "memory" in record}
    assert mirrored == {found.body for found in everything(store).values()}
    assert mirrored
    assert len(unread) <= 6
