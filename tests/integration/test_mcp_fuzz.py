"""Whatever a model sends by the schemas: clear answers, no foreign data, and readers that write nothing."""

from __future__ import annotations

import asyncio
import json
import os
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
from claude_memory.surfaces.mcp.server import Server

FOREIGN = "xylophonist"
SOAK_CALLS = int(os.environ.get("MCP_FUZZ_CALLS", "20000"))
# What people would miss. Notes of use may follow a reading, and so may the texts of task files, which are
# the truth themselves and are indexed by whoever comes by.
TABLES = {
    "memories": "SELECT id, kind, title, body, trust, status, topics, files, supersedes, superseded_by, pinned "
    "FROM memories WHERE task IS NULL ORDER BY id",
    "events": "SELECT * FROM events ORDER BY 1",
    "projects": "SELECT * FROM projects ORDER BY 1",
    "intentions": "SELECT * FROM intentions ORDER BY 1",
}


@dataclass
class Fuzzed:
    """A server in this process, with memories to meet and foreign ones to keep out of sight."""

    server: Server
    home: Path
    tools: dict[str, dict[str, Any]]
    words: list[str]
    loop: asyncio.AbstractEventLoop

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        try:
            result = self.loop.run_until_complete(self.server.mcp.call_tool(tool, arguments))
        except ToolError as fault:
            return False, str(fault)
        return True, json.dumps(result.structured_content, ensure_ascii=False)  # type: ignore[union-attr]

    def rows(self) -> dict[str, list[Any]]:
        database = apsw.Connection(str(self.home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {table: database.execute(query).fetchall() for table, query in TABLES.items()}
        finally:
            database.close()


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
    yield Fuzzed(server, home, tools, words, loop)
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
    before = fuzzed.rows() if reads else {}
    done, text = fuzzed.call(tool, arguments)
    assert text != f"Error executing tool {tool}", "an unexpected failure has no words"
    assert "Traceback" not in text
    assert done or "\n" not in text
    if FOREIGN not in json.dumps(arguments, ensure_ascii=False, default=str):
        assert FOREIGN not in text
    if reads:
        assert fuzzed.rows() == before


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


def test_no_call_fails_without_words_or_tells_of_other_projects(fuzzed: Fuzzed) -> None:
    explored(fuzzed, 250)


@pytest.mark.soak
def test_twenty_thousand_calls(fuzzed: Fuzzed) -> None:
    explored(fuzzed, SOAK_CALLS)
