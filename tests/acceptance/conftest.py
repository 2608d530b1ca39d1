"""The command as a user runs it, in a scratch home and a scratch project.

It runs in this process, with streams, folder and environment of its own, which takes a twentieth of the time;
in a process where that matters: in threads, in another locale, or where a test asks for it.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Done:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Cli:
    """`claude-memory` in one home and one project."""

    home: Path
    project: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """Run one command to its end, whatever that is."""
        given = {**self.environment, **environment}
        named = "CLAUDE_MEMORY_COMMAND" in os.environ
        alone = threading.current_thread() is threading.main_thread()
        if named or not alone or arguments[:1] in APART or any(name.startswith(LOCALE) for name in given):
            return self.process(*arguments, stdin=stdin, **environment)
        return here(
            [os.fsdecode(argument) for argument in arguments], stdin, self.project, self._environment(given)
        )

    def process(self, *arguments: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """Run one command in a process of its own."""
        done = subprocess.run(
            [*self.command(), *arguments],
            cwd=self.project,
            env=self._environment({**self.environment, **environment}),
            input=stdin,
            capture_output=True,
            timeout=120,
        )
        return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def _environment(self, given: dict[str, str]) -> dict[str, str]:
        return {**os.environ, "CLAUDE_MEMORY_HOME": str(self.home), **given}

    def ok(self, *arguments: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """Run one command that must succeed."""
        done = self(*arguments, stdin=stdin, **environment)
        assert done.code == 0, done.err
        return done

    @staticmethod
    def command() -> list[str]:
        """The installed program, or the one that is named to be tested."""
        named = os.environ.get("CLAUDE_MEMORY_COMMAND")
        return [named] if named else [sys.executable, "-m", "claude_memory"]


# They write to descriptors, serve, or stand for another program.
APART = (("hook",), ("mcp",), ("demo",), ("recall",))
LOCALE = ("PYTHON", "LC_", "LANG", "HOME", "PATH")


def here(arguments: list[str], stdin: bytes, folder: Path, environment: dict[str, str]) -> Done:
    """Run one command in this process, as if it were one of its own."""
    from claude_memory.surfaces.cli import main

    before = sys.stdin, sys.stdout, sys.stderr, Path.cwd(), dict(os.environ)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(stdin)
        source.seek(0)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(raw, "utf-8", write_through=raw is err) for raw in (source, out, err)
        )
        try:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            try:
                code = main(arguments)
            except Exception:  # noqa: BLE001  what Python does at the end of a process
                traceback.print_exc()
                code = 1
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        finally:
            streams = sys.stdin, sys.stdout, sys.stderr
            sys.stdin, sys.stdout, sys.stderr = before[:3]
            for stream in streams:
                stream.detach()
            os.environ.clear()
            os.environ.update(before[4])
            os.chdir(before[3])
        out.seek(0)
        err.seek(0)
        return Done(code, out.read().decode("utf-8"), err.read().decode("utf-8"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def cli(scratch_home: Path, project: Path) -> Cli:
    """Words only: starts in a fraction of the time, and most promises do not depend on vectors."""
    home = scratch_home / "memory"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')
    (home / "config.toml").chmod(0o600)
    return Cli(home, project)


@pytest.fixture
def full_cli(memory_home: Path, project: Path) -> Cli:
    """With the bundled model, already converted."""
    return Cli(memory_home, project)
