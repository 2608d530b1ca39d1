"""The server as a process: light until the model is needed, light again when nobody asks, gone with its client."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.integration.mcp_talk import HELLO, environment, words_only

from claude_memory import Memory, NewMemory, embed, opening
from claude_memory.capture.drain import Spool
from claude_memory.errors import EmbedderUnavailable
from claude_memory.model import Status
from claude_memory.platform import child
from claude_memory.surfaces.mcp.server import Server

PATIENCE = 30.0
LIMIT_MB = 120
QUICK = (
    "import sys; from pathlib import Path; from claude_memory.surfaces.mcp.server import Server; "
    "Server(Path(sys.argv[1]), Path.cwd(), release_seconds=float(sys.argv[2])).run()"
)


def until(condition: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(condition())


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text().split()]


def resident_mb(process: int) -> float:
    own = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return own + sum(resident_mb(child) for child in children(process))


class Running:
    """A server started by hand, spoken to in plain JSON-RPC."""

    def __init__(self, home: Path, folder: Path, release_seconds: float = 600) -> None:
        command = [sys.executable, "-c", QUICK, str(home), str(release_seconds)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(home), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self.ask(HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def search(self, query: str) -> dict[str, Any]:
        params = {"name": "search_memory", "arguments": {"query": query, "min_relevance": 0}}
        answer = self.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        return dict(answer["result"]["structuredContent"])

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._send(message)
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(PATIENCE)


@pytest.fixture
def running(memory_home: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    with Memory.open(memory_home, tmp_path) as memory:
        memory.remember(NewMemory("Invoices are rendered by Typst", kind="decision"))
    started: list[Running] = []

    def start(release_seconds: float = 600) -> Running:
        started.append(Running(memory_home, tmp_path, release_seconds))
        return started[-1]

    yield start
    for server in started:
        server.end()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_model_is_loaded_when_needed_and_given_back_when_not(running: Callable[..., Running]) -> None:
    server = running(release_seconds=4.0)
    assert until((lambda: not children(server.process.pid)), 5)
    assert resident_mb(server.process.pid) <= LIMIT_MB
    found = server.search("which program prints the bills")
    assert found["searched_by"].startswith("words and meaning")
    assert len(children(server.process.pid)) == 1, "the model lives in a process of its own"
    assert until(lambda: not children(server.process.pid))
    assert until(lambda: resident_mb(server.process.pid) <= LIMIT_MB)
    assert server.search("which program prints the bills again")["hits"], "and it comes back when asked"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_model_process_is_replaced(running: Callable[..., Running]) -> None:
    server = running()
    server.search("what renders invoices")
    [child] = children(server.process.pid)
    os.kill(child, signal.SIGKILL)
    assert server.search("what is used for rendering")["searched_by"].startswith("words and meaning")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_however_the_server_ends_nothing_is_left(
    running: Callable[..., Running], memory_home: Path, how: signal.Signals
) -> None:
    server = running()
    server.search("what renders invoices")
    [child] = children(server.process.pid)
    assert until((memory_home / "cache" / "hook-server").exists)
    place = Path((memory_home / "cache" / "hook-server").read_text().split()[1])
    server.process.send_signal(how)
    server.process.wait(PATIENCE)
    assert until(lambda: not Path(f"/proc/{child}").exists(), 5)
    if how is not signal.SIGKILL:
        assert server.process.returncode == 128 + how
        assert not place.exists()
        assert not (memory_home / "cache" / "hook-server").exists()


def test_a_model_that_failed_is_tried_again(
    memory_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words alone meanwhile, with the reason; no restart is needed once the cause is gone."""
    with Memory.open(memory_home, tmp_path) as memory:
        memory.remember(NewMemory("Invoices are rendered by Typst", kind="decision"))
    works = child.PROGRAM
    monkeypatch.setattr(child, "PROGRAM", "raise SystemExit")
    monkeypatch.setattr(opening, "RETRY_SECONDS", 1.0)

    def searched_by() -> str:
        arguments = {"query": "which program prints the bills", "min_relevance": 0}
        found = asyncio.run(server.mcp.call_tool("search_memory", arguments)).structured_content
        return str(found["searched_by"])

    server = Server(memory_home, tmp_path)
    try:
        assert searched_by() == "words only: the embedder's process ended unexpectedly, twice"
        monkeypatch.setattr(child, "PROGRAM", works)
        assert until(lambda: searched_by().startswith("words and meaning"))
    finally:
        server.close()


def test_a_model_that_was_missing_at_first_is_found_when_it_is_there(
    memory_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "RETRY_SECONDS", 0.0)
    failing = EmbedderUnavailable("the model package is missing")
    with Memory.open(memory_home, tmp_path) as memory:
        with monkeypatch.context() as patched:
            patched.setattr(embed, "open_embedder", Mock(side_effect=failing))
            assert memory.search_mode == "words only: the model package is missing"
        assert memory.search_mode.startswith("words and meaning")


def test_what_hooks_capture_is_stored_while_nobody_asks(scratch_home: Path, tmp_path: Path) -> None:
    home = words_only(scratch_home / "memory")
    server = Running(home, tmp_path)
    try:
        payload = {"session_id": "s1", "cwd": str(tmp_path), "prompt": "the llama shed needs a new roof"}
        Spool(home).put("UserPromptSubmit", json.dumps(payload).encode())
        assert until(lambda: Spool(home).depth().count == 0)
    finally:
        server.end()


def test_nothing_but_mcp_is_loaded_before_the_first_answer() -> None:
    code = (
        "from pathlib import Path; from claude_memory.surfaces.mcp.server import Server; "
        "Server(Path('nowhere'), Path()); import sys; print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "onnxruntime", "tokenizers", "typer", "re2", "apsw"}


def test_a_fault_of_the_store_is_one_line_and_not_the_end(scratch_home: Path, tmp_path: Path) -> None:
    home = words_only(scratch_home / "memory")
    (home / "memory.db").write_bytes(b"not a database" * 100)
    server = Server(home, tmp_path)
    for tool, arguments in (
        ("search_memory", {"query": "x"}),
        ("remember", {"text": "x"}),
        ("get_project_knowledge", {}),
        ("intention", {"action": "list"}),
    ):
        with pytest.raises(Exception, match=r"damaged|not a database|doctor") as failed:
            asyncio.run(server.mcp.call_tool(tool, arguments))
        assert "\n" not in str(failed.value)
    server.close()


def test_what_came_without_a_model_is_judged_while_the_server_has_one(
    running: Callable[..., Running], memory_home: Path, tmp_path: Path
) -> None:
    with Memory.open(memory_home, tmp_path) as memory:
        for text in ("Nothing is merged without a review.", "Nothing gets merged without a review."):
            memory.remember(NewMemory(text, kind="decision"), embed=False)
        running().search("when is a change reviewed")
        assert until(lambda: not memory.store.lifecycle.unjudged(1), 20)
        [decision] = memory.search("nothing is merged without a review", limit=1)
        # Close in meaning: linked as the newer one on the same subject, and both stay.
        assert [one.kind for one in memory.store.lifecycle.relations([decision.id])] == ["newer"]
        assert decision.status is Status.ACTIVE


HALVES = ("\\ud800", "\\uDC00 \\ud83d", "a pair \\ud83d\\ude00 and \\ude00")
CALLS = (
    '"method": "tools/call", "params": {{"name": "search_memory", "arguments": {{"query": "a {half}"}}}}',
    '"method": "tools/call", "params": {{"name": "{half}", "arguments": {{}}}}',
    '"method": "x{half}"',
)


def test_half_a_character_leaves_no_call_unanswered(tmp_path: Path) -> None:
    """JSON may spell it, and no text can hold it."""
    with subprocess.Popen(
        [sys.executable, "-m", "claude_memory", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(words_only(tmp_path / "memory")),
        cwd=tmp_path,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        impatience = threading.Timer(60, server.kill)
        impatience.start()

        def say(line: str) -> None:
            assert server.stdin is not None
            server.stdin.write(line.encode() + b"\n")
            server.stdin.flush()

        say(json.dumps(HELLO))
        assert json.loads(server.stdout.readline())["id"] == 1
        say(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for number, (call, half) in enumerate(itertools.product(CALLS, HALVES), 2):
            say(f'{{"jsonrpc": "2.0", "id": {number}, {call.format(half=half)}}}')
            assert json.loads(server.stdout.readline())["id"] == number
        impatience.cancel()
        server.stdin.close()
