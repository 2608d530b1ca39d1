"""A day with the command line: every command does what its help says."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

HIT_FIELDS = {
    "id", "kind", "title", "snippet", "relevance", "session", "project", "timestamp", "files", "status", "trust",
}  # fmt: skip


def remember(cli: Any, text: str, *options: str, **environment: str) -> str:
    return str(cli.ok("remember", text, *options, "--json", **environment).json["id"])


def test_what_was_remembered_is_found_in_other_words(full_cli: Any) -> None:
    right = remember(
        full_cli, "Sessions are revoked at once when somebody leaves the company.", "--kind", "decision"
    )
    remember(full_cli, "The exporter renders PDF files in a background worker.")
    done = full_cli.ok("search", "how do we block staff who quit", "--json")
    assert done.json[0]["id"] == right
    assert set(done.json[0]) == HIT_FIELDS
    assert 0 <= done.json[0]["relevance"] <= 1
    assert "words only" not in done.err


def test_a_search_on_words_alone_says_so(cli: Any) -> None:
    remember(cli, "We chose apsw because the system's SQLite varies.")
    done = cli.ok("search", "apsw")
    assert "We chose apsw" in done.out
    assert done.err.count("words only") == 1
    assert "embedder" in done.err


def test_filters_narrow_a_search(cli: Any) -> None:
    first = remember(
        cli, "Deploy on Tuesdays only.", "--kind", "convention", "--topic", "release", "--file", "ci.yml"
    )
    remember(cli, "Deploy scripts live in tools.", "--session", "s2")

    def found(*options: str) -> list[str]:
        return [hit["id"] for hit in cli.ok("search", "deploy", *options, "--json").json]

    assert len(found()) == 2
    assert found("--kind", "convention", "--kind", "fix") == [first]
    assert found("--topic", "release") == [first]
    assert found("--file", "ci.yml") == [first]
    assert first not in found("--session", "s2")
    assert len(found("--since", "yesterday")) == 2
    assert found("--until", "2 weeks ago") == []
    assert len(found("--limit", "1")) == 1
    assert found("--min-relevance", "1.0") == []


def test_a_text_comes_from_standard_input_with_every_character(cli: Any) -> None:
    text = "Zeile eins: größer als früher\n第二行 🚀\n\ttabbed | piped\n"
    kept = cli.ok("remember", "-", "--json", stdin=text.encode()).json
    assert kept["body"].split() == text.split()
    assert cli.ok("search", "第二行", "--json").json[0]["id"] == kept["id"]


def test_words_need_no_quotes(cli: Any) -> None:
    cli.ok("remember", "use", "ruff", "for", "everything")
    assert cli.ok("search", "which", "linter", "ruff", "--json").json[0]["title"] == "use ruff for everything"


def test_a_memory_is_shown_revised_and_superseded(cli: Any) -> None:
    old = remember(cli, "The API listens on port 8000.")
    cli.ok("revise", old[:6], "--title", "API port", "--topic", "api", "--pin", "--reason", "a better title")
    [shown] = cli.ok("show", old, "--json").json
    assert (shown["title"], shown["topics"], shown["pinned"]) == ("API port", ["api"], True)
    new = cli.ok("revise", old, "--supersede-with", "The API listens on port 9000.", "--json").json
    assert new["supersedes"] == old
    [shown] = cli.ok("show", old, "--json").json
    assert (shown["status"], shown["superseded_by"]) == ("superseded", new["id"])
    plain = cli.ok("show", old, new["id"]).out
    assert f"superseded by {new['id']}" in plain
    assert "port 9000" in plain


def test_memories_are_listed_newest_first_and_narrowed(cli: Any) -> None:
    first = remember(cli, "Use tabs.", "--kind", "convention", "--topic", "style")
    second = remember(cli, "JWT for sessions.", "--kind", "decision", "--file", "src/auth.py")
    listed = cli.ok("list", "--json").json
    assert [item["id"] for item in listed] == [second, first]
    assert cli.ok("list", "--limit", "1").out.startswith(second)
    for narrowed in (
        ("--kind", "convention"),
        ("--topic", "style"),
        ("--until", "today", "--kind", "convention"),
    ):
        assert [item["id"] for item in cli.ok("list", *narrowed, "--json").json] == [first]
    assert cli.ok("list", "--since", "2999-01-01", "--json").json == []
    assert "no memories" in cli.ok("list", "--task", "none").err


def test_edit_and_remind_are_other_names(cli: Any) -> None:
    id_ = remember(cli, "Use tabs.")
    assert cli.ok("edit", id_, "--title", "Tabs", "--json").json["title"] == "Tabs"
    made = cli.ok("remind", "set", "water the plants", "--json").json
    assert [item["id"] for item in cli.ok("intend", "list", "--json").json] == [made["id"]]


def test_a_shell_completes_commands_and_options(cli: Any) -> None:
    script = cli.ok("completion", "bash").out
    assert "_CLAUDE_MEMORY_COMPLETE=complete_bash" in script
    asked = {"_CLAUDE_MEMORY_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert "remember" in cli.ok(COMP_WORDS="claude-memory rem", **asked).out.split()
    asked["COMP_CWORD"] = "2"
    assert "--topic" in cli.ok(COMP_WORDS="claude-memory list --to", **asked).out.split()
    assert cli("completion", "tcsh").code == 2


def test_forgetting_can_be_undone_and_erasing_cannot(cli: Any) -> None:
    kept = remember(cli, "The staging password rotates weekly.")
    done = cli.ok("forget", kept)
    assert "--undo" in done.err
    assert cli.ok("search", "staging", "--json").json == []
    cli.ok("forget", "--undo", kept)
    assert [hit["id"] for hit in cli.ok("search", "staging", "--json").json] == [kept]
    assert cli("forget", "--erase", kept).code == 1
    assert cli.ok("forget", "--erase", "--yes", kept, "--json").json["memories"] == 1
    assert cli("show", kept).code == 1
    assert not [
        path for path in cli.home.rglob("*") if path.is_file() and b"staging password" in path.read_bytes()
    ]


def test_why_explains_the_last_search_or_any_other(cli: Any) -> None:
    kept = remember(cli, "Retries back off exponentially with jitter.")
    assert cli("why", kept).code == 1
    cli.ok("search", "backoff jitter")
    told = cli.ok("why", kept, "--json").json
    assert told["query"] == "backoff jitter"
    assert told["words"]
    assert told["numbers"]
    assert cli.ok("why", kept, "--query", "retries").out.strip()


def test_events_become_a_timeline(cli: Any) -> None:
    event = {"session_id": "s1", "cwd": str(cli.project), "hook_event_name": "UserPromptSubmit", "prompt_id": "p1",
             "prompt": "Please move the exporter into the worker queue."}  # fmt: skip
    done = cli.ok("hook", "UserPromptSubmit", stdin=json.dumps(event).encode())
    assert (done.out, done.err) == ("", "")
    entries = cli.ok("timeline", "--json").json
    assert [entry["kind"] for entry in entries] == ["observation"]  # the session's record says no more
    assert {entry["session"] for entry in entries} == {"s1"}
    assert "exporter" in cli.ok("timeline", "--query", "worker queue").out
    assert cli.ok("search", "exporter", "--json").json[0]["kind"] == "observation"


def test_stats_count(cli: Any) -> None:
    remember(cli, "One.")
    remember(cli, "Two.", "--kind", "fix")
    found = cli.ok("stats", "--json").json
    assert sum(found["memories"].values()) == 2
    assert found["schema_version"] >= 1
    assert "2 (" in cli.ok("stats").out


def test_projects_do_not_see_each_other(cli: Any, tmp_path: Path) -> None:
    remember(cli, "Only the first project knows the zebra.")
    remember(cli, "I like zebra stripes everywhere.", "--scope", "user")
    other = tmp_path / "other"
    other.mkdir()

    def titles(*options: str) -> set[str]:
        return {
            hit["title"]
            for hit in cli.ok("search", "zebra", "--project", str(other), *options, "--json").json
        }

    assert titles() == {"I like zebra stripes everywhere."}
    assert len(titles("--all-projects")) == 2


def test_init_makes_one_folder(cli: Any) -> None:
    assert cli.ok("init", "--layout", "repo", "--json").json["created"] is True
    assert cli.ok("init", "--json").json == {
        "folder": str(cli.project / ".claude-memories"), "layout": "repo", "created": False, "changed": False,
    }  # fmt: skip
    assert {path.name for path in cli.project.iterdir()} == {".claude-memories"}


def test_settings_are_listed_changed_and_taken_back(cli: Any) -> None:
    assert cli.ok("config", "get", "search_limit").out == "10\n"
    cli.ok("config", "set", "search_limit", "3")
    assert cli.ok("config", "get", "search_limit", "--json").json == 3
    listed = cli.ok("config", "list", "--json").json
    assert listed["search_limit"] | {"doc": ""} == {
        "value": 3,
        "origin": "config.toml",
        "default": 10,
        "doc": "",
    }
    cli.ok("config", "unset", "search_limit")
    assert "search_limit" in cli.ok("config", "list").out
    assert cli.ok("config", "get", "search_limit").out == "10\n"


def test_a_backup_is_made_checked_and_brought_back(cli: Any, tmp_path: Path) -> None:
    kept = remember(cli, "Backups hold everything.")
    archive = tmp_path / "memory.zip"
    assert cli.ok("backup", "create", str(archive), "--json").json["path"] == str(archive)
    assert cli.ok("backup", "verify", str(archive), "--json").json["ok"] is True
    remember(cli, "This comes after the backup.")
    assert cli("backup", "restore", str(archive)).code == 1
    cli.ok("backup", "restore", str(archive), "--yes")
    assert [hit["id"] for hit in cli.ok("search", "backup", "--json").json] == [kept]
    cli.ok("backup", "create")
    assert len(cli.ok("backup", "list", "--json").json) == 1


def test_a_damaged_backup_fails_the_check(cli: Any, tmp_path: Path) -> None:
    archive = tmp_path / "memory.zip"
    cli.ok("backup", "create", str(archive))
    content = bytearray(archive.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    archive.write_bytes(bytes(content))
    done = cli("backup", "verify", str(archive))
    assert done.code == 1
    assert len(done.err.splitlines()) == 1


def test_the_database_is_rebuilt_from_files(cli: Any) -> None:
    kept = remember(cli, "Mirrors outlive databases.")
    for path in cli.home.glob("memory.db*"):
        path.unlink()
    assert cli.ok("search", "mirrors", "--json").json == []
    assert cli.ok("reindex", "--from-files", "--json").json["memories"] >= 1
    assert [hit["id"] for hit in cli.ok("search", "mirrors", "--json").json] == [kept]
    assert "passages" in cli.ok("reindex").out


def test_doctor_is_content_with_a_healthy_home(full_cli: Any) -> None:
    remember(full_cli, "All is well.")
    done = full_cli.ok("doctor", "--json")
    assert done.json["ok"] is True
    assert {"name", "level", "message", "hint"} <= set(done.json["checks"][0])
    assert full_cli.ok("doctor").out.startswith("ok")


def test_doctor_fails_on_a_damaged_store(cli: Any) -> None:
    remember(cli, "Soon damaged.")
    database = cli.home / "memory.db"
    for path in cli.home.glob("memory.db-*"):
        path.unlink()
    database.write_bytes(b"this is no database at all" * 100)
    done = cli("doctor", "--json")
    assert done.code == 1
    assert done.json["ok"] is False


def test_the_demo_answers_and_leaves_nothing_behind(cli: Any, tmp_path: Path) -> None:
    before = sorted(path.name for path in cli.home.rglob("*"))
    done = cli.ok(
        "demo", "--json", TMPDIR=str(tmp_path), CLAUDE_MEMORY_STORE=f"sqlite:///{tmp_path}/never.db"
    )
    assert done.json["ok"] is True
    assert all(answer["right"] and answer["shared_words"] == [] for answer in done.json["answers"])
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
    assert sorted(path.name for path in cli.home.rglob("*")) == before


def test_nothing_is_written_outside_its_own_folders(
    full_cli: Any, scratch_home: Path, tmp_path: Path
) -> None:
    remember(full_cli, "Stay at home.", TMPDIR=str(tmp_path))
    full_cli.ok("search", "stay", TMPDIR=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
    assert list(full_cli.project.iterdir()) == []
    assert [path.name for path in scratch_home.iterdir()] == [".claude"]
    assert [path.name for path in (scratch_home / ".claude").iterdir()] == ["memory"]


def test_everything_it_writes_is_private(cli: Any) -> None:
    remember(cli, "Nobody else reads this.")
    cli.ok("search", "nobody")
    cli.ok("backup", "create")
    for path in [cli.home, *cli.home.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path


@pytest.mark.parametrize("spelling", [["version"], ["--version"]])
def test_the_version_is_told(cli: Any, spelling: list[str]) -> None:
    assert cli.ok(*spelling).out.startswith("claude-memory ")
    assert cli.ok("version", "--json").json["version"]
