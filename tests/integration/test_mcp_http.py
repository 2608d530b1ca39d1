"""The server over HTTP lets in whoever holds the token and names it rightly, and nobody else."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backup_steps import create
from tests.integration.mcp_talk import HELLO, HttpServer, environment, http_server, words_only


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    base = tmp_path_factory.mktemp("http")
    folder = base / "shop"
    folder.mkdir()
    with http_server(words_only(base / "memory"), folder) as running:
        yield running


def status(server: HttpServer, headers: dict[str, str], *, path: str = "/mcp", method: str = "POST") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    usual = {
        "Host": f"127.0.0.1:{server.port}",
        "Authorization": f"Bearer {server.token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    sent = {name: value for name, value in {**usual, **headers}.items() if value}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    body = json.dumps(HELLO).encode()
    for name, value in {**sent, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    found = connection.getresponse()
    found.read()
    connection.close()
    return found.status


def test_the_right_token_and_names_open_it(server: HttpServer) -> None:
    assert status(server, {}) == 200
    assert status(server, {"Host": f"localhost:{server.port}"}) == 200
    assert status(server, {"Origin": f"http://127.0.0.1:{server.port}"}) == 200


@pytest.mark.parametrize(
    "token", ["", "Bearer", "Bearer ", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x"]
)
@pytest.mark.parametrize("path", ["/mcp", "/", "/other"])
def test_no_token_no_answer(server: HttpServer, token: str, path: str) -> None:
    assert status(server, {"Authorization": token.format(token=server.token)}, path=path) == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "127.1:{port}",
        "",
    ],
)
def test_a_wrong_host_is_refused_even_with_the_token(server: HttpServer, host: str) -> None:
    assert status(server, {"Host": host.format(port=server.port)}) in (400, 421)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost", "http://127.0.0.1:1", "file://"]
)
@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS"])
def test_a_foreign_origin_is_refused_even_with_the_token(
    server: HttpServer, origin: str, method: str
) -> None:
    assert status(server, {"Origin": origin}, method=method) == 403


def test_it_listens_on_loopback_alone_and_its_token_is_the_owners(server: HttpServer) -> None:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = {
        row[1].split(":")[0]
        for row in rows
        if int(row[1].split(":")[1], 16) == server.port and row[3] == "0A"
    }
    assert places == {"0100007F"}
    assert len(server.token) >= 32


def test_a_token_that_others_can_read_is_replaced(scratch_home: Path) -> None:
    from claude_memory.surfaces.mcp.server import token_of

    home = words_only(scratch_home / "memory")
    first = token_of(home)
    assert token_of(home) == first
    (home / "mcp-token").chmod(0o644)
    second = token_of(home)
    assert second != first
    assert (home / "mcp-token").stat().st_mode & 0o777 == 0o600


def test_a_port_in_use_is_said_in_one_line(server: HttpServer, scratch_home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "claude_memory", "mcp", "--http", "--port", str(server.port)]
    home = words_only(scratch_home / "memory")
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(home), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_token_stays_out_of_backups(scratch_home: Path, tmp_path: Path) -> None:
    from claude_memory import Memory
    from claude_memory.surfaces.mcp.server import token_of

    home = words_only(scratch_home / "memory")
    token = token_of(home)
    with Memory.open(home, tmp_path) as memory:
        made = create(home, memory.store, tmp_path / "kept.zip")
    with zipfile.ZipFile(made) as archive:
        assert not any(token.encode() in archive.read(name) for name in archive.namelist())


# --- clients that take their time

IMPATIENT = """
import sys
from pathlib import Path
from claude_memory.surfaces.mcp import server
server.REQUEST_SECONDS = 0.4
server.serve_http(Path(sys.argv[1]), Path(sys.argv[2]), 0)
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    base = tmp_path_factory.mktemp("impatient")
    home = words_only(base / "memory")
    command = [sys.executable, "-c", IMPATIENT, str(home), str(base)]
    with subprocess.Popen(
        command, cwd=base, env=environment(home), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        port = int(told.split("127.0.0.1:")[1].split("/")[0])
        yield HttpServer(port, (home / "mcp-token").read_text().strip())
        process.terminate()
        process.wait(20)


def head(server: HttpServer, length: int) -> bytes:
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("how", ["silent", "half a head", "drop by drop", "half a body", "a second head"])
def test_a_client_that_takes_its_time_is_given_up(impatient: HttpServer, how: str) -> None:
    body = json.dumps(HELLO).encode()
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=20) as client:
        if how == "half a head":
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
        elif how == "drop by drop":
            with contextlib.suppress(OSError):
                for byte in head(impatient, len(body))[:60]:
                    client.sendall(bytes([byte]))
                    time.sleep(0.02)
        elif how == "half a body":
            client.sendall(head(impatient, len(body)) + body[:20])
        elif how == "a second head":
            client.sendall(head(impatient, len(body)) + body)
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
        with contextlib.suppress(ConnectionResetError):
            while client.recv(1 << 16):  # ends when the server closes; a server that waits lets it time out
                pass
    assert status(impatient, {}) == 200


def test_half_a_character_is_answered_over_http(server: HttpServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    body = json.dumps({**HELLO, "params": {"x": "\ud800"}}).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    connection.request("POST", "/mcp", body, headers)
    assert connection.getresponse().status in (200, 400)
    connection.close()
