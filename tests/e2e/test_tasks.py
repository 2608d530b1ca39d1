"""Tasks with the real client: a session and its sub-agents are told of them, and write to their own."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.e2e.conftest import Machine
from tests.e2e.fake_model import say, use

pytestmark = pytest.mark.e2e


def test_a_session_and_its_sub_agent_are_told_of_the_tasks_under_way(
    machine: Callable[..., Machine],
) -> None:
    agent = use(
        "Agent",
        description="look",
        prompt="SUBTASK: look at the sign-in form",
        subagent_type="general-purpose",
    )
    made = machine([("SUBTASK", [say("Looked.")]), ("DELEGATE", [say("Asking."), agent])])
    made.memory("init")
    made.memory("scratchpad", "implement-auth", "--content", "Looking at tokens and sessions")
    made.memory("plan", "implement-auth", "--content", "1. sign-in form")
    made.say("DELEGATE this")
    requests = [json.dumps(request, ensure_ascii=False) for request in made.model.requests]
    assert "implement-auth: planning" in requests[0]
    assert ".claude-memories" in requests[0]
    own = [text for text in requests if "SUBTASK" in text and "implement-auth: planning" in text]
    assert own, "the sub-agent was not told of the task"


def test_the_agents_shell_writes_to_its_own_session(machine: Callable[..., Machine]) -> None:
    command = use("Bash", command='claude-memory scratchpad "from-the-agent" --content "found it"')
    made = machine([("NOTEIT", [say("Noting."), command])])
    made.memory("init")
    session = json.loads(made.say("NOTEIT", "--output-format", "json").stdout)["session_id"]
    status = json.loads(made.memory("status", "from-the-agent", "--json"))
    assert session in json.dumps(status)
