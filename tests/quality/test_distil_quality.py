"""What is distilled from labelled sessions without a model: precise first, then complete.

No session of `held` was looked at while rules were written, only its figures; `dev` was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_memory.distil.session import distil
from claude_memory.distil.turns import Origin, Turn
from claude_memory.model import ProjectId, SessionId, StoredMemory

SESSIONS = Path(__file__).parent / "data" / "sessions" / "sessions.jsonl"
MIN_PRECISION = 0.85
MIN_PRECISION_OF_EACH = 0.8
MIN_RECALL = 0.7
KINDS = ("decision", "correction", "fix")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


@dataclass
class Score:
    """Of one kind: how many memories were made and right, how many labels there are and were found."""

    made: int = 0
    right: int = 0
    labels: int = 0
    found: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.labels if self.labels else 1.0


def sessions(half: str) -> Iterator[dict[str, Any]]:
    for line in SESSIONS.read_text("utf-8").splitlines():
        session = json.loads(line)
        if session["half"] == half:
            yield session


def turns_of(session: dict[str, Any]) -> list[Turn]:
    return [
        Turn(
            role=turn["role"],
            key=f"{session['id']}:{number}",
            at=START + timedelta(minutes=number),
            text=turn["text"],
            tool=turn.get("tool") or "",
            given=turn.get("input") or {},
            output=turn.get("output") or "",
            failed=bool(turn.get("is_error")),
            ref={"turn": number},
        )
        for number, turn in enumerate(session["turns"])
    ]


def matches(memory: StoredMemory, label: dict[str, Any]) -> bool:
    """The kind is right, and it rests on the label's turns or says what any good rendering says."""
    if memory.kind != label["kind"]:
        return False
    turns = {ref["turn"] for ref in memory.provenance["evidence"]}
    text = f"{memory.title} {memory.body}".lower()
    return bool(turns & set(label["evidence_turns"])) or all(term in text for term in label["key_terms"])


def scores(half: str) -> dict[str, Score]:
    found = {kind: Score() for kind in (*KINDS, "preference")}
    for session in sessions(half):
        origin = Origin(SessionId(session["id"]), ProjectId("quality"))
        memories = [one for one in distil(turns_of(session), origin).memories if one.kind in found]
        for memory in memories:
            score = found[memory.kind]
            score.made += 1
            score.right += any(matches(memory, label) for label in session["labels"])
        for label in session["labels"]:
            score = found[label["kind"]]
            score.labels += 1
            score.found += any(matches(memory, label) for memory in memories)
    return found


@pytest.fixture(scope="module", params=["dev", "held"])
def measured(request: pytest.FixtureRequest) -> dict[str, Score]:
    found = scores(request.param)
    for kind, score in found.items():
        print(
            f"{request.param} {kind}: precision {score.precision:.3f} of {score.made}, recall {score.recall:.3f}"
        )
    return found


def test_what_is_kept_is_right_and_most_is_kept(measured: dict[str, Score]) -> None:
    together = [measured[kind] for kind in KINDS]
    assert sum(score.right for score in together) / sum(score.made for score in together) >= MIN_PRECISION
    assert sum(score.found for score in together) / sum(score.labels for score in together) >= MIN_RECALL


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_stays_far_behind(measured: dict[str, Score], kind: str) -> None:
    assert measured[kind].precision >= MIN_PRECISION_OF_EACH
    assert measured[kind].recall >= MIN_RECALL


def test_sessions_that_leave_nothing_leave_nothing() -> None:
    empty = [session for session in (*sessions("dev"), *sessions("held")) if not session["labels"]]
    assert len(empty) == 10
    made = [
        memory
        for session in empty
        for memory in distil(turns_of(session), Origin(None, ProjectId("quality"))).memories
        if memory.kind in KINDS
    ]
    assert len(made) <= 2, [memory.title for memory in made]
