"""How messages are matched, how times are said, how a conversation is resumed and drawn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from textual.strip import Strip
from textual.widgets import OptionList, RichLog

from claude_memory.memory import Memory
from claude_memory.model import ProjectId, SessionId
from claude_memory.search import excerpts
from claude_memory.search.conversations import Quote, Recalled, resume, together
from claude_memory.search.excerpts import Wording, match, quote
from claude_memory.store.model import Conversation, Message
from claude_memory.surfaces.tui.screen import MARK, RecallScreen
from claude_memory.text.times import ago

NOW = datetime(2026, 11, 15, 14, 30, tzinfo=timezone(timedelta(hours=2)))
COUNTS = {"connection": 50, "refused": 20, "error": 400, "the": 900, "in": 900, "pool": 10, "test": 300}


def asked(text: str) -> Wording:
    return excerpts.question(text, 1000, COUNTS)


def talk(**changes: str) -> Conversation:
    values = {
        "session": "0199aa",
        "agent": "claude-code",
        "cwd": "/home/dev/shop",
        "title": "A title",
        **changes,
    }
    return Conversation(
        number=1, session=SessionId(values["session"]), agent=values["agent"], project=ProjectId("p"),
        cwd=values["cwd"], branch="main", first=NOW, last=NOW, messages=3, title=values["title"],
        parent=values.get("parent", ""),
    )  # fmt: skip


# --- matching


def test_the_very_line_comes_before_a_longer_one_before_words_before_some_words() -> None:
    question = asked("pytest tests/test_pool.py -q")
    texts = [
        "pytest tests/test_pool.py -q\ndescription: run it",
        "cd src && pytest tests/test_pool.py -q --maxfail 3",
        "pytest said that tests/other.py and test_pool.py are too quiet without -q",
        "pytest runs",
        "nothing of this kind",
    ]
    scores = [match(question, text) for text in texts]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert (scores[0], scores[-1]) == (1.0, 0.0)


def test_quotation_marks_and_broken_lines_do_not_hide_a_phrase() -> None:
    question = asked('psql -c "select 1 from pool"')
    assert match(question, 'command: ["bash", "-lc", "psql -c \\"select 1 from pool\\""]') >= 0.95
    assert match(asked("connection refused in pool"), "connection refused\n  in pool") >= 0.95


def test_a_short_phrase_does_not_begin_within_a_word() -> None:
    question = asked("test in")
    assert match(question, "the latest infrastructure") < 0.5
    assert match(question, "ran the test in place") >= 0.95


def test_rare_words_tell_more_than_common_ones_and_function_words_next_to_nothing() -> None:
    question = asked("the error in pool")
    assert match(question, "pool") > match(question, "error") > match(question, "the in")


def test_tool_output_that_has_the_words_by_chance_stands_behind_what_was_said() -> None:
    question = asked("connection pool")
    text = "a pool, and later a connection"
    assert match(question, text, "user") > match(question, text, "result")


def test_a_word_stands_for_the_one_it_begins() -> None:
    question = excerpts.question("connec", 1000, {}, {"connection": "connec"})
    assert match(question, "a connection") > 0
    assert question.spans("a connection") == [(2, 12)]


def test_a_quote_shows_what_was_found_even_in_a_very_long_line() -> None:
    question = asked("connection refused")
    assert quote(question, "first line\nError: connection refused\nlast") == "Error: connection refused"
    long = quote(question, "x " * 5000 + "connection refused" + " y" * 5000)
    assert "connection refused" in long
    assert len(long) <= excerpts.QUOTE_WIDTH + 1


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_question_and_no_text_make_it_fail(question: str, text: str) -> None:
    taken = excerpts.question(question, 10, {})
    assert 0.0 <= match(taken, text) <= 1.0
    quote(taken, text)
    for start, end in taken.spans(text):
        assert 0 <= start < end <= len(text)


def test_several_fair_passages_outweigh_one_good_one_but_five_of_them_no_phrase() -> None:
    assert together([0.8, 0.8]) > together([0.85])
    assert together([excerpts.WORDS_AT_MOST] * 5) < together([excerpts.PHRASE])


# --- saying and resuming


@pytest.mark.parametrize(
    ("back", "said"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=3), "3 hours ago"),
        (timedelta(hours=15), "yesterday"),
        (timedelta(days=1), "yesterday"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=15), "2 weeks ago"),
        (timedelta(days=70), "2 months ago"),
        (timedelta(days=800), "2 years ago"),
        (timedelta(days=-3), "2026-11-18"),
    ],
)
def test_times_are_said_as_people_say_them(back: timedelta, said: str) -> None:
    assert ago((NOW - back).astimezone(UTC), now=NOW) == said


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("claude-code", "claude --resume 0199aa"),
        ("codex", "codex resume 0199aa"),
        ("opencode", "opencode --session 0199aa"),
        ("factory", "droid --resume 0199aa"),
    ],
)
def test_each_agent_resumes_in_its_own_way_in_the_right_folder(agent: str, command: str) -> None:
    how = resume(talk(agent=agent, cwd="/home/dev/my shop"))
    assert how is not None
    assert how.line == f"cd '/home/dev/my shop' && {command}"


def test_a_subagents_work_goes_on_in_the_session_it_was_done_for() -> None:
    how = resume(talk(session="agent-7", parent="0199aa"))
    assert how is not None
    assert how.arguments == ("claude", "--resume", "0199aa")


@pytest.mark.parametrize("session", ["--dangerously-skip-permissions", "a b", "$(id)", "../x", ""])
def test_an_id_that_could_be_something_else_is_not_resumed(session: str) -> None:
    assert resume(talk(session=session)) is None


def test_an_agent_without_a_command_is_not_resumed() -> None:
    assert resume(talk(agent="cursor")) is None


# --- drawing


@dataclass
class History:
    """A memory of one conversation of one message, which every question finds."""

    text: str
    role: str
    title: str

    def recall(self, query: str, **_: Any) -> list[Recalled]:
        return [Recalled(talk(title=self.title), 1.0, (Quote(1, self.role, NOW, self.text, 1.0),), (1,))]

    @property
    def conversations(self) -> Any:
        return SimpleNamespace(asked=asked, resume=resume)

    @property
    def archive(self) -> Any:
        message = Message(1, 1, 1, self.role, NOW, self.text)
        return SimpleNamespace(agents=lambda: ["claude-code"], messages=lambda *_, **__: [message])


def drawn(
    text: str, question: str, *, role: str = "assistant", title: str = "A title"
) -> tuple[Text, list[Strip]]:
    """What the screen shows: the result on the left, and the lines of its conversation on the right."""

    async def shown() -> tuple[Text, list[Strip]]:
        screen = RecallScreen(cast(Memory, History(text, role, title)), question)
        async with screen.run_test(size=(90, 60)) as pilot:
            await screen.workers.wait_for_complete()
            await pilot.pause()
            result = screen.query_one("#results", OptionList).get_option_at_index(0).prompt
            log = screen.query_one("#conversation", RichLog)
            assert isinstance(result, Text)
            assert all(line.cell_length <= log.scrollable_content_region.width for line in log.lines)
            return result, log.lines

    return asyncio.run(shown())


def test_lines_fit_the_width_and_those_that_were_found_are_marked_without_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = "One line about " + "something else " * 9 + "\nthe connection was refused"
    lines = [line.text.rstrip() for line in drawn(text, "connection refused")[1]]
    assert lines[4].startswith(f"{MARK}1 assistant")
    assert lines[5].startswith("  One line about")
    assert len(lines) > 8  # it is wrapped, not cut
    assert [line for line in lines[5:] if line.startswith(MARK)] == [f"{MARK}the connection was refused"]


def test_long_tool_output_is_opened_where_it_was_found() -> None:
    text = "\n".join([*(f"line {number}" for number in range(500)), "connection refused", "after"])
    lines = [line.text.rstrip() for line in drawn(text, "connection refused", role="result")[1]]
    assert f"{MARK}connection refused" in lines
    assert len(lines) < 30


def test_nothing_said_can_move_the_cursor() -> None:
    result, lines = drawn("pool \x1b[31m red \x9b1m x\x1b]0;y\x07", "pool", title="a\x1b[2Jb")
    shown = result.plain + "".join(line.text for line in lines)
    assert "pool" in shown
    assert not any(sign in shown for sign in "\x1b\x07\x9b")
