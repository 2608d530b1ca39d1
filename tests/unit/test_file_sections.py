"""Plain files at the start: what goes on now and the newest decisions first, and where the rest stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory.context.file_sections import PROJECT_TOKENS, excerpt, files_of
from claude_memory.context.moments import Offer
from claude_memory.context.sections import START_SECTIONS, Situation, build
from claude_memory.model import ProjectIdentity
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.text.quotation import tokens

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
LONG = "\n".join(
    [
        "# Memory of the shop",
        "> Read this first.",
        "## How this works",
        *(f"Rule {number} of keeping files, told at some length so that it takes room." for number in range(40)),
        "## Project state",
        "### What it is",
        "A shop for tea.",
        "### Gaps",
        "- ~~No search~~ **fixed**",
        "- Refunds are done by hand",
        "## Active workstreams",
        "### 1. Search — COMPLETE",
        *(f"- search step {number} was done with great care and a long story" for number in range(20)),
        "### 2. Checkout (ACTIVE)",
        "**Status:** the form is built, payment is next",
        "## Decisions",
        "| Date | Decision | Why |",
        "|------|----------|-----|",
        *(f"| 2026-{month:02d}-01 | decision of month {month} | it was needed |" for month in range(1, 13)),
        "---",
    ]
)  # fmt: skip


@pytest.fixture
def situation(tmp_path: Path) -> Iterator[Situation]:
    store: Store = open_store(tmp_path, Settings())
    project = store.project_for(ProjectIdentity(("path:/p",), "p", "/p"))
    yield Situation(tmp_path, project, tmp_path / "p", store, "startup", None, NOW)
    store.close()


def started(situation: Situation) -> Offer:
    return build(START_SECTIONS, situation, max_tokens=2_000)


def test_a_long_memory_file_gives_what_goes_on_now_and_says_where_the_rest_is(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(LONG, "utf-8")
    texts = [line.text for line in excerpt(path, 330)]
    for wanted in (
        "A shop for tea.",
        "- Refunds are done by hand",
        "**Status:** the form is built, payment is next",
    ):
        assert wanted in texts
    rows = [text for text in texts if text.startswith("| 2026")]
    assert rows[0].startswith("| 2026-12-01")
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 12
    assert texts[-1].startswith("(") and str(path) in texts[-1]  # noqa: PT018
    assert "How this works" in texts[-1]
    assert sum(tokens(text) + 1 for text in texts) < 450


def test_a_short_file_is_given_whole_and_cuts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("# Me\nCall me Ada.\n\n## Boundaries\n- never push for me\n---\n", "utf-8")
    texts = [line.text for line in excerpt(path, PROJECT_TOKENS)]
    assert texts == ["# Me", "Call me Ada.", "## Boundaries", "- never push for me"]


def test_no_heading_and_no_lead_in_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    body = "".join(f"- a point of some length, number {number}\n" for number in range(50))
    path.write_text(f"## Empty\n## Next\nfirst of all\n**In this order:**\n{body}", "utf-8")
    texts = [line.text for line in excerpt(path, 10)]
    assert texts[:-1] == ["## Next", "first of all"]


def test_thirty_reflections_of_ordinary_length_are_all_there(situation: Situation) -> None:
    said = "when a test fails only in CI, compare its locale and its time zone first"
    lines = [json.dumps({"type": "pattern", "content": f"No {number}: {said}"}) for number in range(40)]
    (situation.home / "reflections.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    text = started(situation).text
    assert [f"No {number}:" in text for number in range(40)] == [False] * 10 + [True] * 30


def test_a_long_memory_file_leaves_room_for_thirty_reflections(situation: Situation) -> None:
    files = files_of(situation)
    files.memory.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(
        f"| 2026-02-{day:02} | Keep queue {day} in PostgreSQL | It scores by age. Sorted sets lose the ties. |\n"
        for day in range(1, 29)
    )
    state = "".join(f"- part {number} of the platform is built and its tests pass\n" for number in range(90))
    text = (
        f"# Memory\n## Project State\n{state}## Decisions\n| Date | Decision | Why |\n|---|---|---|\n{rows}"
    )
    files.memory.write_text(text, "utf-8")
    said = "smaller steps of about ten lines were reviewed in half the time, so they were merged first"
    lines = [json.dumps({"type": "pattern", "content": f"No {number}: {said}"}) for number in range(30)]
    (situation.home / "reflections.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    given = started(situation).text
    assert all(f"No {number}:" in given for number in range(30))
    assert "## Project State" in given
    assert "2026-02-28" in given
    assert f"more lines of Project State, Decisions: {files.memory}" in given


def test_todo_and_lessons_come_at_the_start_without_what_is_done(situation: Situation) -> None:
    files = files_of(situation)
    files.todo.parent.mkdir(parents=True)
    files.todo.write_text("# To do\n- [x] build it\n- [ ] ship it\n", "utf-8")
    files.lessons.write_text("# Lessons\n- ports are taken on CI\n", "utf-8")
    lines = started(situation).text.splitlines()
    assert lines == ["To do (tasks/todo.md):", "- [ ] ship it", "Lessons:", "- ports are taken on CI"]
