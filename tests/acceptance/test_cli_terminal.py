"""On a terminal: colours, wrapped lines, and questions before what cannot be undone."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

ESCAPE = "\x1b["


def on_terminal(cli: Any, *arguments: str, typed: bytes = b"", **environment: str) -> tuple[int, str]:
    """Run with a terminal on all three streams; returns exit code and all that was shown."""
    leader, follower = pty.openpty()
    names = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home), "TERM": "xterm-256color", **environment}
    process = subprocess.Popen(
        [*cli.command(), *arguments],
        cwd=cli.project,
        env=names,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    os.write(leader, typed)
    shown = b""
    while True:
        try:
            chunk = os.read(leader, 65_536)
        except OSError:  # Linux reports the end of a terminal so
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    return process.wait(timeout=60), shown.decode()


@pytest.fixture
def kept(cli: Any) -> str:
    text = "The importer retries three times before it gives up and writes the row to a dead letter table."
    return str(cli.ok("remember", text, "--json").json["id"])


@pytest.mark.usefixtures("kept")
def test_a_terminal_gets_colours_unless_it_wants_none(cli: Any) -> None:
    assert ESCAPE in on_terminal(cli, "search", "importer")[1]
    assert ESCAPE not in on_terminal(cli, "search", "importer", NO_COLOR="1")[1]
    assert ESCAPE not in on_terminal(cli, "search", "importer", TERM="dumb")[1]


@pytest.mark.usefixtures("kept")
def test_json_on_a_terminal_is_still_plain(cli: Any) -> None:
    code, shown = on_terminal(cli, "search", "importer", "--json", COLUMNS="20")
    assert code == 0
    assert ESCAPE not in shown


def test_lines_are_wrapped_to_the_terminal(cli: Any, kept: str) -> None:
    _, shown = on_terminal(cli, "show", kept, NO_COLOR="1", COLUMNS="40")
    body = [line for line in shown.splitlines() if line.startswith("  ") and "created" not in line]
    assert max(map(len, body)) <= 40


@pytest.mark.parametrize(("answer", "gone"), [(b"n\n", False), (b"y\n", True)])
def test_erasing_asks_first(cli: Any, kept: str, answer: bytes, gone: bool) -> None:
    code, shown = on_terminal(cli, "forget", "--erase", kept, typed=answer)
    assert "Erase" in shown
    assert (code == 0) is gone
    assert (cli("show", kept).code == 1) is gone
