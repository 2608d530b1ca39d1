"""What a person decides, corrects and prefers is kept; what they ask, joke, quote or put off is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from claude_memory.distil.session import distil
from claude_memory.distil.turns import AGENT, PERSON, Origin, Turn
from claude_memory.model import Kind, ProjectId, SessionId, StoredMemory, Trust

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ORIGIN = Origin(SessionId("s1"), ProjectId("shop"), "/srv/shop")
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


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Shall I push?", "yes, push it to the fork"),
        ("Shall I open a pull request against main?", "yes, call it 'Fix login' please"),
        ("Should I run the whole suite or only the unit tests?", "only unit for now"),
        ("Do you want to see the diff?", "only the part in views.py"),
        ("Ready to deploy. Go?", "wait five minutes, Tom is still testing"),
        ("Which Python version do you run?", "3.11.4 on this box"),
        ("Could you paste the error?", "it prints 'handshake timeout' and exits with 2"),
        ("Is the database reachable from your machine?", "yes, port 5432 is open and psql works"),
        ("How often does it happen?", "every third request, only under load"),
        ("Are you on the VPN?", "yes, always when I work from home"),
        ("What should I do next?", "let's tackle the login bug, ticket 412"),
    ],
)
def test_leave_for_a_step_and_how_things_are_decide_nothing(question: str, answer: str) -> None:
    assert kinds("the login fails", question, answer) == []


@pytest.mark.parametrize(
    "remark",
    [
        "yeah those always annoyed me",
        "great work today, we never got that far before",
        "on my board it stays dark",
        "30 seconds, nice. lunch now, back at 2",
        "deployed it, no errors so far",
        "only the css left for today",
        "the demo went well, they loved it!",
        "I'm off, see you on thursday",
        "always fun to see old code go",
        "our cto said we should use microservices, what do you think",
    ],
)
def test_moods_and_news_leave_nothing(remark: str) -> None:
    assert kinds("add a timeout", DID, remark) == []


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ("I'd use a bloom filter in front of the lookup.", "ok, bloom filter"),
        ("Base64 has + and /. I'd use Crockford base32.", "crockford then"),
        ("Copying is out. A flag on the partition would do.", "flag is good"),
        ("My proposal: nightly dump, hourly log shipping, both to one bucket.", "agreed, do it like that"),
        ("Yes: a step that fails if there are two heads.", "do that, in the lint job"),
        ("Protobuf is smaller, JSON is easier to debug.", "json. debuggability wins for us"),
        ("Either we fail hard or we log and go on.", "fail hard. silent errors cost us a week"),
        ("I could double the price each time.", "nah, feels mean. flat 8 coins every reroll"),
        ("Watchdog library or polling?", "watchdog"),
        ("What do we do with users who never confirmed?", "delete them after 30 days"),
    ],
)
def test_taking_what_the_agent_named_is_a_decision(told: str, reply: str) -> None:
    assert kinds("how should it work?", told, reply) == [Kind.DECISION]


@pytest.mark.parametrize(
    "rule",
    [
        "retention: 7 days hot, 90 days in s3",
        "for the record: we don't support Internet Explorer any more",
        "team decision: every endpoint gets a description",
        "we send one mail digest at 7 in the morning",
        "our target is AA, not AAA",
        "a snapshot with a tag is never pruned",
        "the outcome is full precision inside and rounding once, at the booking",
    ],
)
def test_a_rule_that_goes_about_nothing_just_done_is_a_decision(rule: str) -> None:
    assert kinds("hello", "The tests pass.", rule) == [Kind.DECISION]


@pytest.mark.parametrize(
    ("did", "reply"),
    [
        ("I rounded the amounts to two decimals.", "yen has no decimals, round by currency"),
        ("I sort the list by name.", "must be sorted by date, newest first"),
        ("I translated it as 'account'.", "in our context it's 'ledger'"),
        ("I'll add a `type` column to the orders table.", "there is one already, it's called kind"),
        ("I set max_connections to 500.", "500 will kill the box, it has 4 GB"),
        ("I switched the tests to jest.", "why jest? we use vitest in this repo"),
        ("I put the plot in kelvin.", "celsius please, the group reads celsius"),
        (
            "The worker now retries five times. I set it in the config.",
            "three. after that someone has to look",
        ),
        (
            "The test may be outdated, I would change the expected value.",
            "the test is right, the code is not",
        ),
    ],
)
def test_a_fact_against_what_was_done_is_a_correction(did: str, reply: str) -> None:
    assert kinds("do it", did, reply) == [Kind.CORRECTION]


@pytest.mark.parametrize(
    "wish",
    [
        "could you always write the tests first? that's how I work",
        "one general thing: never run apply yourself",
        "I prefer native elements over roles, in everything",
        "please use simple words and short sentences",
        "always give me the command so I can run it myself",
    ],
)
def test_a_wish_may_look_like_a_question_or_a_rule(wish: str) -> None:
    assert kinds("hello", "The tests pass.", wish) == [Kind.PREFERENCE]


def test_a_choice_given_up_later_does_not_stay() -> None:
    [memory] = distilled(
        "how do people get reminded?", "By web push, or by mail.", "lets do web push", "It needs a worker.",
        "oh. scrap push, we send one mail digest instead",
    )  # fmt: skip
    assert memory.title.endswith("we send one mail digest instead")


def test_a_value_set_aside_by_name_is_replaced() -> None:
    found = distilled(
        "late events get lost", "How far should a run look back?", "look back 3 days for late events", "Done.",
        "phones are offline up to a week, so we look back 8 days for late events, not 3",
    )  # fmt: skip
    assert [memory.title for memory in found] == [
        "phones are offline up to a week, so we look back 8 days for late events, not 3"
    ]


def test_a_neighbouring_choice_does_not_replace_another() -> None:
    found = distilled(
        "encrypt it?", "Which cipher do you want?", "AES-256-GCM per chunk, key from a passphrase, scrypt as KDF",
        "Fixed chunks store 41 GiB again.", "scrap fixed sizes, chunk by content, average 1 MiB",
    )  # fmt: skip
    assert [memory.kind for memory in found] == [Kind.DECISION] * 2


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
    assert memory.body == "7 daily, 4 weekly\n\nThe agent had asked: “How many should stay?”"
    assert memory.trust is Trust.USER  # whose answer it is; the agent's words are a quotation
    assert memory.title == "7 daily, 4 weekly"


def test_a_correction_is_the_persons_word_also_with_what_it_corrects() -> None:
    told = "I rounded all amounts to “two decimals”."
    [memory] = distilled("add yen", told, "no, yen has no decimals")
    assert (memory.kind, memory.trust) == (Kind.CORRECTION, Trust.USER)
    assert memory.body.endswith("The agent had said: “I rounded all amounts to ‘two decimals’.”")


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
