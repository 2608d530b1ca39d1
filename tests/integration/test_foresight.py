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
from claude_memory.tasks.api import MemoryAPI
from claude_memory.tasks.storage import storage_for

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


def test_the_task_under_way_leads_to_its_topic(memory: Memory, tmp_path: Path) -> None:
    memory.remember(NewMemory("half to even", kind="decision", topics=["rounding"]))
    for number in range(50):
        memory.remember_many([NewMemory(f"unrelated fact number {number} about weather", kind="fact")])
    tasks = MemoryAPI(storage=storage_for(tmp_path, home=memory.home))
    tasks.update_scratchpad("fix-rounding", "look at the totals")
    situation = Situation(
        memory.home, memory.project, memory.project_root, memory.store, "startup", None, NOW
    )
    lines = build(START_SECTIONS, situation, max_tokens=2000).text.splitlines()
    [place] = [number for number, line in enumerate(lines) if "half to even" in line]
    assert place <= min(number for number, line in enumerate(lines) if "unrelated fact" in line)


def test_activation_lifts_what_hangs_on_the_same_file_only_where_it_is_asked_for(tmp_path: Path) -> None:
    said = [
        NewMemory("the retry of `src/pay.py` waits an hour", kind="fact", files=["src/pay.py"]),
        NewMemory("waits for a lock, never for the clock", kind="fact", files=["src/pay.py"]),
        NewMemory("waits for the lock of the clock tower tour", kind="fact", files=["src/tour.py"]),
    ]
    question = "what waits for the lock in src/pay.py"
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as memory:
        [_, near, far] = memory.remember_many(said)
        plain = {hit.id: hit.score for hit in memory.search(question, min_relevance=0.0)}
    with Memory.open(tmp_path / "home", tmp_path, flags={**WORDS, "activation": 0.2}) as memory:
        lifted = {hit.id: hit.score for hit in memory.search(question, min_relevance=0.0)}
    assert lifted[near] > plain[near]
    assert lifted[far] == pytest.approx(plain[far], abs=1e-4)


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
