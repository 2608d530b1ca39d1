"""The MCP server as a client sees it, and the socket by which hooks borrow its embedder."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from claude_memory import Memory, NewMemory
from claude_memory.install.plugin import hook_arguments, hook_program, server_command
from claude_memory.surfaces.hooks import after
from claude_memory.surfaces.mcp import access
from claude_memory.surfaces.mcp.access import HookSocket, socket_path

DECISION = "Invoices are rendered by Typst because the LaTeX image is 4 GB"
PATIENCE = 30.0


@pytest.fixture
def project(memory_home: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    with Memory.open(memory_home, folder) as memory:
        memory.remember(NewMemory(DECISION, kind="decision"))
    return folder


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home.parent.parent), "CLAUDE_MEMORY_HOME": str(home)}


def talk(home: Path, folder: Path, conversation: Callable[[ClientSession], Any]) -> Any:
    command, *arguments = server_command()
    parameters = StdioServerParameters(
        command=command, args=arguments, env=environment(home), cwd=str(folder)
    )

    async def run() -> Any:
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await conversation(session)

    return asyncio.run(run())


def ask(**arguments: Any) -> Callable[[ClientSession], Any]:
    return lambda session: session.call_tool("search_memory", arguments)


def document(result: Any) -> dict[str, Any]:
    found = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    return dict(found) if found else dict(json.loads(result.content[0].text))


def is_error(result: Any) -> bool:
    return bool(getattr(result, "is_error", None) or getattr(result, "isError", None))


def until(condition: Callable[[], Any]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def test_a_search_finds_and_says_how_it_searched(memory_home: Path, project: Path) -> None:
    found = document(talk(memory_home, project, ask(query="which program renders the invoices")))
    [hit] = found["hits"]
    assert "Typst" in hit["title"]
    assert "below_threshold" not in hit
    assert found["searched_by"].startswith("words and meaning")


def test_what_is_far_off_comes_back_marked(memory_home: Path, project: Path) -> None:
    found = document(talk(memory_home, project, ask(query="boiling eggs for breakfast", min_relevance=0.9)))
    assert all(hit["below_threshold"] for hit in found["hits"])


def test_an_empty_memory_has_no_hits(memory_home: Path, tmp_path: Path) -> None:
    assert document(talk(memory_home, tmp_path, ask(query="anything at all")))["hits"] == []


def test_wrong_use_is_an_error_of_the_tool_not_the_end_of_the_server(
    memory_home: Path, project: Path
) -> None:
    async def twice(session: ClientSession) -> Any:
        wrong = await session.call_tool("search_memory", {"query": "x", "limit": 0})
        return wrong, await session.call_tool("search_memory", {"query": "invoices Typst"})

    wrong, right = talk(memory_home, project, twice)
    assert is_error(wrong)
    assert not is_error(right)


def test_a_damaged_store_is_an_error_in_one_line(memory_home: Path, tmp_path: Path) -> None:
    (memory_home / "memory.db").write_bytes(b"not a database" * 100)
    result = talk(memory_home, tmp_path, ask(query="anything"))
    assert is_error(result)
    assert "Traceback" not in result.content[0].text


@pytest.fixture
def server(memory_home: Path, project: Path) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        server_command(),
        cwd=project,
        env=environment(memory_home),
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
    )
    assert until((memory_home / "cache" / "hook-server").exists)
    yield process
    for end in (process.stdin, process.stdout):
        if end is not None:
            end.close()
    process.wait(PATIENCE)


def test_the_server_ends_with_its_client_and_leaves_nothing(
    memory_home: Path, server: subprocess.Popen[bytes]
) -> None:
    place = Path((memory_home / "cache" / "hook-server").read_text().split()[1])
    assert place.is_socket()
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert server.stdin is not None
    server.stdin.close()
    assert server.wait(PATIENCE) == 0
    assert not place.exists()
    assert not (memory_home / "cache" / "hook-server").exists()


def test_a_killed_server_is_no_obstacle_to_hooks_or_to_the_next_server(
    memory_home: Path, project: Path, server: subprocess.Popen[bytes]
) -> None:
    server.kill()
    server.wait(PATIENCE)
    assert (memory_home / "cache" / "hook-server").exists(), "nobody was left to tidy up"
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") is None
    second = HookSocket(memory_home, lambda *_: b"answer")
    assert second.start()
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") == b"answer"
    second.close()


def test_a_hook_gets_its_answer_from_the_warm_server(
    memory_home: Path, project: Path, server: subprocess.Popen[bytes]
) -> None:
    payload = {"session_id": "s1", "cwd": str(project), "prompt": "what do we print bills with?"}
    raw = json.dumps(payload).encode()

    def answered() -> (
        bool
    ):  # a loaded machine may miss the deadline; the hook would ask again at the next prompt
        found = after.ask_server(str(memory_home), "UserPromptSubmit", raw)
        return found is not None

    assert until(answered)


@pytest.fixture
def served(memory_home: Path) -> Iterator[Callable[..., HookSocket]]:
    started: list[HookSocket] = []

    def serve(answer: Callable[..., bytes]) -> HookSocket:
        found = HookSocket(memory_home, answer)
        started.append(found)
        return found

    yield serve
    for found in started:
        found.close()


def test_of_two_servers_one_is_elected(memory_home: Path, served: Callable[..., HookSocket]) -> None:
    first, second = served(lambda *_: b"first"), served(lambda *_: b"second")
    assert first.start()
    assert not second.start()
    assert after.ask_server(str(memory_home), "PreToolUse", b"{}") == b"first"
    second.close()
    assert after.ask_server(str(memory_home), "PreToolUse", b"{}") == b"first", "the other one left it alone"
    first.close()
    assert after.ask_server(str(memory_home), "PreToolUse", b"{}") is None
    third = served(lambda *_: b"third")
    assert third.start()


def test_the_question_arrives_whole(memory_home: Path, served: Callable[..., HookSocket]) -> None:
    heard: list[tuple[str, bytes]] = []

    def answer(event: str, raw: bytes, in_time: Callable[[], bool]) -> bytes:
        heard.append((event, raw))
        assert in_time()
        return b"x" * 200_000

    served(answer).start()
    raw = os.urandom(300_000)
    assert after.ask_server(str(memory_home), "SubagentStart", raw) == b"x" * 200_000
    assert heard == [("SubagentStart", raw)]


def test_silence_is_an_answer_and_failure_is_none(
    memory_home: Path, served: Callable[..., HookSocket]
) -> None:
    served(lambda event, *_: b"" if event == "UserPromptSubmit" else int("no")).start()  # type: ignore[arg-type,return-value]
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") == b"\n"
    assert after.ask_server(str(memory_home), "PreToolUse", b"{}") is None


def test_a_slow_server_is_not_waited_for_and_knows_it(
    memory_home: Path, served: Callable[..., HookSocket]
) -> None:
    late = threading.Event()

    def slow(_event: str, _raw: bytes, in_time: Callable[[], bool]) -> bytes:
        while in_time():
            time.sleep(0.01)
        late.set()
        return b"too late"

    served(slow).start()
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") is None
    assert late.wait(PATIENCE)


def test_behind_a_slow_server_the_hook_answers_by_itself(
    memory_home: Path, project: Path, served: Callable[..., HookSocket]
) -> None:
    served(lambda *_: time.sleep(1) or b"").start()
    payload = {
        "session_id": "s1",
        "cwd": str(project),
        "prompt": "which program renders the invoices, Typst or LaTeX?",
    }
    command = [sys.executable, *hook_arguments(str(hook_program()), "UserPromptSubmit")]
    done = subprocess.run(
        command, input=json.dumps(payload).encode(), env=environment(memory_home), capture_output=True
    )
    assert done.returncode == 0
    assert b"Typst because" in done.stdout


def test_a_socket_of_somebody_else_is_not_trusted(
    memory_home: Path, served: Callable[..., HookSocket], monkeypatch: pytest.MonkeyPatch
) -> None:
    served(lambda *_: b"answer").start()
    monkeypatch.setattr(after.os, "getuid", lambda: os.geteuid() + 1)
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") is None


@pytest.mark.parametrize("address", ["", "unix", "unix /nowhere", "tcp x y", "tcp 1", "\xff", "pipe z"])
def test_a_strange_address_is_no_server(memory_home: Path, address: str) -> None:
    (memory_home / "cache" / "hook-server").write_text(address, "latin-1")
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") is None


def test_without_unix_sockets_hooks_find_their_own_answers(
    memory_home: Path, served: Callable[..., HookSocket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(access.socket, "AF_UNIX")
    assert not served(lambda *_: b"answer").start()
    assert after.ask_server(str(memory_home), "UserPromptSubmit", b"{}") is None


def test_a_folder_that_somebody_else_made_first_is_not_used(
    memory_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    own = socket_path(memory_home)
    assert own.parent == tmp_path / f"claude-memory-{os.getuid()}"
    own.parent.chmod(0o777)
    other = socket_path(memory_home)
    assert other.parent != own.parent
    assert other.parent.stat().st_mode & 0o777 == 0o700
