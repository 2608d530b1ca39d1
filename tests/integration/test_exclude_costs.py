"""What a repository excludes costs its readers next to nothing, whatever it writes into its list."""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_memory.capture.drain import Spool, drain
from claude_memory.capture.parse import parse
from claude_memory.capture.withhold import LONGEST_COMMAND, matches, withhold
from claude_memory.settings import PROJECT_PATTERNS, Settings, of_project
from claude_memory.store import open_store

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
HOSTILE = {
    "many": [f"*a*{number:x}z" for number in range(6_000)],
    "long": ["*a" * 10_000 + "b"],
    "wild": ["*a" + "?" * 100 + f"{number}" for number in range(400)],
    "backwards": [f"{'*' * 8}[z-a]{number}" for number in range(400)],
}
RUN = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from claude_memory.capture.drain import drain
from claude_memory.settings import Settings
from claude_memory.store import open_store
home = Path(sys.argv[1])
store = open_store(home, Settings())
print(drain(home, store, Settings(), now=datetime.now(UTC)).events)
"""


def clone_with(folder: Path, exclude: list[str]) -> Path:
    (folder / ".claude-memories").mkdir(parents=True)
    (folder / ".claude-memories" / "config.json").write_text(
        json.dumps({"exclude": exclude}, separators=(",", ":"))
    )
    return folder


def spool(home: Path, cwd: Path, number: int) -> None:
    words = (f"some/{'a' * 200}/{number}-{word}" for word in range(250))  # each is new to every cache
    event = {
        "session_id": "s",
        "cwd": str(cwd),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"t{number}",
        "tool_input": {"command": " ".join(words)},
        "tool_response": "done",
    }
    Spool(home).put("PostToolUse", json.dumps(event).encode())


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_list_holds_nobody_up(tmp_path: Path, kind: str) -> None:
    """Hours without bounds; the limit only ends a test that hangs."""
    home, cwd = tmp_path / "home", clone_with(tmp_path / "clone", HOSTILE[kind])
    for number in range(20):
        spool(home, cwd, number)
    done = subprocess.run([sys.executable, "-c", RUN, home], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("20\n", "")


def test_only_patterns_within_bounds_are_taken_from_a_repository(tmp_path: Path) -> None:
    taken = of_project(clone_with(tmp_path, ["secret/*", "x" * 129, "?" * 9, *HOSTILE["many"]]))["exclude"]
    assert len(taken) == PROJECT_PATTERNS
    assert taken[:2] == ("secret/*", "*a*0z")


def test_a_command_too_long_to_look_through_is_captured_by_name_only() -> None:
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "x " * LONGEST_COMMAND},
        "tool_response": "content",
    }
    assert "tool_response" in withhold(call)
    assert "tool_response" not in withhold(call, ["secret"])


def test_a_budget_ends_within_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, cwd = tmp_path / "home", clone_with(tmp_path / "clone", HOSTILE["many"])
    for number in range(20):
        spool(home, cwd, number)
    clock = [100.0]

    def slow(*arguments: object) -> object:
        clock[0] += 0.02
        return parse(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("claude_memory.capture.drain.parse", slow)
    monkeypatch.setattr("claude_memory.text.times.system.monotonic", lambda: clock[0])
    store = open_store(home, Settings())
    done = drain(home, store, Settings(), now=NOW, budget_seconds=0.05)
    store.close()
    assert (done.events, done.remaining) == (3, 17)


def as_fnmatch(path: str, pattern: str) -> bool:
    """What the patterns have always meant."""
    path, pattern = path.rstrip("/"), pattern.rstrip("/")
    if "/" not in pattern and any(fnmatch.fnmatchcase(part, pattern) for part in path.split("/")):
        return True
    forms = (pattern, pattern + "/*", "*/" + pattern, "*/" + pattern.lstrip("/") + "/*")
    return any(fnmatch.fnmatchcase(path, form) for form in forms)


@settings(max_examples=400, deadline=None)
@given(
    path=st.text("ab./é-\n", max_size=12),
    pattern=st.text("ab*?[]!-/.é^", min_size=1, max_size=8),
)
def test_patterns_mean_what_fnmatch_makes_of_them(path: str, pattern: str) -> None:
    assert matches(path, (pattern,)) == as_fnmatch(path, pattern)
    assert matches(path, ("never", pattern, "nor-this")) == as_fnmatch(path, pattern)
