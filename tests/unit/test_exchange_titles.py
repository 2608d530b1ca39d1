"""An exchange is called after what it was about, and found by what was asked, done and answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from claude_memory.model import SessionId
from claude_memory.understand.model import Command, Commit, Exchange, Utterance
from claude_memory.understand.titles import SEARCH_CHARACTERS, TITLE_CHARACTERS, search_text, title

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def exchange(request: str = "", **more: Any) -> Exchange:
    asked = (Utterance(1, AT, request),) if request else ()
    return Exchange(SessionId("s1"), "s1:1", 1, 9, AT, AT, asked=asked, **more)


def test_a_commit_says_best_what_it_was_about() -> None:
    commits = (Commit(3, "1a2b3c4", "fix(cart): keep coupons"), Commit(5, "9f8e7d6", "fixup! keep coupons"))
    made = exchange(
        "commit this", commits=commits, plan="# Cart", closing="Coupons are kept now in the cart."
    )
    assert title(made) == "fix(cart): keep coupons"
    assert title(replace(made, commits=())) == "Cart"
    assert title(replace(made, commits=(), plan="")) == "Coupons are kept now in the cart"


def test_an_amended_commit_is_told_by_what_was_added_to_it() -> None:
    amended = exchange(
        "the placeholder has no gradient",
        commits=(Commit(3, "1a2b3c4", "feat: gradients"),),
        commands=(Command(2, "git commit --amend --no-edit"),),
        closing="Fixed and committed (`1a2b3c4`).\n\nPending placeholders keep their gradient.",
    )
    assert title(amended) == "Pending placeholders keep their gradient"
    assert title(replace(amended, closing="Amended.", asked=())) == "feat: gradients"


def test_a_commit_that_was_made_here_and_amended_at_once_names_it() -> None:
    commands = (Command(2, "git commit -m 'feat: gradients'"), Command(4, "git commit --amend --no-edit"))
    made = exchange("commit", commits=(Commit(5, "1a2b3c4", "feat: gradients"),), commands=commands)
    assert title(replace(made, closing="The placeholder keeps its colour now.")) == "feat: gradients"


def test_mere_talk_is_named_by_its_question() -> None:
    talk = exchange(
        "why does every worktree share one shadow branch?", closing="Good question. Each has a hash."
    )
    assert title(talk) == "Why does every worktree share one shadow branch?"
    worked = replace(
        talk, files_edited=(("branch.go", 1),), closing="Each worktree has a branch of its own now."
    )
    assert title(worked) == "Each worktree has a branch of its own now"


def test_closing_words_on_something_else_do_not_name_it() -> None:
    made = exchange(
        "move the coupon rules into their own module",
        closing="Two lint warnings were there before.\n\nThe coupon rules live in rules.py.",
        files_edited=(("rules.py", 1),),
    )
    assert title(made) == "The coupon rules live in rules.py"


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        ("# Plan: Simplify the checkout flow\n\n## Context", "Simplify the checkout flow"),
        ("# Output Filter Implementation Plan\n\ntext", "Output Filter"),
        ("Move the tests to another folder\n1. …", "Move the tests to another folder"),
    ],
)
def test_a_plans_heading_is_its_title(plan: str, wanted: str) -> None:
    assert title(exchange(plan=plan)) == wanted


@pytest.mark.parametrize(
    ("closing", "wanted"),
    [
        (
            "All tests pass. Here's a summary:\n\n## Changes\n\n- **Coupons** survive a reload of the cart",
            "Coupons survive a reload of the cart",
        ),
        ("Done! The cart keeps its coupons after a reload.", "The cart keeps its coupons after a reload"),
        ("Perfect.\n\n### Root cause\n\nThe cookie had no domain.", "The cookie had no domain"),
        ("Analysis:\n\n1. Two writers race for the lock file.", "Two writers race for the lock file"),
        ("Yes — `parse()` drops the last byte of a file.", "parse() drops the last byte of a file"),
        ("```\ngo test ./...\n```\nThe parser now reads [RFC 4180](https://x.example/a) files.", "The parser now reads RFC 4180 files"),
        ("All 19 tests pass, lint is clean, and everything is committed.\n\nWant me to push?", ""),
    ],
)  # fmt: skip
def test_the_first_words_that_tell_something_of_the_closing(closing: str, wanted: str) -> None:
    assert title(exchange("Look at the parser of orders", closing=closing)) == (
        wanted or "Look at the parser of orders"
    )


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("can you please rename the cart module?", "Rename the cart module?"),
        ("ok\n\nnow move the tests to tests/unit", "Move the tests to tests/unit"),
        ("merge conflicts...", "Merge conflicts"),
    ],
)
def test_without_closing_words_the_request_gives_the_title(request_: str, wanted: str) -> None:
    assert title(exchange(request_)) == wanted


@pytest.mark.parametrize(
    "request_", ["yes", "ok, go ahead", "done, continue", "commit", "1", "👍", "Analysis:"]
)
def test_a_bare_word_of_consent_is_no_title(request_: str) -> None:
    bare = exchange(request_)
    assert title(bare) == "Unanswered prompt"
    assert title(replace(bare, closing="Done!")) == "Short reply"
    told = replace(bare, said=("Let me check.", "The lock was held by a stale process."))
    assert title(told) == "The lock was held by a stale process"
    answering = Utterance(1, AT, request_, question="Shall I add a lock to the cache?")
    assert title(replace(bare, asked=(answering,))) == "Shall I add a lock to the cache?"


def test_a_title_is_one_short_line() -> None:
    long = "The importer now reads every line twice, first for its length and then for its content, " * 4
    assert title(exchange(closing=long)) == "The importer now reads every line twice"
    unbroken = "The importer now reads every line of the file twice before it decides on the encoding of it"
    assert len(title(exchange(closing=unbroken))) <= TITLE_CHARACTERS
    assert title(exchange(closing=unbroken)).endswith("…")
    assert "\n" not in title(exchange("first line of the request\nsecond line"))


def test_the_search_text_holds_what_was_asked_done_and_answered() -> None:
    made = exchange(
        "why is checkout slow?",
        closing="Every item asked the database once.",
        said=("Let me look at the query log.", "The query log shows 300 statements for one cart."),
        commits=(Commit(3, "1a2b3c4", "Load items at once"),),
        pull_requests=("https://github.com/ada/shop/pull/41",),
        files_edited=(("cart/items.py", 2),),
        files_read=("cart/query.py",),
        commands=(Command(4, "pytest cart", True, "E  TimeoutError: 30 s"), Command(6, "make bench")),
    )
    text = search_text(made)
    for part in (
        "why is checkout slow?", "Every item asked the database once.", "300 statements", "1a2b3c4 Load items at once",
        "pull/41", "cart/items.py", "cart/query.py", "pytest cart", "TimeoutError: 30 s", "make bench",
    ):  # fmt: skip
        assert part in text
    assert "Let me look" not in text
    assert text.index("why is checkout") < text.index("Every item") < text.index("300 statements")


def test_the_search_text_is_bounded_and_what_was_pasted_comes_short() -> None:
    spoken = Utterance(1, AT, "why does this fail?", pasted="Traceback line\n" * 500)
    made = replace(
        exchange("x"),
        asked=(spoken,),
        closing="A long explanation of the failure. " * 600,
        said=tuple(f"Finding number {at}: the module {at} loads another module." * 9 for at in range(60)),
        commands=tuple(Command(at, f"make step{at}", True, "error: no rule " * 30) for at in range(80)),
    )
    text = search_text(made)
    assert len(text) <= SEARCH_CHARACTERS
    assert text.count("Traceback line") < 30
    assert "why does this fail?" in text
    assert "Finding number" in text
    assert "make step0" in text
