"""Another memory's database becomes memories with their own provenance, read-only and once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from claude_memory.errors import InvalidInput
from claude_memory.memory import Memory
from claude_memory.model import Kind, MemoryFilter, SearchScope, StoredMemory, Trust

TABLES = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, title TEXT,
    subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_modified TEXT, created_at TEXT,
    created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
    learned TEXT, completed TEXT, next_steps TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT,
    created_at TEXT);
INSERT INTO sdk_sessions VALUES (1, 'agent-1', 'mem-1', 'shop');
INSERT INTO observations VALUES (1, 'mem-1', 'shop', 'decision', 'Cookies over tokens', 'sessions',
    '["Tokens cannot be revoked","token ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 leaked"]',
    'Signed cookies were chosen.', '["auth"]', '["src/auth.py"]', '2026-05-01T10:00:00Z', 1777629600000);
INSERT INTO observations VALUES (2, 'mem-1', 'shop', 'odd', '', '', '', '', '', '', '', 1777629600001);
INSERT INTO session_summaries VALUES (1, 'mem-1', 'shop', 'Make login safe', 'Tokens stay valid', 'Cookies signed',
    'Rotate keys', 1777629700000);
INSERT INTO user_prompts VALUES (1, 'agent-1', 1, 'Make the login safe, please', '2026-05-01T09:59:00Z');
"""


@pytest.fixture
def memory(scratch_home: Path) -> Iterator[Memory]:
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "claude-mem.db"
    with apsw.Connection(str(path)) as db:
        db.execute(TABLES)
    return path


def found(memory: Memory) -> list[StoredMemory]:
    return memory.store.memories.find(SearchScope(None), MemoryFilter(), newest_first=False)


def test_observations_summaries_and_prompts_become_memories(memory: Memory, database: Path) -> None:
    before = database.read_bytes()
    done = memory.upkeep.import_memories("claude-mem", [database])
    assert (done.memories, done.sessions, done.skipped) == (3, 1, 1)
    prompt, decision, summary = found(memory)
    assert (prompt.body, prompt.kind) == ("Make the login safe, please", Kind.OBSERVATION)
    assert (decision.kind, decision.title, decision.topics) == (
        Kind.DECISION,
        "Cookies over tokens",
        ("auth",),
    )
    assert decision.files == ("src/auth.py",)
    assert "Tokens cannot be revoked" in decision.body
    assert "ghp_" not in decision.body
    assert summary.kind is Kind.SUMMARY
    assert "Next steps: Rotate keys" in summary.body
    assert {item.trust for item in found(memory)} == {Trust.IMPORTED}
    assert {item.session for item in found(memory)} == {"agent-1"}
    assert decision.provenance == {
        "source": "claude-mem",
        "table": "observations",
        "row": 1,
        "database": database.name,
    }
    assert database.read_bytes() == before


def test_reading_it_again_adds_nothing(memory: Memory, database: Path) -> None:
    memory.upkeep.import_memories("claude-mem", [database])
    again = memory.upkeep.import_memories("claude-mem", [database])
    assert (again.memories, again.duplicates) == (0, 3)


def test_a_project_of_that_name_is_the_one_that_is_meant(
    memory: Memory, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    with Memory.open(memory.home, tmp_path / "shop", flags={"embedder": "none"}) as shop:
        wanted = shop.project.id
        shop.upkeep.import_memories("claude-mem", [database])
    assert {item.project for item in found(memory)} == {wanted}


def test_what_is_no_such_database_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    with apsw.Connection(str(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE songs (id)")
    for path in (tmp_path / "gone.db", tmp_path / "text.db", tmp_path / "other.db"):
        with pytest.raises(InvalidInput):
            memory.upkeep.import_memories("claude-mem", [path])
    with pytest.raises(InvalidInput, match="only claude-mem"):
        memory.upkeep.import_memories("mem0", [])
