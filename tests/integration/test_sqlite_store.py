"""What only the SQLite store promises: its file, its locks, its failures."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from claude_memory.errors import ConfigFault, MemoryFault, SchemaTooNew, StoreBusy, StoreCorrupt, StoreFault
from claude_memory.model import Kind, MemoryFilter, MemoryId, ProjectIdentity, SearchScope, StoredMemory
from claude_memory.settings import Settings
from claude_memory.store import database_path, open_store
from claude_memory.store.sqlite.connection import SqliteDatabase, on_network

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IDENTITY = ProjectIdentity(("path:/srv/app",), "app", "/srv/app")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(home):
    opened = open_store(home, Settings())
    yield opened
    opened.close()


def memory(store, id_, body, **changed):
    project = store.project_for(IDENTITY).id
    return StoredMemory(MemoryId(id_), project, Kind.NOTE, "title", body, NOW, NOW, **changed)


def scope(store):
    return SearchScope((store.project_for(IDENTITY).id,))


HOLD = """
import apsw, sys
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO meta VALUES ('held', '1')")
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def held(store):
    """Another process in the middle of a write, which it never commits."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b"held\n"
    yield
    child.communicate(b"\n")


# --- where it is


def test_the_setting_names_the_file(tmp_path):
    assert database_path(tmp_path, "") == tmp_path / "memory.db"
    assert database_path(tmp_path, "sqlite:////var/x.db") == Path("/var/x.db")
    assert database_path(tmp_path, "sqlite:///x.db") == tmp_path / "x.db"


@pytest.mark.parametrize("named", ["mysql://me:hunter2@host/db", "sqlite://", "sqlite:///", "memory.db"])
def test_an_unknown_store_is_refused_without_telling_secrets(tmp_path, named):
    with pytest.raises(ConfigFault) as fault:
        open_store(tmp_path, Settings(store=named))
    assert "hunter2" not in str(fault.value)


def test_a_server_out_of_reach_is_told_without_its_password(tmp_path):
    with pytest.raises(MemoryFault) as fault:
        open_store(tmp_path, Settings(store="postgresql://me:hunter2@127.0.0.1:1/db")).close()
    assert "hunter2" not in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_only_the_owner_can_read(home, store):
    store.memories.add([memory(store, "m1", "secret")])
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in home.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700), path


def test_write_ahead_log_is_refused_on_network_file_systems(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 0:5 / /mnt/my\\040share rw,relatime shared:1 - nfs4 server:/x rw\n"
        "3 2 0:6 / /mnt/my\\040share/local rw - ext4 /dev/b rw\n"
    )
    assert on_network(Path("/mnt/my share/memory.db"), mounts)
    assert not on_network(Path("/mnt/my share/local/memory.db"), mounts)
    assert not on_network(Path("/mnt/my shared/memory.db"), mounts)
    assert not on_network(Path("/home/me/memory.db"), tmp_path / "absent")


def test_durable_private_and_checked_by_default(store):
    db = store._connections.get()
    names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
    assert [db.pragma(name) for name in names] == ["wal", 2, 1, 1]


# --- while others write


def test_everything_is_read_while_another_process_holds_the_write_lock(home, store, held):
    other = open_store(home, Settings(), patience_ms=3_600_000)  # whoever waits for the lock never ends
    project = other.project_for(ProjectIdentity(("path:/never/seen",), "seen", "/never/seen"))
    assert other.memories.find(SearchScope((project.id,)), MemoryFilter()) == []
    assert other.memories.text_candidates(SearchScope((project.id,)), MemoryFilter(), {"x": 1.0}, 5) == []
    assert other.stats().events == 0
    other.close()


def test_a_project_seen_while_locked_is_the_same_once_written(home, store):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    provisional = store.project_for(IDENTITY)
    child.communicate(b"\n")
    assert store.projects() == []
    assert store.project_for(IDENTITY).id == provisional.id


def test_writing_while_locked_is_busy_and_says_so(store, held, monkeypatch):
    monkeypatch.setattr("claude_memory.store.sqlite.connection.BUSY_TIMEOUT_MS", 50)
    one = memory(store, "m1", "x")
    with store.transactions.hurried(50), pytest.raises(StoreBusy, match="try again"):
        store._connections.writing().__enter__()
    assert one.id == "m1"


# --- damage


def test_a_file_that_is_no_database_is_corrupt(home):
    home.mkdir()
    (home / "memory.db").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(StoreCorrupt, match="damaged"):
        open_store(home, Settings())


def test_someone_elses_database_is_refused(home):
    home.mkdir()
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("CREATE TABLE theirs (x); PRAGMA user_version = 1")
    db.close()
    with pytest.raises(StoreCorrupt, match="not a claude-memory store"):
        open_store(home, Settings())


def test_a_newer_store_is_left_alone(home, store):
    store.close()
    db = apsw.Connection(str(home / "memory.db"))
    db.pragma("user_version", 999)
    db.close()
    with pytest.raises(SchemaTooNew, match="upgrade"):
        open_store(home, Settings())


def test_orphans_are_found_and_rebuilding_removes_them(store):
    store.memories.add([memory(store, f"m{n}", f"zebra {n}") for n in range(3)])
    db = store._connections.get()
    db.pragma("foreign_keys", False)
    db.execute("DELETE FROM memories WHERE id = 'm1'")
    db.execute("DELETE FROM passages WHERE memory = (SELECT number FROM memories WHERE id = 'm2')")
    problems = " ".join(store.check().problems)
    assert "passages without a memory" in problems
    assert "memories without a passage" in problems
    assert "text entries without a passage" in problems
    store.memories.rebuild_index()
    assert store.check().problems == ()
    assert len(store.memories.text_candidates(scope(store), MemoryFilter(), {"zebra": 1.0}, 9)) == 2


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(StoreFault, match="closed"):
        store.stats()


# --- read-only


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_home_can_be_read(home, store):
    store.memories.add([memory(store, "m1", "zebra")])
    store.close()
    for path in (*home.iterdir(), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        _assert_readable_only(home)
    finally:
        home.chmod(0o700)


def test_a_read_only_file_system_can_be_read(home, store, monkeypatch):
    store.memories.add([memory(store, "m1", "zebra")])
    store.close()
    real_open, real_connection = os.open, SqliteDatabase

    def refuse_writing(path, flags, *rest, **named):
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(30, "Read-only file system")
        return real_open(path, flags, *rest, **named)

    def only_immutable(name, flags=0):
        if "immutable=1" not in name:
            raise apsw.CantOpenError("unable to open database file")
        return real_connection(name, flags=flags)

    monkeypatch.setattr(os, "open", refuse_writing)
    monkeypatch.setattr("claude_memory.store.sqlite.connection.SqliteDatabase", only_immutable)
    _assert_readable_only(home)


def _assert_readable_only(home):
    opened = open_store(home, Settings())
    where = scope(opened)
    assert [found.id for found in opened.memories.find(where, MemoryFilter())] == ["m1"]
    assert len(opened.memories.text_candidates(where, MemoryFilter(), {"zebra": 1.0}, 9)) == 1
    other = opened.project_for(ProjectIdentity(("path:/new",), "new", "/new"))
    assert other.name == "new"
    with pytest.raises(StoreFault, match="read-only"):
        opened.memories.add([memory(opened, "m2", "x")])
    opened.close()


@pytest.mark.skipif(os.name == "nt", reason="links want rights there")
def test_a_link_to_a_volume_that_is_still_empty_gets_its_store(tmp_path):
    (tmp_path / "volume").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory.db").symlink_to(tmp_path / "volume" / "memory.db")
    open_store(tmp_path / "home", Settings()).close()
    assert (tmp_path / "volume" / "memory.db").exists()


def test_no_store_can_be_made_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFault, match="cannot make a store"):
        open_store(tmp_path / "file" / "home", Settings())


# --- copies


def test_a_snapshot_is_whole_private_and_a_store(store, tmp_path, home):
    store.memories.add([memory(store, "m1", "zebra")])
    target = tmp_path / "copy" / "memory.db"
    store.export(target)
    store.memories.add([memory(store, "m2", "later")])
    copy = open_store(tmp_path / "copy", Settings())
    assert [found.id for found in copy.memories.find(scope(copy), MemoryFilter())] == ["m1"]
    assert copy.check().problems == ()
    copy.close()
    if os.name != "nt":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_damage_inside_the_text_index_is_reported_and_repaired(store):
    store.memories.add([memory(store, f"m{n}", f"zebra word{n}") for n in range(50)])
    store._connections.get().execute("DELETE FROM text_index_data WHERE id > 10")
    assert any("text_index" in problem for problem in store.check().problems)
    store.memories.rebuild_index()
    assert store.check().problems == ()
    assert len(store.memories.text_candidates(scope(store), MemoryFilter(), {"zebra": 1.0}, 99)) == 50


def test_500_projects_are_listed_together(store):
    ids = [store.project_for(ProjectIdentity((f"path:/p/{n}",), f"p{n}", f"/p/{n}")).id for n in range(500)]
    store.memories.add(
        [StoredMemory(MemoryId(f"m{n}"), id_, Kind.NOTE, "t", "zebra", NOW, NOW) for n, id_ in enumerate(ids)]
    )
    everywhere = SearchScope(None)
    assert len(store.memories.find(everywhere, MemoryFilter())) == 500
    assert (
        len(store.memories.text_candidates(everywhere, MemoryFilter(), {"zebra": 1.0, "title": 1.0}, 1000))
        == 500
    )
