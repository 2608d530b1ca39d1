"""A language model by choice, about whole sessions: proposed, capped, counted, asked once, never a condition."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.integration.histories import ClaudeSession, write_lines

from claude_memory import Memory
from claude_memory.model import Status, Trust
from claude_memory.summaries.asking import Asker, ProviderDown, Reply, TokenLedger, ask_about_sessions

ANSWER = {
    "executive": "The export was made.",
    "key_decisions": [
        {
            "topic": "queue",
            "decision": "Jobs run on Procrastinate",
            "rationale": "no Redis",
            "files": ["jobs.py"],
        }
    ],
    "files_modified": [],
    "code_snippets": [],
    "topics": [],
    "tasks_completed": [],
    "tasks_pending": [],
    "important_context": [],
    "error_solutions": [],
    "conventions": ["Amounts in exports are written in cents."],
}


class Model:
    """Stands for a language model, which cannot be had here."""

    name, model = "fake", "fake-1"

    def __init__(self, answer: str | None) -> None:
        self.answer, self.asked = answer, 0

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        self.asked += 1
        if self.answer is None:
            raise ProviderDown("refused", lasting=True)
        return Reply(self.answer, 100, 50)


@pytest.fixture
def memory(tmp_path: Path):
    folder = tmp_path / ".claude" / "projects" / "-work-app"
    session = ClaudeSession(cwd=str(tmp_path / "app"))
    session.prompt("Export the invoices as CSV through a queue, please")
    session.says("The export runs in a job on Procrastinate and writes amounts in cents.")
    write_lines(folder / f"{session.id}.jsonl", session.lines)
    with Memory.open(tmp_path / "home", tmp_path / "app", flags={"embedder": "none"}) as opened:
        opened.import_history(user_home=tmp_path)
        yield opened


def proposed(memory: Memory, model: Model, now: datetime, tokens: int = 1_000_000) -> int:
    ledger = TokenLedger(memory.home, tokens)
    return ask_about_sessions(memory.store, Asker(model, ledger, now=now, pause=lambda _: None))


LATER = datetime.now(UTC) + timedelta(days=1)


def test_what_a_model_tells_of_a_session_is_proposed_and_counted(memory: Memory) -> None:
    model = Model(json.dumps(ANSWER))
    assert proposed(memory, model, LATER) == 2
    found = {item.title: item for item in memory.inbox()}
    assert set(found) == {"queue: Jobs run on Procrastinate", "Amounts in exports are written in cents."}
    assert {item.status for item in found.values()} == {Status.PROPOSED}
    assert {item.trust for item in found.values()} == {Trust.AGENT}
    assert TokenLedger(memory.home, 1_000_000).spent(LATER) == 150


def test_a_session_is_asked_about_once_until_it_grows(memory: Memory) -> None:
    model = Model(json.dumps(ANSWER))
    proposed(memory, model, LATER)
    assert proposed(memory, model, LATER) == 0
    assert model.asked == 1


def test_the_cap_of_the_day_holds_and_a_model_that_is_down_costs_nothing(memory: Memory) -> None:
    model = Model(json.dumps(ANSWER))
    assert proposed(memory, model, LATER, tokens=10) == 0
    assert model.asked == 0
    down = Model(None)
    assert proposed(memory, down, LATER + timedelta(days=1)) == 0
    assert memory.search("export of the invoices", limit=1)  # the result without it stands


def test_a_running_session_is_left_alone(memory: Memory) -> None:
    model = Model(json.dumps(ANSWER))
    began = memory.archive.unasked(before=LATER, limit=1)[0].first
    assert proposed(memory, model, began + timedelta(minutes=5)) == 0
    assert model.asked == 0
