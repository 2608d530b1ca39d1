"""Hooks that answer, run exactly as an agent runs them: one process, one event, one answer or silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.integration.test_compaction import Session, first_part

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.install.plugin import hook_arguments, hook_program
from claude_memory.model import EventKind, SearchScope
from claude_memory.store.model import EventFilter
from claude_memory.summaries.shelf import Shelf

DECISION = "Invoices are rendered by Typst because the LaTeX image is 4 GB"
QUESTION = "which program renders the invoices, Typst or LaTeX?"


class Agent:
    """A session of an agent in one project, seen from its hooks."""

    def __init__(self, home: Path, project: Path, session: str = "s1") -> None:
        self.home, self.project, self.session = home, project, session
        self.program = str(hook_program())
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent)}
        self.environment["CLAUDE_MEMORY_HOME"] = str(home)

    def hook(self, event: str, *, agent: str = "claude-code", **fields: Any) -> dict[str, Any] | None:
        payload = {"session_id": self.session, "cwd": str(self.project), "hook_event_name": event, **fields}
        done = self.run(event, json.dumps(payload).encode(), agent)
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else None

    def run(self, event: str, raw: bytes, agent: str = "claude-code") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, *hook_arguments(self.program, event, agent)]
        return subprocess.run(command, input=raw, env=self.environment, capture_output=True, timeout=60)

    def context(self, event: str, **fields: Any) -> str:
        found = self.hook(event, **fields)
        if found is None:
            return ""
        assert found["hookEventName"] == event
        return str(found["additionalContext"])

    def calls_agent(self, prompt: str, kind: str = "general-purpose", **more: Any) -> dict[str, Any] | None:
        inputs = {"prompt": prompt, "subagent_type": kind, "description": "d"}
        number = f"toolu_{time.time_ns()}"
        return self.hook(
            "PreToolUse", **{"tool_name": "Agent", "tool_use_id": number, "tool_input": inputs, **more}
        )

    def starts_agent(self, kind: str = "general-purpose") -> str:
        return self.context("SubagentStart", agent_id=f"a{time.time_ns()}", agent_type=kind)

    def touches(self, name: str, tool: str = "Edit", **more: Any) -> str:
        inputs = {"file_path": str(self.project / name)}
        return self.context(
            "PreToolUse", tool_name=tool, tool_use_id=f"t{time.time_ns()}", tool_input=inputs, **more
        )


@pytest.fixture
def agent(scratch_home: Path, tmp_path: Path) -> Iterator[Agent]:
    home = scratch_home / ".claude" / "memory"
    project = tmp_path / "shop"
    project.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    with Memory.open(home, project, flags={"embedder": "none"}) as memory:
        memory.remember_many([NewMemory(DECISION, kind="decision", files=["src/invoice.py"])])
    yield Agent(home, project)
    deadline = time.monotonic() + 20  # detached drains end by themselves
    while _drains(home) and time.monotonic() < deadline:
        time.sleep(0.05)


def _drains(home: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if "drain_all" in command and str(home) in command:
            found.append(command)
    return found


def injections(agent: Agent) -> list[dict[str, Any]]:
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        memory.drain()
        wanted = EventFilter(kinds=(EventKind.INJECTION,))
        events = memory.store.archive.events(
            SearchScope((memory.project.id,)), wanted, limit=100, newest_first=False
        )
        return [dict(event.payload) for event in events]


def test_a_session_starts_with_what_is_known(agent: Agent) -> None:
    text = agent.context("SessionStart", source="startup")
    assert "Invoices are rendered by Typst" in text
    assert text.startswith("<claude-memory>\n")
    assert text.endswith("\n</claude-memory>")
    assert "claude-memory search" in text


def test_a_start_brings_in_what_the_last_session_left(agent: Agent) -> None:
    last = Agent(agent.home, agent.project, "s0")
    last.hook("UserPromptSubmit", prompt="The gateway listens on port 8443 since Monday", prompt_id="p0")
    assert "port 8443" in agent.context("SessionStart", source="startup")


def test_the_shell_of_a_session_knows_its_session(agent: Agent, tmp_path: Path) -> None:
    agent.environment["CLAUDE_ENV_FILE"] = str(tmp_path / "env")
    agent.hook("SessionStart", source="startup")
    lines = (tmp_path / "env").read_text().splitlines()
    home = f"export CLAUDE_MEMORY_HOME='{agent.home}'"
    assert lines == ["export CLAUDE_MEMORY_SESSION=s1", home, "unset CLAUDE_MEMORY_STORE"]


def test_a_prompt_is_answered_once_and_captured_always(agent: Agent) -> None:
    assert DECISION in agent.context("UserPromptSubmit", prompt=QUESTION, prompt_id="p1")
    assert agent.context("UserPromptSubmit", prompt=QUESTION, prompt_id="p2") == ""
    assert [file.event for file in Spool(agent.home).pending()].count("UserPromptSubmit") == 2


@pytest.mark.parametrize("prompt", ["how do I boil an egg in the morning", "/compact Typst LaTeX", "yes", ""])
def test_a_prompt_that_nothing_fits_gets_no_answer(agent: Agent, prompt: str) -> None:
    assert agent.hook("UserPromptSubmit", prompt=prompt) is None


def test_what_the_start_said_is_not_said_again_until_the_agent_forgets(agent: Agent) -> None:
    agent.hook("SessionStart", source="startup")
    assert agent.context("UserPromptSubmit", prompt=QUESTION) == ""
    assert agent.touches("src/invoice.py") == ""
    # A compaction drops it from the window, and its own start context may be all the agent has left.
    assert DECISION in agent.context("SessionStart", source="compact")
    assert agent.context("UserPromptSubmit", prompt=QUESTION) == ""


def test_a_resumed_session_keeps_count_of_what_it_has(agent: Agent) -> None:
    assert DECISION in agent.context("UserPromptSubmit", prompt=QUESTION)
    agent.hook("SessionStart", source="resume")
    assert agent.context("UserPromptSubmit", prompt=QUESTION) == ""


def test_the_first_touch_of_a_file_brings_what_is_tied_to_it(agent: Agent) -> None:
    assert agent.touches("src/other.py") == ""
    assert DECISION in agent.touches("src/invoice.py", "Write")
    assert agent.touches("src/invoice.py") == ""


def test_reading_a_file_brings_nothing(agent: Agent) -> None:
    assert agent.touches("src/invoice.py", "Read") == ""


def test_a_sub_agent_counts_for_itself(agent: Agent) -> None:
    assert DECISION in agent.touches("src/invoice.py", agent_id="a1", agent_type="general-purpose")
    assert DECISION in agent.touches("src/invoice.py")


def test_a_sub_agent_is_told_what_matches_its_prompt(agent: Agent) -> None:
    assert agent.calls_agent(QUESTION) is None
    text = agent.starts_agent()
    assert DECISION in text
    assert "claude-memory show ID" in text
    # Only the sub-agent has read it.
    assert DECISION in agent.context("UserPromptSubmit", prompt=QUESTION)


def test_of_several_at_once_each_gets_the_common_part_only(agent: Agent) -> None:
    agent.calls_agent(QUESTION)
    agent.calls_agent("count the lines of the changelog")
    for text in (agent.starts_agent(), agent.starts_agent()):
        assert DECISION not in text
        assert "claude-memory show ID" in text
    agent.calls_agent(QUESTION)
    assert DECISION in agent.starts_agent()


def test_several_of_different_kinds_are_told_apart(agent: Agent) -> None:
    agent.calls_agent("count the lines of the changelog", "general")
    agent.calls_agent(QUESTION, "general-purpose")
    assert DECISION in agent.starts_agent("general-purpose")
    assert DECISION not in agent.starts_agent("general")


def test_an_agent_without_a_type_is_the_clients_own_business(agent: Agent) -> None:
    agent.calls_agent(QUESTION)
    assert agent.hook("SubagentStart", agent_id="a1", agent_type="") is None


def test_an_older_client_gets_it_through_the_prompt(agent: Agent) -> None:
    answer = agent.calls_agent(QUESTION, tool_name="Task")
    assert answer is not None
    assert set(answer) == {"hookEventName", "updatedInput"}, "no decision about permissions is ours to make"
    changed = answer["updatedInput"]
    assert changed["prompt"].startswith(QUESTION)
    assert DECISION in changed["prompt"]
    assert (changed["subagent_type"], changed["description"]) == ("general-purpose", "d")


def test_a_sub_agent_is_never_told_twice(agent: Agent) -> None:
    assert agent.calls_agent(QUESTION, tool_name="Task") is not None
    assert agent.starts_agent() == "", "its prompt holds it"
    # Now it is known that this client tells of starts.
    assert agent.calls_agent(QUESTION, tool_name="Task") is None
    assert DECISION in agent.starts_agent()


def test_the_context_in_a_prompt_is_not_captured_as_if_somebody_had_said_it(agent: Agent) -> None:
    answer = agent.calls_agent(QUESTION, tool_name="Task")
    assert answer is not None
    agent.hook(
        "PostToolUse",
        tool_name="Task",
        tool_use_id="t9",
        tool_input=answer["updatedInput"],
        tool_response="ok",
    )
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        memory.drain()
        events = memory.store.archive.events(
            SearchScope(None), EventFilter(kinds=(EventKind.TOOL_USE,)), limit=5
        )
    [event] = events
    assert QUESTION in event.payload["tool_input"]["prompt"]
    assert DECISION not in json.dumps(dict(event.payload))


def test_every_context_is_in_the_ledger(agent: Agent) -> None:
    agent.hook("SessionStart", source="startup")
    agent.calls_agent(QUESTION)
    agent.starts_agent()
    found = injections(agent)
    assert [record["given_at"] for record in found] == ["SessionStart", "SubagentStart"]
    assert all(record["tokens"] > 0 and record["memories"] for record in found)


def test_capturing_hooks_say_nothing(agent: Agent) -> None:
    for event in (
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PostCompact",
        "SubagentStop",
        "Stop",
        "SessionEnd",
    ):
        assert agent.hook(event, last_assistant_message="x", agent_type="y") is None


def test_the_end_of_a_turn_leaves_a_drain_that_ends(agent: Agent) -> None:
    (agent.home / "config.toml").write_text('embedder = "none"\n')
    agent.hook("Stop", last_assistant_message="The port is 8443 for the gateway", prompt_id="p1")
    deadline = time.monotonic() + 30
    while Spool(agent.home).depth().count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert Spool(agent.home).depth().count == 0
    while _drains(agent.home) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _drains(agent.home) == []


def test_a_compaction_that_begins_is_summed_up_before_it_is_over(agent: Agent) -> None:
    (agent.home / "config.toml").write_text('embedder = "none"\n')
    talk = Session(agent.home.parent, agent.home, agent.project, agent.session)
    first_part(talk)
    agent.hook("PreCompact", trigger="auto", transcript_path=str(talk.path))
    deadline = time.monotonic() + 30
    while (not Shelf(agent.home).of(talk.id) or _drains(agent.home)) and time.monotonic() < deadline:
        time.sleep(0.05)
    [kept] = Shelf(agent.home).of(talk.id)
    assert "mail with the link" in kept.summary["tasks_pending"]


def test_another_agent_that_cannot_read_context_is_captured_only(agent: Agent) -> None:
    assert agent.hook("UserPromptSubmit", agent="cursor", prompt=QUESTION) is None
    assert agent.hook("UserPromptSubmit", agent="codex", prompt=QUESTION) is not None


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"prompt": 3}', b'{"cwd": "/gone"}', b"\xff\xfe", b"{" * 5000])
@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse"])
def test_no_input_makes_an_answering_hook_fail(agent: Agent, event: str, raw: bytes) -> None:
    done = agent.run(event, raw)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [file.path.read_bytes() for file in Spool(agent.home).pending() if file.event == event] == [raw]


def test_a_locked_store_delays_nobody(agent: Agent) -> None:
    Agent(agent.home, agent.project, "s0").hook(
        "UserPromptSubmit", prompt="something that waits to be drained"
    )
    holder = apsw.Connection(str(agent.home / "memory.db"))
    holder.execute("BEGIN IMMEDIATE")
    try:
        # A hook that waited for the other writer would have given up before it answered.
        assert DECISION in agent.context("SessionStart", source="startup")
    finally:
        holder.execute("ROLLBACK")
        holder.close()


def test_a_store_of_a_newer_program_is_left_alone(agent: Agent) -> None:
    database = apsw.Connection(str(agent.home / "memory.db"))
    database.pragma("user_version", 9999)
    database.close()
    assert agent.hook("SessionStart", source="startup") is None
    assert "captured, not answered: SchemaTooNew" in (agent.home / "logs" / "hook.log").read_text()


def test_without_its_package_a_hook_still_captures(agent: Agent, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", agent.program, "SessionStart", "--site", str(tmp_path / "gone")]
    done = subprocess.run(command, input=b"{}", env=agent.environment, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(Spool(agent.home).pending()) == 1
    assert "captured, not answered: ModuleNotFoundError" in (agent.home / "logs" / "hook.log").read_text()


def test_a_hook_of_an_older_release_works_with_this_package(agent: Agent, tmp_path: Path) -> None:
    older = tmp_path / "cache" / "0.0.9" / "claude_memory_hook.py"
    older.parent.mkdir(parents=True)
    text = hook_program().read_text("utf-8")
    older.write_text(text.replace("FORMAT_VERSION = 1", "FORMAT_VERSION = 1  # of an older release"), "utf-8")
    agent.program = str(older)
    assert DECISION in agent.context("UserPromptSubmit", prompt=QUESTION)
    assert Spool(agent.home).depth().count >= 1


def test_events_of_a_newer_hook_wait_for_the_newer_package(agent: Agent, tmp_path: Path) -> None:
    newer = tmp_path / "claude_memory_hook.py"
    newer.write_text(
        hook_program().read_text("utf-8").replace("FORMAT_VERSION = 1", "FORMAT_VERSION = 2"), "utf-8"
    )
    agent.program = str(newer)
    agent.hook("PostToolUse", tool_name="Bash", tool_use_id="t1")
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        memory.drain()
    depth = Spool(agent.home).depth()
    assert (depth.newer, depth.rejected) == (1, 0)


def test_an_event_that_is_registered_twice_is_stored_once(agent: Agent) -> None:
    for _ in range(2):  # settings and plugin, or user and project
        agent.hook("UserPromptSubmit", prompt="hello there you", prompt_id="p7")
        agent.hook(
            "PostToolUse", tool_name="Bash", tool_use_id="t7", tool_input={"command": "ls"}, tool_response="x"
        )
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        done = memory.drain()
    assert (done.events, done.duplicates) == (2, 2)


def test_what_we_run_ourselves_gets_neither_capture_nor_context(agent: Agent) -> None:
    agent.environment["CLAUDE_MEMORY_DISABLE"] = "1"
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PostToolUse", "Stop"):
        assert agent.hook(event, prompt=QUESTION, agent_type="x", source="startup") is None
    assert Spool(agent.home).depth().count == 0
    assert _drains(agent.home) == []


def test_why_tells_when_a_memory_was_given(agent: Agent) -> None:
    agent.hook("UserPromptSubmit", prompt=QUESTION)
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        memory.drain()
        [hit] = memory.search(QUESTION, limit=1, kinds=["decision"])
        [given] = memory.given(hit.id)
    assert (given.given_at, given.session) == ("UserPromptSubmit", "s1")
    (agent.home / "config.toml").write_text('embedder = "none"\n')
    command = [sys.executable, "-m", "claude_memory", "why", hit.id, "--query", QUESTION]
    said = subprocess.run(command, cwd=agent.project, env=agent.environment, capture_output=True, text=True)
    assert "given to an agent" in said.stdout
    assert "UserPromptSubmit, session s1" in said.stdout
    document = json.loads(
        subprocess.run(
            [*command, "--json"], cwd=agent.project, env=agent.environment, capture_output=True
        ).stdout
    )
    assert document["given"][0]["given_at"] == "UserPromptSubmit"
    assert document["memory"] == hit.id


def test_the_ledger_adds_up_by_day_and_session(agent: Agent) -> None:
    agent.hook("UserPromptSubmit", prompt=QUESTION)
    Agent(agent.home, agent.project, "s2").hook("SessionStart", source="startup")
    with Memory.open(agent.home, agent.project, flags={"embedder": "none"}) as memory:
        memory.drain()
        lines = memory.ledger()
    assert {(line.session, line.given_at, line.times) for line in lines} == {
        ("s1", "UserPromptSubmit", 1),
        ("s2", "SessionStart", 1),
    }
    assert all(line.tokens > 10 and line.memories for line in lines)
