"""What a compaction keeps word for word is none of what it took: the next compaction takes it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.test_compaction import SESSION, Session, compacted, first_part, second_part

from claude_memory import Memory
from claude_memory.summaries.shelf import KeptSummary, Shelf


def ids(*numbers: int) -> list[str]:
    return [f"{SESSION}-u{number:04d}" for number in numbers]


def named(*numbers: int) -> dict[str, Any]:
    return {"preservedMessages": {"uuids": ids(*numbers), "allUuids": ids(*numbers)}}


def segment(head: int, tail: int) -> dict[str, Any]:
    return {"preservedSegment": {"headUuid": ids(head)[0], "tailUuid": ids(tail)[0]}}


def compact(session: Session, **kept: Any) -> None:
    facts = {"trigger": "auto", "preTokens": 150_000, **kept}
    session.report("PreCompact", trigger="auto")
    session.line(type="system", subtype="compact_boundary", compactMetadata=facts, content="compacted")
    summary = "This session is being continued from a previous conversation.\n\nThe story so far."
    session.line(type="user", isCompactSummary=True, message={"role": "user", "content": summary})


def ranges(kept: list[KeptSummary]) -> list[Any]:
    return [one.document["original_message_range"] for one in kept]


@pytest.mark.parametrize("kept", [named(11, 12), segment(11, 12), {**named(11, 12), **segment(11, 12)}])
def test_a_range_ends_before_the_messages_that_were_kept(
    memory: Memory, session: Session, kept: dict[str, Any]
) -> None:
    first_part(session)
    compact(session, **kept)
    assert ranges(compacted(memory)) == [[1, 10]]


def test_the_next_compaction_takes_what_was_kept(memory: Memory, session: Session) -> None:
    first_part(session)
    compact(session, **named(11, 12))
    second_part(session)
    compact(session)
    compacted(memory)
    assert ranges(Shelf(memory.home).of(SESSION)) == [[1, 10], [11, 18]]


def test_an_import_ends_before_what_was_kept_too(memory: Memory, session: Session) -> None:
    first_part(session)
    compact(session, **named(11, 12))
    for spooled in (memory.home / "spool" / "new").iterdir():
        spooled.unlink()
    memory.import_history((session.path,), agent="claude-code")
    assert ranges(compacted(memory)) == [[1, 10]]


def test_a_compaction_that_kept_everything_leaves_it_to_the_next(memory: Memory, session: Session) -> None:
    first_part(session)
    compact(session, **segment(1, 12))
    second_part(session)
    compact(session)
    assert ranges(compacted(memory)) == [[1, 18]]


@pytest.mark.parametrize(
    "odd",
    [
        named(901, 902),
        {"preservedMessages": {"uuids": [7, None], "allUuids": "x"}, "preservedSegment": []},
        named(1, 2),  # what was said first stays, and no later range could hold it
    ],
)
def test_what_cannot_be_told_changes_no_range(memory: Memory, session: Session, odd: dict[str, Any]) -> None:
    first_part(session)
    compact(session, **odd)
    assert ranges(compacted(memory)) == [[1, 12]]
