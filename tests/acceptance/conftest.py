"""The command as a user runs it: a process of its own, in a scratch home and a scratch project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
        done = subprocess.run(
            [*self.command(), *arguments],
            cwd=self.project,
            env={**os.environ, "CLAUDE_MEMORY_HOME": str(self.home), **self.environment, **environment},
            input=stdin,
            capture_output=True,
            timeout=120,
        )
        return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

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
