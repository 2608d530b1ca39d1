"""The screen of `recall` in a real terminal: tmux types, and reads what a person would see."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.integration.histories import codex_lines, ordinary, write_lines

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="needs tmux, which drives the screen as a person does")
PATIENCE_SECONDS = 60.0  # a loaded machine starts programs slowly
UNSET = ["-u", "NO_COLOR", "-u", "LINES", "-u", "COLUMNS"]  # tmux says what size the terminal has


@dataclass
class Terminal:
    """One pane of a tmux server of its own."""

    socket: Path

    def __call__(self, *arguments: str) -> str:
        assert TMUX is not None
        command = [TMUX, "-S", str(self.socket), "-f", os.devnull, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def run(self, command: str, folder: Path, size: tuple[int, int]) -> None:
        # The shell stays when the command has ended, so that its last words can be read.
        shell = f"{command}; echo ended with $?; exec cat"
        width, height = map(str, size)
        self("new-session", "-d", "-s", "recall", "-x", width, "-y", height, "-c", str(folder), shell)

    def press(self, *keys: str) -> None:
        self("send-keys", "-t", "recall", *keys)

    def type(self, text: str) -> None:
        self("send-keys", "-t", "recall", "-l", text)

    def shows(self, *wanted: str, without: str = "\0") -> str:
        """What the terminal shows once all of it is there."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            shown = self("capture-pane", "-p", "-J", "-t", "recall")
            if all(text in shown for text in wanted) and without not in shown:
                return shown
            assert time.monotonic() < end, f"waited for {wanted}, not {without!r}; shown:\n{shown}"
            time.sleep(0.1)

    def colours(self) -> str:
        return self("capture-pane", "-p", "-e", "-t", "recall")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path / "tmux")
    yield found
    assert TMUX is not None
    subprocess.run([TMUX, "-S", str(found.socket), "kill-server"], capture_output=True)


@pytest.fixture
def recall(cli: Any, terminal: Terminal, scratch_home: Path, tmp_path: Path) -> Any:
    """Open the screen over a small history: two folders, two agents, one of them installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text('#!/bin/sh\necho "claude got $* in $(pwd)"\n')
    claude.chmod(0o755)
    ordinary("shop", str(cli.project)).write(scratch_home)
    for name in ("billing", "mailer"):
        ordinary(name, f"/home/dev/{name}").write(scratch_home)
    write_lines(
        scratch_home / ".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-c.jsonl", codex_lines()
    )
    cli.ok("import")

    def opened(*arguments: str, size: tuple[int, int] = (80, 24), **environment: str) -> Terminal:
        path = f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin"
        names = {"HOME": str(scratch_home), "CLAUDE_MEMORY_HOME": str(cli.home), "PATH": path, **environment}
        settings = [f"{name}={value}" for name, value in names.items()]
        command = shlex.join(["env", *UNSET, *settings, *cli.command(), "recall", *arguments])
        terminal.run(command, cli.project, size)
        return terminal

    return opened


def test_search_scroll_toggle_and_resume(recall: Any, cli: Any) -> None:
    """The whole walk at 80×24: type, choose, read on, narrow, go on in the right folder."""
    terminal = recall()
    terminal.shows("4 conversations · all folders · every agent")
    terminal.type("coupon")
    terminal.shows("3 conversations", "▸ Why does the", "claude --resume")
    terminal.press("PageDown", "PageDown")
    terminal.shows("has a default of zero now")
    terminal.press("PageUp", "PageUp", "PageUp")
    terminal.shows("I will run the tests first")
    terminal.press("C-t")
    shown = terminal.shows("1 conversation · this folder", "▌ Changed: every lookup")
    assert "billing" not in shown
    terminal.press("C-t")
    terminal.shows("3 conversations · all folders", "billing")
    terminal.press("C-t")
    terminal.shows("1 conversation · this folder")
    terminal.press("Enter")
    shown = terminal.shows("claude got --resume", "ended with 0")
    assert f"in {cli.project.resolve()}" in shown.replace("\n", "")


def test_an_agent_that_is_not_there_gets_its_command_printed(recall: Any) -> None:
    terminal = recall("semicolons")
    terminal.shows("1 conversation ·", "codex resume 0199-codex")
    terminal.press("C-g")
    terminal.shows("0 conversations · all folders · claude-code")
    terminal.press("C-g")
    terminal.shows("1 conversation · all folders · codex")
    terminal.press("Enter")
    terminal.shows("codex is not there", "cd /home/dev/shop && codex resume 0199-codex", "ended with 0")


def test_print_only_says_how_to_go_on(recall: Any) -> None:
    terminal = recall("shop", "checkout", "--print")
    terminal.shows("⏎ claude --resume")
    terminal.press("Enter")
    shown = terminal.shows("&& claude --resume", "ended with 0")
    assert "claude got" not in shown


@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_it_is_left_without_a_trace(recall: Any, key: str) -> None:
    terminal = recall()
    terminal.shows("4 conversations")
    terminal.press("F1")
    terminal.shows("copy the conversation's id")
    terminal.press("Escape")
    terminal.shows("4 conversations", without="copy the conversation's id")
    terminal.press(key)
    shown = terminal.shows("ended with 0")
    assert "conversations" not in shown


def test_without_colour_everything_can_still_be_told_apart(recall: Any) -> None:
    terminal = recall("coupon", NO_COLOR="1")
    terminal.shows("3 conversations", "▌ Changed: every", "▸ Why does the")
    codes = {code for part in terminal.colours().split("\x1b[")[1:] for code in part.split("m")[0].split(";")}
    assert not {
        code
        for code in codes
        if code.startswith(("3", "4", "9", "10")) and code not in ("3", "4", "39", "49")
    }


def test_a_narrow_terminal_is_enough(recall: Any) -> None:
    terminal = recall("coupon", size=(60, 12))
    terminal.shows("3 conversations", "▌ Changed: every", "▸ Why does")
