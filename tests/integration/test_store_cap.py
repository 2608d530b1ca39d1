"""The store keeps its cap: the oldest tool output goes first, then messages, then exchanges, never memories."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory, doctor
from claude_memory.lifecycle import retention
from claude_memory.platform import logs
from claude_memory.settings import Settings
from claude_memory.store.model import MadeRoom
from claude_memory.store.sql import erase


def noise(seed: int, length: int) -> str:
    chance = random.Random(seed)
    return " ".join(f"{chance.getrandbits(40):x}" for _ in range(length // 11))


def rows(memory: Memory) -> dict[str, int]:
    import apsw

    db = apsw.Connection(str(memory.home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    counted = {
        "results": "SELECT count(*) FROM messages WHERE role = 'result' AND body != ''",
        "messages": "SELECT count(*) FROM messages WHERE role != 'result' AND body != ''",
        "exchanges": "SELECT count(*) FROM exchanges",
        "all messages": "SELECT count(*) FROM messages",
    }
    with db:
        found = {name: int(db.execute(statement).get) for name, statement in counted.items()}
    db.close()
    return found


def write_history(folder: Path, project: Path) -> None:
    """Sessions of Claude Code with long answers of tools."""
    folder.mkdir(parents=True)
    for number in range(12):
        lines: list[dict[str, object]] = []
        at = f"2026-0{1 + number % 9}-1{number % 3}T10:00:"
        base = {"sessionId": f"s{number}", "cwd": str(project), "isSidechain": False, "version": "2.0.0"}
        for turn in range(4):
            name = f"{number}-{turn}"
            ask = {
                "role": "user",
                "content": f"please look into harbour {name} {noise(number * 10 + turn, 600)}",
            }
            call = {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": f"t{name}",
                        "name": "Bash",
                        "input": {"command": f"make {name}"},
                    }
                ],
            }
            result = {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": f"t{name}",
                        "content": noise(1000 + number * 10 + turn, 12_000),
                    }
                ],
            }
            reply = {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"done with {name}: {noise(5000 + number * 10 + turn, 800)}"}
                ],
            }
            for part, (kind, message) in enumerate(
                (("user", ask), ("assistant", call), ("user", result), ("assistant", reply))
            ):
                lines.append(
                    {
                        **base,
                        "type": kind,
                        "uuid": f"u{name}-{part}",
                        "parentUuid": None,
                        "timestamp": f"{at}{turn * 4 + part:02}Z",
                        "message": message,
                    }
                )
        (folder / f"s{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def full(memory: Memory, scratch_home: Path) -> Memory:
    folder = scratch_home / ".claude" / "projects" / str(memory.project_root).replace("/", "-")
    write_history(folder, memory.project_root)
    memory.import_history()
    memory.remember_many(
        [NewMemory(f"typed {number} {noise(number, 300)}", trust="user") for number in range(30)]
    )
    assert rows(memory)["results"] == 48
    assert rows(memory)["exchanges"]
    return memory


def typed(memory: Memory) -> int:
    return sum(len(memory.search(f"typed {number}", limit=40)) > 0 for number in range(30))


def used(memory: Memory) -> int:
    with memory.store._connections.reading() as db:  # type: ignore[attr-defined]
        return db.used_bytes()


def test_under_the_cap_nothing_goes(full: Memory) -> None:
    before = rows(full)
    assert full.upkeep.keep_within_cap() == MadeRoom()
    assert rows(full) == before
    assert retention.room_made(full.home) is None


def test_tool_output_goes_first_and_the_oldest_of_it(full: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "BATCH", 5)
    before = rows(full)
    gone = full.store.archive.make_room(used(full) - 60_000)
    assert gone.tool_outputs
    assert (gone.messages, gone.exchanges) == (0, 0)
    after = rows(full)
    assert after["results"] < before["results"]
    assert after["messages"] == before["messages"]
    left = full.recall("harbour", limit=50)
    assert left


def test_then_messages_then_exchanges_and_memories_never(
    full: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "BATCH", 50)
    before = rows(full)
    gone = full.store.archive.make_room(1)
    assert gone.tool_outputs >= before["results"]
    assert gone.messages >= before["messages"]
    assert gone.exchanges == before["exchanges"]
    after = rows(full)
    assert (after["results"], after["messages"], after["exchanges"]) == (0, 0, 0)
    assert after["all messages"] == before["all messages"], "rows stay, so that no import brings them back"
    assert typed(full) == 30
    assert full.store.archive.make_room(1) == MadeRoom()
    full.import_history()
    assert rows(full)["messages"] == 0
    assert full.store.check().problems == ()


def test_what_went_is_said_and_in_the_log(full: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (full.home / "memory.db").stat().st_size
    monkeypatch.setattr(retention, "_BYTES_IN_MB", 1)
    (full.home / "config.toml").write_text(f'store_cap_mb = {used(full) * 95 // 100}\nembedder = "none"\n')
    logs.configure(full.home, Settings())
    with Memory.open(full.home, full.project_root) as again:
        gone = again.upkeep.keep_within_cap(now=datetime(2026, 11, 18, tzinfo=UTC))
    logs.close()
    assert gone.tool_outputs
    assert not gone.exchanges
    assert (full.home / "memory.db").stat().st_size < size
    [finding] = [check for check in doctor.check(full.home) if check.name == "retention"]
    assert f"{gone.tool_outputs} tool outputs" in finding.message
    assert "2026-11-18" in finding.message
    log = (full.home / "logs" / "claude-memory.log").read_text()
    assert "tool outputs" in log
