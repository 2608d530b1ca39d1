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

from claude_memory import Memory
from claude_memory.compaction.erasing import purge
from claude_memory.compaction.keeping import Keeper, add_vectors
from claude_memory.compaction.model import KeptSummary
from claude_memory.compaction.providers.protocol import Reply
from claude_memory.compaction.schema import faults
from claude_memory.compaction.upgrade import upgrade

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
    purge(made.home, [RULE])
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
            purge(made.home, [RULE])

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


def test_nor_is_what_no_summary_quotes_but_the_session_said(made: Keeper) -> None:
    model = Model()
    purge(made.home, ["what only the transcript says"], {SESSION})
    assert upgraded(made, model) == []
    assert model.prompts == []


def test_what_is_left_of_a_list_points_to_its_own_messages(made: Keeper) -> None:
    def pointing() -> dict[str, list[int]]:
        summary = kept(made).summary
        return dict(zip(summary["conventions"], summary["sources"]["conventions"], strict=True))

    before = pointing()
    assert len(before) > 1
    assert next(iter(before)).startswith(RULE)
    purge(made.home, [RULE])
    assert pointing() == {text: places for text, places in before.items() if RULE not in text}
