"""import and conversation, as a person and a program use them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from bench.history import Writer
from tests.integration.histories import ordinary, write_all_agents

from claude_memory.transcripts.sources import AGENTS


def test_everything_said_on_this_machine_is_searchable(cli: Any, scratch_home: Path) -> None:
    session = ordinary(cwd=str(cli.project))
    session.write(scratch_home)
    done = cli.ok("import", "--json").json
    assert {key: done[key] for key in ("sessions", "messages", "duplicates", "skipped")} == {
        "sessions": 1,
        "messages": 11,
        "duplicates": 0,
        "skipped": 0,
    }
    [first, *_] = cli.ok("search", "coupon lookup default", "--json").json
    assert "default of zero" in first["snippet"]
    assert cli.ok("import").out == (
        "added 0 sessions, 0 messages, 0 memories; passed over 0 duplicates, 0 lines skipped\n"
    )


def test_what_an_import_could_not_read_is_named(cli: Any, scratch_home: Path) -> None:
    path = ordinary().write(scratch_home)
    path.write_bytes(b"{broken\n[1]\n" + path.read_bytes())
    assert f"not read in {path}: a line is no JSON object (2 times)" in cli.ok("import").err
    other = ordinary("other").write(scratch_home)
    other.write_bytes(b"{broken\n" + other.read_bytes())
    [unread] = cli.ok("import", "--json").json["unread"]
    assert (unread["path"], unread["count"]) == (str(other), 1)


def test_a_conversation_is_printed_whole_or_in_part(cli: Any, scratch_home: Path) -> None:
    session = ordinary()
    session.write(scratch_home)
    cli.ok("import")
    whole = cli.ok("conversation", session.id[:8]).out
    assert "Why does the one checkout crash" in whole
    assert "claude-code" in whole
    part = cli.ok("conversation", f"{session.id[:8]}:3-4", "--json").json
    assert [item["ordinal"] for item in part["messages"]] == [3, 4]
    assert part["agent"] == "claude-code"
    beyond = cli("conversation", f"{session.id[:8]}:99-100")
    assert (beyond.code, beyond.out) == (1, "")
    assert beyond.err.strip().endswith("has 11 messages")
    failed = cli.ok("conversation", session.id, "--errors", "--json").json["messages"]
    assert [(item["role"], item["tool"]) for item in failed] == [("call", "Bash"), ("result", "Bash")]
    assert "KeyError" in failed[1]["text"]


@pytest.mark.parametrize("named", ["zzz", "zzz:1-2", ""])
def test_a_conversation_that_is_not_there(cli: Any, named: str) -> None:
    done = cli("conversation", named)
    assert done.code == 1
    assert len(done.err.splitlines()) == 1


def test_wrong_requests_are_told_in_a_line(cli: Any, tmp_path: Path) -> None:
    for code, arguments in (
        (2, ["--agent", "nobody"]),
        (1, [str(tmp_path / "gone")]),
        (2, ["--since", "noon-ish"]),
        (2, ["--from", "x"]),
        (1, ["--dry-run", "--from", "claude-mem"]),
    ):
        done = cli("import", *arguments)
        assert (done.code, done.out) == (code, "")
        assert len(done.err.splitlines()) == 1


def test_one_agent_and_one_folder(cli: Any, scratch_home: Path, tmp_path: Path) -> None:
    write_all_agents(scratch_home)
    assert cli.ok("import", "--agent", "codex", "--json").json["sessions"] == 1
    ordinary("elsewhere").write(tmp_path)
    assert cli.ok("import", str(tmp_path), "--json").json["sessions"] == 1
    assert cli.ok("import", "--since", "1 hour ago", "--json").json["sessions"] == len(AGENTS) - 1


def test_a_dry_run_says_what_would_be_read_and_reads_nothing(cli: Any, scratch_home: Path) -> None:
    write_all_agents(scratch_home)
    planned = cli.ok("import", "--dry-run", "--json").json
    assert {file["agent"] for file in planned["files"]} == set(AGENTS)
    assert "codex: 1 file, 0.0 MB" in cli.ok("import", "--dry-run").out
    assert cli.ok("import", "--json").json["sessions"] == len(AGENTS)
    assert cli.ok("import", "--dry-run").out == "nothing new to read\n"


def test_a_terminal_sees_how_far_it_is(cli: Any, scratch_home: Path) -> None:
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")
    Writer(scratch_home / ".claude").write(3_000_000)
    leader, follower = pty.openpty()
    environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}
    process = subprocess.Popen(
        [*cli.command(), "import"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env=environment,
        cwd=cli.project,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            chunk = os.read(leader, 65_536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    assert process.wait(60) == 0
    assert b"MB/s" in shown
    assert b"s left" in shown


def test_an_interrupted_import_goes_on(cli: Any, scratch_home: Path) -> None:
    Writer(scratch_home / ".claude").write(8_000_000)
    environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}
    process = subprocess.Popen(
        [*cli.command(), "import"],
        env=environment,
        cwd=cli.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130), said
    assert b"Traceback" not in said
    assert cli.ok("import", "--json").json["skipped"] == 0
    assert cli.ok("import", "--json").json["messages"] == 0
