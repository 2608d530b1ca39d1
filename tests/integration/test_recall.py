"""What recalling conversations promises: the right one first, within what was asked for, from any agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.integration.histories import ClaudeSession, codex_lines, ordinary, write_lines

from claude_memory.memory import Memory
from claude_memory.model import NewMemory, SearchScope
from claude_memory.search import conversations
from claude_memory.search.conversations import Recalled
from claude_memory.store.model import ConversationFilter
from claude_memory.surfaces.cli.app import run


@pytest.fixture
def history(scratch_home: Path) -> Path:
    """Three sessions with Claude Code in three folders, one with Codex."""
    for name in ("shop", "billing", "mailer"):
        ordinary(name, f"/home/dev/{name}").write(scratch_home)
    write_lines(
        scratch_home / ".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-c.jsonl", codex_lines()
    )
    return scratch_home


@pytest.fixture
def memory(history: Path) -> Iterator[Memory]:
    with Memory.open(history / "memory", history, flags={"embedder": "none"}) as opened:
        opened.import_history(workers=0)
        yield opened


def titles(found: list[Recalled]) -> list[str]:
    return [item.conversation.title for item in found]


def test_the_conversation_that_says_it_comes_first_with_the_passage_that_does(memory: Memory) -> None:
    best, *_ = memory.recall("pytest tests/test_billing.py")
    assert best.conversation.cwd == "/home/dev/billing"
    assert (best.quotes[0].role, best.quotes[0].text) == ("call", "$ pytest tests/test_billing.py")
    assert best.ordinals[0] == best.quotes[0].ordinal


def test_a_conversation_is_listed_once_with_several_passages(memory: Memory) -> None:
    found = memory.recall("coupon")
    assert len(found) == 3
    assert len({item.conversation.session for item in found}) == 3
    assert all(len(item.quotes) > 1 for item in found)


def test_every_agent_is_searched_unless_one_is_named(memory: Memory) -> None:
    assert memory.recall("semicolons")[0].conversation.agent == "codex"
    assert not memory.recall("semicolons", within=ConversationFilter(agent="claude-code"))


def test_a_folder_means_it_and_what_is_below_it(memory: Memory) -> None:
    for folder, count in (("/home/dev", 3), ("/home/dev/mailer", 1), ("/home/dev/mail", 0)):
        assert len(memory.recall("coupon", within=ConversationFilter(folder=folder))) == count, folder


def test_times_bound_what_was_said(memory: Memory) -> None:
    october = datetime(2026, 10, 2, tzinfo=UTC)
    assert not memory.recall("coupon", within=ConversationFilter(since=october))
    assert len(memory.recall("coupon", within=ConversationFilter(until=october))) == 3
    assert not memory.recall("semicolons", within=ConversationFilter(until=october))


def test_without_a_question_the_newest_come_first_and_no_subagents(memory: Memory, history: Path) -> None:
    side = ClaudeSession("side", "/home/dev/shop", agent="a1")
    side.prompt("Look for all coupons").says("Found none.").write(history)
    memory.import_history(workers=0)
    found = memory.recall("")
    assert titles(found)[0] == "The exporter now separates its columns by semicolons"
    assert "agent-a1" not in [item.conversation.session for item in found]
    assert memory.recall("look for all coupons")[0].conversation.session == "agent-a1"


def test_an_unfinished_word_finds_what_it_may_become_and_a_form_finds_others(memory: Memory) -> None:
    assert titles(memory.recall("semic")) == titles(memory.recall("semicolons"))
    assert len(memory.recall("checkouts crashing")) == 3


def test_this_project_stands_ahead_of_equals_unless_all_are_alike(memory: Memory, history: Path) -> None:
    [last] = [item for item in memory.recall("coupon") if item.conversation.cwd == "/home/dev/shop"]
    ranked = conversations.recall(
        memory.store, None, SearchScope(None), "coupon", within=ConversationFilter(), limit=5,
        now=datetime.now(UTC), own=last.conversation.project, thorough=True,
    )  # fmt: skip
    assert ranked[0].conversation.cwd == "/home/dev/shop"


def test_one_project_alone_can_be_asked(memory: Memory) -> None:
    assert memory.recall("coupon", here=True) == []


def test_an_old_phrase_is_found_among_many_newer_messages_with_its_words(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "CANDIDATES", 1)
    question = "The shop cart has no coupon key when it is empty"
    assert memory.recall(question)[0].conversation.cwd == "/home/dev/shop"


def test_a_memory_without_a_message_still_leads_to_its_session(memory: Memory) -> None:
    [shop] = [item for item in memory.recall("") if item.conversation.cwd == "/home/dev/mailer"]
    memory.remember(NewMemory("Zebra stripes were chosen for the banner", session=shop.conversation.session))
    [found] = memory.recall("zebra stripes")
    assert found.conversation.session == shop.conversation.session
    assert found.quotes[0].ordinal == 0


@pytest.mark.parametrize(
    "question",
    ["", " ", '"', "AND OR NOT", "NEAR(", "*", "\x00", "日本語", "🎈", "a" * 10_000, "'; DROP TABLE x"],
)
def test_no_question_makes_it_fail(memory: Memory, question: str) -> None:
    assert isinstance(memory.recall(question), list)


def test_meaning_finds_what_no_word_says(history: Path, memory_home: Path) -> None:
    session = ClaudeSession("auth", "/home/dev/auth")
    session.prompt("People who left the company can still sign in, stop that")
    session.says("Revoked accounts are refused at login now, and their open sessions are ended.").write(
        history
    )
    with Memory.open(memory_home, history) as memory:
        memory.import_history(workers=0)
        memory.embed_pending()
        best = memory.recall("block ex-employees")[0]
    assert best.conversation.cwd == "/home/dev/auth"


# --- the command


@pytest.fixture
def command(
    memory: Memory, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["--home", str(memory.home), "recall", *arguments])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    (memory.home / "config.toml").write_text('embedder = "none"\n')
    (memory.home / "config.toml").chmod(0o600)
    return call


def test_the_list_says_who_when_where_and_what(command: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = command("semicolons", "instead")
    assert code == 0
    assert "Make the exporter write semicolons instead of commas" in out
    assert "ago" in out
    assert "codex, 7 messages, /home/dev/shop on main" in out


def test_programs_get_one_document_with_passages_and_the_command(
    command: Callable[..., tuple[int, str, str]],
) -> None:
    [found] = json.loads(command("semicolons", "--json", "--agent", "codex", "--limit", "1")[1])
    assert found["resume"] == "cd /home/dev/shop && codex resume 0199-codex"
    assert found["passages"][0]["text"] == "Make the exporter write semicolons instead of commas"
    assert {"session", "agent", "cwd", "first", "last", "when", "score"} <= found.keys()


def test_nothing_found_is_no_failure(command: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = command("xylophone", "--json")
    assert (code, json.loads(out)) == (0, [])
    assert "nothing found" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--agent", "nobody"], "is not one of 'claude-code'"), (["--since", "blue"], "cannot read the time")],
)
def test_a_wrong_filter_is_told_in_one_line(
    command: Callable[..., tuple[int, str, str]], arguments: list[str], said: str
) -> None:
    code, _, err = command("coupon", *arguments)
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1
