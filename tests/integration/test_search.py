"""Search through the real store: what a person may rely on, with and without an embedder."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.model import Trust
from claude_memory.search.ranking import INJECTION_THRESHOLD
from claude_memory.search.search import NOTHING

NOTES = {
    "auth": "We decided to sign sessions with JWT; the refresh token lives for thirty days.",
    "deploy": "Deployments go out on Tuesdays through the blue-green pipeline in deploy/release.py.",
    "migrations": "Production schema changes roll forward only; nobody reverses a migration.",
    "naming": "Test files mirror the module they check and end in _test.py.",
    "cache": "The Redis cache is flushed whenever a price list is imported.",
    "日本": "東京リージョンのデータベースは毎晩バックアップされる。",
}


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Memory]:
    """A memory that searches by words only."""
    with Memory.open(tmp_path / "home", tmp_path, flags={"embedder": "none"}) as memory:
        yield memory


@pytest.fixture
def notes(words: Memory) -> Memory:
    words.remember_many([NewMemory(body=body, title=title) for title, body in NOTES.items()])
    return words


@pytest.fixture
def meaning(memory_home: Path, tmp_path: Path) -> Iterator[Memory]:
    """A memory with the real model."""
    with Memory.open(memory_home, tmp_path) as memory:
        memory.remember_many([NewMemory(body=body, title=title) for title, body in NOTES.items()])
        yield memory


def titles(memory: Memory, query: str, **options: object) -> list[str]:
    return [hit.title for hit in memory.search(query, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("how long does the refresh token live?", "auth"),
        ("refreshToken", "auth"),
        ("release.py", "deploy"),
        ("what about migrations", "migrations"),
        ("bucket AND (redis OR", "cache"),
        ("データベース", "日本"),
    ],
)
def test_a_question_in_the_notes_words_finds_the_note(notes: Memory, question: str, title: str) -> None:
    assert titles(notes, question)[0] == title


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("how do we authenticate users", "auth"),
        ("on what weekday do new versions go live", "deploy"),
        ("can I undo a database change in prod", "migrations"),
    ],
)
def test_a_question_in_other_words_finds_the_note(meaning: Memory, question: str, title: str) -> None:
    assert titles(meaning, question)[0] == title


def test_relevance_falls_down_the_list_and_stays_between_0_and_1(meaning: Memory) -> None:
    found = [hit.relevance for hit in meaning.search("how is the refresh token signed?")]
    assert found == sorted(found, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in found)


def test_a_foreign_question_gets_no_confident_answer(meaning: Memory) -> None:
    for foreign in ("What did Caroline paint last summer?", "best pasta recipe with mushrooms"):
        assert meaning.search(foreign, min_relevance=INJECTION_THRESHOLD) == []


def test_a_store_of_one_memory_knows_its_own_subject(memory_home: Path, tmp_path: Path) -> None:
    with Memory.open(memory_home, tmp_path) as memory:
        memory.remember(NewMemory(body=NOTES["auth"]))
        [hit] = memory.search("how long does our JWT refresh token live?")
        assert hit.relevance >= INJECTION_THRESHOLD
        [foreign] = memory.search("what should I cook tonight?")
        assert foreign.relevance < INJECTION_THRESHOLD


def test_min_relevance_allows_silence(notes: Memory) -> None:
    assert notes.search("weather on the moon", min_relevance=0.5) == []


def test_a_longer_list_begins_with_the_shorter_one(notes: Memory) -> None:
    notes.remember_many([NewMemory(body=f"Release {n} deployed the cache for prices.") for n in range(40)])
    question = "deploy the price cache release"
    assert titles(notes, question, limit=10) == titles(notes, question, limit=25)[:10]


def test_neighbouring_turns_help_a_short_reply_to_be_found(words: Memory) -> None:
    when = datetime(2023, 5, 8, tzinfo=UTC)
    turns = ["Ana: Which colour did you paint the kitchen?", "Ben: Turquoise!", "Ana: Lovely."]
    words.remember_many(
        [
            NewMemory(body=turn, session="s1", created_at=when + timedelta(minutes=n))
            for n, turn in enumerate(turns)
        ]
    )
    words.remember(NewMemory(body="Turn on the dishwasher at night.", session="s2", created_at=when))
    assert "Ben: Turquoise!" in titles(words, "what colour is the kitchen painted", limit=2)


def test_a_month_in_the_question_prefers_that_month(words: Memory) -> None:
    for month in (3, 7, 11):
        when = datetime(2023, month, 4, tzinfo=UTC)
        words.remember(NewMemory(body="We visited the lake.", title=f"month {month}", created_at=when))
        words.remember(NewMemory(body=f"Other things {month}.", created_at=when))
    hits = words.search("which lake did we visit in July 2023?")
    assert hits[0].timestamp.month == 7


def test_what_was_replaced_stands_below_what_replaced_it(words: Memory) -> None:
    old = words.remember(
        NewMemory(body="The convention: method names end in _a. Method names, method names.")
    )
    new = words.supersede(old.id, NewMemory(body="Method names end in _b now."))
    found = [hit.id for hit in words.search("convention for method names")]
    assert found == [new.id, old.id]


def test_a_chain_of_replacements_reads_from_the_newest_to_the_oldest(words: Memory) -> None:
    first = words.remember(NewMemory(body="Indent with tabs. Indent, indent, indent with tabs."))
    second = words.supersede(first.id, NewMemory(body="Indent with two spaces, we indent so."))
    third = words.supersede(second.id, NewMemory(body="From now on: four spaces to indent each level."))
    assert [hit.id for hit in words.search("how do we indent")] == [third.id, second.id, first.id]


def test_several_that_one_memory_replaced_stand_below_it(words: Memory) -> None:
    first = words.remember(NewMemory(body="Indent with tabs. We indent all that can be indented."))
    twin = words.remember(NewMemory(body="INDENT with tabs. We indent all that can be indented"))
    new = words.supersede(first.id, NewMemory(body="From now on four spaces are used."))
    found = [hit.id for hit in words.search("how do we indent")]
    assert found[0] == new.id
    assert set(found[1:]) == {first.id, twin.id}


def test_a_huge_memory_leaves_room_for_others(words: Memory) -> None:
    words.remember(NewMemory(body="The token expired again in the log. " * 8000))
    words.remember_many([NewMemory(body=f"Note {n}: mind the token.") for n in range(6)])
    assert len(words.search("token", limit=5)) == 5


def test_forgotten_memories_are_not_found(notes: Memory) -> None:
    [hit] = notes.search("refresh token", limit=1)
    notes.forget([hit.id])
    assert hit.id not in [other.id for other in notes.search("refresh token")]


def test_identical_texts_are_shown_once(words: Memory) -> None:
    words.remember_many([NewMemory(body="Run the linter  before pushing.") for _ in range(3)])
    words.remember(NewMemory(body="run the linter before pushing."))
    assert len(words.search("linter pushing")) == 1


def test_near_twins_are_both_found(words: Memory) -> None:
    words.remember_many([NewMemory(body=f"The staging port is {port}.") for port in (8080, 8081)])
    assert len(words.search("staging port")) == 2


def test_a_filter_holds_for_every_hit(notes: Memory) -> None:
    notes.remember(NewMemory(body="The refresh token is a decision.", kind="decision", session="s9"))
    assert [hit.kind for hit in notes.search("refresh token", kinds=["decision"])] == ["decision"]
    assert [hit.session for hit in notes.search("refresh token", session="s9")] == ["s9"]


def test_a_snippet_shows_the_words_asked_for(words: Memory) -> None:
    words.remember(NewMemory(body="Chatter. " * 100 + "The rollback needs two people. " + "Chatter. " * 100))
    [hit] = words.search("who does a rollback")
    assert "rollback needs two people" in hit.snippet
    assert len(hit.snippet) <= 200


def test_the_end_of_a_long_memory_is_found(words: Memory) -> None:
    words.remember(NewMemory(body="filler words here " * 2000 + "and finally the xylophone"))
    [hit] = words.search("xylophone")
    assert "xylophone" in hit.snippet


def test_why_tells_words_meaning_and_place(meaning: Memory) -> None:
    [hit] = meaning.search("how long does the refresh token live", limit=1)
    told = meaning.why(hit.id, "how long does the refresh token live")
    assert told.numbers["rank"] == 1
    assert told.numbers["relevance"] == pytest.approx(hit.relevance, abs=1e-3)
    assert told.numbers["score"] == pytest.approx(hit.score, abs=1e-3)
    assert any("refresh, token" in line or "token, refresh" in line for line in told.words)
    assert any("in meaning" in line for line in told.words)


def test_why_says_when_words_alone_were_compared(notes: Memory) -> None:
    [hit] = notes.search("refresh token", limit=1)
    assert any("words only" in line for line in notes.why(hit.id, "refresh token").words)


def test_why_says_that_a_memory_is_no_answer(notes: Memory) -> None:
    [cache] = notes.search("redis", limit=1)
    told = notes.why(cache.id, "naming of test files")
    assert any("none" in line or "not among" in line for line in told.words)


def test_an_unavailable_model_leaves_search_by_words(notes: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from claude_memory.errors import EmbedderUnavailable

    class Broken:
        model = "broken"
        dimensions = 384

        def embed(self, texts: object, *, query: bool = False) -> list[bytes]:
            raise EmbedderUnavailable("the endpoint does not answer")

    monkeypatch.setattr(notes, "_embedder", Broken())
    assert titles(notes, "refresh token")[0] == "auth"


def test_search_by_words_loads_nothing_heavy(notes: Memory, tmp_path: Path) -> None:
    notes.close()
    program = (
        "import sys; from claude_memory import Memory\n"
        f"with Memory.open({str(notes.home)!r}, {str(tmp_path)!r}, flags={{'embedder': 'none'}}) as memory:\n"
        "    assert memory.search('refresh token')[0].title == 'auth'\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'typer', 'rich', 'claude_memory.embed.local'}\n"
        "print(*(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


PIECES = [
    "AND", "OR", "NOT", "NEAR(", "NEAR/2", ")", "(", '"', "'", "''", "*", "^", ":", "own:", "-", "--", ";",
    "DROP TABLE memories;", "\\", "/", "%", "_", "[", "]", "{", "}", "{own near}:", "$1", "?", "?1", ":name",
    "@x", "C++", "C#", "東京", "データ", "사용자", "مرحبا", "שלום", "🙂", "👩‍👩‍👧", "\u202e", "\u200b", "\x00", "\x1b[31m",
    "\ud800", "\udfff", "a\u0301", "ﬁ", "½", "\n", "\t", "\r\n", "the", "of", "who", "token", "refresh", "0", "1e309",
    "-1", "NaN", "None", "null", "<script>", "</memory>", "é", "ß", "İ", "ǅ", "\U0010ffff", "x" * 3000, " ",
]  # fmt: skip


def hostile(count: int) -> Iterator[str]:
    yield from [
        "",
        " ",
        "\n\t",
        "\x00",
        "\ud800",
        '"',
        "*",
        "AND",
        "the of",
        "x" * 10_240,
        "東" * 5000,
        "a " * 5000,
    ]
    dice = random.Random(11)
    for _ in range(count):
        mark = dice.choice(["", " ", " ", '"', "*"])
        yield mark.join(dice.choices(PIECES, k=dice.randint(1, 12)))


def test_no_query_is_an_error(notes: Memory) -> None:
    asked = list(hostile(1000))
    assert all(isinstance(notes.search(query, limit=3), list) for query in asked)
    assert titles(notes, "refresh token")[0] == "auth"


def test_no_query_is_an_error_with_the_model_either(meaning: Memory) -> None:
    for query in hostile(60):
        assert isinstance(meaning.search(query, limit=3), list)


def test_an_empty_question_has_no_answer(notes: Memory) -> None:
    assert notes.search("") == notes.search(" \n") == notes.search("token", limit=0) == []


def test_an_empty_store_has_no_answer(words: Memory) -> None:
    assert words.search("anything") == []


def test_a_question_that_meets_what_was_replaced_is_answered_by_what_took_its_place(meaning: Memory) -> None:
    [old] = [hit.id for hit in meaning.search("JWT refresh token", limit=1)]
    new = meaning.supersede(old, NewMemory("Logins are opaque strings kept by the server."))
    first, second, *others = meaning.search("JWT refresh token", limit=4)
    assert (first.id, second.id) == (new.id, old)
    assert first.relevance >= second.relevance > 0.8
    assert all(hit.relevance < 0.5 for hit in others)


def test_a_chain_of_replacements_stands_in_order_newest_first(words: Memory) -> None:
    one = words.remember(NewMemory("the port of the zebra service is 7001"))
    two = words.supersede(one.id, NewMemory("it listens on 7002"))
    three = words.supersede(two.id, NewMemory("moved to 7003"))
    words.remember(NewMemory("zebra crossings are painted white"))
    assert [hit.id for hit in words.search("port of the zebra service")][:3] == [three.id, two.id, one.id]


@pytest.mark.parametrize(
    "narrowed",
    [
        {"kinds": ["decision"]},
        {"topics": ["office"]},
        {"files": ["office/plants.md"]},
        {"since": datetime(2026, 6, 1, tzinfo=UTC)},
        {"session": "s-office"},
    ],
)
def test_relevance_means_the_same_with_a_filter(meaning: Memory, narrowed: dict[str, object]) -> None:
    decision = meaning.remember(
        NewMemory(
            body="We decided that the refreshments live in the blue office kitchen.",
            kind="decision",
            topics=["office"],
            files=["office/plants.md"],
            session="s-office",
        )
    )
    old = datetime(2026, 1, 1, tzinfo=UTC)
    meaning.remember(NewMemory(body="Refresh tokens live for thirty days.", created_at=old, kind="fact"))
    question = "how long does a refresh token live?"
    whole = {hit.id: hit.relevance for hit in meaning.search(question, min_relevance=0.0)}
    found = {hit.id: hit.relevance for hit in meaning.search(question, min_relevance=0.0, **narrowed)}  # type: ignore[arg-type]
    assert found[decision.id] == pytest.approx(whole[decision.id], abs=0.005)
    assert whole[decision.id] < 0.5  # by itself it would be the best of its kind, and sure of it


def test_the_list_ends_where_relevance_falls_to_nothing(meaning: Memory) -> None:
    question = "how long does the refresh token live?"
    found = meaning.search(question)
    assert found[0].title == "auth"
    assert all(hit.relevance > NOTHING for hit in found)
    assert len(meaning.search(question, min_relevance=0.0)) == len(NOTES)


def test_where_nothing_is_relevant_a_few_show_what_there_is(meaning: Memory) -> None:
    assert len(meaning.search("best pasta recipe with mushrooms")) in (1, 2, 3)


ASKED = "Which mailing list gets the nightly refund report?"
OLD = "The nightly refund report is sent to the finance mailing list; it lists what was paid back that day."
NEW = "The nightly refund report moved to the treasury mailing list after the teams were split."


def stated(memory: Memory, *, trust: Trust = Trust.USER, body: str = NEW) -> None:
    start = datetime.now(UTC) - timedelta(days=60)
    memory.remember_many([NewMemory(body=OLD, kind="fact", trust=Trust.USER, created_at=start)])
    memory.remember_many(
        [NewMemory(body=body, kind="fact", trust=trust, created_at=start + timedelta(days=30))]
    )


def first_body(memory: Memory, query: str) -> str:
    [hit, *_] = memory.search(query)
    return memory.show([hit.id])[0].body


def test_of_two_statements_on_one_subject_the_newer_comes_first(meaning: Memory) -> None:
    stated(meaning)
    hits = meaning.search(ASKED)
    assert [item.body for item in meaning.show([hit.id for hit in hits[:2]])] == [NEW, OLD]
    assert hits[0].relevance >= hits[1].relevance > 0.5
    told = meaning.why(hits[0].id, ASKED)
    assert "stands before an older memory on the same subject" in told.words
    assert f"({hits[0].relevance:.2f})" in " ".join(told.words)  # the same verdict in words


def test_what_an_agent_says_does_not_come_before_a_person_s_word(meaning: Memory) -> None:
    stated(meaning, trust=Trust.AGENT)
    assert first_body(meaning, ASKED) == OLD


def test_a_newer_statement_about_something_else_stays_behind(meaning: Memory) -> None:
    stated(meaning, body="Refund requests above a thousand euros need the approval of two people.")
    assert first_body(meaning, ASKED) == OLD


def test_words_alone_are_never_sure(words: Memory) -> None:
    noted = [f"note {number} about the harbour crane" + ", ok" * (number % 10 == 0) for number in range(300)]
    words.remember_many([NewMemory(body=body) for body in noted])
    assert max(hit.relevance for hit in words.search("note 17 about the harbour crane")) < 0.8
    assert max(hit.relevance for hit in words.search("ok, let's do this")) < 0.3  # its words tell little


def test_one_slice_may_hold_the_words_and_another_the_meaning(meaning: Memory) -> None:
    filler = "The meeting went on about the summer party, the buffet and the band. " * 26
    split = f"Retries wait longer after each refused call to the payment partner. {filler}\nTicket ZQX-4411."
    meaning.remember_many(
        [
            NewMemory(body=split, title=""),
            NewMemory(body=f"{filler}\nTicket ZQX-4412 and ZQX-4410 are about chairs.", title=""),
        ]
    )
    assert first_body(meaning, "ZQX-4411 backoff when the payment provider rejects us").startswith("Retries")
