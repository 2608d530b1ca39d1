"""The hooks' shortcut to a process that has everything loaded: a local socket of a running server.

One server per store is elected by a lock that dies with it. The socket lies in a folder that only its owner
can enter. A hook that gets no answer within its deadline finds its own, so nothing depends on this.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
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
from claude_memory.surfaces.hooks.after import ANSWER_LIMIT, SERVER_SECONDS

ADDRESS_FILE = "hook-server"
_TIMEOUT_SECONDS = 2.0

Answer = Callable[[str, bytes, Callable[[], bool]], bytes]


class HookSocket:
    """Serves hooks until closed; does nothing if another server of this store already does."""

    def __init__(self, home: Path, answer: Answer) -> None:
        self._home = home
        self._answer = answer
        self._held = contextlib.ExitStack()

    def start(self) -> bool:
        """Whether this process now serves the hooks."""
        folder = private_folder(self._home / "cache")
        if not hasattr(socket, "AF_UNIX") or not self._held.enter_context(
            try_lock(folder / f"{ADDRESS_FILE}.lock")
        ):
            return False
        path = socket_path(self._home)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(16)
        write_atomically(folder / ADDRESS_FILE, f"unix {path}\n".encode())
        for place in (path, folder / ADDRESS_FILE):
            self._held.callback(place.unlink, missing_ok=True)
        self._held.callback(listener.close)
        threading.Thread(target=self._accept, args=(listener,), name="hook-socket", daemon=True).start()
        return True

    def close(self) -> None:
        """Stop serving and leave nothing behind."""
        self._held.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed: the server ends
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, MemoryFault):
            connection.settimeout(_TIMEOUT_SECONDS)
            deadline = time.monotonic() + SERVER_SECONDS
            with connection.makefile("rb") as question:
                event, raw = question.readline(100).decode("ascii").strip(), question.read(ANSWER_LIMIT)
            answer = self._answer(event, raw, lambda: time.monotonic() < deadline)
            # Too late is no answer: the hook has found its own by then.
            connection.sendall((answer or b"\n") if time.monotonic() < deadline else b"")


def socket_path(home: Path) -> Path:
    """A short path of our own: a Unix socket's name may have 100 characters, a home more."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(home)), digest_size=6).hexdigest()
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"claude-memory-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        # Somebody else made it first: a folder nobody could guess is safe.
        folder = Path(tempfile.mkdtemp(prefix="claude-memory-"))
    return folder / name
