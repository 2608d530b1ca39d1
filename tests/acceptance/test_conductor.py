"""A conductor whose memory survives its sandboxes: some in a row, each killed, on every kind of place.

Each sandbox is a new home with the real hook program in it. It pulls, talks, and its conversation is backed up
by itself; then everything that runs in it is killed at a random moment, and its disk is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.places import KINDS, Spot, spot

from claude_memory.hook import claude_memory_hook

PATIENCE_SECONDS = 90.0
SITE = os.pathsep.join(path for path in sys.path if path)

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes by /proc")


@dataclass
class Sandbox:
    """A machine of its own for one conversation: a home, a clone, and all that runs there."""

    folder: Path
    place: Spot
    project: Path

    @property
    def home(self) -> Path:
        return self.folder / "memory"

    @property
    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.folder), "CLAUDE_MEMORY_HOME": str(self.home), "SANDBOX": str(self.folder)}
        return {**os.environ, **self.place.environment, **own}

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "claude_memory", *words],
            cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hook(self, event: str, **content: str) -> None:
        document = {"hook_event_name": event, "cwd": str(self.project), **content}
        subprocess.run(
            [sys.executable, "-I", "-S", claude_memory_hook.__file__, event, "--home", str(self.home), "--site", SITE],
            input=json.dumps(document).encode(), env=self.environment, check=True, timeout=60, capture_output=True,
        )  # fmt: skip

    def talk(self, name: str, word: str) -> None:
        asked = f"The tariff of the harbour {name} is called {word}, keep that in mind"
        self.hook("SessionStart", session_id=name, source="startup")
        self.hook("UserPromptSubmit", session_id=name, prompt_id=f"{name}-1", prompt=asked)
        self.hook("Stop", session_id=name, last_assistant_message=f"Noted: {word} is the tariff of {name}.")

    def start(self) -> None:
        self.home.mkdir(parents=True, mode=0o700)
        (self.home / "config.toml").write_text(f'embedder = "none"\nbackup_to = "{self.place.name}"\n')
        self.command("backup", "pull", "--if-empty")

    def backups(self) -> list[str]:
        return [item["id"] for item in json.loads(self.command("backup", "list", self.place.name, "--json"))]

    def die(self) -> None:
        """Everything that runs here ends at once, and the disk goes."""
        for process in running_in(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while list(running_in(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        shutil.rmtree(self.folder)


def running_in(folder: Path) -> Iterator[int]:
    mark = f"SANDBOX={folder}".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)


def wait_for_backup(sandbox: Sandbox, word: str, before: list[str]) -> None:
    """Until a backup that holds what was said is acknowledged: its head lies at the place."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        state = sandbox.home / "backup.json"
        if state.exists() and json.loads(state.read_text())["seen"] and set(sandbox.backups()) - set(before):
            return
        time.sleep(0.3)
    log = sandbox.home / "logs" / "claude-memory.log"
    pytest.fail(f"no backup of {word}: {log.read_text() if log.exists() else 'no log'}")


def found(sandbox: Sandbox, word: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = json.loads(sandbox.command("search", word, "--json"))
    return [hit for hit in hits if word in hit["snippet"] or word in hit["title"]]


@pytest.mark.parametrize("sandboxes", [2, pytest.param(5, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", KINDS)
def test_everything_of_the_conversations_before_is_there_and_found(
    kind: str, sandboxes: int, tmp_path: Path, s3: str
) -> None:
    place = spot(kind, tmp_path, s3)
    project = tmp_path / "project"
    project.mkdir()
    chance = random.Random(kind)
    words: list[str] = []
    for number in range(sandboxes):
        sandbox = Sandbox(tmp_path / f"sandbox-{number}", place, project)
        sandbox.start()
        for word in words:
            assert found(sandbox, word), f"{word} is gone in sandbox {number}"
        before = sandbox.backups()
        words.append(f"zebra{number}quagga")
        sandbox.talk(f"session-{number}", words[-1])
        wait_for_backup(sandbox, words[-1], before)
        # More happens that nobody acknowledged, until the moment that nobody chose.
        sandbox.talk(f"late-{number}", f"late{number}")
        last = subprocess.Popen(
            [sys.executable, "-m", "claude_memory", "backup", "push"],
            cwd=project, env=sandbox.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(chance.random() * 1.5)
        sandbox.die()
        last.wait()
    final = Sandbox(tmp_path / "final", place, project)
    final.start()
    assert all(found(final, word) for word in words)
    assert json.loads(final.command("backup", "verify", place.name, "--json"))["ok"]
    final.die()
