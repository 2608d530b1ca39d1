"""How the command line behaves: help, mistakes, pipes, colours, hostile input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMANDS = [
    "init", "remember", "search", "timeline", "show", "revise", "forget", "why", "hook", "doctor", "stats",
    "config get", "config set", "config list", "config unset", "reindex", "demo", "version",
    "backup create", "backup restore", "backup verify", "backup list",
]  # fmt: skip
ESCAPE = "\x1b"


@pytest.mark.parametrize("command", [*COMMANDS, "config", "backup", ""])
def test_every_command_has_help(cli: Any, command: str) -> None:
    done = cli.ok(*command.split(), "--help")
    assert done.out.startswith(f"Usage: {f'claude-memory {command}'.strip()}")
    assert ESCAPE not in done.out


def test_nothing_asked_is_answered_with_help(cli: Any) -> None:
    done = cli.ok()
    assert all(command.split()[0] in done.out for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["serach", "x"], "search"),
        (["search"], "QUERY"),
        (["search", "x", "--limits", "3"], "--limit"),
        (["search", "x", "--kind", "nonsense"], "decision"),
        (["search", "x", "--limit", "many"], "limit"),
        (["remember"], "TEXT"),
        (["revise", "m123"], "--title"),
        (["forget", "m123", "--erase", "--undo"], "exclude"),
        (["config", "get"], "KEY"),
        (["init", "--layout", "odd"], "private"),
    ],
)
def test_wrong_usage_is_told_in_a_line(cli: Any, arguments: list[str], hint: str) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("claude-memory: ")
    assert len(done.err.splitlines()) == 1
    assert hint in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "mnothing"],
        ["revise", "mnothing", "--title", "x"],
        ["forget", "mnothing"],
        ["why", "mnothing", "--query", "x"],
        ["timeline", "--around", "mnothing"],
        ["search", "x", "--since", "someday"],
        ["remember", "   "],
        ["remember", "x", "--supersedes", "mnothing"],
        ["config", "get", "nonsense"],
        ["config", "set", "search_limit", "many"],
        ["backup", "verify", "/nonexistent.zip"],
        ["backup", "restore", "/nonexistent.zip"],
        ["search", "x", "--project", "/no/such/folder"],
        ["search", "x", "--min-relevance", "nan"],
        ["--home", "", "search", "x"],
        ["--home=", "search", "x"],
        ["remember", "<private>all of it</private>"],
    ],
)
def test_a_failed_request_is_told_in_a_line(cli: Any, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("claude-memory: ")
    assert len(done.err.splitlines()) == 1
    assert "Traceback" not in done.err


def test_a_traceback_is_shown_on_request_only(cli: Any) -> None:
    assert "Traceback" in cli("show", "mnothing", "--debug").err
    assert "Traceback" in cli("show", "mnothing", CLAUDE_MEMORY_DEBUG="1").err
    assert "Traceback" not in cli("show", "mnothing").err


@pytest.mark.parametrize(
    "command", [["search", "x"], ["config", "list"], ["config", "set", "search_limit", "3"]]
)
def test_a_broken_config_is_named(cli: Any, command: list[str]) -> None:
    (cli.home / "config.toml").write_text("search_limit = = 3")
    done = cli(*command)
    assert done.code == 1
    assert "config.toml" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_home_that_is_a_file_is_told_in_a_line(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cli("search", "x", "--home", str(tmp_path / "file"))
    assert done.code == 1
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("command", [["search", "anything"], ["timeline"], ["stats"], ["backup", "list"]])
def test_an_empty_memory_is_no_error(cli: Any, command: list[str]) -> None:
    assert cli.ok(*command).err.strip() or command == ["stats"]
    assert json.loads(cli.ok(*command, "--json").out) is not None


def test_json_is_one_document_however_narrow_the_terminal(cli: Any) -> None:
    text = "A long line " + "with many words that any terminal library would love to wrap " * 20
    cli.ok("remember", text)
    for command in (["search", "terminal"], ["timeline"], ["stats"], ["config", "list"]):
        assert json.loads(cli.ok(*command, "--json", COLUMNS="20", FORCE_COLOR="1").out)


def test_piped_output_is_plain_and_whole(cli: Any) -> None:
    cli.ok("remember", "word " * 60 + "end")
    done = cli.ok("search", "word", FORCE_COLOR="1", COLUMNS="20")
    assert ESCAPE not in done.out
    assert len(done.out.splitlines()) <= 2


def test_a_reader_that_leaves_early_is_no_error(cli: Any) -> None:
    for number in range(30):
        cli.ok("remember", f"note {number} about pipes and their early ends")
    program = " ".join(f"'{part}'" for part in cli.command())
    script = f"{program} search pipes --limit 30; echo code=$? >&2"
    done = subprocess.run(
        ["bash", "-c", f"{{ {script}; }} | head -n 1"],
        cwd=cli.project, env={**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "code=0" in done.stderr
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m\x07 bell",
        "zero\u200bwidth \u202eturned",
        "NUL\x00inside",
        "'; DROP TABLE memories; --",
        "-" * 50 + " dashes",
    ],
)
def test_hostile_text_is_kept_but_never_drives_the_terminal(cli: Any, text: str) -> None:
    cli.ok("remember", "-", "--title", "hostile", stdin=text.encode())
    shown = cli.ok("search", "hostile").out + cli.ok("timeline").out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e]", shown)


def test_arguments_that_are_no_utf8_do_not_fail(cli: Any) -> None:
    cli.ok("remember", b"latin \xff\xfe bytes stay findable")
    assert len(cli.ok("search", b"findable \xff", "--json").json) == 1
    json.loads(cli.ok("stats", "--json").out)


@pytest.mark.parametrize(
    "name", ["../../evil", "/etc/passwd", "a\nb", "x" * 300, "日本語", "--help-me", "$(touch pwned)"]
)
def test_hostile_names_write_nothing_outside(cli: Any, name: str, tmp_path: Path) -> None:
    done = cli(
        "remember", "text", f"--session={name}", f"--topic={name}", f"--file={name}", f"--title={name}"
    )
    assert done.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"project"}
    assert list(cli.project.iterdir()) == []


def test_too_long_a_text_is_refused_and_a_long_one_found_to_its_end(cli: Any) -> None:
    assert cli("remember", "-", stdin=b"x" * 5_000_000).code == 1
    cli.ok("remember", "-", stdin=b"filler words here. " * 5_000 + b"The very last word is xylophone.")
    assert len(cli.ok("search", "xylophone", "--json").json) == 1


@pytest.mark.parametrize(
    "query",
    ['"', "AND OR NOT", "a* NEAR(b)", "💥", "日本語の検索", "x" * 10_000, "col:umn ^", "''--", "\\", "%_"],
)
def test_no_question_is_an_error(cli: Any, query: str) -> None:
    cli.ok("remember", "Some memory to look at.")
    cli.ok("search", "--", query)


def test_a_locale_without_unicode_does_not_fail(cli: Any) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    cli.ok("remember", "Grüße aus 東京", **environment)
    assert cli.ok("search", "Grüße", **environment).out
    assert cli.ok("search", "Grüße", "--json", **environment).json[0]["title"] == "Grüße aus 東京"


@pytest.mark.parametrize("event", ["Stop", "../../evil", "", "Nonsense"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"{", b'{"cwd": "\\ud800"}'])
def test_a_hook_is_silent_and_never_fails(cli: Any, event: str, content: bytes) -> None:
    done = cli("hook", event, stdin=content)
    assert (done.code, done.out, done.err) == (0, "", "")


def test_global_options_may_stand_anywhere(cli: Any, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    cli.ok("remember", "kept elsewhere", "--home", str(other))
    assert cli.ok("--home", str(other), "search", "kept", "--json").json
    assert cli.ok("search", "kept", f"--home={other}", "--json").json
    assert cli.ok("search", "kept", "--json").json == []


def test_an_interrupt_ends_quietly_with_130(cli: Any) -> None:
    code = (
        "import sys, claude_memory.memory as m\n"
        "def stop(*a, **k): raise KeyboardInterrupt\n"
        "m.Memory.stats = stop\n"
        "from claude_memory.surfaces.cli import main\n"
        "sys.exit(main(['stats']))"
    )
    environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cli.project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 130
    assert done.stderr == "claude-memory: interrupted\n"


def test_an_unexpected_error_is_one_line_and_its_place_is_logged(cli: Any) -> None:
    code = (
        "import sys, claude_memory.memory as m\n"
        "def fail(*a, **k): raise ZeroDivisionError('told by a memory')\n"
        "m.Memory.stats = fail\n"
        "from claude_memory.surfaces.cli import main\n"
        "sys.exit(main(['stats']))"
    )
    environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cli.project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "ZeroDivisionError" in done.stderr
    [log] = (cli.home / "logs").glob("*.log")
    assert "ZeroDivisionError" in log.read_text()
    assert "told by a memory" not in log.read_text()
    assert str(log) in done.stderr
