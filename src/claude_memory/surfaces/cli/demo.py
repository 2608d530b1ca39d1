"""`demo`: the whole path, from an event to an answer, in a home that is thrown away.

Every part is the real one: each sample event goes through the hook program in a process of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import Json, Result
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.rendering import hit_lines

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.model import Hit
    from claude_memory.sample import SampleQuestion


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of the sample, what came first, and whether that is the right memory."""

    question: str
    seconds: float
    shared_words: tuple[str, ...]
    right: bool
    hits: tuple[Hit, ...]


def demo(json: Json = False) -> Result:
    """Show the whole path, from sample events to an answer."""
    with _thrown_away() as folder:
        steps = _Steps(quiet=json)
        with _opened(folder) as memory:
            _import(memory, folder, steps)
        milliseconds = _capture(folder, steps)
        with _opened(folder) as memory:
            _store(memory, steps)
            answers = [_ask(memory, question) for question in _questions()]
            mode = memory.search_mode
    right = all(answer.right and not answer.shared_words for answer in answers)
    if not right:
        output.failure("the memory that answers did not come first")
    document = {
        "ok": right,
        "hook_ms": milliseconds,
        "steps": steps.seconds,
        "answers": [
            {**output.plain(item), "hits": [output.hit(hit) for hit in item.hits]} for item in answers
        ],
    }
    return Result(document, _shown(answers, mode), code=0 if right else 1)


class _Steps:
    """Says what is being done and how long it took."""

    def __init__(self, *, quiet: bool) -> None:
        self.seconds: dict[str, float] = {}
        self._quiet = quiet

    @contextmanager
    def __call__(self, name: str, result: list[str]) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begun, 3)
        if not self._quiet:
            took = f"{self.seconds[name]:6.2f} s  "
            output.lines([[(f"{name:<8}", "bold green"), (took, "dim"), (" ".join(result), "")]])


@contextmanager
def _thrown_away() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="claude-memory-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))
        (folder / "billing").mkdir()
        named = os.environ.pop("CLAUDE_MEMORY_STORE", None)  # the demo must never touch real memories
        try:
            yield folder
        finally:
            if named is not None:
                os.environ["CLAUDE_MEMORY_STORE"] = named


def _capture(folder: Path, steps: _Steps) -> float:
    from claude_memory import hook, sample

    program = Path(hook.__file__).with_name("claude_memory_hook.py")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_MEMORY_")}
    environment["CLAUDE_MEMORY_HOME"] = str(folder / "home")
    events = sample.events(folder / "billing")
    took, result = [], [f"{len(events)} events of two coding sessions"]
    with steps("capture", result):
        for event in events:
            begun = time.perf_counter()
            command = [sys.executable, "-I", "-S", str(program), event.name]
            subprocess.run(command, input=event.raw, env=environment, check=True)
            took.append(time.perf_counter() - begun)
        milliseconds = round(statistics.median(took) * 1000, 1)
        result.append(f"through the hook program, {milliseconds} ms each")
    return milliseconds


def _opened(folder: Path) -> Memory:
    from claude_memory.memory import Memory

    # The flag keeps a store named in the environment out of it: the demo must never touch real memories.
    return Memory.open(folder / "home", folder / "billing", flags={"store": "", "embedder": "bundled"})


def _import(memory: Memory, folder: Path, steps: _Steps) -> None:
    from claude_memory import sample

    sessions = sample.write_history(folder / "billing", folder)
    result = [f"{sessions} older sessions of the agent:"]
    with steps("import", result):
        done = memory.import_history([folder / ".claude"], user_home=folder)
        result.append(
            f"{output.counted(done.messages, 'message')}, "
            f"{output.counted(done.memories, 'memory', 'memories')}"
        )


def _store(memory: Memory, steps: _Steps) -> None:
    result: list[str] = []
    with steps("store", result):
        drained = memory.drain()
        result.append(f"{drained.events} events, {drained.memories} memories, {drained.rejected} rejected")
    result = []
    with steps("embed", result):
        made = memory.embed_pending()
        result.append(f"{made} vectors; the model is unpacked on first use")


def _questions() -> tuple[SampleQuestion, ...]:
    from claude_memory.sample import QUESTIONS

    return QUESTIONS


def _ask(memory: Memory, question: SampleQuestion) -> Answered:
    from claude_memory.text.words import index_terms, query_terms

    begun = time.perf_counter()
    hits = memory.search(question.text, limit=3)
    seconds = time.perf_counter() - begun
    first = memory.show([hits[0].id])[0].body if hits else ""
    shared = set(query_terms(question.text)).intersection(index_terms(first))
    return Answered(
        question.text, round(seconds, 3), tuple(sorted(shared)), question.answer in first, tuple(hits)
    )


def _shown(answers: list[Answered], mode: str) -> Iterator[Line]:
    for answer in answers:
        yield []
        yield [
            ("ask     ", "bold green"),
            (f"{answer.seconds:6.2f} s  ", "dim"),
            (f"“{answer.question}”", "bold"),
        ]
        yield from hit_lines(answer.hits[:1], output.width() or 100)
        words = ", ".join(answer.shared_words) or "none"
        yield [(f"    words it shares with the question: {words}", "dim")]
    yield []
    yield [(f"searched by {mode}; the home of this demo is gone again", "dim")]
