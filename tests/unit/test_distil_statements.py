"""What a person decides, corrects and prefers is kept; what they ask, joke, quote or put off is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from claude_memory.distil.session import distil
from claude_memory.distil.turns import AGENT, PERSON, Origin, Turn
from claude_memory.model import Kind, ProjectId, SessionId, StoredMemory, Trust

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ORIGIN = Origin(SessionId("s1"), ProjectId("shop"), "/work/shop")
WHICH = "Two ways: Redis, or a table in Postgres. Which do you want?"
DID = "I set the timeout to 30 seconds and put the helper into `utils.py`."


def talk(*texts: str) -> list[Turn]:
    """A conversation in turns, the person first."""
    return [
        Turn((PERSON, AGENT)[number % 2], f"k{number}", START + timedelta(minutes=number), text, ref={"n": number})
        for number, text in enumerate(texts)
    ]  # fmt: skip


def distilled(*texts: str) -> list[StoredMemory]:
    return list(distil(talk(*texts), ORIGIN).memories)


def kinds(*texts: str) -> list[Kind]:
    return [memory.kind for memory in distilled(*texts)]


@pytest.mark.parametrize(
    "answer",
    [
        "Redis. The table would need a cleanup job",
        "redis it is",
        "then redis please, we have it anyway",
        "yes, Redis, but never for sessions",
        "no, a table hides the load from us",
        "let's go with the Postgres table",
        "Postgres, one less thing to run",
    ],
)
def test_an_answer_to_the_agents_question_is_a_decision(answer: str) -> None:
    assert kinds("we need rate limits", WHICH, answer) == [Kind.DECISION]


@pytest.mark.parametrize(
    "answer",
    [
        "which one is faster?",
        "hmm, not sure",
        "let me think about it",
        "later maybe",
        "not now",
        "ok",
        "yes go",
        "what would Redis cost us?",
        "I'll decide tomorrow",
        "my boss says Redis is overkill",
        'the docs say "always use Redis for counters"',
        "suppose we took Redis, what then",
        "we could sell Redis lol",
    ],
)
def test_what_leaves_the_question_open_is_none(answer: str) -> None:
    assert kinds("we need rate limits", WHICH, answer) == []


@pytest.mark.parametrize(
    "objection",
    [
        "no, 10 seconds, the proxy gives up after 15",
        "you put the helper into utils.py, it belongs in http.py",
        "that's wrong, the timeout is in milliseconds here",
        "the timeout should be 10, not 30",
        "not utils.py, we have http.py for that",
        "use http.py for the helper, utils.py is about to go",
        "30 seconds is too long for a page",
    ],
)
def test_an_objection_to_what_the_agent_did_is_a_correction(objection: str) -> None:
    assert kinds("add a timeout", DID, objection) == [Kind.CORRECTION]


@pytest.mark.parametrize(
    "reply",
    [
        "thanks",
        "nice, it works",
        "ok next one",
        "does the timeout work with retries?",
        "it still fails on my machine",
    ],
)
def test_a_reaction_is_no_correction(reply: str) -> None:
    assert kinds("add a timeout", DID, reply) == []


@pytest.mark.parametrize(
    "wish",
    [
        "I prefer short answers, no bullet lists",
        "next time run the linter before you show me code",
        "when you report times give me always milliseconds",
        "I hate emojis in commit messages, never write any",
        "please always explain commands before you run them",
    ],
)
def test_how_a_person_wants_to_work_is_a_preference(wish: str) -> None:
    assert kinds("add a timeout", DID, wish) == [Kind.PREFERENCE]


@pytest.mark.parametrize(
    "rule",
    [
        "from now on every endpoint gets a timeout",
        "all times are stored in UTC, never local time, that's our convention",
        "we stay on Python 3.11 until the cluster is updated",
        "decided: no ORM in this service",
    ],
)
def test_a_rule_needs_no_question(rule: str) -> None:
    assert Kind.DECISION in kinds("hello", "Hello.", rule) or Kind.CORRECTION in kinds(
        "hello", "Hello.", rule
    )


@pytest.mark.parametrize(
    "task",
    [
        "add a `make dist` target that builds the tarball",
        "rename Foo to Bar in src/foo.py",
        "show me the failing test and tell me why",
        "run the tests again please",
        "we use Postgres 15 and get this error on startup",
    ],
)
def test_a_task_is_no_decision(task: str) -> None:
    assert kinds(task) == []
    assert kinds("hello", "Hello, what is there to do today?", task) == []


def test_an_offer_stays_open_while_the_person_asks_about_it() -> None:
    [memory] = distilled(
        "cookies get lost", "`lax` would fix that.", "is lax less safe?", "Slightly.", "fine, make it lax"
    )
    assert memory.kind is Kind.DECISION


def test_of_a_choice_that_was_changed_only_the_last_form_is_kept() -> None:
    turns = talk(
        "to php 8.3", "In one jump, or step by step?", "step by step, safer", "Step by step then.",
        "thinking about it again, one jump, step by step takes too long",
    )  # fmt: skip
    found = distil(turns, ORIGIN)
    assert [memory.provenance["evidence"] for memory in found.memories] == [[{"n": 4}]]
    [(old, new)] = found.withdrawn.items()
    assert new == found.memories[0].id
    assert old == distil(turns[:3], ORIGIN).memories[0].id


def test_a_memory_is_the_persons_own_words_and_names_its_turn() -> None:
    [memory] = distilled(
        "hello", "Hello.", "from now on all amounts are stored as integer cents in the ledger"
    )
    assert memory.body == "from now on all amounts are stored as integer cents in the ledger"
    assert memory.trust is Trust.USER
    assert memory.provenance["evidence"] == [{"n": 2}]
    assert (memory.session, memory.project) == ("s1", "shop")


def test_an_answer_too_short_to_stand_alone_says_what_it_answers() -> None:
    [memory] = distilled("prune the backups", "How many should stay?", "7 daily, 4 weekly")
    assert "How many should stay?" in memory.body
    assert memory.trust is Trust.AGENT  # an agent's words stand in it
    assert memory.title == "7 daily, 4 weekly"


def test_words_from_a_history_that_came_from_elsewhere_stay_what_they_are() -> None:
    origin = Origin(SessionId("s1"), ProjectId("shop"), person=Trust.IMPORTED, agent=Trust.IMPORTED)
    found = distil(
        talk("prune", "How many should stay?", "7 daily, 4 weekly", "OK.", "from now on use zstd"), origin
    )
    assert {memory.trust for memory in found.memories} == {Trust.IMPORTED}


def test_distilling_again_or_more_of_it_changes_no_id() -> None:
    turns = talk(
        "add a timeout", DID, "no, 10 seconds, the proxy gives up after 15", "Done.", "from now on use zstd"
    )
    first = [memory.id for memory in distil(turns[:3], ORIGIN).memories]
    again = [memory.id for memory in distil(turns, ORIGIN).memories]
    assert again[: len(first)] == first
    assert len(again) == len(set(again)) == 2


def test_quoted_and_pasted_text_is_nobodys_wish() -> None:
    pasted = "look at this:\n```\n# always use tabs, never spaces\n```\n> we decided to use Rust\nwhat does it mean?"
    assert kinds("hello", "Hello.", pasted) == []


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "?", "no", "🎉", "“”", "a" * 50_000, "no. " * 5_000, "\0\ufffd"]
)
def test_any_text_is_read(text: str) -> None:
    distilled("hello", DID, text)
