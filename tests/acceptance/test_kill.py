"""kill -9 of real hook programs and drainers: what was acknowledged is stored, each once, and the store is whole.

SOAK_KILLS sets how many processes a soak kills, a fifth of them here; test_storm.py kills the others.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory.capture.drain import Spool, drain
from claude_memory.capture.parse import event_id
from claude_memory.hook import claude_memory_hook as hook
from claude_memory.model import EventId, EventKind, SearchScope
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.model import EventFilter

FEW = 60  # a bounded share for every run of the tests
MANY = int(os.environ.get("SOAK_KILLS", "5000")) // 5
WRITERS = 32
DRAINERS = 3

DRAIN_FOR_EVER = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from claude_memory.errors import StoreBusy
from claude_memory.capture.drain import drain
from claude_memory.settings import Settings
from claude_memory.store import open_store
home = Path(sys.argv[1])
while True:
    try:
        store = open_store(home, Settings())
        while True:
            drain(home, store, Settings(), now=datetime.now(UTC))
            waiting = store.memories.unembedded("test-model", 50)
            store.memories.add_vectors("test-model", [(passage.id, bytes(8)) for passage in waiting])
            time.sleep(0.005)
    except StoreBusy:
        pass
"""


class Storm:
    """Writers and drainers that are killed at random until enough have died."""

    def __init__(self, home: Path, kills: int) -> None:
        self.home = home
        self.wanted = kills
        self.guard = threading.Lock()
        self.kills = {"hook": 0, "drainer": 0}
        self.attempted: set[EventId] = set()
        self.acknowledged: set[EventId] = set()
        self.failures: list[str] = []
        self.environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(home), "HOME": str(home.parent)}

    def enough(self) -> bool:
        with self.guard:
            return bool(self.failures) or (
                sum(self.kills.values()) >= self.wanted and self.kills["drainer"] > 0
            )

    def run(self) -> None:
        threads = [threading.Thread(target=self.write, args=(n,)) for n in range(WRITERS)]
        threads += [threading.Thread(target=self.drain, args=(n,)) for n in range(DRAINERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def write(self, number: int) -> None:
        chance, count = random.Random(number), 0
        while not self.enough():
            count += 1
            self.capture(f"{number}-{count}", chance)

    def capture(self, name: str, chance: random.Random) -> None:
        kind = chance.choice((EventKind.PROMPT, EventKind.TOOL_USE))
        identity = event_id(kind, own_id=name, moment=datetime.now(UTC))
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", hook.__file__, "Event"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
        )
        with self.guard:
            self.attempted.add(identity)
        output = self.feed(process, payload(kind, name), chance)
        with self.guard:
            if process.returncode == -signal.SIGKILL:
                self.kills["hook"] += 1
            elif process.returncode == 0 and not output:
                self.acknowledged.add(identity)
            else:
                self.failures.append(f"a hook ended with {process.returncode} and printed {output!r}")

    def feed(self, process: subprocess.Popen[bytes], content: bytes, chance: random.Random) -> bytes:
        """Hand the event over; kill some hooks anywhere, and some while they write and rename."""
        fate = chance.random()
        if fate < 0.3:
            self.await_start_of_capture(process)
        killer = threading.Timer(chance.uniform(0, 0.02 if fate < 0.3 else 0.6), process.kill)
        if fate < 0.6:
            killer.start()
        output, _ = process.communicate(content, timeout=120)
        killer.cancel()
        return output

    def await_start_of_capture(self, process: subprocess.Popen[bytes]) -> None:
        temporary = self.home / "spool" / "tmp"
        while process.poll() is None and not any(temporary.glob(f"1-*-{process.pid}-*")):
            time.sleep(0.002)

    def drain(self, number: int) -> None:
        chance = random.Random(-1 - number)
        while not self.enough():
            process = subprocess.Popen(
                [sys.executable, "-c", DRAIN_FOR_EVER, str(self.home)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.environment,
            )
            try:
                output, _ = process.communicate(timeout=chance.uniform(0.2, 4))
                self.failures.append(f"a drainer ended by itself: {output.decode()[-600:]}")
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                with self.guard:
                    self.kills["drainer"] += 1


def payload(kind: EventKind, name: str) -> bytes:
    common = {"session_id": f"s{name[0]}", "cwd": "/shop"}
    if kind is EventKind.PROMPT:
        said = f"Remember the answer for case {name}: " + "a few more words to index " * 20
        own = {"hook_event_name": "UserPromptSubmit", "prompt_id": name, "prompt": said}
    else:
        own = {
            "hook_event_name": "PostToolUse",
            "tool_use_id": name,
            "tool_name": "Bash",
            "tool_input": {"command": f"echo {name}"},
            "tool_response": {"stdout": "line of output\n" * 400},
        }
    return json.dumps({**common, **own}).encode()


@pytest.mark.parametrize("kills", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_acknowledged_events_survive_any_kill(tmp_path: Path, kills: int) -> None:
    home = tmp_path / "memory"
    open_store(home, Settings()).close()
    storm = Storm(home, kills)
    storm.run()
    assert storm.failures == []
    store = open_store(home, Settings())
    try:
        assert not drain(home, store, Settings(), now=datetime.now(UTC)).busy
        while waiting := store.memories.unembedded("test-model", 500):
            store.memories.add_vectors("test-model", [(passage.id, bytes(8)) for passage in waiting])
        events = store.archive.events(SearchScope(None), EventFilter(), limit=10_000_000)
        archive = store.archive
        told = [
            one for item in archive.conversations(SearchScope(None)) for one in archive.messages(item.number)
        ]
        waiting_still = archive.waiting(1)
        integrity = store.check()
    finally:
        store.close()
    stored = [event.id for event in events]
    said = [event.id for event in events if event.kind is EventKind.PROMPT]
    depth = Spool(home).depth()
    print(f"kills {storm.kills}, acknowledged {len(storm.acknowledged)}, stored {len(stored)}")
    assert len(stored) == len(set(stored))
    assert storm.acknowledged <= set(stored) <= storm.attempted
    assert integrity.problems == ()
    assert sorted(one.event for one in told if one.role == "user") == sorted(said)  # each once
    assert waiting_still == []
    assert integrity.memories > 0
    assert integrity.passages == integrity.text_entries == integrity.vectors["test-model"]
    assert (depth.count, depth.rejected) == (0, 0)  # no reader ever saw half an event
