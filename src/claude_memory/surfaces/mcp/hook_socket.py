"""The hooks' shortcut to a process that has everything loaded: a local socket of a running server.

One server per store is elected by a lock that dies with it. The socket lies in a folder that only
its owner can enter; where the system has no Unix sockets it is loopback with a token. A hook that
gets no answer within its deadline finds its own, so nothing depends on this.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from claude_memory.errors import MemoryFault
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.surfaces.hooks.after import SERVER_SECONDS

ADDRESS_FILE = "hook-server"
MAX_REQUEST_BYTES = 4 << 20
_TIMEOUT_SECONDS = 2.0

Answer = Callable[[str, bytes, Callable[[], bool]], bytes]


class HookSocket:
    """Serves hooks until closed; does nothing if another server of this store already does."""

    def __init__(self, home: Path, answer: Answer) -> None:
        self._home = home
        self._answer = answer
        self._held = contextlib.ExitStack()
        self._token = ""

    def start(self) -> bool:
        """Whether this process now serves the hooks."""
        folder = private_folder(self._home / "cache")
        if not self._held.enter_context(try_lock(folder / f"{ADDRESS_FILE}.lock")):
            return False
        listener, address = self._listener()
        listener.listen(16)
        write_atomically(folder / ADDRESS_FILE, f"{address}\n".encode())
        self._held.callback(lambda: _unlink(folder / ADDRESS_FILE))
        self._held.callback(listener.close)
        threading.Thread(target=self._accept, args=(listener,), name="hook-socket", daemon=True).start()
        return True

    def close(self) -> None:
        """Stop serving and leave nothing behind."""
        self._held.close()

    def _listener(self) -> tuple[socket.socket, str]:
        if hasattr(socket, "AF_UNIX"):
            path = socket_path(self._home)
            _unlink(path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(path))
            path.chmod(0o600)
            self._held.callback(lambda: _unlink(path))
            return listener, f"unix {path}"
        self._token = secrets.token_hex(16)
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", 0))
        return listener, f"tcp {listener.getsockname()[1]} {self._token}"

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed: the server ends
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, MemoryFault):
            connection.settimeout(_TIMEOUT_SECONDS)
            deadline = time.monotonic() + SERVER_SECONDS
            head, _, raw = _received(connection).partition(b"\n")
            token, _, event = head.decode("ascii", "replace").rpartition(" ")
            if hmac.compare_digest(token.encode(), self._token.encode()):
                found = self._answer(event, raw, lambda: time.monotonic() < deadline)
                # Too late is no answer: the hook has found its own by then.
                connection.sendall((found or b"\n") if time.monotonic() < deadline else b"")


def socket_path(home: Path) -> Path:
    """A short path of our own: a Unix socket's name may have 100 characters, a home more."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    name = hashlib.blake2b(
        os.path.realpath(home).encode("utf-8", "surrogateescape"), digest_size=6
    ).hexdigest()
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"claude-memory-{owner}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != owner or status.st_mode & 0o077:
        # Somebody else made it first: a folder nobody could guess is safe.
        folder = Path(tempfile.mkdtemp(prefix="claude-memory-"))
    return folder / name


def _received(connection: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := connection.recv(1 << 16):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_REQUEST_BYTES:
            raise ValueError("request too large")
    return b"".join(parts)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
