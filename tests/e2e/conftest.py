"""The real client from its package, in a scratch home, with no network but loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e.fake_model import FakeModel

CLIENT = "@anthropic-ai/claude-code@2.1.325"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def client() -> Path:
    """The client's command, installed once into a folder beside the virtual environment."""
    folder = Path(os.environ.get("E2E_CLIENT_FOLDER") or ROOT / ".e2e")
    command = folder / "node_modules" / ".bin" / "claude"
    if not command.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        npm = shutil.which("npm")
        assert npm, "the end-to-end tests need npm"
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", CLIENT]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
    return command


@dataclass
class Machine:
    """One person's machine: a home, a project, the client, and our command."""

    home: Path
    project: Path
    client: Path
    model: FakeModel
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def memory_home(self) -> Path:
        return self.home / ".claude" / "memory"

    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        path = os.pathsep.join(
            [str(Path(sys.executable).parent), str(self.client.parent), os.environ["PATH"]]
        )
        return {
            **kept,
            "PATH": path,
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **self.environment,
        }

    def claude(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = self._run([str(self.client), *arguments])
        if check:
            assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done

    def say(self, prompt: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        tools = "Bash,Write,Edit,Read,Agent,Task"
        return self.claude("-p", prompt, "--allowedTools", tools, *arguments)

    def memory(self, *arguments: str) -> str:
        done = self._run([sys.executable, "-m", "claude_memory", *arguments])
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    def transcripts(self) -> str:
        files = sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))
        return "\n".join(file.read_text("utf-8") for file in files)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=180,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture
def machine(client: Path, tmp_path: Path) -> Callable[..., Machine]:
    """Makes a machine with a git project; the model's rules are the test's."""
    models: list[FakeModel] = []

    def make(rules: list[tuple[str, list[dict[str, object]]]], *, install: bool = True) -> Machine:
        home, project = tmp_path / "home", tmp_path / "shop"
        home.mkdir()
        project.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
        model = FakeModel(rules)
        model.__enter__()
        models.append(model)
        made = Machine(home, project, client, model)
        if install:
            made.memory("install")
        return made

    yield make
    for model in models:
        model.__exit__()
