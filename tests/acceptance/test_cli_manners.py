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
        (["install", "--scope", "odd"], "user"),
        (["install", "--agent", "odd"], "codex"),
        (["uninstall", "--agent", "odd"], "codex"),
        (["recall", "x", "--agent", "odd"], "claude-code"),
        (["import", "--agent", "odd"], "claude-code"),
        (["import", "--from", "odd"], "claude-mem"),
        (["summarize", "x.jsonl", "--agent", "odd"], "claude-code"),
        (["summarize", "x.jsonl", "--provider", "odd"], "rules"),
        (["export", "task", "--format", "odd"], "html"),
        (["search", "x", "--since", "someday"], "--since"),
        (["search", "x", "--until", ""], "--until"),
        (["search", "x", "--min-relevance", "nan"], "--min-relevance"),
        (["recall", "--until", "someday"], "--until"),
        (["import", "--since", "someday"], "--since"),
        (["ledger", "--since", "someday"], "--since"),
        (["intend", "set", "x", "--at", "someday"], "--at"),
        (["intend", "set", "x", "--in", "friday"], "--in"),
        (["intend", "set", "x", "--deadline", "someday"], "--deadline"),
        (["intend", "set", "x", "--at", "friday", "--in", "2h"], "exclude"),
        (["intend", "snooze", "i123", "someday"], "TIME"),
        (["conversation", "id:odd"], "RANGE"),
        (["conversation", ":3"], "RANGE"),
        (["cleanup", "--days", "-1"], "--days"),
        (["cleanup", "--days", "99999999999"], "--days"),
        (["context", "--max-tokens", "-4"], "--max-tokens"),
        (["scratchpad", "task", "--restore", "0"], "--restore"),
        (["scratchpad", "task", "--content", "x", "--file", "y"], "exclude"),
        (["scratchpad", "task", "--content", "x", "--edit"], "exclude"),
        (["scratchpad", "task", "--history", "--restore", "1"], "exclude"),
        (["plan", "task", "--content", "x", "--from-scratchpad"], "exclude"),
        (["append", "task"], "text"),
        (["append", "task", "x", "--file", "y"], "exclude"),
        (["consolidate", "--dry-run", "--undo"], "exclude"),
        (["summary", "save"], "--session"),
        (["log", "--json", "add", "x"], "--json"),
        (["buffer", "--json", "clear", "--yes"], "--json"),
        (["--home", "", "search", "x"], "--home"),
        (["--home=", "search", "x"], "--home"),
        (["search", "stats", "--home"], "--home"),
        (["import", ""], "path"),
        (["backup", "create", ""], "path"),
        (["recall", "--cwd", ""], "--cwd"),
        (["scratchpad", "task", "--file", ""], "--file"),
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
        ["remember", "   "],
        ["remember", "x", "--supersedes", "mnothing"],
        ["config", "get", "nonsense"],
        ["config", "set", "search_limit", "many"],
        ["backup", "verify", "/nonexistent.zip"],
        ["backup", "restore", "/nonexistent.zip"],
        ["search", "x", "--project", "/no/such/folder"],
        ["export", "task", "--output", "/"],
        ["scratchpad", "task", "--edit"],
        ["show", "m" * 50_000],
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
    assert "unexpected" not in done.err
    assert len(done.err) < 1200


def test_a_group_without_its_command_says_which_there_are(cli: Any) -> None:
    done = cli("config")
    assert done.code == 2
    assert done.out == ""
    assert "unset" in done.err


@pytest.mark.parametrize("stream", [0, 1, 2])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("remember -", 1),
        ("buffer clear", 1),
        ("recall", 0),
        ("stats --json", 0),
        ("version", 0),
        ("show m1", 1),
    ],
)
def test_a_closed_stream_is_one_that_nobody_reads(cli: Any, stream: int, command: str, code: int) -> None:
    close = f"exec {stream}{'<' if stream == 0 else '>'}&-"
    done = subprocess.run(
        ["bash", "-c", f'{close}; exec "$@"', "bash", *cli.command(), *command.split()],
        cwd=cli.project, env={**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code
    assert len(done.stderr.splitlines()) <= 1
    assert "unexpected" not in done.stderr


@pytest.mark.parametrize("command", ["version", "version --json", "stats"])
def test_a_full_disk_is_told_in_a_line(cli: Any, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*cli.command(), *command.split()],
            cwd=cli.project, env={**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)},
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "claude-memory: No space left on device\n"


@pytest.mark.parametrize("command", ["stats", "status", "mcp"])
def test_a_folder_that_is_gone_is_told_in_a_line(cli: Any, command: str) -> None:
    done = subprocess.run(
        ["bash", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "bash", *cli.command(), command],
        cwd=cli.project, env={**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "claude-memory: the current folder is gone: go to another one\n"


def test_an_editor_that_cannot_be_started_is_named(cli: Any) -> None:
    for editor in ("no-such-editor", "'never closed"):
        done = cli("scratchpad", "task", "--edit", EDITOR=editor)
        assert done.code == 1
        assert len(done.err.splitlines()) == 1
        assert "cannot start the editor" in done.err


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
    assert "Errno" not in done.err


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


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("key", "code", "words"), [(b"\x03", 130, "interrupted"), (b"\x04", 1, "nothing done"), (b"n\n", 1, "nothing done")]
)  # fmt: skip
def test_a_question_can_be_left(cli: Any, key: bytes, code: int, words: str) -> None:
    import pty
    import signal

    script = '"$@" > out; echo "code=$?" >&2'
    child, terminal = pty.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # started in the background, it would be ignored
        os.chdir(cli.project)
        os.environ["CLAUDE_MEMORY_HOME"] = str(cli.home)
        os.execvp("bash", ["bash", "-c", script, "bash", *cli.command(), "buffer", "clear"])
    shown = b""
    while b"code=" not in shown:
        asking = b"[y/N]" in shown
        shown += os.read(terminal, 4096)
        if b"[y/N]" in shown and not asking:
            os.write(terminal, key)
    os.waitpid(child, 0)
    os.close(terminal)
    assert shown.decode().splitlines()[-2:] == [f"claude-memory: {words}", f"code={code}"]
    assert (cli.project / "out").read_bytes() == b""


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
