"""Eight clients at once on one store, some killed in the middle: clear answers, no lock and no process left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from claude_memory import Memory, NewMemory

CLIENTS = 8
CALLS = 240
SOAK_CALLS = int(os.environ.get("MCP_STORM_CALLS", "10000"))
DOOMED = (0, 3, 6)
ROUNDS = 4
CLEAR = (
    "try again",
    "no memory",
    "nothing here is called",
    "nothing to undo",
    "already",
    "has no",
    "in this project",
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


def ours(mark: str) -> list[int]:
    """Processes that carry this run's home in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in told and state != "Z":
                found.append(int(folder.name))
    return found


def one(dice: random.Random, known: list[str]) -> tuple[str, dict[str, Any]]:
    """A call as an agent might make it."""
    id_ = dice.choice(known)
    word = dice.choice(["gateway", "ledger", "parser", "mailer", "cache"])
    return dice.choice(
        [
            ("search_memory", {"query": f"what about the {word}", "min_relevance": 0}),
            ("search_memory", {"query": word, "kinds": ["decision"]}),
            ("timeline", {"around": id_}),
            ("get_memories", {"ids": [id_]}),
            ("get_project_knowledge", {"topic": word}),
            ("explore_connections", {"from": word}),
            ("get_summary", {}),
            (
                "remember",
                {"text": f"The {word} was touched {dice.random()}", "topics": [word], "kind": "fact"},
            ),
            ("revise", {"id": id_, "action": dice.choice(["pin", "restore", "demote", "forget"])}),
            ("intention", {"action": "set", "text": f"look at the {word}", "topics": [word]}),
            ("intention", {"action": "check", "text": word}),
            ("task", {"action": "scratchpad", "name": f"task {word}", "text": f"found {dice.random()}"}),
            ("task", {"action": "list"}),
        ]
    )


async def client(number: int, calls: int, place: StdioServerParameters, known: list[str]) -> Counter[str]:
    """One client's calls; a doomed one's server is killed on the way, and the client comes back."""
    dice, told = random.Random(number), Counter[str]()
    mark = f"STORM_CLIENT=number-{number}-"
    own = place.model_copy(update={"env": {**(place.env or {}), "STORM_CLIENT": f"number-{number}-"}})
    left, killed = calls, number not in DOOMED
    while left > 0:
        try:
            async with stdio_client(own) as (read, write), ClientSession(read, write) as session:
                await asyncio.wait_for(session.initialize(), 60)
                while left > 0:
                    if not killed and left <= calls // 2:
                        killed = True
                        told["killed"] += 1
                        [server] = ours(mark)
                        os.kill(server, signal.SIGKILL)
                    left -= 1
                    name, arguments = one(dice, known)
                    result = await asyncio.wait_for(session.call_tool(name, arguments), 60)
                    text = result.content[0].text
                    told["error" if result.is_error else "done"] += 1
                    if result.is_error:
                        assert any(words in text for words in CLEAR), f"{name} {arguments}: {text}"
        except* (MCPError, OSError, TimeoutError):
            told["silent"] += 1
            assert told["silent"] <= told["killed"], "only a killed server may go silent"
    return told


def storm(home: Path, folder: Path, calls: int) -> Counter[str]:
    with Memory.open(home, folder) as memory:
        known = memory.remember_many(
            [
                NewMemory(f"The {word} has rule {n}", kind="decision", topics=[word])
                for n in range(10)
                for word in ("gateway", "ledger", "parser")
            ]
        )
    environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}
    place = StdioServerParameters(
        command=sys.executable, args=["-I", "-m", "claude_memory", "mcp"], env=environment, cwd=str(folder)
    )

    async def all_at_once() -> list[Counter[str]]:
        return await asyncio.gather(
            *(client(number, calls // CLIENTS, place, list(known)) for number in range(CLIENTS))
        )

    told = asyncio.run(all_at_once())
    return sum(told, Counter())


def settled(home: Path, folder: Path, before: int) -> None:
    """No process after five seconds, no lock, and a store that is whole."""
    deadline = time.monotonic() + 5
    while (left := ours(str(home))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    with Memory.open(home, folder, patience_ms=500) as memory:
        assert memory.store.check().problems == ()
        memory.remember(NewMemory("after the storm"))
        assert sum(memory.stats().memories.values()) > before


@pytest.fixture
def home(scratch_home: Path) -> Path:
    folder = scratch_home / "memory"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text('embedder = "none"\n')
    (folder / "config.toml").chmod(0o600)
    return folder


def test_eight_clients_at_once_three_of_them_killed(home: Path, project: Path) -> None:
    told = storm(home, project, CALLS)
    assert told["done"] > CALLS // 2
    assert told["killed"] == len(DOOMED)
    settled(home, project, 30)


@pytest.mark.soak
def test_ten_thousand_calls_under_kill(home: Path, project: Path) -> None:
    done = 0
    while done < SOAK_CALLS:
        told = storm(home, project, SOAK_CALLS // ROUNDS)
        done += told["done"] + told["error"] + told["silent"]
        assert told["killed"] == len(DOOMED)
        settled(home, project, 30)
