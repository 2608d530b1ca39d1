"""Planted secrets through the whole path: hook, drain, search, backup. No raw byte of any stays."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.backup_steps import create
from tests.quality.secret_samples import Sample, samples

from claude_memory import Memory, NewMemory
from claude_memory.hook import claude_memory_hook as hook


def payloads(sample: Sample, number: int) -> list[tuple[str, bytes]]:
    """The secret in a prompt, in a tool's output, in an error, and in bytes that are no JSON."""
    common = {"session_id": "s1", "cwd": "/shop"}
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": f"p{number}",
        "prompt": f"please look: {sample.snippet}",
    }
    used = {
        "hook_event_name": "PostToolUse",
        "tool_use_id": f"t{number}",
        "tool_name": "Bash",
        "tool_input": {"command": "env"},
        "tool_response": {"stdout": f"some output\n{sample.snippet}\nmore output", "stderr": ""},
    }
    failed = {
        "hook_event_name": "PostToolUseFailure",
        "tool_use_id": f"f{number}",
        "tool_name": "Bash",
        "tool_input": {"command": f"deploy {number}"},
        "error": f"Exit code 1\nrejected: {sample.snippet}",
    }
    events = [("UserPromptSubmit", prompt), ("PostToolUse", used), ("PostToolUseFailure", failed)]
    kind, event = events[number % 3]
    broken = f"not json at all {sample.snippet}".encode("utf-8", "surrogatepass")
    found = [(kind, json.dumps({**common, **event}).encode())]
    return [*found, ("PostToolUse", broken)] if number % 5 == 0 else found


def everything(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "models" not in path.parts:
            found[str(path)] = path.read_bytes()
            if path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    found |= {f"{path}!{name}": archive.read(name) for name in archive.namelist()}
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def test_no_raw_byte_of_a_planted_secret_is_left_anywhere(home: Path, tmp_path: Path) -> None:
    planted = samples()
    assert len(planted) >= 100
    assert len({sample.format for sample in planted}) >= 60
    environment = {"CLAUDE_MEMORY_HOME": str(home), "HOME": str(tmp_path)}
    for number, sample in enumerate(planted):
        for event, raw in payloads(sample, number):
            command = [sys.executable, "-I", "-S", hook.__file__, event]
            done = subprocess.run(command, input=raw, env=environment, capture_output=True, timeout=60)
            assert (done.returncode, done.stdout) == (0, b"")
    with Memory.open(home, tmp_path, flags={"embedder": "none"}) as memory:
        memory.drain()
        for sample in planted[::10]:
            memory.search(sample.snippet[:500], all_projects=True)
            memory.remember(NewMemory(body=f"keep this: {sample.snippet}"))
        stored = memory.stats(all_projects=True)
        create(home, memory.store)
        everything_while_open = everything(home)
    for name, content in {**everything_while_open, **everything(home)}.items():
        leaked = [sample.format for sample in planted if sample.secret.encode() in content]
        assert leaked == [], f"{name} holds {leaked}"
    assert stored.events >= len(planted)
    assert any((home / "spool" / "rejected").iterdir())
    assert not any((home / "spool" / "new").iterdir())
