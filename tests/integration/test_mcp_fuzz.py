"""Whatever a model sends by the schemas: clear answers, no foreign data, and readers that write nothing."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver.exceptions import ToolError
from tests.integration.mcp_talk import words_only

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.model import MemoryId
from claude_memory.surfaces.mcp.server import Server

FOREIGN = "xylophonist"
SOAK_CALLS = int(os.environ.get("MCP_FUZZ_CALLS", "20000"))


class Watched:
    """Everything that lies under some folders: every table of the store, and every file beside it."""

    def __init__(self, home: Path, *others: Path) -> None:
        self._folders = (home, *others)
        self._store = home / "memory.db"
        self._eye = apsw.Connection(str(self._store), flags=apsw.SQLITE_OPEN_READONLY)

    def close(self) -> None:
        self._eye.close()

    def version(self) -> int:
        """Changes with every commit that another connection makes, whatever it holds."""
        return int(self._eye.pragma("data_version"))

    def rows(self) -> dict[str, list[Any]]:
        """Every row of every table; an index of words is seen in the tables that it is made of."""
        tables = self._eye.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        return {
            str(name): sorted(map(repr, self._eye.execute(f'SELECT * FROM "{name}"'))) for (name,) in tables
        }

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of change of every file but the store's own, which `rows` reads."""
        found = {}
        for folder in self._folders:
            for path, _, names in os.walk(folder):
                for name in names:
                    if not name.startswith("memory.db"):
                        state = os.stat(os.path.join(path, name))  # noqa: PTH116, PTH118
                        found[f"{path}/{name}"] = (state.st_size, state.st_mtime_ns)
        return found


@dataclass
class Fuzzed:
    """A server in this process, with memories to meet and foreign ones to keep out of sight.

    Its thread that brings in what others left does not run: whatever changes was changed by a call.
    """

    server: Server
    home: Path
    tools: dict[str, dict[str, Any]]
    words: list[str]
    loop: asyncio.AbstractEventLoop
    watched: Watched
    reads: int = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        try:
            result = self.loop.run_until_complete(self.server.mcp.call_tool(tool, arguments))
        except ToolError as fault:
            return False, str(fault)
        return True, json.dumps(result.structured_content, ensure_ascii=False)  # type: ignore[union-attr]


@pytest.fixture
def fuzzed(scratch_home: Path, tmp_path: Path) -> Iterator[Fuzzed]:
    home = words_only(scratch_home / "memory")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with Memory.open(home, there) as memory:
        foreign = memory.remember_many(
            [
                NewMemory(f"The {FOREIGN} rehearses {n}", topics=[FOREIGN], session="theirs", trust="agent")
                for n in range(5)
            ]
        )
        memory.intentions.set(f"call the {FOREIGN}")
    with Memory.open(home, here) as memory:
        own = memory.remember_many(
            [
                NewMemory(f"Note {n} about auth", topics=["auth"], session="ours", files=["src/a.py"])
                for n in range(5)
            ]
            + [NewMemory("Bees swarm in May", topics=["bees"])]  # tied to nothing else
        )
        mine = memory.intentions.set("rotate the key", topics=["auth"]).id
    server = Server(home, here)
    loop = asyncio.new_event_loop()
    listed = loop.run_until_complete(server.mcp.list_tools())
    tools = {tool.name: tool.model_dump(by_alias=True) for tool in listed}
    words = [
        *foreign,
        *own,
        own[0][:4],
        mine,
        "auth",
        "src/a.py",
        "ours",
        "theirs",
        "login",
        "",
        "m",
        "i",
        "2h",
        "001",
    ]
    watched = Watched(home, here)
    yield Fuzzed(server, home, tools, words, loop, watched)
    watched.close()
    server.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def values(schema: dict[str, Any], words: list[str]) -> st.SearchStrategy[Any]:
    """Values of a schema, mostly fitting, often meaningful, now and then wrong."""
    text = st.one_of(st.sampled_from(words), st.text(max_size=60))
    kind = schema.get("type")
    if "enum" in schema:
        fitting: st.SearchStrategy[Any] = st.sampled_from(schema["enum"])
    elif kind == "integer":
        fitting = st.integers(schema.get("minimum", -10), schema.get("maximum", 100))
    elif kind == "number":
        fitting = st.floats(0, 1)
    elif kind == "boolean":
        fitting = st.booleans()
    elif kind == "array":
        fitting = st.lists(values(schema.get("items", {}), words), max_size=4)
    else:
        fitting = text
    wrong = st.one_of(st.none(), st.integers(), st.floats(), text, st.lists(text, max_size=2), st.just({}))
    return st.one_of(fitting, fitting, fitting, fitting, fitting, wrong)


def requests(fuzzed: Fuzzed) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    def of_tool(name: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        schema = fuzzed.tools[name]["inputSchema"]
        fields = {key: values(inner, fuzzed.words) for key, inner in schema["properties"].items()}
        needed = {key: fields.pop(key) for key in schema.get("required", [])}
        return st.tuples(st.just(name), st.fixed_dictionaries(needed, optional=fields))

    return st.sampled_from(sorted(fuzzed.tools)).flatmap(of_tool)


def check(fuzzed: Fuzzed, tool: str, arguments: dict[str, Any]) -> None:
    reads = fuzzed.tools[tool]["annotations"]["readOnlyHint"]
    version, files = fuzzed.watched.version(), fuzzed.watched.files() if reads else {}
    done, text = fuzzed.call(tool, arguments)
    assert text != f"Error executing tool {tool}", "an unexpected failure has no words"
    assert "Traceback" not in text
    assert done or "\n" not in text
    if FOREIGN not in json.dumps(arguments, ensure_ascii=False, default=str):
        assert FOREIGN not in text
    if reads:
        fuzzed.reads += 1
        assert fuzzed.watched.version() == version, f"{tool} wrote into the store"
        assert fuzzed.watched.files() == files, f"{tool} wrote files"


def explored(fuzzed: Fuzzed, count: int) -> None:
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(request=requests(fuzzed))
    def explore(request: tuple[str, dict[str, Any]]) -> None:
        check(fuzzed, *request)

    explore()


def test_no_call_fails_without_words_tells_of_other_projects_or_writes_as_a_reader(fuzzed: Fuzzed) -> None:
    explored(fuzzed, 250)
    assert fuzzed.reads > 50


@pytest.mark.soak
def test_twenty_thousand_calls(fuzzed: Fuzzed) -> None:
    explored(fuzzed, SOAK_CALLS)
    assert fuzzed.reads > SOAK_CALLS // 3


def test_the_watch_sees_any_write(fuzzed: Fuzzed) -> None:
    version, rows, files = fuzzed.watched.version(), fuzzed.watched.rows(), fuzzed.watched.files()
    with fuzzed.server.memory() as memory:
        memory.show([fuzzed.words[5]])  # a use that is noted at once
    assert fuzzed.watched.version() != version
    changed = {name for name, kept in fuzzed.watched.rows().items() if kept != rows[name]}
    assert {"reviews", "strengths"} <= changed
    fuzzed.call("task", {"action": "scratchpad", "name": "login", "text": "two ways"})
    assert fuzzed.watched.files() != files


READERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_memory", {"query": "auth notes", "min_relevance": 0}),
    ("timeline", {}),
    ("timeline", {"query": "auth"}),
    ("get_memories", {"ids": ["m"]}),
    ("get_summary", {}),
    ("get_project_knowledge", {}),
    ("explore_connections", {"from": "auth"}),
)


def test_readers_write_nothing_whatever_waits(fuzzed: Fuzzed) -> None:
    """Captured events, changed files and unread memories wait; a use is noted, but not by the call."""
    own = fuzzed.words[5]
    fuzzed.call("task", {"action": "scratchpad", "name": "login", "text": "two ways are possible"})
    payload = {"session_id": "s1", "cwd": str(fuzzed.home), "prompt": "the llama shed needs a new roof"}
    Spool(fuzzed.home).put("UserPromptSubmit", json.dumps(payload).encode())
    before = fuzzed.watched.rows(), fuzzed.watched.files()
    for tool, arguments in READERS:
        given_ = {"ids": [own]} if tool == "get_memories" else arguments
        done, text = fuzzed.call(tool, given_)
        assert done, text
        assert (fuzzed.watched.rows(), fuzzed.watched.files()) == before, tool
    for uri in ("memory://context", f"memory://memory/{own}", "memory://session/ours", "memory://task/login"):
        fuzzed.loop.run_until_complete(fuzzed.server.mcp.read_resource(uri))
        assert (fuzzed.watched.rows(), fuzzed.watched.files()) == before, uri


def test_what_an_agent_opens_counts_as_a_use(fuzzed: Fuzzed) -> None:
    own = fuzzed.words[5]
    fuzzed.call("get_memories", {"ids": [own[:12]]})
    fuzzed.server.idle(time.monotonic())
    with fuzzed.server.memory() as memory:
        assert [review.reason for review in memory.store.lifecycle.reviews(memory.find([own])[0].id)] == [
            "opened"
        ]


def test_a_use_is_noted_at_the_latest_when_the_server_ends(fuzzed: Fuzzed) -> None:
    own = fuzzed.words[5]
    fuzzed.call("get_memories", {"ids": [own]})
    fuzzed.server.close()
    with Memory.open(fuzzed.home, fuzzed.home.parent) as memory:
        assert len(memory.store.lifecycle.reviews(MemoryId(own))) == 1
