"""The screen of `recall`, driven key by key: what is typed is found, shown, narrowed and resumed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.histories import codex_lines, ordinary, write_lines
from textual.pilot import Pilot
from textual.widgets import Input, RichLog, Static

from claude_memory.errors import StoreFault
from claude_memory.memory import Memory
from claude_memory.store.model import Conversation, ConversationFilter
from claude_memory.surfaces.tui.screen import RecallScreen

Play = Callable[[RecallScreen, Pilot[Any]], Awaitable[None]]


@pytest.fixture
def memory(scratch_home: Path) -> Iterator[Memory]:
    for name in ("shop", "billing", "mailer"):
        ordinary(name, f"/home/dev/{name}").write(scratch_home)
    write_lines(
        scratch_home / ".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-c.jsonl", codex_lines()
    )
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as opened:
        opened.import_history(workers=0)
        yield opened


def play(screen: RecallScreen, steps: Play, size: tuple[int, int] = (80, 24)) -> Conversation | None:
    """Run the screen without a terminal; returns what it ended with."""

    async def whole() -> None:
        async with screen.run_test(size=size) as pilot:
            await settled(screen, pilot)
            await steps(screen, pilot)

    asyncio.run(whole())
    return screen.return_value


async def settled(screen: RecallScreen, pilot: Pilot[Any]) -> None:
    """Wait until the last question is fully answered and shown."""
    for _ in range(400):
        await pilot.pause(0.02)
        answer = screen._answer
        if answer.final and answer.query == screen._query and screen._is_current:
            await pilot.pause()
            return
    raise AssertionError("no answer came")


async def ask(screen: RecallScreen, pilot: Pilot[Any], text: str) -> None:
    screen.query_one("#asked", Input).value = text
    await pilot.pause(0.06)
    await settled(screen, pilot)


def said(screen: RecallScreen, part: str) -> str:
    return str(screen.query_one(part, Static).render())


def read(screen: RecallScreen) -> str:
    return "\n".join(line.text.rstrip() for line in screen.query_one("#conversation", RichLog).lines)


def chosen(screen: RecallScreen) -> str:
    assert screen._chosen is not None
    return screen._chosen.conversation.cwd


def test_typing_searches_and_shows_the_conversation_at_the_place(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        assert said(screen, "#standing").startswith("4 conversations")
        await pilot.press(*"semic")
        await pilot.pause(0.06)
        await settled(screen, pilot)
        assert said(screen, "#standing").startswith("1 conversation ")
        assert "▸ Make the exporter write semicolons" in read(screen)
        assert said(screen, "#command") == "⏎ codex resume 0199-codex in /home/dev/shop"

    play(RecallScreen(memory), steps)


def test_arrows_choose_while_one_types_and_enter_ends_with_the_chosen_one(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        first = chosen(screen)
        await pilot.press("down")
        assert chosen(screen) != first
        await pilot.press("up", "up")
        assert chosen(screen) == first
        await pilot.press("down", "enter")

    found = play(RecallScreen(memory, "coupon"), steps)
    assert found is not None
    assert found.agent == "claude-code"


def test_the_folder_and_the_agent_narrow_and_widen(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        assert "1 conversation · /home/dev/mailer" in said(screen, "#standing")
        await pilot.press("ctrl+t")
        await settled(screen, pilot)
        assert "4 conversations · all folders · every agent" in said(screen, "#standing")
        for agent, count in (("claude-code", 3), ("codex", 1), ("every agent", 4)):
            await pilot.press("ctrl+g")
            await settled(screen, pilot)
            assert agent in said(screen, "#standing")
            assert said(screen, "#standing").startswith(f"{count} ")

    play(RecallScreen(memory, "", ConversationFilter(folder="/home/dev/mailer")), steps)


@pytest.mark.parametrize("key", ["escape", "ctrl+c", "ctrl+q"])
def test_it_can_be_left_while_typing(memory: Memory, key: str) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("q", key)
        assert screen._query == "q"

    assert play(RecallScreen(memory), steps) is None


def test_letters_are_keys_outside_the_line(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("tab", "y")
        assert screen.clipboard == screen._answer.recalled[0].conversation.session
        assert "copied" in said(screen, "#standing")
        await pilot.press("slash")
        assert isinstance(screen.focused, Input)
        await pilot.press("tab", "q")

    assert play(RecallScreen(memory), steps) is None


def test_a_question_mark_helps_unless_it_ends_a_question(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        await pilot.pause(0.1)
        assert len(screen.screen_stack) == 2
        await pilot.press("escape")
        await pilot.pause(0.1)
        assert len(screen.screen_stack) == 1
        await ask(screen, pilot, "why")
        await pilot.press("question_mark")
        assert screen.query_one("#asked", Input).value == "why?"

    play(RecallScreen(memory), steps)


def test_an_answer_that_comes_while_the_screen_closes_is_let_go(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        await ask(screen, pilot, "why")
        answer = screen._answer
        await screen.query_one("#results").remove()
        screen._arrived(answer)

    play(RecallScreen(memory), steps)


def test_one_reads_on_from_place_to_place_and_page_to_page(memory: Memory) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        log = screen.query_one("#conversation", RichLog)
        at = log.scroll_offset.y
        await pilot.press("ctrl+n")
        assert log.scroll_offset.y > at
        await pilot.press("ctrl+p")
        assert log.scroll_offset.y == at
        await pilot.press("pagedown")
        await pilot.pause()
        assert log.scroll_offset.y > at

    play(RecallScreen(memory, "coupon"), steps)


def test_a_long_conversation_is_read_in_parts_to_both_ends(memory: Memory, scratch_home: Path) -> None:
    long = ordinary("long", "/home/dev/long")
    for number in range(150):
        long.prompt(f"question number {number}").says(f"answer number {number}")
    long.prompt("and now the needle").says("found it").write(scratch_home)
    memory.import_history(workers=0)

    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        assert "and now the needle" in read(screen)
        assert "question number 3\n" not in read(screen)
        for key, wanted in (("pageup", "question number 3\n"), ("pagedown", "and now the needle")):
            for _ in range(300):
                await pilot.press(key)
                if wanted in read(screen):
                    break
            assert wanted in read(screen)

    play(RecallScreen(memory, "the needle"), steps)


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 60)])
def test_it_fits_any_terminal_and_a_new_size(memory: Memory, size: tuple[int, int]) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        log = screen.query_one("#conversation", RichLog)
        assert all(line.cell_length <= size[0] for line in log.lines)
        await pilot.resize_terminal(60, 20)
        await pilot.pause(0.2)
        assert max(line.cell_length for line in log.lines) <= 60 - 28

    play(RecallScreen(memory, "coupon"), steps, size)


def test_only_the_newest_question_is_answered(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search hangs while others are asked; only the last of those is ever searched for."""
    real, asked, go_on = memory.recall, [], threading.Event()

    def slow(query: str, **more: Any) -> Any:
        asked.append(query)
        if query == "coupon":
            go_on.wait(10)
        return real(query, **more)

    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        monkeypatch.setattr(memory, "recall", slow)
        for text in ("coupon", "mailer", "semicolons"):
            screen.query_one("#asked", Input).value = text
            await pilot.pause(0.15)
        assert not screen._is_current
        await pilot.press("enter")  # what stands there answers another question
        assert screen.return_value is None
        go_on.set()
        await settled(screen, pilot)
        assert "mailer" not in asked
        assert chosen(screen) == "/home/dev/shop"

    play(RecallScreen(memory), steps)


def test_a_fault_is_said_on_the_screen(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(query: str, **more: Any) -> Any:
        raise StoreFault("the disk is gone")

    monkeypatch.setattr(memory, "recall", broken)

    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        assert said(screen, "#standing") == "the disk is gone"

    play(RecallScreen(memory), steps)


def test_an_empty_archive_says_what_fills_it(scratch_home: Path) -> None:
    async def steps(screen: RecallScreen, pilot: Pilot[Any]) -> None:
        assert "claude-memory import" in said(screen, "#standing")
        await pilot.press("enter", "down", "pagedown", "ctrl+n", "ctrl+y")

    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as empty:
        assert play(RecallScreen(empty), steps) is None
