"""Sessions become memories wherever they are read: from hooks at a drain, from transcripts at an import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.histories import ClaudeSession, write_lines

from claude_memory.ingest.distilling import Marks
from claude_memory.ingest.importer import Request
from claude_memory.install.plugin import hook_arguments, hook_program
from claude_memory.memory import Memory
from claude_memory.model import Kind, MemoryFilter, SearchScope, Status, StoredMemory, Trust
from claude_memory.spool import Spool

EVERYTHING = SearchScope(None)
LASTING = (Kind.DECISION, Kind.CORRECTION, Kind.PREFERENCE, Kind.FIX)
TEST = {"command": "pytest tests/test_total.py -q"}
ERROR = "Exit code 1\nFAILED tests/test_total.py::test_total - assert 13.34 == 1334"
CHANGE = {"file_path": "/home/dev/shop/src/invoice.py", "old_string": "round(x, 2)", "new_string": "int(x)"}
CHOICE = "Line amounts are floats. Integer cents, or Decimal everywhere? Which do you want?"
DECISION = "integer cents. let's store everything as int cents and format at the edges only"
OBJECTION = "you put the formatting into invoice.py, it belongs in money.py"


@pytest.fixture
def memory(scratch_home: Path) -> Iterator[Memory]:
    project = scratch_home / "shop"
    project.mkdir()
    with Memory.open(scratch_home / "memory", project, flags={"embedder": "none"}) as opened:
        yield opened


def hook(memory: Memory, name: str, session: str = "s1", **fields: Any) -> None:
    payload = {"hook_event_name": name, "session_id": session, "cwd": str(memory.project_root), **fields}
    Spool(memory.home).put(name, json.dumps(payload).encode())


def conversation(memory: Memory, session: str = "s1") -> None:
    """What hooks report of a session in which something is decided, fixed and set right."""
    hook(memory, "UserPromptSubmit", session, prompt_id="p1", prompt="the total is off by a cent, why?")
    hook(memory, "Stop", session, prompt_id="p1", last_assistant_message=CHOICE)
    hook(memory, "UserPromptSubmit", session, prompt_id="p2", prompt=DECISION)
    tool(memory, "toolu_0000000000a1", "Bash", TEST, error=ERROR)
    tool(memory, "toolu_0000000000a2", "Edit", CHANGE, tool_response={"filePath": "x"})
    tool(memory, "toolu_0000000000a3", "Bash", TEST, tool_response={"stdout": "1 passed", "stderr": ""})
    hook(memory, "Stop", session, prompt_id="p2", last_assistant_message="Green. I put the formatting there.")
    hook(memory, "UserPromptSubmit", session, prompt_id="p3", prompt=OBJECTION)


def tool(memory: Memory, id_: str, name: str, given: dict[str, Any], **fields: Any) -> None:
    event = "PostToolUseFailure" if "error" in fields else "PostToolUse"
    hook(memory, event, tool_use_id=id_, tool_name=name, tool_input=given, **fields)


def lasting(memory: Memory, *kinds: Kind) -> list[StoredMemory]:
    wanted = MemoryFilter(kinds=kinds or LASTING, statuses=(Status.ACTIVE,))
    return memory.store.memories(EVERYTHING, wanted, newest_first=False)


def history() -> ClaudeSession:
    session = ClaudeSession("one")
    session.prompt("the total is off by a cent, why?").says(CHOICE).prompt(DECISION)
    session.tool("Bash", TEST, ERROR, failed=True).tool("Edit", CHANGE, "updated").tool(
        "Bash", TEST, "1 passed"
    )
    return session.says("Green. I put the formatting there.").prompt(OBJECTION).says("Moved.")


def imported(memory: Memory, session: ClaudeSession, name: str = "a") -> Path:
    path = write_lines(memory.home.parent / "elsewhere" / f"{name}.jsonl", session.lines)
    memory.import_history(Request((path,), agent="claude-code"))
    return path


def test_a_drain_leaves_decisions_fixes_and_corrections(memory: Memory) -> None:
    conversation(memory)
    done = memory.drain()
    assert done.undistilled == 0
    assert {found.kind: found.title for found in lasting(memory)} == {
        Kind.DECISION: DECISION,
        Kind.FIX: "invoice.py: FAILED tests/test_total.py::test_total - assert 13.34 == 1334",
        Kind.CORRECTION: OBJECTION,
    }
    [decision] = lasting(memory, Kind.DECISION)
    assert (decision.trust, decision.session) == (Trust.USER, "s1")
    assert [hit.id for hit in memory.search("cents", kinds=["decision"])] == [decision.id]


def test_draining_as_things_happen_comes_to_the_same(memory: Memory) -> None:
    conversation(memory)
    files = Spool(memory.home).pending(None)
    aside = memory.home.parent / "aside"
    aside.mkdir()
    for file in files:
        file.path.rename(aside / file.path.name)
    for file in files:  # one event, one drain
        (aside / file.path.name).rename(file.path)
        memory.drain()
    assert {found.kind for found in lasting(memory)} == {Kind.DECISION, Kind.FIX, Kind.CORRECTION}
    assert len(lasting(memory)) == 3
    assert len(lasting(memory, Kind.SUMMARY)) == 1


def test_a_drain_in_a_hurry_leaves_a_mark_for_the_next(memory: Memory) -> None:
    conversation(memory)
    assert memory.drain(budget_seconds=0.05).undistilled == 1
    assert lasting(memory) == []
    assert memory.drain().undistilled == 0
    assert len(lasting(memory)) == 3
    assert Marks(memory.home).all() == []


def test_a_damaged_mark_stops_nothing(memory: Memory) -> None:
    conversation(memory)
    memory.drain(budget_seconds=0.05)
    (memory.home / "cache" / "undistilled" / "x.json").write_bytes(b"{")
    memory.drain()
    assert len(lasting(memory)) == 3


def test_an_import_leaves_them_too_and_again_adds_nothing(memory: Memory) -> None:
    path = imported(memory, history())
    found = lasting(memory)
    assert {one.kind for one in found} == {Kind.DECISION, Kind.FIX, Kind.CORRECTION}
    assert {one.trust for one in found} == {Trust.IMPORTED}  # not written on this machine
    [fix] = lasting(memory, Kind.FIX)
    assert fix.files == ("src/invoice.py",)
    assert all("message" in ref for ref in fix.provenance["evidence"])
    os.utime(path)
    memory.import_history(Request((path,), agent="claude-code"))
    assert lasting(memory) == found


def test_a_copied_session_adds_no_memory(memory: Memory) -> None:
    imported(memory, history())
    before = lasting(memory, *LASTING, Kind.SUMMARY)
    copy = history()
    copy.lines = [{**line, "sessionId": copy.uuid("fork")} for line in copy.lines]
    imported(memory, copy, "b")
    assert lasting(memory, *LASTING, Kind.SUMMARY) == before


def test_a_choice_that_is_taken_back_later_sinks(memory: Memory) -> None:
    hook(memory, "Stop", prompt_id="p0", last_assistant_message="In one jump, or step by step?")
    hook(memory, "UserPromptSubmit", prompt_id="p1", prompt="step by step, one release at a time")
    memory.drain()
    [old] = lasting(memory, Kind.DECISION)
    hook(memory, "Stop", prompt_id="p1", last_assistant_message="Step by step then.")
    hook(memory, "UserPromptSubmit", prompt_id="p2", prompt="on second thought, one jump, releases take ages")
    memory.drain()
    [new] = lasting(memory, Kind.DECISION)
    assert new.id != old.id
    [sunk] = memory.store.memories(EVERYTHING, MemoryFilter(statuses=(Status.SUPERSEDED,)))
    assert (sunk.id, sunk.superseded_by) == (old.id, new.id)


def test_the_summary_of_a_session_grows_with_it(memory: Memory) -> None:
    conversation(memory)
    memory.drain()
    [first] = lasting(memory, Kind.SUMMARY)
    assert "src/invoice.py" in first.body
    tool(memory, "toolu_0000000000b1", "Edit", {**CHANGE, "file_path": "/x/money.py"}, tool_response="ok")
    memory.drain()
    [second] = lasting(memory, Kind.SUMMARY)
    assert second.id == first.id
    assert "money.py" in second.body


def test_what_was_forgotten_is_not_made_again(memory: Memory) -> None:
    conversation(memory)
    memory.drain()
    [decision] = lasting(memory, Kind.DECISION)
    memory.forget([decision.id])
    hook(memory, "UserPromptSubmit", prompt_id="p4", prompt="thanks, that is all for today then")
    memory.drain()
    assert lasting(memory, Kind.DECISION) == []


def test_erasing_a_prompt_erases_what_was_made_of_it_and_back(memory: Memory) -> None:
    conversation(memory)
    memory.drain()
    [decision] = lasting(memory, Kind.DECISION)
    memory.erase([decision.id])
    left = memory.store.memories(EVERYTHING, replace(MemoryFilter(), statuses=tuple(Status)))
    assert [one for one in left if "int cents" in f"{one.title} {one.body}"] == []
    hook(memory, "UserPromptSubmit", prompt_id="p4", prompt="and the readme please")
    memory.drain()
    assert lasting(memory, Kind.DECISION) == []


def test_the_next_session_is_told_of_the_decision(memory: Memory) -> None:
    conversation(memory)
    memory.drain()
    payload = {"hook_event_name": "SessionStart", "session_id": "s2", "source": "startup"}
    payload["cwd"] = str(memory.project_root)
    environment = {"PATH": os.environ["PATH"], "HOME": str(memory.home.parent)}
    command = [sys.executable, *hook_arguments(str(hook_program()), "SessionStart", "claude-code")]
    done = subprocess.run(
        command,
        input=json.dumps(payload).encode(),
        env=environment | {"CLAUDE_MEMORY_HOME": str(memory.home)},
        capture_output=True,
        timeout=60,
    )
    told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert [line for line in told.splitlines() if "int cents" in line and "decision" in line]


def told(memory: Memory, session: str, text: str) -> list[StoredMemory]:
    """What is newly kept of a session in which a person says one thing."""
    before = {item.id for item in memory.store.memories(EVERYTHING, MemoryFilter(kinds=LASTING))}
    hook(memory, "UserPromptSubmit", session, prompt_id=f"{session}-1", prompt=text)
    hook(memory, "Stop", session, prompt_id=f"{session}-1", last_assistant_message="Noted.")
    memory.drain()
    memory.judge_pending()
    found = memory.store.memories(EVERYTHING, MemoryFilter(kinds=LASTING))
    return [item for item in found if item.id not in before and item.provenance.get("source") == "distilled"]


def test_what_is_decided_again_in_another_session_strengthens_the_first(memory: Memory) -> None:
    [first] = told(memory, "s1", "Decision: invoices are stored as integer cents in the ledger table.")
    [again] = told(memory, "s2", "Decision: in the ledger table invoices are stored as integer cents.")
    [relation] = memory.lifecycle.relations(again.id)
    assert (relation.target, relation.kind) == (first.id, "repeats")
    [standing] = memory.lifecycle.standing([first])
    assert standing.reviews == 1
    memory.drain()
    assert memory.lifecycle.standing([first])[0].reviews == 1


def test_what_is_decided_anew_in_another_session_takes_the_place_of_the_first(memory: Memory) -> None:
    [first] = told(memory, "s1", "Decision: we use Redis for the session cache.")
    [later] = told(
        memory, "s2", "Decision: we no longer use Redis for the session cache, it moved to Valkey."
    )
    [old, new] = memory.show([first.id, later.id])
    assert (old.status, old.superseded_by, new.supersedes) == (Status.SUPERSEDED, later.id, first.id)
