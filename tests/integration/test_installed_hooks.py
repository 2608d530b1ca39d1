"""An installation lives on: hooks and servers keep the home that was chosen, and survive what people do later.

Everything is installed and run by real commands, as the agents run it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.mcp_talk import HELLO

from claude_memory.install.edits import INSTALLABLE
from claude_memory.install.plugin import HOOK_FILE, hook_program, hooks_with_paths, write_marketplace
from claude_memory.platform.agents import BY_NAME
from claude_memory.surfaces.hooks import background

AGENTS = list(INSTALLABLE)
HOOKED = [agent for agent in AGENTS if agent != "opencode"]  # which has no hooks
Command = list[str] | str  # a string is for a shell

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the guard is a shell's")


def claude_memory(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """One command, without the client: where it is there, it would be asked to install the plugin."""
    return subprocess.run(
        [sys.executable, "-m", "claude_memory", *words],
        env={**os.environ, "PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip


def documents(home_folder: Path) -> Iterator[Any]:
    """Every settings file of every agent."""
    for path in sorted(home_folder.rglob("*")):
        if path.suffix == ".json" and path.is_file():
            yield json.loads(path.read_text())
        elif path.suffix == ".toml":
            yield tomllib.loads(path.read_text())


def commands(value: Any) -> Iterator[Command]:
    """Everything that a document tells an agent to run."""
    if isinstance(value, list):
        for item in value:
            yield from commands(item)
    elif isinstance(value, dict):
        command = value.get("command", value.get("bash"))
        if isinstance(command, list):
            yield command
        elif isinstance(command, str):
            yield [command, *value["args"]] if "args" in value else command
        for item in value.values():
            yield from commands(item)


def installed(home_folder: Path) -> tuple[list[Command], list[list[str]]]:
    """The hooks' commands, and the servers'."""
    found = [command for document in documents(home_folder) for command in commands(document)]
    hooks = [command for command in found if HOOK_FILE in str(command)]
    return hooks, [command for command in found if isinstance(command, list) and "mcp" in command]


def run(command: Command, **environment: str) -> subprocess.CompletedProcess[str]:
    event = json.dumps({"session_id": "s", "prompt": "p", "cwd": "/"})
    return subprocess.run(
        command, shell=isinstance(command, str), input=event, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def spooled(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "spool" / "new").glob("*"))


# How a home is chosen is the same for every agent: it is tried with one.
@pytest.mark.parametrize(
    ("agent", "by"), [*((agent, "option") for agent in AGENTS), ("claude-code", "environment")]
)
def test_hooks_and_server_use_the_home_that_was_chosen_at_install(
    tmp_path: Path, scratch_home: Path, agent: str, by: str
) -> None:
    chosen, other = tmp_path / "chosen home's", tmp_path / "other"
    if by == "option":
        claude_memory("--home", str(chosen), "install", "--agent", agent)
    else:
        claude_memory("install", "--agent", agent, CLAUDE_MEMORY_HOME=str(chosen))
    hooks, servers = installed(scratch_home)
    if agent in HOOKED:
        assert len(hooks) == len(BY_NAME[agent].events or hooks_with_paths("", scratch_home))
        done = run(hooks[-1], CLAUDE_MEMORY_HOME=str(other))
        assert (done.returncode, done.stderr) == (0, "")
        assert [name.endswith(f"-{agent.replace('-', '_')}.json") for name in spooled(chosen)] == [True]
    for server in servers:
        told = subprocess.run(
            server, input=json.dumps(HELLO) + "\n", env={**os.environ, "CLAUDE_MEMORY_HOME": str(other)},
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert '"serverInfo"' in told.stdout
    assert len(servers) == 1
    assert not other.exists()
    assert not (scratch_home / ".claude" / "memory").exists()


def test_the_plugin_carries_the_home_that_was_chosen(tmp_path: Path) -> None:
    folder = write_marketplace(tmp_path / "chosen")
    hooks, servers = installed(folder)
    program = str(next(folder.rglob(HOOK_FILE)))
    for hook in hooks:
        assert isinstance(hook, list)
        assert hook[hook.index("--home") + 1] == str(tmp_path / "chosen")
    last = [word.replace("${CLAUDE_PLUGIN_ROOT}/hooks/" + HOOK_FILE, program) for word in hooks[-1]]
    assert run(last, CLAUDE_MEMORY_HOME=str(tmp_path / "other")).returncode == 0
    assert len(spooled(tmp_path / "chosen")) == 1
    assert [server[-2:] for server in servers] == [["--home", str(tmp_path / "chosen")]]


@pytest.mark.parametrize(
    ("agent", "gone"),
    [
        *((agent, "environment") for agent in HOOKED),
        *(("claude-code", gone) for gone in ("interpreter", "library", "program", "everything")),
    ],
)
def test_what_is_gone_ends_a_hook_silently_and_the_next_command_says_how_to_mend_it(
    tmp_path: Path, scratch_home: Path, agent: str, gone: str
) -> None:
    home, venv = tmp_path / "chosen home's", tmp_path / "venv"
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    claude_memory("--home", str(home), "install", "--agent", agent)
    hooks, _ = installed(scratch_home)
    for number, hook in enumerate(hooks):
        if isinstance(hook, str):
            hooks[number] = hook.replace(sys.executable, str(python))
        else:
            hooks[number] = [str(python) if word == sys.executable else word for word in hook]
    run(next(hook for hook in hooks if "PostToolUse" in str(hook)))  # an event that leaves no drain behind
    assert len(spooled(home)) == 1
    if gone == "interpreter":
        python.unlink()
        python.symlink_to(tmp_path / "python-of-last-year")
    if gone == "library":  # as the loader says it of a program whose parts were upgraded away
        python.unlink()
        python.write_text("#!/bin/sh\necho 'libpython3: cannot open shared object file' >&2\nexit 127\n")
        python.chmod(0o700)
    if gone == "environment":
        shutil.rmtree(venv)
    if gone == "program":
        shutil.rmtree(home / "hooks")
    if gone == "everything":
        shutil.rmtree(venv)
        shutil.rmtree(home)
    for hook in hooks:
        done = run(hook)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if gone == "everything":
        assert not home.exists()
        return
    assert "`claude-memory install` mends it" in claude_memory("--home", str(home), "stats").stderr
    claude_memory("--home", str(home), "install", "--agent", agent)
    assert "mends it" not in claude_memory("--home", str(home), "stats").stderr


def hook(python: Path, home: Path, event: str, site: Path) -> subprocess.CompletedProcess[str]:
    program = str(home / "hooks" / HOOK_FILE)
    return run([str(python), "-I", "-S", program, event, "--home", str(home), "--site", str(site)])


def test_an_upgrade_with_another_python_in_the_same_environment_goes_on(tmp_path: Path) -> None:
    home, venv = tmp_path / "home", tmp_path / "venv"
    claude_memory("--home", str(home), "install")
    (home / "config.toml").write_text('embedder = "none"\n')
    old, new = (venv / "lib" / f"python3.{minor}" / "site-packages" for minor in (1, sys.version_info[1]))
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    # In the middle of it the package is not there at all: what happens is captured, and the mark is left.
    assert (hook(python, home, "SessionStart", old).returncode, len(spooled(home))) == (0, 1)
    assert (home / "cache" / "hook-gone").read_text() == str(python)
    new.mkdir(parents=True)
    for place in {Path(place) for place in sys.path if (Path(place) / "apsw").is_dir()}:
        for package in ("apsw", "Stemmer"):
            for part in place.glob(f"{package}*"):
                (new / part.name).symlink_to(part)
    (new / "claude_memory").symlink_to(hook_program().parents[1])
    claude_memory("--home", str(home), "remember", "the harbour closes at nine", "--kind", "decision")
    assert hook(python, home, "SessionStart", old).returncode == 0
    assert not (home / "cache" / "hook-gone").exists()
    assert (home / "logs" / "hook.log").read_text().count("not answered") == 1


def test_an_upgrade_renews_the_hook_program_by_itself(tmp_path: Path, scratch_home: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    claude_memory("--home", str(home), "install")
    old = [home / "hooks" / HOOK_FILE]
    for number, of in enumerate((home, other)):  # the copies that the client made of the plugin
        copy = scratch_home / f".claude/plugins/cache/lasting-memory-local/lasting-memory/0.{number}"
        shutil.copytree(next(write_marketplace(of).rglob("hooks")).parent, copy)
        old.append(copy / "hooks" / HOOK_FILE)
    for program in old:
        program.write_text("# of the last release\n")
    background.drain_all(str(home))
    renewed = [program.read_bytes() == hook_program().read_bytes() for program in old]
    assert renewed == [True, True, False], "the plugin of another home is left to its own"
