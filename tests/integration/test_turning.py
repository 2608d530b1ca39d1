"""A summary with the bundled model: what was only talked about and taken back is noted, its neighbours are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.test_judge import Broken
from tests.unit.test_compaction_reversals import ORIGIN, Talk

from claude_memory.compaction.comparing import Sense
from claude_memory.compaction.meaning import sense
from claude_memory.compaction.summarise import summarise
from claude_memory.embed import open_embedder, turning_of
from claude_memory.settings import Settings

LABELS = "in the summer we relabel all the books. i want Code 39 labels, our old scanner reads them. build nothing yet"
QR = "about the labels: the tablets read QR with the camera and nobody has to queue. so QR labels in the summer"
FINES = "about the fines: ten cents a day, and never more than three euros. build nothing yet"


def library(last: str) -> Talk:
    talk = Talk().person("Let us plan the school library.").agent("Gladly. What comes first?")
    talk.person("show how many books each class has").agent("A count per class is on the start page.")
    talk.person(LABELS).agent("Code 39 labels for all books, in the summer; nothing is built.")
    talk.person("teachers keep a book for 60 days").agent("60 days for teachers.")
    return talk.person(last).agent("Noted, nothing is built yet.")


def reversals(talk: Talk, lent: Sense | None) -> list[str]:
    return [one.reverses for one in summarise(talk.turns, ORIGIN, sense=lent).key_decisions if one.reverses]


@pytest.fixture(scope="module")
def model(model_cache: Path) -> Sense | None:
    return sense(open_embedder(Settings(), model_cache))


def test_one_name_for_another_is_noted_though_nothing_was_written(model: Sense | None) -> None:
    [noted] = reversals(library(QR), model)
    assert "Code 39" in noted


def test_a_neighbouring_matter_takes_nothing_back(model: Sense | None) -> None:
    assert not reversals(library(FINES), model)


def test_a_judge_that_is_gone_leaves_it_to_the_words(
    model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = open_embedder(Settings(), model_cache)
    monkeypatch.setattr(embedder, "turning", Broken())
    assert reversals(library(QR), sense(embedder)) == reversals(library(QR), None)


def test_another_embedder_lends_no_sense_of_requests() -> None:
    other = open_embedder(Settings(embedder="endpoint:http://127.0.0.1:9/v1", embedder_model="m"), Path())
    assert turning_of(other) is None
    assert sense(other) is None
    assert sense(None) is None
