"""Conversations with the real server through the real client, over stdio or HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from claude_memory.install.plugin import server_command
from claude_memory.surfaces.mcp.server import Server

Talk = Callable[["Caller"], Awaitable[Any]]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}


def words_only(home: Path) -> Path:
    """A home whose searches go by words: starts in a fraction of the time."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.toml").write_text('embedder = "none"\n')
    (home / "config.toml").chmod(0o600)
    return home


class Failed(Exception):
    """What a tool complained of."""


@dataclass
class Caller:
    """A session with short ways to call."""

    session: ClientSession | Client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        given = {name.removesuffix("_"): value for name, value in arguments.items()}
        result = await self.session.call_tool(tool, given)
        text = str(result.content[0].text)
        if result.is_error:
            raise Failed(text)
        assert json.loads(text) == result.structured_content, "text and structure say the same"
        return dict(result.structured_content or {})

    async def complaint(self, tool: str, **arguments: Any) -> str:
        with pytest.raises(Failed) as failed:
            await self(tool, **arguments)
        return str(failed.value)


def in_process(home: Path, folder: Path, conversation: Talk) -> Any:
    """The same client and server without a process between them: where only the answers matter."""
    server = Server(home, folder)
    server.begin()

    async def run() -> Any:
        async with Client(server.mcp) as client:
            return await conversation(Caller(client))

    try:
        return asyncio.run(run())
    finally:
        server.close()


def over_stdio(home: Path, folder: Path, conversation: Talk) -> Any:
    command, *arguments = server_command()
    wanted = StdioServerParameters(command=command, args=arguments, env=environment(home), cwd=str(folder))

    async def run() -> Any:
        async with stdio_client(wanted) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await conversation(Caller(session))

    return asyncio.run(run())


@dataclass(frozen=True)
class HttpServer:
    """A running server and how to reach it."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@contextmanager
def http_server(home: Path, folder: Path) -> Iterator[HttpServer]:
    command = [sys.executable, "-I", "-m", "claude_memory", "mcp", "--http", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(home), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        assert "serving on http://127.0.0.1:" in told, told
        port = int(told.split("127.0.0.1:")[1].split("/")[0])
        yield HttpServer(port, (home / "mcp-token").read_text().strip())
        process.terminate()
        process.wait(20)


def over_http(server: HttpServer, conversation: Talk) -> Any:
    async def run() -> Any:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as client,
            streamable_http_client(server.url, http_client=client) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            return await conversation(Caller(session))

    return asyncio.run(run())
