"""What changes a kept summary changes what is there now: nothing paid is lost, nothing erased comes back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_compaction import SESSION, Session, drained, first_part, second_part

from claude_memory import Memory, NewMemory
from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryFilter, SearchScope, StoredMemory
from claude_memory.redact.erasure import Sentences
from claude_memory.summaries.asking import Asker, Reply, TokenLedger, upgrade
from claude_memory.summaries.shelf import KeptSummary, Shelf, faults, schema
from claude_memory.summaries.summary_book import SummaryBook

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
RULE = "always write money as Decimal in tests, never floats"
ANSWER: dict[str, Any] = {"executive": "A model told the story of the export."}


class Model:
    """A model that gives one answer, whatever it is asked; `meanwhile` happens while it thinks."""

    name, model = "fake", "m"

    def __init__(self, answer: dict[str, Any] = ANSWER) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def meanwhile(self) -> None: ...

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        self.prompts.append(prompt)
        self.meanwhile()
        return Reply(json.dumps(self.answer), 1_000, 100)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "project").mkdir()
    with Memory.open(tmp_path / "home", tmp_path / "project", flags={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def made(tmp_path: Path, memory: Memory) -> SummaryBook:
    """A session with one compaction, summed up by rules."""
    session = Session(tmp_path, memory.home, memory.project_root)
    first_part(session)
    second_part(session)
    session.person("never log a customer's name in the export")
    session.agent("Names stay out of the log.")
    session.compact()
    found = drained(memory)
    found.sum_up()
    return found


def kept(made: SummaryBook) -> KeptSummary:
    [one] = made.shelf.of(SESSION)
    return one


def pointing(summary: KeptSummary) -> dict[str, list[int]]:
    inner = summary.summary
    return dict(zip(inner["important_context"], inner["sources"]["important_context"], strict=True))


def upgraded(made: SummaryBook, model: Model) -> list[KeptSummary]:
    asker = Asker(model, TokenLedger(made.home, 200_000), now=NOW, pause=lambda _: None)
    return upgrade(made, asker)


# --- the file as it is now


def test_a_session_that_was_deleted_stays_so(made: SummaryBook) -> None:
    older, folder = kept(made), made.shelf.folder(SESSION)
    shutil.rmtree(folder)
    assert made.shelf.replace(older, lambda now: now) is None
    assert not folder.exists()


def test_a_model_that_answers_after_an_erasure_is_not_heard(made: SummaryBook) -> None:
    class Late(Model):
        def meanwhile(self) -> None:
            Shelf(made.home).erase(Sentences([RULE]))

    assert upgraded(made, Late({**ANSWER, "conventions": [RULE]})) == []
    assert RULE not in json.dumps(kept(made).document)


# --- what was erased


def test_what_was_erased_is_never_sent_to_a_model(memory: Memory, made: SummaryBook) -> None:
    memory.erase(memory.remember_many([NewMemory(RULE, session=SESSION)]))
    model = Model()
    assert upgraded(made, model) == []
    assert model.prompts == []
    assert kept(made).document["summariser"]["provider"] == "rules"
    assert faults(dict(kept(made).document)) == []


def test_nor_is_what_no_summary_quotes_but_the_session_said(made: SummaryBook) -> None:
    model = Model()
    Shelf(made.home).erase(Sentences(["what only the transcript says"]), {SESSION})
    assert upgraded(made, model) == []
    assert model.prompts == []


def test_nor_is_a_later_part_of_a_session_that_something_was_erased_from(
    tmp_path: Path, memory: Memory, made: SummaryBook
) -> None:
    Shelf(made.home).erase(Sentences([RULE]))
    session = Session(tmp_path, memory.home, memory.project_root)
    session.count = 100
    session.person(f"as I said, {RULE}")
    session.agent("Decimal it is.")
    session.compact()
    later = drained(memory)
    assert [one.number for one in later.sum_up()] == [2]
    model = Model()
    assert upgraded(later, model) == []
    assert model.prompts == []


def test_what_is_left_of_a_list_points_to_its_own_messages(made: SummaryBook) -> None:
    before = pointing(kept(made))
    assert len(before) > 1
    assert any(RULE in text for text in before)
    Shelf(made.home).erase(Sentences([RULE]))
    assert pointing(kept(made)) == {text: places for text, places in before.items() if RULE not in text}


# --- every entry points to its messages


def conventions(memory: Memory) -> list[StoredMemory]:
    found = memory.store.memories.find(SearchScope((memory.project.id,)), MemoryFilter())
    return [one for one in found if one.kind is Kind.CONVENTION]


def test_what_a_model_wrote_down_is_remembered_and_says_where_it_is_from(
    memory: Memory, made: SummaryBook
) -> None:
    assert conventions(memory) == []  # what rules put into a summary is in its exchanges
    said = ["Money is Decimal in tests, never a float.", "Reviews happen on Fridays."]
    told = {"conventions": [[], [2]], "tasks_pending": [[99_999]]}
    answer = {**ANSWER, "conventions": said, "tasks_pending": ["mail the link"], "sources": told}
    assert len(upgraded(made, Model(answer))) == 1
    assert kept(made).summary["sources"]["conventions"] == [[], [2]]
    assert 99_999 not in kept(made).summary["sources"]["tasks_pending"][0]
    assert {one.title for one in conventions(memory)} == set(said)


def test_numbers_of_messages_that_are_none_are_left_out(made: SummaryBook) -> None:
    decision = {"topic": "queue", "decision": "Use tabs", "rationale": "", "files": []}
    answer = {
        **ANSWER,
        "key_decisions": [{**decision, "messages": [9, 99_999]}],
    }
    upgraded(made, Model(answer))
    [found] = kept(made).summary["key_decisions"]
    assert found["messages"] == [9]


def saved(memory: Memory, **more: Any) -> KeptSummary:
    lists = {name: [] for name in schema()["properties"]["summary"]["required"] if name != "executive"}
    body = {"executive": "An agent wrote it.", **lists, **more.pop("summary")}
    raw = json.dumps({"summary": body, **more}).encode()
    return memory.summaries.save("s1", raw, now=NOW)[0]


@pytest.mark.parametrize("sources", [[3], 3, [["3"]], [[-1]]])
def test_an_agents_summary_with_sources_of_another_shape_is_refused_before_anything_is_written(
    memory: Memory, sources: Any
) -> None:
    with pytest.raises(InvalidInput, match="sources"):
        saved(memory, summary={"conventions": ["tabs, not spaces"], "sources": {"conventions": sources}})
    assert Shelf(memory.home).of("s1") == []


def test_an_agents_summary_that_could_not_be_read_again_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        saved(memory, summary={"topics": ["a" * 500] * 20_000})
    assert list(Shelf(memory.home).folder("s1").rglob("*.json")) == []


def test_an_agents_summary_keeps_only_numbers_of_the_messages_it_is_about(memory: Memory) -> None:
    summary = {"conventions": ["tabs, not spaces"], "sources": {"conventions": [[3, 40]], "more": 5}}
    assert saved(memory, summary=summary).summary["sources"]["conventions"] == [[3, 40]]
    about = saved(memory, summary=summary | {"topics": ["b"]}, original_message_range=[1, 11])
    assert about.summary["sources"]["conventions"] == [[3]]
