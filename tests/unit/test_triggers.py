"""What in a prompt is written down before the agent acts, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.notes.rules import LANGUAGES, Vocabulary
from claude_memory.notes.spoken import sentences
from claude_memory.notes.triggers import scan
from claude_memory.redact import redact, redact_short

MOODS = ("ASKED", "SUPPOSED", "HANDED_ON", "OWN_VOICE", "NOT_MEANT", "DESCRIBING", "BANS", "TASK")
SAID = {
    "ok go with option 2": "decision",
    "OK we are settled on the name, it's going to be Tern.": "decision",
    "we'll use websockets for the live view": "decision",
    "drop the dark mode": "decision",
    "always write timestamps in UTC": "architecture",
    "Never commit generated files.": "architecture",
    "we don't use ORMs here": "architecture",
    "the login bug is top priority": "priority",
    "fix the memory leak first, then the docs": "priority",
    "docs can wait": "priority",
    "no, use the staging database not production": "correction",
    "that's not what I asked for, I wanted a table": "correction",
    "you forgot the null check I asked for": "correction",
    "the staging url is https://stage.example.com/api": "value",
    "the deploy branch is release/2026.11": "value",
    "Hi again. The axis labels are the wrong way round, you swapped them.": "correction",
    "it's the client that closes the socket, not the server": "correction",
    "The tutorial becomes one long page.": "decision",
    "after the call: we're dropping the spreadsheet export": "decision",
    "Whenever you write a migration, it has to be reversible.": "architecture",
    "Passwords never get logged.": "architecture",
    "Correct numbers now, charts later.": "priority",
    "The payout bug outranks the redesign.": "priority",
    "you can reach the printer at 192.168.4.20": "value",
    "the build farm compiles with gcc 14.2": "value",
}
NOT_SAID = (
    "rename the variable foo_bar to baz_qux",
    "add a test for parse_date in tests/test_dates.py",
    "what comes first, the migration or the deploy?",
    'explain what "don\'t add a dependency" means here',
    "my boss said we should use Java, funny right?",
    "let's see",
    "thanks, that works",
    "Suppose we skip the cache. What would break?",
    "A colleague told me never to use eval. Why?",
    "haha sure, let's store the passwords in a spreadsheet",
    "I'd expect this to return 3 but it returns 4.",
    "the page takes 8 seconds to load on port 8080",
    "Add a button that lets the user skip the intro",
    "the wrong icon is shown after logout, please fix",
    "",
    "   \n\n",
    "/compact keep the decisions",
)


@pytest.mark.parametrize(("prompt", "label"), SAID.items())
def test_a_settled_thing_is_heard(prompt: str, label: str) -> None:
    assert [found.label for found in scan(prompt)] == [label]


@pytest.mark.parametrize("prompt", NOT_SAID)
def test_plain_tasks_and_questions_are_not(prompt: str) -> None:
    assert scan(prompt) == []


def test_each_sentence_is_kept_as_it_was_typed() -> None:
    found = scan("Hi! Let's go with SQLite.\nThe staging branch is release/7. Then run the tests?")
    assert [(item.label, item.text) for item in found] == [
        ("decision", "Let's go with SQLite."),
        ("value", "The staging branch is release/7."),
    ]


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nlet's go with polling\n```",
        "> no, I meant the other one",
        "    # we should never do this",
        "2026-11-15T10:00:00Z let's go with the fallback",
        "a81f2c0 go with sha256 for cache keys",
        "Traceback (most recent call last):",
        'He wrote "skip that, go with plan B"',
        "E/SyncAdapter: must use version 5.2.0",
        "src/sched.rs:77:13: never borrow twice",
        "//! All modules always go through the gateway",
        "FAILED test_tax.py::test_sum - use cents, not euros",
        '"""\nlet\'s go with the quick fix\n"""',
    ],
)
def test_code_quotes_and_logs_do_not_speak(pasted: str) -> None:
    assert scan(f"look at this:\n{pasted}") == []


def test_a_name_in_quotes_is_a_name() -> None:
    assert list(sentences('the flag is "checkout_v3"')) == ["the flag is checkout_v3"]


def test_a_row_says_where_it_fits() -> None:
    rules = Vocabulary(
        {"openers": frozenset(["and"]), "common": frozenset(), "go": frozenset(["go", "walk"])}
    ).rules(
        """
        ^ we @go ~far * $
        use .. =id !! if ; maybe
        """
    )

    def fits(text: str) -> bool:
        return rules.fit(text.split(), frozenset(text.split()))

    assert fits("today , we go home")
    assert fits("rest and we walk home , later")
    assert not fits("today we go home")  # no clause begins there
    assert not fits("we go far")
    assert not fits("we go home today")
    assert fits("use the good old parse_row")
    assert not fits("use , then parse_row")
    assert not fits("use parse_row if needed")


@given(st.text(max_size=400))
def test_no_prompt_breaks_it(prompt: str) -> None:
    scan(prompt)


def test_a_huge_prompt_is_read_at_both_ends() -> None:
    prompt = "Let's go with SQLite.\n" + "x " * 500_000 + "\nwe should never store raw card numbers"
    assert [found.label for found in scan(prompt)] == ["decision", "architecture"]


def test_every_language_has_its_parts() -> None:
    from importlib import import_module

    for name in LANGUAGES:
        module = import_module(f"claude_memory.notes.rules.{name}")
        labels = {"correction", "decision", "architecture", "priority", "value"}
        assert set(module.RULES) == set(module.UNLESS) == set(module.FIRM) == labels
        moods = [getattr(module, name) for name in MOODS]
        rows = [row for rules in (*moods, *module.RULES.values()) for row in rules.rows()]
        assert rows
        assert [row for row in rows if row != row.lower()] == []
        assert {"openers", "asking", "personal", "speaking", "common"} <= set(module.FAMILIES)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("use token ghp_" + "a1B2c3D4e" * 4 + " for now", "a1B2c3D4"),
        ("the password is hunter22! ok", "hunter22!"),
        ("connect to postgres://app:s3cr3t@db/x", "s3cr3t"),
        ("key AKIA" + "ABCDEFGH12345678", "ABCDEFGH12345678"),
        ("Authorization: Bearer q7cdef0123456789xyz", "q7cdef0123456789xyz"),
    ],
)
def test_what_a_hook_writes_is_cut_by_the_rules_of_the_store(text: str, secret: str) -> None:
    assert secret not in redact_short(text)
    assert redact_short(text) == redact(text).text


def test_plain_values_are_not_cut() -> None:
    for text in (
        "the branch is feature/ledger-split",
        "timeout is 12 seconds",
        "s3://osprey-corpora/clean/2026-10/",
    ):
        assert redact_short(text) == text
