"""A store of an older schema is backed up, migrated step by step, and keeps everything."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import apsw
import pytest

from claude_memory.capture.messages import keys
from claude_memory.errors import StoreFault
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.model import NewMessage
from claude_memory.store.sqlite import schema

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path):
    """A home with one memory, written by the released schema."""
    store = open_store(tmp_path, Settings())
    project = store.project_for(ProjectIdentity(("path:/a",), "a", "/a")).id
    store.memories.add([StoredMemory(MemoryId("m1"), project, Kind.NOTE, "title", "zebra", NOW, NOW)])
    store.close()
    return tmp_path


@pytest.fixture
def newer(monkeypatch):
    """A version of the package with one more migration."""
    steps = (*schema.MIGRATIONS, "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    monkeypatch.setattr(schema, "CURRENT", len(steps))


def moods(home):
    db = apsw.Connection(str(home / "memory.db"))
    try:
        return [mood for (mood,) in db.execute("SELECT mood FROM memories")]
    finally:
        db.close()


def test_a_new_store_has_the_current_schema_and_no_backup(home):
    db = apsw.Connection(str(home / "memory.db"))
    assert db.pragma("user_version") == schema.CURRENT
    assert db.pragma("application_id") == schema.APPLICATION_ID
    db.close()
    assert not (home / "backups").exists()


def test_migrating_keeps_a_verified_backup_first(home, newer):
    store = open_store(home, Settings())
    assert store.stats().schema_version == schema.CURRENT
    assert store.check().problems == ()
    store.close()
    assert moods(home) == ["calm"]
    [backup] = (home / "backups").iterdir()
    assert backup.name.startswith(f"pre-migration-{schema.CURRENT - 1}-")
    copy = apsw.Connection(str(backup))
    assert copy.pragma("user_version") == schema.CURRENT - 1
    copy.close()


def test_migrating_with_orphan_rows(home, newer):
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("INSERT INTO passages SELECT 99, 12345, space, 7, 0, 1, own, near, far, dates FROM passages")
    db.execute("INSERT INTO memory_topics VALUES ('orphan', 777)")
    db.close()
    store = open_store(home, Settings())
    assert store.stats().schema_version == schema.CURRENT
    store.memories.rebuild_index()
    assert len(store.memories.find(SearchScope(None), MemoryFilter())) == 1
    store.close()


def test_only_so_many_backups_are_kept(home, monkeypatch):
    for number in range(4):
        steps = (*schema.MIGRATIONS, f"CREATE TABLE extra{number} (x)")
        monkeypatch.setattr(schema, "MIGRATIONS", steps)
        monkeypatch.setattr(schema, "CURRENT", len(steps))
        open_store(home, Settings(keep_backups=2)).close()
    assert len(list((home / "backups").iterdir())) == 2


def test_a_failed_migration_changes_nothing(home, monkeypatch):
    steps = (*schema.MIGRATIONS, "ALTER TABLE memories ADD COLUMN mood TEXT; INSERT INTO nowhere VALUES (1)")
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    monkeypatch.setattr(schema, "CURRENT", len(steps))
    with pytest.raises(apsw.SQLError):
        open_store(home, Settings())
    monkeypatch.undo()
    store = open_store(home, Settings())
    assert store.check().problems == ()
    store.close()


def test_without_a_backup_there_is_no_migration(home, newer):
    (home / "backups").write_text("a file where the folder should be")
    with pytest.raises(StoreFault, match="no backup"):
        open_store(home, Settings())
    (home / "backups").unlink()
    db = apsw.Connection(str(home / "memory.db"))
    assert db.pragma("user_version") == schema.CURRENT - 1
    db.close()


def test_histories_of_gemini_cli_are_found_under_its_one_name(tmp_path, monkeypatch):
    """As 0.1.0 kept them; what is read again is known by the same keys."""
    told = NewMessage(
        SessionId("g1"), "gemini", "user", NOW, "zebra", keys("gemini", ("message:1",), "zebra")
    )
    before = schema.MIGRATIONS[: schema.MIGRATIONS.index(schema._AGENT_NAMES)]
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", before)
        older.setattr(schema, "CURRENT", len(before))
        store = open_store(tmp_path, Settings())
        project = store.project_for(ProjectIdentity(("path:/a",), "a", "/a")).id
        store.archive.add([told], {"": project})
        store.close()
    store = open_store(tmp_path, Settings())
    [conversation] = store.archive.conversations(SearchScope(None))
    again = told._replace(agent="gemini-cli", keys=keys("gemini-cli", ("message:1",), "zebra"))
    added = store.archive.add([again], {"": project})
    assert (conversation.agent, store.archive.agents()) == ("gemini-cli", ["gemini-cli"])
    assert (added.messages, added.duplicates) == (0, 1)
    assert store.check().problems == ()
    store.close()


def test_many_processes_make_one_store(tmp_path):
    program = (
        "import sys; from pathlib import Path; from claude_memory.settings import Settings\n"
        "from claude_memory.store import open_store; store = open_store(Path(sys.argv[1]), Settings())\n"
        "print(store.stats().schema_version)"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "home")], stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    answers = [child.communicate()[0].strip() for child in children]
    assert answers == [str(schema.CURRENT).encode()] * 6
