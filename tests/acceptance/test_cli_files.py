"""The commands of the plain files, as a user runs them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def today() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d}"


def test_a_day_of_writing_things_down(cli: Any, today: str) -> None:
    cli.ok("init")
    written = cli.ok("decide", "use | pipes for IPC", "--why", "sockets leak", "--json").json
    assert Path(written["file"]) == cli.project / ".claude-memories" / "MEMORY.md"
    assert f"| {today} | use \\| pipes for IPC | sockets leak |" in Path(written["file"]).read_text("utf-8")
    cli.ok("lesson", "run the linter before pushing")
    cli.ok("reflect", "pattern", "small commits win")
    cli.ok("log", "add", "moved billing", "--decision", "keep the old client", "--open", "delete it")
    [line] = cli.ok("log", "--json").json
    assert (line["summary"], line["decisions"], line["open_threads"]) == (
        "moved billing",
        ["keep the old client"],
        ["delete it"],
    )
    for query, kind in (
        ("pipes IPC", "decision"),
        ("linter", "lesson"),
        ("commits", "pattern"),
        ("billing", "summary"),
    ):
        hit = cli.ok("search", query, "--json").json[0]
        assert hit["kind"] == kind
        file, _, number = hit["place"].rpartition(":")
        assert query.split()[0] in Path(file).read_text("utf-8").splitlines()[int(number) - 1]


def test_the_buffer_is_shown_added_to_and_cleared_around_a_persons_lines(cli: Any) -> None:
    cli.ok("init")
    cli.ok("buffer", "add", "waiting for the vendor")
    path = cli.project / ".claude-memories" / "memory" / "working-buffer.md"
    path.write_text(path.read_text("utf-8") + "\nMINE\n", "utf-8")
    assert "waiting for the vendor" in cli.ok("buffer").out
    assert "claude-memory:begin" not in cli.ok("buffer", "show").out
    assert cli("buffer", "clear").code == 1
    assert cli.ok("buffer", "clear", "--yes", "--json").json["cleared"]
    left = cli.ok("buffer", "show", "--json").json["text"]
    assert "MINE" in left
    assert "vendor" not in left
    assert cli.ok("search", "vendor", "--json").json


def test_distilling_shows_a_diff_and_waits_for_a_yes(cli: Any, today: str) -> None:
    cli.ok("init")
    log = cli.project / ".claude-memories" / "memory" / f"{today}.md"
    log.parent.mkdir(parents=True)
    log.write_text("- we should never cache prices\n", "utf-8")
    shown = cli("distill")
    assert f"+- {today}: we should never cache prices" in shown.out
    assert shown.code == 1
    memory = cli.project / ".claude-memories" / "MEMORY.md"
    assert not memory.exists()
    assert cli.ok("distill", "--json").json["applied"] is False
    cli.ok("distill", "--yes")
    assert "never cache prices" in memory.read_text("utf-8")
    again = cli.ok("distill", "--yes", "--json").json
    assert (again["proposed"], again["applied"]) == ([], False)


def test_distilling_says_that_it_applied_only_when_it_did(cli: Any, today: str) -> None:
    cli.ok("init")
    log = cli.project / ".claude-memories" / "memory" / f"{today}.md"
    log.parent.mkdir(parents=True)
    log.write_text("- we should never cache prices\n", "utf-8")
    (cli.project / ".claude-memories" / "MEMORY.md").mkdir()
    done = cli("distill", "--yes", "--json")
    assert (done.code, done.out) == (1, "")


def test_notes_are_counted_and_problems_named_by_line(cli: Any, scratch_home: Path) -> None:
    folder = scratch_home / "knowledge"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"# A\n\ncaf\xe9\n")
    done = cli.ok("notes", "sync", "--json")
    assert done.json["added"] == 1
    assert f"{folder / 'a.md'}:3:" in done.err
    [row] = cli.ok("notes", "status", "--json").json
    assert (row["notes"], row["indexed"], row["pieces"]) == (1, 1, 1)


def test_what_cannot_be_is_said_in_a_line(cli: Any) -> None:
    assert cli("reflect", "mood", "fine").code == 2
    empty = cli("lesson", " ")
    assert (empty.code, empty.err.count("\n")) == (1, 1)


def test_secrets_given_to_a_command_stay_out_of_the_files(cli: Any) -> None:
    token = "ghp_" + "wJ8xQ2mZ7rT4vB9nK1sL6dF3gH5pY0cAeU2i"
    for command in (["lesson"], ["decide"], ["buffer", "add"], ["log", "add"], ["reflect", "idea"]):
        cli.ok(*command, f"the token is {token}")
    places = [path for path in (*cli.home.rglob("*"), *cli.project.rglob("*")) if path.is_file()]
    assert all(token.encode() not in path.read_bytes() for path in places)
    assert any(json.dumps("[secret:").strip('"').encode() in path.read_bytes() for path in places)


def test_a_project_can_begin_with_templates(cli: Any) -> None:
    assert "init --templates" in cli.ok("init").err
    assert not (cli.project / ".claude-memories" / "MEMORY.md").exists()
    cli.ok("init", "--templates")
    memory = cli.project / ".claude-memories" / "MEMORY.md"
    assert "## Active Workstreams" in memory.read_text("utf-8")
    assert (cli.project / ".claude-memories" / "tasks" / "todo.md").exists()
    memory.write_text("MINE\n", "utf-8")
    cli.ok("init", "--templates")
    assert memory.read_text("utf-8") == "MINE\n"


def test_a_note_of_the_knowledge_base_is_begun_and_added_to(cli: Any, scratch_home: Path) -> None:
    for text in ("ramps of sixty degrees", "soak for ten minutes"):
        written = cli.ok("notes", "add", "Kiln firing", text, "--as-user", "--json").json
    note = scratch_home / "knowledge" / "kiln-firing.md"
    assert Path(written["file"]) == note
    assert note.read_text("utf-8") == "# Kiln firing\n\nramps of sixty degrees\n\nsoak for ten minutes\n"
    assert cli.ok("search", "soak kiln", "--json").json[0]["place"].startswith(str(note))


def test_a_remembered_reflection_is_read_where_reflections_are(cli: Any) -> None:
    cli.ok("remember", "small commits win", "--kind", "reflection", "--as-user")
    [line] = (cli.home / "reflections.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["content"] == "small commits win"
    assert len(cli.ok("search", "small commits", "--json").json) == 1
