"""A session's record is made from its exchanges, and both are kept as JSON documents."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_memory.model import SessionId
from claude_memory.understand.exchanges import record, session_text
from claude_memory.understand.model import (
    Command,
    Commit,
    Exchange,
    Outcome,
    TaskItem,
    Utterance,
    from_json,
    record_from_json,
    to_json,
)

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SESSION = SessionId("s1")


def exchange(number: int, request: str = "", **more: Any) -> Exchange:
    at = AT + timedelta(minutes=number)
    asked = (Utterance(number, at, request),) if request else ()
    return Exchange(SESSION, f"s1:{number}", number, number, at, at, **{"asked": asked, **more})


FIRST = exchange(
    1,
    "Add a filter",
    branch="main",
    outcome=Outcome.ANSWERED,
    closing="The filter is there.",
    files_edited=(("a.py", 2),),
    uncommitted=("a.py",),
    tasks=(TaskItem("Parse", "completed"), TaskItem("Sort", "pending")),
    commands=(Command(1, "make lint"), Command(1, "make lint"), Command(1, "go test ./x", True, "FAIL")),
    failing=(Command(1, "go test ./x", True, "FAIL"),),
)
SECOND = exchange(
    2,
    "Commit it",
    branch="filter",
    outcome=Outcome.ANSWERED,
    closing="Committed.",
    commits=(Commit(2, "1a2b3c4", "Filter by price", "filter"),),
    files_edited=(("b.py", 1), ("/tmp/x/notes.md", 4)),
    uncommitted=("b.py",),
    pull_requests=("https://github.com/ada/shop/pull/41",),
)
THIRD = exchange(3, "And the docs?", branch="main", files_edited=(("a.py", 1),), uncommitted=("a.py",))


def test_a_record_says_how_the_session_stands() -> None:
    made = record(SESSION, [FIRST, SECOND, THIRD])
    assert made.title == "Filter by price"
    assert (made.began, made.ended, made.exchanges) == (FIRST.began, THIRD.ended, 3)
    assert made.branches == ("filter", "main")
    assert (made.first_request, made.last_request, made.answered) == ("Add a filter", "And the docs?", False)
    assert made.files == (("a.py", 3), ("b.py", 1))
    assert made.uncommitted == ("b.py", "a.py")
    assert [task.title for task in made.open_tasks] == ["Sort"]
    assert [command.command for command in made.failing] == ["go test ./x"]
    assert made.checks == ("make lint", "go test")
    assert made.closing == "Committed."


def test_the_agents_own_title_counts_before_ours() -> None:
    assert record(SESSION, [FIRST, SECOND], "Price filter").title == "Price filter"


def test_a_check_that_passed_in_a_later_exchange_does_not_fail_any_more() -> None:
    passed = replace(THIRD, commands=(Command(3, "go test ./..."),))
    assert record(SESSION, [FIRST, SECOND, passed]).failing == ()
    elsewhere = replace(THIRD, commands=(Command(3, "go test ./other"),))
    assert record(SESSION, [FIRST, SECOND, elsewhere]).failing == FIRST.failing


def test_a_commit_that_was_made_anew_counts_once() -> None:
    again = replace(THIRD, commits=(Commit(3, "9f8e7d6", "Filter by price"),))
    assert [commit.hash for commit in record(SESSION, [FIRST, SECOND, again]).commits] == ["9f8e7d6"]


def test_a_session_of_commands_alone_has_a_record_too() -> None:
    made = record(
        SESSION, [exchange(1, handed="/review 12", closing="It looks right.", outcome=Outcome.ANSWERED)]
    )
    assert (made.first_request, made.answered) == ("/review 12", True)
    with pytest.raises(ValueError, match="without exchanges"):
        record(SESSION, [])


def test_the_text_of_a_session_is_short_and_says_what_is_open() -> None:
    text = session_text(record(SESSION, [FIRST, SECOND, THIRD]))
    for part in (
        "Asked: Add a filter",
        "Asked last (not answered): And the docs?",
        "Commit 1a2b3c4 Filter by price",
        "pull/41",
        "Not committed: b.py, a.py",
        "Open: Sort",
        "Fails: go test ./x",
    ):
        assert part in text
    assert len(text) < 800


def test_documents_are_read_back_as_they_were() -> None:
    for one in (FIRST, SECOND, THIRD, exchange(4, plan="# P", handed="x", files_read=("r.py",), said=("s",))):
        assert from_json(json.loads(json.dumps(to_json(one)))) == one
    made = record(SESSION, [FIRST, SECOND, THIRD])
    assert record_from_json(json.loads(json.dumps(to_json(made)))) == made


def test_a_document_of_a_later_version_is_still_read() -> None:
    document = {**to_json(FIRST), "mood": "good"}
    document["commands"][0]["seconds"] = 3
    assert from_json(document) == FIRST


def test_commits_that_a_reset_took_back_are_not_told() -> None:
    first = [Commit(2, "1a2b3c4", "Shade stops", "main"), Commit(4, "2a2b3c4", "Shade narrow stops", "main")]
    made = exchange(1, commits=tuple(first), commands=(Command(1, "git commit -m x"),))
    for reset, stays in (
        ("git reset --soft HEAD~1", ["Shade stops"]),
        ("git reset --soft 1a2b3c4d5e6f", ["Shade stops"]),
        ("git add -A && git reset --soft 9f012815 && git status", []),
        ("git reset HEAD a.py", ["Shade stops", "Shade narrow stops"]),
        ("git reset --hard origin/main", ["Shade stops", "Shade narrow stops"]),
    ):
        again = Commit(12, "3a2b3c4", "Shade all", "main")
        later = exchange(9, commits=(again,), commands=(Command(11, reset),))
        subjects = [commit.subject for commit in record(SESSION, [made, later]).commits]
        assert subjects == [*stays, "Shade all"], reset
