"""An import that is killed goes on where it was, leaves no process behind, and ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from bench.history import Writer

COMPARED = {
    "conversations": """SELECT agent, session, cwd, title, first_at, last_at, messages FROM conversations ORDER BY 2""",
    "messages": """SELECT c.session, m.ordinal, m.role, m.at, m.failed, m.tool, m.call, m.event, m.body
        FROM messages m JOIN conversations c ON c.number = m.conversation ORDER BY 1, 2""",
    "keys": "SELECT key FROM message_keys ORDER BY 1",
    "events": "SELECT id, kind, timestamp, payload FROM events ORDER BY 1",
    "memories": "SELECT id, title, body, created_at, provenance FROM memories ORDER BY 1",
    "passages": """SELECT m.id, p.ordinal, p.own, p.near, p.far FROM passages p
        JOIN memories m ON m.number = p.memory ORDER BY 1, 2""",
    "lexicon": "SELECT term, passages FROM lexicon ORDER BY 1",
    "files": "SELECT path, offset, size, skipped FROM import_files ORDER BY 1",
}


def started(user_home: Path, home: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HOME": str(user_home), "CLAUDE_MEMORY_HOME": str(home)}
    command = [sys.executable, "-m", "claude_memory", "import", "--json"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, cwd=user_home)


def contents(home: Path) -> dict[str, list[Any]]:
    db = apsw.Connection(str(home / "memory.db"))
    return {name: db.execute(statement).fetchall() for name, statement in COMPARED.items()}


def left_behind(home: Path) -> list[str]:
    """Processes that know this home; where there is no /proc, nobody is asked."""
    mark = f"CLAUDE_MEMORY_HOME={home}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes():
                found.append(place.parent.name)
        except OSError:
            continue
    return found


def killed_and_resumed(tmp_path: Path, megabytes: int, kills: int) -> None:
    user_home = tmp_path / "user"
    Writer(user_home / ".claude").write(megabytes * 1_000_000)
    calm, shaken = tmp_path / "calm", tmp_path / "shaken"
    for home in (calm, shaken):  # what follows in the background is not what is compared here
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text('embedder = "none"\nimport_in_drain_seconds = 0\n')
    begun = time.monotonic()
    assert started(user_home, calm).wait() == 0
    whole = time.monotonic() - begun
    chance = random.Random(5)
    for _ in range(kills):
        process = started(user_home, shaken)
        try:
            process.wait(chance.uniform(0.2, 1.0) * whole)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    for home in (calm, shaken, calm, shaken):  # a large import leaves its distilling to the next
        assert started(user_home, home).wait() == 0
    deadline = time.monotonic() + 20
    while left_behind(shaken) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left_behind(shaken)
    one, other = contents(calm), contents(shaken)
    for name, rows in one.items():
        assert rows == other[name], name
    assert one["messages"]


def test_an_import_killed_three_times_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, megabytes=12, kills=3)


@pytest.mark.soak
def test_an_import_killed_twenty_times_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, megabytes=80, kills=20)
