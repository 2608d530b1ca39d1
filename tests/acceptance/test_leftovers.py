"""Nothing of ours runs when nobody is there: servers and hooks, started and killed, leave no process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claude_memory.capture.drain import Spool
from claude_memory.install.plugin import hook_arguments, hook_program, server_command

ENDED_SECONDS = 5.0


def ours(home: Path) -> list[str]:
    """Processes that work for this home: named in their command or their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        if folder.name == str(os.getpid()):
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            known = str(home) in command or str(home).encode() in (folder / "environ").read_bytes()
        except OSError:
            continue
        if known and "claude_memory" in command:
            found.append(command)
    return found


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}


def start(command: list[str], home: Path, folder: Path) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(
        command, cwd=folder, env=environment(home), stdin=subprocess.PIPE, stdout=null, stderr=null
    )


def cycle(home: Path, folder: Path, dice: random.Random) -> None:
    """One server and some hooks; each of them is killed, or left alone by its client, at any moment."""
    running = [start(server_command(), home, folder)]
    for event in dice.choices(["Stop", "SessionStart", "UserPromptSubmit", "PostToolUse"], k=3):
        command = [sys.executable, *hook_arguments(str(hook_program()), event)]
        hook = start(command, home, folder)
        payload = {
            "session_id": "s",
            "cwd": str(folder),
            "prompt": "which port has the gateway",
            "source": "startup",
        }
        assert hook.stdin is not None
        hook.stdin.write(json.dumps({**payload, "hook_event_name": event}).encode())
        hook.stdin.flush()
        running.append(hook)
    time.sleep(dice.random() * 0.8)
    for process in running:
        if dice.random() < 0.5:
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
    for process in running:
        process.wait(60)


def run(cycles: int, home: Path, folder: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')  # one less thing to wait for
    dice = random.Random(cycles)
    for _ in range(cycles):
        cycle(home, folder, dice)
    deadline = time.monotonic() + ENDED_SECONDS + cycles * 0.05
    while ours(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ours(home) == []
    assert Spool(home).depth().rejected == 0


def test_started_and_killed_nothing_is_left(scratch_home: Path, tmp_path: Path) -> None:
    run(4, scratch_home / "memory", tmp_path)


@pytest.mark.soak
def test_started_and_killed_five_hundred_times_nothing_is_left(scratch_home: Path, tmp_path: Path) -> None:
    run(int(os.environ.get("SOAK_CYCLES", "500")), scratch_home / "memory", tmp_path)


def test_a_drain_that_is_killed_loses_nothing(scratch_home: Path, tmp_path: Path) -> None:
    from claude_memory import Memory
    from claude_memory.surfaces.hooks.after import DRAIN_PROGRAM

    home = scratch_home / "memory"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')
    count = 300
    for number in range(count):
        payload = {
            "session_id": "s",
            "cwd": str(tmp_path),
            "prompt": f"remark number {number}",
            "prompt_id": str(number),
        }
        Spool(home).put(
            "UserPromptSubmit", json.dumps({**payload, "hook_event_name": "UserPromptSubmit"}).encode()
        )
    site = os.pathsep.join(place for place in sys.path if place)
    for wait in (0.05, 0.2, 0.4, 0.6):
        drain = start([sys.executable, "-I", "-S", "-c", DRAIN_PROGRAM, site, str(home)], home, tmp_path)
        time.sleep(wait)
        drain.kill()
        drain.wait(60)
        assert drain.stdin is not None
        drain.stdin.close()
    with Memory.open(home, tmp_path) as memory:
        memory.drain()
        assert memory.stats().events == count
    assert Spool(home).depth().count == 0
