"""An agent's command line is told from a person's: by its environment, and by its process among ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claude_memory.errors import Conflict
from claude_memory.model import Trust
from claude_memory.platform import agents as caller

ASK = "from claude_memory.platform import agents as caller; print(caller.inside_agent())"


@pytest.mark.parametrize("marker", caller.MARKERS)
def test_each_agents_marker_tells_it(marker: str) -> None:
    assert caller.inside_agent({marker: "1"}) == caller.MARKERS[marker]
    assert not caller.inside_agent({marker: ""})


@pytest.mark.parametrize("marker", ["CURSOR_TRACE_ID", "CLAUDE_CODE_SSE_PORT", "TERM_PROGRAM"])
def test_what_an_editor_sets_in_a_persons_terminal_is_no_agent(marker: str) -> None:
    assert not caller.inside_agent({marker: "1"})


@pytest.mark.parametrize(
    ("name", "arguments", "agent"),
    [
        ("claude", ["claude"], "Claude Code"),
        ("node", ["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], "Claude Code"),
        ("node-MainThread", ["/opt/node", "--max-old-space-size=4", "/usr/bin/gemini"], "Gemini CLI"),
        ("2.1.9", ["/home/u/.local/share/claude/versions/2.1.9"], "Claude Code"),
        ("python3", ["python3", "/usr/bin/aider"], "Aider"),
        ("Codex.exe", [], "Codex"),
        ("droid", ["droid", "exec"], "Factory"),
        ("vim", ["vim", "claude"], ""),
        ("bash", ["/home/claude/bin/bash", "codex"], ""),
        ("python3", ["python3", "-m", "pytest"], ""),
        ("", [""], ""),
    ],
)
def test_an_ancestors_name_or_script_tells_it(name: str, arguments: list[str], agent: str) -> None:
    assert caller.agent_among([("bash", ["bash"]), (name, arguments)]) == agent


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="names of processes are read from /proc")
def test_an_agent_that_cleans_its_environment_is_still_an_agent(tmp_path: Path) -> None:
    agent = tmp_path / "opencode"  # a real process of that name, and our command two levels below it
    shutil.copy(shutil.which("bash") or "/bin/bash", agent)
    asked = [str(agent), "-c", f'sh -c \'"$0" -c "$1"; true\' "{sys.executable}" "{ASK}"; true']
    left_out = {*caller.MARKERS, "PYTHONPATH"}
    cleaned = {name: value for name, value in os.environ.items() if name not in left_out}
    found = subprocess.run(asked, env=cleaned, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "OpenCode"


def test_without_proc_a_list_of_processes_tells_whatever_stands_in_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = f" {os.getppid()} 4000000 sh -c one\x0btwo lines more\n4000000       1 /usr/bin/opencode run\n"
    done = subprocess.CompletedProcess((), 0, listed.encode())
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert [name for name, _ in caller._ancestors()] == ["sh", "/usr/bin/opencode"]


def test_only_a_person_speaks_as_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caller.own_trust(as_user=True) is Trust.USER
    assert caller.own_trust() is Trust.AGENT, "a script that says nothing is not known to be a person"
    monkeypatch.setattr(caller, "at_terminal", lambda: True)
    assert caller.own_trust() is Trust.USER
    monkeypatch.setenv("CLAUDECODE", "1")
    assert caller.own_trust() is Trust.AGENT
    with pytest.raises(Conflict, match="inside Claude Code"):
        caller.own_trust(as_user=True)
    with pytest.raises(Conflict, match="erasing for good is for a person"):
        caller.require_person("erasing for good")
