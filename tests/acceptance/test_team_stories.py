"""The stories of the other modules with a team's server as the store, and those that only a server has."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.acceptance.test_cli_conversations import (  # noqa: F401
    test_a_conversation_is_printed_whole_or_in_part,
    test_an_interrupted_import_goes_on,
    test_everything_said_on_this_machine_is_searchable,
    test_one_agent_and_one_folder,
)
from tests.acceptance.test_cli_files import (  # noqa: F401
    test_a_day_of_writing_things_down,
    test_a_remembered_reflection_is_read_where_reflections_are,
    test_notes_are_counted_and_problems_named_by_line,
    today,
)
from tests.acceptance.test_cli_walk import (  # noqa: F401
    remember,
    test_a_memory_is_shown_revised_and_superseded,
    test_a_search_on_words_alone_says_so,
    test_a_text_comes_from_standard_input_with_every_character,
    test_doctor_is_content_with_a_healthy_home,
    test_events_become_a_timeline,
    test_everything_it_writes_is_private,
    test_filters_narrow_a_search,
    test_forgetting_can_be_undone_and_erasing_cannot,
    test_projects_do_not_see_each_other,
    test_stats_count,
    test_what_was_remembered_is_found_in_other_words,
    test_why_explains_the_last_search_or_any_other,
)
from tests.integration.mcp_talk import Caller, in_process
from tests.postgres_server import Server

from claude_memory import Memory
from claude_memory.store.postgres.team_server import conninfo


@pytest.fixture
def cli(cli: Any, team_url: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CLAUDE_MEMORY_STORE", team_url(cli.home))
    return cli


@pytest.fixture
def full_cli(full_cli: Any, team_url: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CLAUDE_MEMORY_STORE", team_url(full_cli.home))
    return full_cli


def test_no_file_of_the_home_stands_in_for_the_server(cli: Any) -> None:
    remember(cli, "We chose apsw because the system's SQLite varies.")
    assert not (cli.home / "memory.db").exists()
    assert len(cli.ok("search", "apsw", "--json").json) == 1


def test_a_rule_that_a_prompt_states_is_proposed_accepted_and_found(cli: Any) -> None:
    event = {
        "session_id": "s9", "cwd": str(cli.project), "hook_event_name": "UserPromptSubmit", "prompt_id": "p1",
        "prompt": "The flamingo service must never be restarted on Fridays",
    }  # fmt: skip
    cli.ok("hook", "UserPromptSubmit", stdin=json.dumps(event).encode())
    cli.ok("search", "flamingo")  # brings in what waits in the spool
    [proposed] = cli.ok("inbox", "--json").json
    cli.ok("inbox", "accept", proposed["id"])
    [shown] = cli.ok("show", proposed["id"], "--json").json
    assert shown["trust"] == "user"
    assert cli.ok("inbox", "--json").json == []


def test_tools_remember_find_revise_and_tell_of_time(cli: Any) -> None:
    async def talk(call: Caller) -> None:
        kept = await call(
            "remember", text="Invoices are rendered by Typst.", kind="decision", topics=["invoices"]
        )
        id_ = kept["id"]
        found = await call("search_memory", query="which program renders invoices", min_relevance=0)
        assert id_ in {hit["id"] for hit in found["hits"]}
        await call("revise", id=id_, action="pin")
        [full] = (await call("get_memories", ids=[id_]))["memories"]
        assert "Typst" in json.dumps(full)
        assert id_ in json.dumps(await call("timeline", around=id_))
        await call("intention", action="set", text="look at the invoices", topics=["invoices"])
        assert "look at the invoices" in json.dumps(await call("intention", action="check", text="invoices"))
        assert "Typst" in json.dumps(await call("get_project_knowledge", topic="invoices"))

    in_process(cli.home, cli.project, talk)


def test_another_server_is_filled_from_the_files(
    cli: Any, team_url: Callable[[Path], str], tmp_path: Path
) -> None:
    kept = remember(cli, "Mirrors outlive databases.")
    elsewhere = {"CLAUDE_MEMORY_STORE": team_url(tmp_path / "other")}
    assert cli.ok("search", "mirrors", "--json", **elsewhere).json == []
    assert cli.ok("reindex", "--from-files", "--json", **elsewhere).json["memories"] == 1
    assert [hit["id"] for hit in cli.ok("search", "mirrors", "--json", **elsewhere).json] == [kept]
    assert "passages" in cli.ok("reindex", **elsewhere).out


def test_a_backup_comes_back_as_a_file_and_says_so(cli: Any, tmp_path: Path) -> None:
    kept = remember(cli, "Backups hold everything.")
    cli.ok("backup", "create", str(tmp_path / "memory.zip"))
    done = cli.ok("backup", "restore", str(tmp_path / "memory.zip"), "--yes")
    assert "the settings name another store" in done.err + done.out
    found = cli.ok("search", "backups", "--json", CLAUDE_MEMORY_STORE="").json
    assert [hit["id"] for hit in found] == [kept]


def test_erasing_says_what_it_cannot_reach_and_leaves_no_row_and_no_copy(cli: Any, postgres: Server) -> None:
    code = f"zanzibar{secrets.token_hex(6)}"  # other tests of this server speak of zanzibar, too
    kept = remember(cli, f"The launch code is {code}.")
    with Memory.open(cli.home, cli.project) as memory:
        memory.refresh_copy()
    copy = cli.home / "cache" / "team.db"
    assert code.encode() in copy.read_bytes()
    done = cli.ok("forget", "--erase", "--yes", kept)
    for words in ("write-ahead log", "backups", "replicas", "next sync"):
        assert words in done.err
    assert not [path for path in cli.home.rglob("*") if path.is_file() and code.encode() in path.read_bytes()]
    with psycopg.connect(conninfo(postgres.url())) as owner:
        tables = owner.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'claude_memory'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            held = f"SELECT count(*) FROM claude_memory.{table} t WHERE t::text LIKE '%{code}%'"
            assert owner.execute(held).fetchone() == (0,), table


def test_stats_tell_how_the_server_stands(cli: Any) -> None:
    remember(cli, "One.")
    server = cli.ok("stats", "--json").json["server"]
    assert server["release"].split(".")[0].isdigit()
    assert server["tables"]["memories"]["bytes"] > 0
    assert server["tables"]["passages"]["index_bytes"] > 0
    assert all(index["valid"] for index in server["indexes"].values())
    assert "gin" in {index["method"] for index in server["indexes"].values()}
    assert 0 < server["connections"]["own"] <= server["connections"]["all"] <= server["connections"]["limit"]


def test_on_a_file_there_is_no_server_to_tell_of(cli: Any) -> None:
    assert cli.ok("stats", "--json", CLAUDE_MEMORY_STORE="").json["server"] == {}
