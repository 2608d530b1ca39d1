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


class Guard:
    """Lets through what names this very server, carries the token, and comes from no web page elsewhere."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["headers"])
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, words = refusal
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(words)).encode())]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": words})

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes] | None:
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, b"this server answers to its loopback address only\n"
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, b"requests from other origins are refused\n"
        tokens = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = (tokens[0] if len(tokens) == 1 else b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            return 401, b"send the token of this installation: Authorization: Bearer TOKEN\n"
        return None


def _impatient() -> type[asyncio.Protocol]:
    """The server's own protocol, but for a client that takes its time to say what it wants.

    The library waits for five seconds between answers; for the end of a request it waits for ever.
    """
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
            is_asked = (
                self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
            )
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

    listener = _listener(port)
    port = listener.getsockname()[1]
    token = token_of(home)
    server = Server(home, project)
    server.start()
    # The guard compares Host and Origin whole, and comes before anything of the library.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.mcp.streamable_http_app(host=HOST, transport_security=unguarded)
    config = uvicorn.Config(
        Guard(app, token, port),
        log_level="critical",
        access_log=False,
        server_header=False,
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
        found = path.read_text("ascii").strip()
    except (OSError, ValueError):
        found = ""
    if len(found) < TOKEN_BYTES or path.stat().st_mode & 0o077:
        found = secrets.token_urlsafe(TOKEN_BYTES)
        write_atomically(path, f"{found}\n".encode())
        os.chmod(path, FILE_MODE)  # noqa: PTH101
    return found


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except (OSError, OverflowError) as fault:
        listener.close()
        raise Conflict(f"cannot listen on port {port}: {fault}; choose another with --port") from None
    return listener
