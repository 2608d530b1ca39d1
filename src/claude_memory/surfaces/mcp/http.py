"""The server over HTTP, for clients that want it: loopback only, a token on every request, no other origin.

Host and Origin are compared whole, so a name that merely resolves to this machine opens nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict
from claude_memory.platform.files import FILE_MODE, private_folder, write_atomically
from claude_memory.surfaces.mcp.server import Server

HOST = "127.0.0.1"
PORT = 8420
TOKEN_FILE = "mcp-token"  # noqa: S105  a file's name
TOKEN_BYTES = 32
REQUEST_SECONDS = 30.0  # that a client may take to say what it wants
MOST_CONNECTIONS = 128

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App, token: str, port: int) -> App:
    """Lets through what names this very server, carries the token, and comes from no web page elsewhere."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse

    hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
    origins = {f"http://{host}" for host in hosts}

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] != "lifespan":
            headers = Headers(scope=scope)
            named = headers.getlist("host")
            scheme, _, sent = ", ".join(headers.getlist("authorization")).partition(" ")
            if len(named) != 1 or named[0].lower() not in hosts:
                answer = PlainTextResponse("this server answers to its loopback address only\n", 421)
            elif not {origin.lower() for origin in headers.getlist("origin")} <= origins:
                answer = PlainTextResponse("requests from other origins are refused\n", 403)
            elif scheme.lower() != "bearer" or not hmac.compare_digest(sent.encode(), token.encode()):
                words = "send the token of this installation: Authorization: Bearer TOKEN\n"
                answer = PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})
        await answer(scope, receive, send)

    return guard


def _impatient() -> type[asyncio.Protocol]:
    """The library's protocol, which waits for the end of a request for ever, with a limit for that."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def _watch(self) -> None:
            """Count from the first moment in which nothing whole was asked, until something is."""
            cycle = self.cycle
            is_asked = cycle is not None and not cycle.response_complete and not cycle.more_body
            if is_asked and self._limit is not None:
                self._limit.cancel()
                self._limit = None
            elif not is_asked and self._limit is None:
                self._limit = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    return Impatient


def serve_http(home: Path, project: Path, port: int = PORT) -> None:
    """Serve on loopback until interrupted; `port` 0 takes any that is free."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except (OSError, OverflowError) as fault:
        listener.close()
        raise Conflict(f"cannot listen on port {port}: {fault}; choose another with --port") from None
    port = listener.getsockname()[1]
    token = token_of(home)
    server = Server(home, project)
    server.start()
    # The guard compares Host and Origin on every path, and comes before anything of the library.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.mcp.streamable_http_app(host=HOST, transport_security=unguarded)
    config = uvicorn.Config(
        guarded(app, token, port),
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
        limit_concurrency=MOST_CONNECTIONS,
        http=_impatient(),
    )
    address = f"http://{HOST}:{port}/mcp"
    sys.stderr.write(f"claude-memory: serving on {address}; the token is in {home / TOKEN_FILE}\n")
    sys.stderr.flush()
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        server.close()


def token_of(home: Path) -> str:
    """This installation's token, made on first use; only its owner can read the file."""
    path = private_folder(home) / TOKEN_FILE
    try:
        token = path.read_text("ascii").strip()
    except (OSError, ValueError):
        token = ""
    if len(token) < TOKEN_BYTES or path.stat().st_mode & 0o077:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        write_atomically(path, f"{token}\n".encode())
        os.chmod(path, FILE_MODE)  # noqa: PTH101
    return token
