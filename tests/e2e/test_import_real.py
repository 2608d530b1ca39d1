"""What the real client writes is read as it was said, and meets what its hooks reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import apsw
import pytest
from tests.e2e.conftest import Machine
from tests.e2e.fake_model import say, use

pytestmark = pytest.mark.e2e

Make = Callable[..., Machine]


def rows(machine: Machine, query: str) -> list[tuple[Any, ...]]:
    database = apsw.Connection(str(machine.memory_home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def test_hooks_and_transcripts_of_the_real_client_meet(machine: Make) -> None:
    rules = [
        ("BREAKIT", [say("Trying."), use("Bash", command="ls /nonexistent-xyz", description="Fail")]),
        ("LISTIT", [say("Listing."), use("Bash", command="echo hello-from-bash", description="Echo")]),
    ]
    made = machine(rules)
    made.memory("config", "set", "embedder", "none")
    made.say("Please LISTIT, the folder of the invoices")
    made.say("Please BREAKIT, I want to see the failure", "--continue")
    made.memory("search", "anything at all")
    query = "SELECT kind, id FROM events WHERE kind IN ('prompt', 'reply', 'tool_failure', 'subagent_result')"
    before = rows(made, query)
    observed = rows(made, "SELECT id FROM memories WHERE kind = 'observation'")
    assert Counter(kind for kind, _ in before) == {"prompt": 2, "reply": 2, "tool_failure": 1}
    done = json.loads(made.memory("import", "--json"))
    assert done["messages"] > 6
    assert done["skipped"] == 0
    assert sorted(rows(made, query)) == sorted(before)
    assert sorted(rows(made, "SELECT id FROM memories WHERE kind = 'observation'")) == sorted(observed)
    [(session,)] = rows(made, "SELECT session FROM conversations")
    shown = made.memory("conversation", session)
    assert "hello-from-bash" in shown
    assert "claude-memory search" not in shown
    assert json.loads(made.memory("import", "--json"))["messages"] == 0
