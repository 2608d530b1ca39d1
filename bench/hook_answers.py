"""What each hook costs beside starting Python, as agents run it, on a store of 20,000 memories.

    python bench/hook_answers.py [-n 50] [--memories 20000] [--store FOLDER] [--json FILE]

All kinds of hooks and `python -I -S -c pass` take turns in one run, so that the machine's load falls
on all alike; `c` marks what misses its target on the clock and keeps it by the processor's time. With
`--store` the store is built there once and kept for the next run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from claude_memory.capture.drain import Spool
from claude_memory.embed import open_embedder
from claude_memory.install.plugin import hook_arguments, hook_program, server_command
from claude_memory.model import PassageId
from claude_memory.platform.project import identify
from claude_memory.settings import Settings
from claude_memory.store import open_store
from scale import BATCH, DIMENSIONS, Words, memories, vectors

BARE = "python -I -S -c pass"
TARGETS = {
    "SessionStart": 14.0,
    "capture (PostToolUse)": 1.3,
    "Stop with its drain": 1.6,
    "UserPromptSubmit": 7.0,
    "PreToolUse, a file": 5.0,
    "PreToolUse, a command": 5.0,
    "PostToolUseFailure": 5.0,
    "PreToolUse, an agent": 7.0,
    "SubagentStart": 7.0,
    "UserPromptSubmit, warm server": 3.0,
    "PreToolUse, warm server": 3.0,
    "SubagentStart, warm server": 3.0,
}
WARM = ", warm server"


def project(folder: Path) -> Path:
    """A repository with some history and two changed files."""
    root = folder / "shop"
    if (root / ".git").exists():
        return root
    (root / "src").mkdir(parents=True)
    for number in range(200):
        (root / "src" / f"module_{number}.py").write_text(f"value = {number}\n")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    for number in (3, 7):
        (root / "src" / f"module_{number}.py").write_text("changed\n")
    return root


def build(home: Path, root: Path, count: int) -> None:
    """A store of `count` memories of this project, with vectors under the model's name."""
    if (home / "memory.db").exists():
        return
    home.mkdir(parents=True, mode=0o700)
    embedder = open_embedder(Settings(), home / "cache" / "models")
    model, wide = (embedder.model, len(embedder.embed(["x"])[0])) if embedder else ("none", DIMENSIONS)
    store = open_store(home, Settings())
    source = memories(store.project_for(identify(root)).id, count)
    passage = 1
    while batch := list(itertools.islice(source, BATCH)):
        store.memories.add(batch)
        made = vectors(len(batch), seed=passage)[:, :wide]
        store.memories.add_vectors(
            model, [(PassageId(passage + n), row.tobytes()) for n, row in enumerate(made)]
        )
        passage += len(batch)
        store.changes_taken("memories.jsonl", store.changes_since("memories.jsonl", 2 * BATCH)[-1].sequence)
    store.close()


def payloads(root: Path, number: int) -> dict[str, tuple[str, dict[str, object]]]:
    """One event of each kind of one session, from its start to its stop; nothing is given twice."""
    said = " ".join(Words(1000 + number).sample(8))
    common = {"session_id": f"bench-{number}", "cwd": str(root), "prompt_id": f"p{number}"}

    def edit(name: str) -> dict[str, object]:
        inputs = {"file_path": str(root / "src" / name)}
        return {"tool_name": "Edit", "tool_use_id": f"{name}{number}", "tool_input": inputs}

    def agent(name: str) -> dict[str, object]:
        inputs = {"prompt": said, "subagent_type": name}
        return {"tool_name": "Agent", "tool_use_id": f"{name}{number}", "tool_input": inputs}

    command = {"tool_name": "Bash", "tool_use_id": f"c{number}", "tool_input": {"command": "make lint"}}
    output = {**command, "tool_response": {"stdout": "ok\n" * 900}}
    failure = {
        **command,
        "error": "Exit code 2\nsrc/module_9.py:3: error: Name 'x' is not defined [name-defined]",
    }
    events: dict[str, tuple[str, dict[str, object]]] = {
        "SessionStart": ("SessionStart", {"source": "startup"}),
        "capture (PostToolUse)": ("PostToolUse", output),
        "UserPromptSubmit": ("UserPromptSubmit", {"prompt": f"Let's go with {said}."}),
        "PreToolUse, a file": ("PreToolUse", edit("module_9.py")),
        "PreToolUse, a command": ("PreToolUse", command),
        "PostToolUseFailure": ("PostToolUseFailure", failure),
        "PreToolUse, an agent": ("PreToolUse", agent("general")),
        "SubagentStart": ("SubagentStart", {"agent_id": f"i{number}", "agent_type": "general"}),
        "UserPromptSubmit" + WARM: ("UserPromptSubmit", {"prompt": f"And not {said}?"}),
        "PreToolUse" + WARM: ("PreToolUse", edit("module_8.py")),
        "SubagentStart" + WARM: ("SubagentStart", {"agent_id": f"w{number}", "agent_type": "general"}),
        "Stop with its drain": ("Stop", {"last_assistant_message": said}),
    }
    return {
        name: (event, {**common, "hook_event_name": event, **own}) for name, (event, own) in events.items()
    }


def seconds(command: list[str], content: bytes, environment: dict[str, str]) -> tuple[float, float]:
    """From start to exit: on the clock, and of the processor, which a loaded machine changes less."""
    with tempfile.TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        start, null = time.perf_counter(), subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=given, stdout=null, stderr=null, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


@contextmanager
def server(environment: dict[str, str], root: Path, address: Path) -> Iterator[None]:
    """A warm MCP server of this store, stopped so that it answers only when asked to."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(server_command(), cwd=root, env=environment, stdin=pipe, stdout=pipe)
    try:
        while not address.exists():
            if process.poll() is not None:
                raise SystemExit("the server ended before it served")
            time.sleep(0.05)
        yield
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.stdout.close()  # type: ignore[union-attr]
        process.wait(30)


def run(home: Path, root: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    """Times of every kind, taking turns."""
    program, times = str(hook_program()), dict[str, list[tuple[float, float]]]()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    address, hidden = home / "cache" / "hook-server", home / "cache" / "hook-server.hidden"
    with server(environment, root, address):
        for number in range(count + 2):
            for name, (event, payload) in payloads(root, number).items():
                command = [sys.executable, *hook_arguments(program, event)]
                content = json.dumps(payload).encode()
                if event == "SessionStart":  # what the end of the session before left behind
                    for left in ("Stop", "SessionEnd"):
                        Spool(home).put(left, json.dumps({**payload, "hook_event_name": left}).encode())
                if not name.endswith(WARM):
                    address.rename(hidden)  # a hook that finds no address answers by itself
                try:
                    reference = seconds(bare, b"", environment)
                    spent = seconds(command, content, environment)
                finally:
                    if hidden.exists():
                        hidden.rename(address)
                if number >= 2:  # the first two warm caches
                    times.setdefault(BARE, []).append(reference)
                    times.setdefault(name, []).append(spent)
                _wait_for_drains(home)
    return times


def _wait_for_drains(home: Path) -> None:
    """A drain that an earlier hook left behind must not be measured with the next one."""
    mark = str(home).encode()
    for _ in range(400):
        running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _is_drain(path, mark)]
        if not running:
            return
        time.sleep(0.02)


def _is_drain(path: Path, mark: bytes) -> bool:
    try:
        command = path.read_bytes()
    except OSError:
        return False
    return b"drain_all" in command and mark in command


def main() -> None:
    """Print one table, and one JSON document if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-n", type=int, default=50)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.store or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        root = project(folder)
        build(folder / "memory", root, options.memories)
        times = run(folder / "memory", root, options.n)
    wall, processor = (
        {name: statistics.median(one[place] for one in spent) for name, spent in times.items()}
        for place in (0, 1)
    )
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else -1.0
    result = {
        name: {
            "ms": 1e3 * wall[name],
            "ratio": wall[name] / wall[BARE],
            "cpu": processor[name] / processor[BARE],
        }
        for name in TARGETS
        if name in times
    }
    print(f"{BARE}: {1e3 * wall[BARE]:.1f} ms, median; {options.n} runs of each; load {load}")
    for name, found in result.items():
        mark = " " if found["ratio"] <= TARGETS[name] else "c" if found["cpu"] <= TARGETS[name] else "!"
        print(
            f"{mark} {name:32} {found['ms']:8.1f} ms   ratio {found['ratio']:5.2f}   "
            f"of the processor {found['cpu']:5.2f}   target {TARGETS[name]}"
        )
    if options.json:
        document = {"bare_ms": 1e3 * wall[BARE], "n": options.n, "load": load, "hooks": result}
        options.json.write_text(json.dumps({**document, "targets": TARGETS}, indent=1))


if __name__ == "__main__":
    main()
