"""The real client, offline: what one session says, the next one is told."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.e2e.conftest import Machine
from tests.e2e.fake_model import say, use

pytestmark = pytest.mark.e2e

DECISION = "Decision: invoices are rendered by Typst, not LaTeX, because the LaTeX image is 4 GB."
Make = Callable[..., Machine]


def rows(machine: Machine, query: str) -> list[tuple[object, ...]]:
    machine.memory("stats")  # whoever comes by drains
    database = apsw.Connection(str(machine.memory_home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def drained(machine: Machine) -> None:
    machine.memory("search", "anything at all")


def hook_errors(machine: Machine) -> list[str]:
    found = []
    for line in filter(None, machine.transcripts().splitlines()):
        entry = json.loads(line)
        attachment = entry.get("attachment") or {}
        if str(attachment.get("type", "")).startswith("hook_") and "error" in str(attachment.get("type")):
            found.append(line)
        if entry.get("hookErrors"):
            found.append(line)
        if attachment.get("type") == "hook_success" and attachment.get("exitCode"):
            found.append(line)
    return found


def test_the_plugin_passes_the_clients_own_validation_and_its_server_connects(machine: Make) -> None:
    made = machine([])
    plugin = made.memory_home / "plugin"
    for folder in (plugin, plugin / "lasting-memory"):
        assert "Validation passed" in made.claude("plugin", "validate", "--strict", str(folder)).stdout
    assert "Connected" in made.claude("mcp", "list").stdout


def test_a_decision_of_one_session_reaches_the_model_in_the_next(machine: Make) -> None:
    made = machine([])
    target = made.project / "invoice.txt"
    made.model.rules.append(
        ("EDITFILE", [say("Writing."), use("Write", file_path=str(target), content="x\n")])
    )
    made.say(f"{DECISION} EDITFILE")
    assert target.exists()
    before = len(made.model.requests)
    made.say("Good morning, what is next?")
    second = json.dumps(made.model.requests[before:], ensure_ascii=False)
    assert "invoices are rendered by Typst" in second
    assert "claude-memory search" in second
    assert hook_errors(made) == []


def test_a_sub_agent_is_told_what_matches_its_prompt(machine: Make) -> None:
    made = machine([])
    made.memory(
        "remember", "Invoices are rendered by Typst because the LaTeX image is 4 GB", "--kind", "decision"
    )
    agent = use(
        "Agent",
        description="render",
        prompt="SUBTASK: which program renders the invoices, Typst or LaTeX?",
        subagent_type="general-purpose",
    )
    made.model.rules.append(("SUBTASK", [say("It is known.")]))
    made.model.rules.append(("DELEGATE", [say("Asking."), agent]))
    made.say("DELEGATE this")
    own = [
        json.dumps(r, ensure_ascii=False)
        for r in made.model.requests
        if "SUBTASK" in json.dumps(r["messages"][0])
    ]
    assert own, "no request of the sub-agent reached the model"
    assert any("Typst because the LaTeX image" in request for request in own)
    assert any("claude-memory show ID" in request for request in own)
    assert hook_errors(made) == []


def test_a_prompt_brings_back_what_it_asks_about(machine: Make) -> None:
    made = machine([])
    made.memory(
        "remember", "The staging database is refreshed from production every Sunday night", "--kind", "fact"
    )
    made.memory("init")
    # Fill the start context elsewhere, so that only the prompt's own search can bring it.
    made.memory("config", "set", "context_tokens", "40")
    made.say("When is the staging database refreshed from production?")
    assert "every Sunday night" in made.model.seen_text()


def test_compaction_and_resume_count_nothing_twice(machine: Make) -> None:
    made = machine([])
    made.say("Remember that the port is 8443 for the gateway")
    session = json.loads(made.say("and say hello", "--continue", "--output-format", "json").stdout)[
        "session_id"
    ]
    made.say("/compact keep decisions", "--resume", session)
    made.say("and once more hello", "--resume", session)
    drained(made)
    kinds = dict(rows(made, "SELECT kind, count(*) FROM events GROUP BY kind"))
    assert kinds.get("compaction_start", 0) == 1
    assert kinds.get("compaction", 0) == 1
    prompts = rows(made, "SELECT json_extract(payload, '$.prompt') FROM events WHERE kind = 'prompt'")
    said = [prompt for (prompt,) in prompts if "/compact" not in str(prompt)]
    assert sorted(said) == sorted(set(said))
    assert any("8443" in str(prompt) for prompt in said)
    assert hook_errors(made) == []


def test_the_agent_is_unaffected_by_a_locked_store(machine: Make) -> None:
    made = machine([])
    made.memory("remember", "something")
    holder = apsw.Connection(str(made.memory_home / "memory.db"))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert "Understood" in made.say("hello under lock").stdout
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert hook_errors(made) == []
    assert "Under lock" in made.memory("timeline")


def test_the_agent_is_unaffected_by_a_half_removed_package(machine: Make, tmp_path: object) -> None:
    made = machine([])
    hooks = next(made.home.rglob("plugins/cache/**/hooks/hooks.json"))
    hooks.write_text(
        hooks.read_text().replace("/src", "/src-gone").replace("site-packages", "site-packages-gone")
    )
    assert "Understood" in made.say("hello without the package").stdout
    assert hook_errors(made) == []
    assert "Without the package" in made.memory("timeline")


@pytest.mark.parametrize("fault", ["read-only", "full"])
def test_the_agent_is_unaffected_by_a_disk_that_takes_nothing(machine: Make, fault: str) -> None:
    made = machine([])
    options = "size=2m" if fault == "full" else "ro"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(made.memory_home / "spool")]
    (made.memory_home / "spool").mkdir(exist_ok=True)
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        if fault == "full":
            with (made.memory_home / "spool" / "fill").open("wb", buffering=0) as handle:
                for _ in range(64):
                    try:
                        handle.write(b"x" * 65_536)
                    except OSError:
                        break
        assert "Understood" in made.say("hello to a broken disk").stdout
        assert hook_errors(made) == []
    finally:
        subprocess.run(["umount", str(made.memory_home / "spool")], check=False)


def test_what_we_start_ourselves_is_never_captured(machine: Make) -> None:
    made = machine([])
    made.environment["CLAUDE_MEMORY_DISABLE"] = "1"
    made.say("a summariser speaks here")
    made.environment.clear()
    assert "a summariser speaks" not in made.memory("timeline")


def test_no_process_of_ours_is_left_after_a_session(machine: Make) -> None:
    made = machine([])
    made.say("hello and goodbye")
    deadline = time.monotonic() + 60
    while (left := _ours(made)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left == []


def _ours(machine: Machine) -> list[str]:
    found = []
    for folder in os.scandir("/proc"):
        if folder.name.isdigit():
            try:
                command = (
                    Path(f"/proc/{folder.name}/cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode("utf-8", "replace")
                )
            except OSError:
                continue
            if "claude_memory" in command and str(machine.home) in command:
                found.append(command)
    return found


def test_uninstalling_gives_the_clients_settings_back_byte_for_byte(machine: Make) -> None:
    made = machine([], install=False)
    settings = made.home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    original = b'{\r\n\t"theme":   "dark",\r\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}\r\n}\r\n'
    settings.write_bytes(original)
    made.memory("install")
    assert settings.read_bytes() != original
    made.memory("uninstall")
    assert settings.read_bytes() == original
