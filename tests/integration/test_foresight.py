"""Foresight: what a session will need is known from its branch and its files, also without a shared word."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.context.builder import Situation, build
from claude_memory.context.foresight import foreseen
from claude_memory.context.sections import START_SECTIONS
from claude_memory.model import MemoryFilter

WORDS = {"embedder": "none"}
NOW = datetime.now(UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


def ids(memory: Memory, **known: object) -> list[str]:
    return list(
        foreseen(memory.store, memory.project, filter_=MemoryFilter(), now=NOW, **known)  # type: ignore[arg-type]
    )


def test_a_changed_file_leads_to_what_hangs_on_it_and_on_its_companions(memory: Memory) -> None:
    [tied, companion, foreign] = memory.remember_many(
        [
            NewMemory("both move together", kind="lesson", files=["src/api/cart.py", "src/store/cart.py"]),
            NewMemory("never lock twice", kind="decision", files=["src/store/cart.py"]),
            NewMemory("the moon is far", kind="fact", files=["src/moon.py"]),
        ]
    )
    found = ids(memory, files=("src/api/cart.py",))
    assert found[0] == tied
    assert companion in found
    assert foreign not in found


def test_a_branch_leads_to_its_topic(memory: Memory) -> None:
    kept = memory.remember(NewMemory("half to even", kind="decision", topics=["rounding"]))
    memory.remember(NewMemory("something else", kind="decision", topics=["tax"]))
    assert ids(memory, branch="fix/rounding-again")[0] == kept.id


def test_where_nothing_is_known_nothing_is_foreseen(memory: Memory) -> None:
    memory.remember(NewMemory("something", kind="decision", files=["a.py"]))
    assert ids(memory) == []
    assert ids(memory, branch="", files=("unknown.py",), words="") == []


def test_the_start_context_begins_with_what_was_foreseen(memory: Memory) -> None:
    memory.remember(NewMemory("never lock twice", kind="decision", files=["src/store/cart.py"]))
    for number in range(30):
        memory.remember_many([NewMemory(f"unrelated fact number {number} about weather", kind="fact")])
    situation = Situation(
        memory.home,
        memory.project,
        memory.project_root,
        memory.store,
        "startup",
        None,
        NOW,
        changed_files=("src/store/cart.py",),
    )
    lines = build(START_SECTIONS, situation, max_tokens=2000).text.splitlines()
    [place] = [number for number, line in enumerate(lines) if "never lock twice" in line]
    assert place <= min(number for number, line in enumerate(lines) if "unrelated fact" in line)
