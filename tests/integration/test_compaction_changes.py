"""What changes a kept summary changes what is there now: nothing paid is lost, nothing erased comes back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_compaction import SESSION, START, Session, first_part, keeper, second_part

from claude_memory import Memory, NewMemory
from claude_memory.compaction.erasing import purge
from claude_memory.compaction.keeping import Keeper, add_vectors
from claude_memory.compaction.model import KeptSummary
from claude_memory.compaction.providers.protocol import Reply
from claude_memory.compaction.saving import save
from claude_memory.compaction.schema import faults, schema
from claude_memory.compaction.store import Shelf
from claude_memory.compaction.upgrade import upgrade
from claude_memory.erasure import Sentences
from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryFilter, SearchScope, StoredMemory

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


class Vectors:
    """An embedder as far as summaries need one."""

    model, dimensions = "e", 2

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [b"\1\2" for _ in texts]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "project").mkdir()
    with Memory.open(tmp_path / "home", tmp_path / "project", flags={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def made(tmp_path: Path, memory: Memory) -> Keeper:
    """A session with one compaction, summed up by rules."""
    session = Session(tmp_path, memory.home, memory.project_root)
    first_part(session)
    second_part(session)
    session.person("never log a customer's name in the export")
    session.agent("Names stay out of the log.")
    session.compact()
    found = keeper(memory)
    found.all(now=START + timedelta(minutes=5))
    return found


def kept(made: Keeper) -> KeptSummary:
    [one] = made.shelf.of(SESSION)
    return one


def pointing(summary: KeptSummary) -> dict[str, list[int]]:
    inner = summary.summary
    return dict(zip(inner["conventions"], inner["sources"]["conventions"], strict=True))


def upgraded(made: Keeper, model: Model) -> list[KeptSummary]:
    return upgrade(made, model, now=NOW, pause=lambda _: None)


# --- the file as it is now


def test_vectors_of_an_older_text_do_not_bring_it_back(made: Keeper) -> None:
    older = kept(made)
    upgraded(made, Model())
    add_vectors(made.shelf, older, Vectors())  # type: ignore[arg-type]
    assert kept(made).executive == ANSWER["executive"]
    assert kept(made).document["summariser"]["provider"] == "fake"
    assert kept(made).document["embeddings"]["model"] is None
    add_vectors(made.shelf, kept(made), Vectors())  # type: ignore[arg-type]
    assert kept(made).document["embeddings"]["model"] == "e"


def test_vectors_do_not_bring_back_what_was_erased(made: Keeper) -> None:
    older = kept(made)
    assert RULE in json.dumps(older.document)
    purge(made.home, Sentences([RULE]))
    add_vectors(made.shelf, older, Vectors())  # type: ignore[arg-type]
    assert RULE not in json.dumps(kept(made).document)


def test_a_session_that_was_deleted_stays_so(made: Keeper) -> None:
    older, folder = kept(made), made.shelf.folder(SESSION)
    shutil.rmtree(folder)
    add_vectors(made.shelf, older, Vectors())  # type: ignore[arg-type]
    assert not folder.exists()


def test_a_model_that_answers_after_an_erasure_is_not_heard(made: Keeper) -> None:
    class Late(Model):
        def meanwhile(self) -> None:
            purge(made.home, Sentences([RULE]))

    assert upgraded(made, Late({**ANSWER, "conventions": [RULE]})) == []
    assert RULE not in json.dumps(kept(made).document)


# --- what was erased


def test_what_was_erased_is_never_sent_to_a_model(memory: Memory, made: Keeper) -> None:
    rules = [hit for hit in memory.search("money as Decimal in tests", limit=20) if "Decimal" in hit.title]
    memory.erase([hit.id for hit in rules])
    model = Model()
    assert upgraded(made, model) == []
    assert model.prompts == []
    assert kept(made).document["summariser"]["provider"] == "rules"
    assert faults(dict(kept(made).document)) == []


def test_a_compaction_after_an_erasure_does_not_say_it_again(tmp_path: Path, memory: Memory) -> None:
    session = Session(tmp_path, memory.home, memory.project_root)
    session.person(f"please note: {RULE}")
    session.agent("Noted.")
    session.person("The gateway listens on port 8443, remember that for the deployment")
    session.agent("Done.")
    told = memory.remember(NewMemory(RULE))
    memory.erase([told.id])
    session.compact()
    memory.drain()
    assert [one.number for one in keeper(memory).all(now=START + timedelta(minutes=5))] == [1]
    said = json.dumps(kept(keeper(memory)).document)
    assert "8443" in said
    assert RULE not in said
    memory.close()
    assert RULE.encode() not in b"".join(
        path.read_bytes() for path in memory.home.rglob("*") if path.is_file()
    )


def test_nor_is_what_no_summary_quotes_but_the_session_said(made: Keeper) -> None:
    model = Model()
    purge(made.home, Sentences(["what only the transcript says"]), {SESSION})
    assert upgraded(made, model) == []
    assert model.prompts == []


def test_nor_is_a_later_part_of_a_session_that_something_was_erased_from(
    tmp_path: Path, memory: Memory, made: Keeper
) -> None:
    purge(made.home, Sentences([RULE]))
    session = Session(tmp_path, memory.home, memory.project_root)
    session.count = 100
    session.person(f"as I said, {RULE}")
    session.agent("Decimal it is.")
    session.compact()
    later = keeper(memory)
    assert [one.number for one in later.all(now=START + timedelta(minutes=5))] == [2]
    model = Model()
    assert upgraded(later, model) == []
    assert model.prompts == []


def test_what_is_left_of_a_list_points_to_its_own_messages(made: Keeper) -> None:
    before = pointing(kept(made))
    assert len(before) > 1
    assert next(iter(before)).startswith(RULE)
    purge(made.home, Sentences([RULE]))
    assert pointing(kept(made)) == {text: places for text, places in before.items() if RULE not in text}


# --- every entry points to its messages


def conventions(memory: Memory) -> list[StoredMemory]:
    found = memory.store.memories(SearchScope((memory.project.id,)), MemoryFilter())
    return [one for one in found if one.kind is Kind.CONVENTION]


def test_what_a_model_says_in_other_words_points_to_the_messages_that_rules_know(
    memory: Memory, made: Keeper
) -> None:
    [own] = [places for text, places in pointing(kept(made)).items() if RULE in text]
    stored = [one.id for one in conventions(memory)]
    said = ["Money is Decimal in tests, never a float.", "Reviews happen on Fridays."]
    told = {"conventions": [[], [2]], "tasks_pending": [[99_999]]}
    answer = {**ANSWER, "conventions": said, "tasks_pending": ["mail the link"], "sources": told}
    assert len(upgraded(made, Model(answer))) == 1
    assert pointing(kept(made)) == {said[0]: own, said[1]: [2]}
    assert 99_999 not in kept(made).summary["sources"]["tasks_pending"][0]
    # The first is there already; the second is new, and says where it is from.
    [new] = [one for one in conventions(memory) if one.id not in stored]
    assert new.title.startswith("Reviews happen")
    assert new.provenance["evidence"][0]["message"] == 2  # type: ignore[index]


def test_numbers_of_messages_that_are_none_are_left_out(made: Keeper) -> None:
    decision = {"topic": "queue", "decision": "Use tabs", "rationale": "", "files": []}
    answer = {
        **ANSWER,
        "key_decisions": [{**decision, "messages": [9, 99_999], "reversed_messages": [77_777]}],
    }
    upgraded(made, Model(answer))
    [found] = kept(made).summary["key_decisions"]
    assert found["messages"] == [9]
    assert found["reversed_messages"] == []


def saved(memory: Memory, **more: Any) -> KeptSummary:
    lists = {name: [] for name in schema()["properties"]["summary"]["required"] if name != "executive"}
    body = {"executive": "An agent wrote it.", **lists, **more.pop("summary")}
    raw = json.dumps({"summary": body, **more}).encode()
    return save(memory.home, memory.store, memory.project, "s1", raw, now=NOW)[0]


@pytest.mark.parametrize("sources", [[3], 3, [["3"]], [[-1]]])
def test_an_agents_summary_with_sources_of_another_shape_is_refused_before_anything_is_written(
    memory: Memory, sources: Any
) -> None:
    with pytest.raises(InvalidInput, match="sources"):
        saved(memory, summary={"conventions": ["tabs, not spaces"], "sources": {"conventions": sources}})
    assert Shelf(memory.home).of("s1") == []


def test_an_agents_summary_that_could_not_be_read_again_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        saved(memory, summary={"topics": ["a"] * 600_000})  # each on a line of its own in the file
    assert list(Shelf(memory.home).folder("s1").rglob("*.json")) == []


def test_an_agents_summary_keeps_only_numbers_of_the_messages_it_is_about(memory: Memory) -> None:
    summary = {"conventions": ["tabs, not spaces"], "sources": {"conventions": [[3, 40]], "more": 5}}
    assert saved(memory, summary=summary).summary["sources"]["conventions"] == [[3, 40]]
    about = saved(memory, summary=summary | {"topics": ["b"]}, original_message_range=[1, 11])
    assert about.summary["sources"]["conventions"] == [[3]]


def test_what_hooks_reported_is_counted_with_what_says_nothing(tmp_path: Path, memory: Memory) -> None:
    session = Session(tmp_path, memory.home, memory.project_root)
    for text in ["/status"] * 5 + [RULE]:
        session.count += 1
        session.report("UserPromptSubmit", prompt=text)
    session.count += 1
    session.report("PreCompact", trigger="auto")
    [found] = keeper(memory).all(now=START + timedelta(minutes=5))
    first, last = found.document["original_message_range"]
    places = [place for own in pointing(found).values() for place in own]
    assert places == [last]
    assert (first, last) == (1, 6)
