"""A team's server: who sees what, by the program and by raw SQL; joining, exchanging, moving, leaving, failing."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.postgres_server import Server

from claude_memory import Memory, NewMemory
from claude_memory.errors import ConfigFault, SchemaTooNew, StoreFault
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    PersonId,
    ProjectId,
    ProjectIdentity,
    Scope,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.model import EventFilter, Review, Strength
from claude_memory.store.postgres import migrations, team_store
from claude_memory.store.postgres.team_server import conninfo
from claude_memory.store.postgres.team_store import PostgresStore, from_file
from claude_memory.store.sql.feed import ITEMS, FeedBatch, Sender
from claude_memory.store.sqlite import inspection
from claude_memory.store.sqlite.store import SqliteStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EVERY = MemoryFilter(statuses=tuple(Status))
EVERYWHERE = SearchScope(None)
REPOSITORY = ProjectIdentity(
    (f"remote:git.example/app#{'a' * 40}",), "app", "/srv/app", remote="git.example/app"
)


def login(server: Server, team: str, name: str) -> str:
    """A new member's URL; the team is made if it is not there."""
    return team_store.create_team(server.url(), team, name) or team_store.invite(server.url(), team, name)


@pytest.fixture
def team(postgres: Server) -> Iterator[Callable[[str], PostgresStore]]:
    """Opens the store of a new team as one of its members."""
    name, urls = f"team {random.random()}", dict[str, str]()
    with contextlib.ExitStack() as opened:

        def member(who: str) -> PostgresStore:
            urls[who] = urls.get(who) or login(postgres, name, who)
            return opened.enter_context(contextlib.closing(PostgresStore(urls[who])))

        member.url = urls  # type: ignore[attr-defined]
        yield member


def memory(project: str, body: str, **changed: Any) -> StoredMemory:
    values: dict[str, Any] = {"id": MemoryId(f"m{random.getrandbits(60):x}"), "kind": Kind.NOTE, "title": ""}
    at = {"created_at": NOW, "updated_at": NOW}
    return StoredMemory(body=body, project=ProjectId(project), **{**values, **at, **changed})


def bodies(store: Any) -> set[str]:
    return {found.body for found in store.memories.find(EVERYWHERE, EVERY)}


# --- who sees what


def test_a_project_is_the_members_and_a_preference_the_persons(team):
    ann, bob = team("ann"), team("bob")
    project = ann.project_for(REPOSITORY).id
    ann.memories.add([memory(project, "we use tabs"), memory(project, "I like tea", scope=Scope.USER)])
    assert bodies(bob) == {"we use tabs"}
    assert bodies(ann) == {"we use tabs", "I like tea"}
    assert bob.project_for(REPOSITORY).id == project


def test_another_members_word_is_theirs_by_name_and_never_the_persons_own(team):
    ann, bob = team("ann"), team("bob")
    project = ann.project_for(REPOSITORY).id
    ann.memories.add([memory(project, "we use tabs", id="m1", trust=Trust.USER)])
    [seen] = bob.memories.find(EVERYWHERE, EVERY)
    assert (seen.trust, seen.provenance["member"]) == (Trust.IMPORTED, "ann")
    bob.memories.update(replace(seen, pinned=True, trust=Trust.USER))
    [own] = ann.memories.find(EVERYWHERE, EVERY)
    assert (own.trust, own.pinned) == (Trust.USER, True)
    bob.memories.update(replace(seen, body="we use spaces", trust=Trust.USER))
    [changed] = ann.memories.find(EVERYWHERE, EVERY)
    assert (changed.trust, changed.provenance["member"]) == (Trust.IMPORTED, "bob")


def test_conversations_and_reminders_are_the_persons_alone(team):
    ann, bob = team("ann"), team("bob")
    project = ann.project_for(REPOSITORY).id
    with psycopg.connect(conninfo(team.url["ann"]), options="-c search_path=claude_memory,public") as own:
        own.execute(
            "INSERT INTO events (id, kind, agent, project, cwd, timestamp, payload) SELECT 'e1', 'prompt', 'a', "
            "number, '/x', 1, '{\"prompt\": \"secret\"}' FROM projects"
        )
    assert ann.stats().events == 1
    assert bob.stats().events == 0
    assert bob.project_for(REPOSITORY).id == project


def test_tables_that_a_member_makes_for_a_moment_decide_nothing(team):
    """A temporary table stands before a schema's own unless a function's search path says otherwise."""
    ann, bob = team("ann"), team("bob")
    ann.memories.add([memory(ann.project_for(REPOSITORY).id, "Ann likes tabs.", scope=Scope.USER)])
    with psycopg.connect(conninfo(team.url["bob"]), options="-c search_path=claude_memory,public") as own:
        who = "SELECT memory_person(), memory_team(), session_person(), session_team()"
        before = own.execute(who).fetchone()
        for table, columns in (
            ("people", "number + 1000 AS number, role"),
            ("members", "team + 1000 AS team, role, joined"),
            ("teams", "number + 1000 AS number, name"),
        ):
            own.execute(f"CREATE TEMP TABLE {table} AS SELECT {columns} FROM claude_memory.{table}")
        after = own.execute(who).fetchone()
    assert None not in before
    assert after == before
    assert bodies(bob) == set()


def test_erasing_reaches_the_other_members(team):
    ann, bob = team("ann"), team("bob")
    project = ann.project_for(REPOSITORY).id
    said = memory(project, "the launch code is zanzibar")
    ann.memories.add([said])
    bob.memories.erase([said.id])
    assert bodies(ann) == set()
    assert ann.memories.add([said]).tombstoned == 1


@pytest.mark.parametrize("operations", [1_500, pytest.param(10_000, marks=pytest.mark.soak)])
def test_operations_of_six_people_in_three_teams_cross_nothing(postgres, operations):
    """Against a model; most go by raw SQL with a member's own login, forged ids among them."""
    chance, names = random.Random(7), [f"iso {random.random()} {number}" for number in range(3)]
    people = [(team, login(postgres, team, f"p{number}")) for number, team in enumerate([*names, *names])]
    stores = [PostgresStore(url) for _, url in people]
    projects = [store.project_for(REPOSITORY).id for store in stores]
    numbers = [store._server.person for store in stores]
    shared: dict[str, set[str]] = {team: set() for team in names}
    own: list[set[str]] = [set() for _ in people]
    raw = [
        psycopg.connect(conninfo(url), autocommit=True, options="-c search_path=claude_memory,public")
        for _, url in people
    ]
    columns = "id, project, space, kind, title, body, created_at, updated_at, trust, status, topics, files, provenance, pinned"
    insert = (
        f"INSERT INTO memories ({columns}, person) SELECT %(id)s, number, coalesce(%(space)s, number), 'note', '', "
        "%(body)s, 1, 1, 'user', 'active', '[]', '[]', '{}', false, %(person)s FROM projects LIMIT 1"
    )
    with contextlib.ExitStack() as opened:
        for thing in (*stores, *raw):
            opened.enter_context(contextlib.closing(thing))
        for turn in range(operations):
            who = chance.randrange(6)
            team, body, act = people[who][0], f"word{turn}", chance.random()
            if act < 0.02:
                stores[who].memories.add([memory(projects[who], body)])
                shared[team].add(body)
            elif act < 0.03:
                stores[who].memories.add([memory(projects[who], body, scope=Scope.USER)])
                own[who].add(body)
            elif act < 0.04:  # in another person's name, by the program
                forged = memory(projects[who], body, scope=Scope.USER, person=PersonId("somebody"))
                stores[who].memories.add([forged])
            elif act < 0.3:
                raw[who].execute(insert, {"id": body, "space": None, "body": body, "person": None})
                shared[team].add(body)
            elif act < 0.5:
                private = {"id": body, "space": -numbers[who], "body": body, "person": numbers[who]}
                raw[who].execute(insert, private)
                own[who].add(body)
            elif act < 0.7:  # forged: another person's space, another team
                other = chance.choice([number for number in numbers if number != numbers[who]])
                forged_row = {"id": body, "space": -other, "body": body, "person": other}
                with pytest.raises(psycopg.Error):
                    raw[who].execute(insert, forged_row)
            elif act < 0.8:
                moved = raw[who].execute("UPDATE memories SET team = team WHERE team <> memory_team()")
                assert moved.rowcount == 0
                if shared[team]:
                    with pytest.raises(psycopg.Error):
                        raw[who].execute("UPDATE memories SET team = team + 1")
            elif act < 0.85:
                raw[who].execute(
                    "SELECT set_config('claude_memory.team', %s, false)", (chance.choice(names),)
                )
                seen = {body for (body,) in raw[who].execute("SELECT body FROM memories")}
                assert seen <= shared[team] | own[who]
                raw[who].execute("SELECT set_config('claude_memory.team', '', false)")
            elif act < 0.9:
                statement = chance.choice(
                    [
                        "INSERT INTO members SELECT 1, 1, current_user",
                        "UPDATE people SET role = current_user",
                        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
                        "DROP POLICY own ON memories",
                        f'SET ROLE "{postgres.url().split("//")[1].split(":")[0]}"',
                    ]
                )
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    raw[who].execute(statement)
            else:
                seen = {body for (body,) in raw[who].execute("SELECT body FROM memories")}
                assert seen == shared[team] | own[who]
        for who, (team, _) in enumerate(people):
            assert bodies(stores[who]) == shared[team] | own[who]
            for table in ("messages", "events", "changes", "meta", "feed", "passages", "vectors"):
                count = f"SELECT count(*) FROM {table} WHERE team <> memory_team()"
                assert raw[who].execute(count).fetchone() == (0,)


def test_a_forged_import_reaches_nothing_of_another_person_or_team(postgres, team):
    """A member sends what is not theirs: in another's name, for another alone, about another team's rows."""
    ann, mallory = team("ann"), team("mallory")
    with contextlib.closing(PostgresStore(login(postgres, f"other {random.random()}", "zoe"))) as zoe:
        project, elsewhere = ann.project_for(REPOSITORY).id, zoe.project_for(REPOSITORY).id
        ann.memories.add([memory(project, "ann alone", id="m1", scope=Scope.USER, trust=Trust.USER)])
        zoe.memories.add([memory(elsewhere, "zoe's team", id="m2", trust=Trust.USER)])
        mallory.memories.add([memory(project, "planted", id="m3", trust=Trust.USER)])
        [record] = [one for one in mallory.feed.changes(ITEMS, 0, 99).records if one["kind"] == "memory"]
        forged = [
            json.loads(json.dumps({**record, "memory": {**record["memory"], **changed}}))
            for changed in (
                {"id": "m1", "body": "forged 1", "scope": "user", "person": ann.person},
                {"id": "m1", "body": "forged 2", "person": ann.person},
                {"id": "m2", "body": "forged 3", "person": zoe.person, "project": elsewhere},
                {"id": "m4", "body": "forged 4", "scope": "user", "person": ann.person},
                {"id": "m5", "body": "forged 5", "trust": "user", "person": ann.person},
            )
        ]
        for number, one in enumerate(forged, 1):
            with contextlib.suppress(StoreFault):
                mallory.feed.apply(FeedBatch(ITEMS, number, [one]), Sender("forged", ann.person))
        seen = {one.body: one for one in ann.memories.find(EVERYWHERE, EVERY)}
        assert seen["ann alone"].trust is Trust.USER
        for body in {"forged 1", "forged 4"} & set(seen):
            raise AssertionError(f"{body} reached ann's own space")
        for body in set(seen) - {"ann alone"}:  # what a member may say about a project is theirs by name
            assert (seen[body].trust, seen[body].provenance["member"]) == (Trust.IMPORTED, "mallory")
        assert bodies(zoe) == {"zoe's team"}


def test_what_one_erases_goes_from_the_others_conversations_with_their_next_drain(team, tmp_path):
    from claude_memory.store.model import NewMessage

    ann, bob = team("ann"), team("bob")
    project = ann.project_for(REPOSITORY).id
    told = NewMessage(
        SessionId("s1"), "claude-code", "user", NOW, "the launch code is zanzibar", (1, 2), "/srv/app"
    )
    bob.archive.add([told], {"/srv/app": project})
    said = memory(project, "the launch code is zanzibar")
    ann.memories.add([said])
    ann.memories.erase([said.id])
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.team.join(team.url["bob"], hub=False)
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.refresh_copy()
    [conversation] = bob.archive.conversations(EVERYWHERE)
    assert "zanzibar" not in bob.archive.messages(conversation.number)[0].text
    assert not bob.feed.is_unswept()


# --- moving and exchanging


def filled(home: Path) -> None:
    with contextlib.closing(open_store(home, Settings())) as store:
        project = store.project_for(REPOSITORY).id
        first = memory(
            project, "we chose zebra striping", session=SessionId("s1"), topics=("tables",), id="m1"
        )
        store.memories.add([first, memory(project, "lions sleep", session=SessionId("s1"), id="m2")])
        store.memories.add([memory(project, "I like tea", scope=Scope.USER, id="m3")])
        store.memories.add([memory(project, "spoken and taken back", id="m4")])
        state = Strength(12.5, 4.25, NOW, 3, 1, False)
        store.lifecycle.put_strengths({first.id: state}, [Review(first.id, NOW, "shown")])
        passages = store.memories.unembedded("model", 99)
        store.memories.add_vectors("model", [(one.id, bytes([one.id, 5, 200, 7])) for one in passages])
        store.memories.erase([MemoryId("m4")])


def answers(store: Any) -> Any:
    found = store.memories.find(EVERYWHERE, EVERY)
    words = store.memories.text_candidates(EVERYWHERE, EVERY, {"zebra": 1.0, "tea": 1.0, "lion": 0.5}, 9)
    near = store.memories.vector_candidates(EVERYWHERE, EVERY, bytes([3, 5, 200, 7]), "model", 9)
    return (
        [replace(one, person=None) for one in found],
        words,
        [(id_, round(score, 5)) for id_, score in near.candidates],
        store.lifecycle.strengths([one.id for one in found]),
        store.lifecycle.reviews(MemoryId("m1")),
        store.feed.erasures(),
        store.projects(),
        store.memories.add([memory(store.projects()[0].id, "spoken and taken back")]).tombstoned,
    )


def test_a_store_moves_to_a_server_and_back_with_the_same_answers(team, tmp_path):
    filled(tmp_path)
    server = team("ann")
    with contextlib.closing(open_store(tmp_path, Settings())) as own:
        before = answers(own)
        from_file(own, server)  # type: ignore[arg-type]
    assert answers(server) == before
    server.memories.add([memory(server.projects()[0].id, "numbers go on", id="m9")])
    server.memories.erase([MemoryId("m9")])
    server.export(tmp_path / "back" / "memory.db")
    with contextlib.closing(open_store(tmp_path / "back", Settings())) as back:
        after = answers(back)
        assert back.check().problems == ()
    assert (*after[:5], *after[6:]) == (*before[:5], *before[6:])


def test_two_people_with_stores_of_their_own_exchange_what_is_the_projects(team, tmp_path):
    team("ann"), team("bob")
    homes = {name: tmp_path / name for name in ("ann", "bob")}
    for name, home in homes.items():
        folder = tmp_path / f"{name} app"
        folder.mkdir()
        with Memory.open(home, folder) as memory_:
            memory_.store.project_for(REPOSITORY)
            project = memory_.store.project_for(REPOSITORY).id
            memory_.store.memories.add(
                [
                    memory(project, f"{name} says tabs", trust=Trust.USER),
                    memory(project, f"{name} likes tea", scope=Scope.USER),
                ]
            )
    for name in ("ann", "bob", "ann"):
        with Memory.open(homes[name], tmp_path / f"{name} app") as memory_:
            memory_.homes.sync([team.url[name]])
    with Memory.open(homes["ann"], tmp_path / "ann app") as memory_:
        found = {one.body: one for one in memory_.store.memories.find(EVERYWHERE, EVERY)}
        assert set(found) == {"ann says tabs", "ann likes tea", "bob says tabs"}
        assert found["bob says tabs"].trust is Trust.IMPORTED
        assert found["bob says tabs"].provenance["member"] == "bob"
        assert found["ann says tabs"].trust is Trust.USER


def test_what_is_committed_late_is_told_after_what_was_committed_before_it(team):
    """Of two that write at once the first to begin may be the last to be numbered, and the other the last to
    end: whoever read in between still gets both."""
    ann, bob = team("ann"), team("bob")
    ann.memories.add([memory(ann.project_for(REPOSITORY).id, "there before")])
    insert = (
        "INSERT INTO memories (id, project, space, kind, title, body, created_at, updated_at, trust, status,"
        " topics, files, provenance, pinned) SELECT %s, number, number, 'note', '', 'said', 1, 1, 'user',"
        " 'active', '[]', '[]', '{}', false FROM projects LIMIT 1"
    )
    options = "-c search_path=claude_memory,public"
    with (
        psycopg.connect(conninfo(team.url["ann"]), options=options) as first,
        psycopg.connect(conninfo(team.url["bob"]), options=options) as second,
    ):
        first.execute("SELECT pg_current_xact_id()")
        second.execute(insert, ("late",))
        first.execute(insert, ("soon",))
        first.commit()
        between = bob.feed.changes(ITEMS, 0, 99)
        second.commit()
    after = bob.feed.changes(ITEMS, between.through, 99)
    told = [one["memory"]["id"] for one in (*between.records, *after.records) if one["kind"] == "memory"]
    assert {"soon", "late"} <= set(told)
    ann.close()


def test_who_leaves_takes_along_what_is_theirs(team, tmp_path):
    ann = team("ann")
    url = team.url["ann"]
    bob = team("bob")
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.team.join(url, hub=False)
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.remember(NewMemory(body="we use tabs"))
        memory_.remember(NewMemory(body="I like tea", scope=Scope.USER))
        assert [one.name for one in memory_.team.members()] == ["ann", "bob"]
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.team.leave()
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        assert memory_.settings.store == ""
        assert bodies(memory_.store) == {"we use tabs", "I like tea"}
    assert bodies(bob) == {"we use tabs"}
    with pytest.raises(StoreFault, match="no member"):
        PostgresStore(url)
    ann.close()


def test_who_brought_a_store_and_leaves_goes_on_with_what_is_so_by_now(team, tmp_path):
    team("ann").close()
    home = tmp_path / "home"
    with Memory.open(home, tmp_path) as memory_:
        memory_.remember(NewMemory(body="we use tabs"))
    with Memory.open(home, tmp_path) as memory_:
        memory_.team.join(team.url["ann"], hub=False, bring=True)
    with Memory.open(home, tmp_path) as memory_:
        [brought] = memory_.store.memories.find(EVERYWHERE, EVERY)
        assert brought.body == "we use tabs"
        memory_.remember(NewMemory(body="we deploy on Fridays"))
        memory_.upkeep.erase([brought.id])
    with Memory.open(home, tmp_path) as memory_:
        assert memory_.team.leave().file == home / "memory.db"
    with Memory.open(home, tmp_path) as memory_:
        assert bodies(memory_.store) == {"we deploy on Fridays"}


# --- what can go wrong


def test_what_is_wrong_with_a_server_is_said_in_a_line(postgres, team):
    team("ann")
    good = team.url["ann"]
    wrong = {
        "postgresql://a b": "no PostgreSQL URL",
        good.replace("cm_ann", "cm_nobody"): "refuses this name or password",
        good.replace("/postgres?", "/nothing?"): "no such database",
        good.replace(str(postgres.port), "1"): "cannot be reached",
        good.replace("127.0.0.1", "db.example") + "&sslmode=prefer": "unencrypted",
        postgres.url(): "passes row security by",
        good.replace("team=team", "team=other"): "no member of a team",
        "mysql://x": "sqlite:///PATH",
    }
    for url, said in wrong.items():
        with pytest.raises((StoreFault, ConfigFault), match=said) as told:
            open_store(Path("/nowhere"), Settings(store=url))
        assert "\n" not in str(told.value)
        assert good.split(":")[2].split("@")[0] not in str(told.value)


def test_an_old_a_missing_and_a_newer_schema_are_refused(postgres, team, monkeypatch):
    team("ann")
    url = team.url["ann"]
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 990_000)
    with pytest.raises(StoreFault, match="15 or later"):
        PostgresStore(url)
    monkeypatch.undo()
    monkeypatch.setattr(migrations, "CURRENT", 0)
    with pytest.raises(SchemaTooNew, match="upgrade"):
        PostgresStore(url)
    monkeypatch.setattr(migrations, "CURRENT", 99)
    with pytest.raises(StoreFault, match="team create"):
        PostgresStore(url)
    monkeypatch.undo()
    with psycopg.connect(conninfo(postgres.url()), autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS empty")
        owner.execute("CREATE DATABASE empty")
    with pytest.raises(StoreFault, match="no store yet"):
        PostgresStore(postgres.url("empty"))


def test_a_missing_extension_is_said_in_a_line(postgres, monkeypatch):
    with psycopg.connect(conninfo(postgres.url()), autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS bare")
        owner.execute("CREATE DATABASE bare")
        owner.execute("DROP ROLE IF EXISTS clerk")
        owner.execute("CREATE ROLE clerk LOGIN CREATEROLE PASSWORD 'pw'")
    with pytest.raises(StoreFault, match=r"may not make it: .*CREATE EXTENSION vector") as told:
        team_store.create_team(postgres.url("bare", "clerk", "pw"), "t", "ann")
    assert "\n" not in str(told.value)
    monkeypatch.setattr(migrations, "EXTENSION", "no_such_extension")
    with pytest.raises(StoreFault, match="install pgvector") as told:
        team_store.create_team(postgres.url("bare"), "t", "ann")
    assert "\n" not in str(told.value)


def test_a_server_that_dies_loses_nothing_that_was_told_as_kept(tmp_path):
    """Killed in the middle of writes, again and again: what was acknowledged is there, once."""
    server = Server("fsync=on", "full_page_writes=on")
    server.start()
    try:
        url = login(server, "killed", "ann")
        kept: list[str] = []
        store = PostgresStore(url)
        project = store.project_for(REPOSITORY).id
        for turn in range(3):
            for number in range(12):
                body = f"kept {turn} {number}"
                if number == 8:
                    server.kill()
                with contextlib.suppress(StoreFault):
                    store.memories.add([memory(project, body)])
                    kept.append(body)
            server.start()
        store.close()
        with contextlib.closing(PostgresStore(url)) as again:
            found = [one.body for one in again.memories.find(EVERYWHERE, EVERY)]
            assert set(kept) <= set(found)
            assert len(found) == len(set(found))
            assert again.check().problems == ()
        assert len(kept) == 24
    finally:
        server.remove()


def test_a_hook_never_waits_for_the_server(tmp_path, team):
    """The address is one where nothing answers: whoever asked it would wait for the network's timeout."""
    from claude_memory.surfaces.hooks.answers import respond

    team("ann")
    home, url = tmp_path / "home", team.url["ann"]
    home.mkdir()
    (home / "config.toml").write_text(f'store = "{url.replace("127.0.0.1", "192.0.2.1")}"\n')
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(tmp_path)}
    respond("UserPromptSubmit", json.dumps({**told, "prompt": "why zebra striping"}).encode(), home)
    assert "claude_memory.store.postgres.team_server" not in loaded_by_hook(home, told)


def test_hooks_look_at_a_copy_that_the_drain_makes(tmp_path, team):
    team("ann")
    home = tmp_path / "home"
    with Memory.open(home, tmp_path) as memory_:
        memory_.team.join(team.url["ann"], hub=False)
    with Memory.open(home, tmp_path) as memory_:
        memory_.remember(NewMemory(body="we chose zebra striping"))
        memory_.refresh_copy()
    with Memory.open(home, tmp_path, for_hook=True) as seen:
        assert bodies(seen.store) == {"we chose zebra striping"}
        assert seen.settings.store == "sqlite:///cache/team.db"


def test_the_log_of_a_hook_that_was_killed_does_not_lie_over_the_new_copy(tmp_path, team, monkeypatch):
    ann, target = team("ann"), tmp_path / "cache" / "team.db"
    kept: list[SqliteStore] = []
    written = inspection.copy

    def copy(*arguments: Any) -> int:
        """While the new copy is written, a hook notes a folder in the one that goes."""
        kept.append(SqliteStore(target, tmp_path))
        kept[0].project_for(ProjectIdentity(("repo:/hook@1111111",), "hook", "/hook"))
        return written(*arguments)

    team_store.to_file(ann, target, whole=False)
    ann.project_for(REPOSITORY)
    monkeypatch.setattr(inspection, "copy", copy)
    team_store.to_file(ann, target, whole=False)
    assert not target.with_name("team.db-wal").exists()
    with contextlib.closing(SqliteStore(target, tmp_path)) as seen:
        assert [project.name for project in seen.projects()] == ["app"]
    kept[0].close()


def test_a_password_is_not_shown(tmp_path, team):
    from claude_memory.platform import config_file

    team("ann")
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        memory_.team.join(team.url["ann"], hub=True)
    shown = config_file.resolved(tmp_path / "home", None)["hub"].value
    assert shown.startswith("postgresql://cm_ann")
    assert team.url["ann"].split(":")[2].split("@")[0] not in shown


def loaded_by_hook(home: Path, told: dict[str, str]) -> str:
    code = (
        "import sys, json; from claude_memory.surfaces.hooks.answers import respond;"
        "respond('UserPromptSubmit', json.dumps({**json.loads(sys.argv[2]), 'prompt': 'why zebra'}).encode(),"
        " sys.argv[1]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(home), json.dumps(told)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_both_backends_put_the_same_first(team, tmp_path):
    """Words only, 60 questions over 400 memories: at least 98% have the same first ten."""
    chance, words = (
        random.Random(3),
        [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe") for b in "bcdfghjklm"],
    )
    told = [" ".join(chance.choices(words, k=chance.randint(4, 30))) for _ in range(400)]
    questions = [" ".join(chance.choices(words, k=3)) for _ in range(60)]
    team("ann")
    firsts = []
    for name, store in (("file", ""), ("server", team.url["ann"])):
        flags = {"embedder": "none", "store": store}
        with Memory.open(tmp_path / name, tmp_path, flags=flags) as memory_:
            project = memory_.project.id
            kept = [
                memory(project, body, id=MemoryId(f"m{number:03d}"), session=SessionId(f"s{number // 20}"))
                for number, body in enumerate(told)
            ]
            memory_.store.memories.add(kept)
            firsts.append([[hit.id for hit in memory_.search(one, limit=10)] for one in questions])
    alike = sum(one == other for one, other in zip(*firsts, strict=True))
    assert alike >= 0.98 * len(questions)


def test_summaries_are_pushed_to_plain_tables_and_renewed(postgres, tmp_path):
    from claude_memory.store.model import NewMessage
    from claude_memory.summaries.making import summarise
    from claude_memory.summaries.shelf import document_of

    said = {**summarise([]), "executive": "we chose zebra striping"}
    summary = document_of(said, NOW, "auto", {"provider": "rules"})
    with Memory.open(tmp_path / "home", tmp_path) as memory_:
        folder = memory_.home / "sessions" / "session_s1" / "summaries"
        folder.mkdir(parents=True)
        (folder / "compact_001.json").write_text(json.dumps(summary))
        told = NewMessage(
            SessionId("s1"), "claude-code", "user", NOW, "use zebra striping", (1,), str(tmp_path)
        )
        memory_.store.archive.add([told], {str(tmp_path): memory_.project.id})
        memory_.catch_up()
        for _ in range(2):
            assert memory_.summaries.push(postgres.url(), all_projects=True)[0] == 1
    with psycopg.connect(conninfo(postgres.url())) as db:
        found = db.execute("SELECT session, number, executive FROM claude_memory_summaries").fetchall()
        assert found == [("s1", 1, "we chose zebra striping")]


def test_counts_of_words_are_the_same_with_a_lexicon_and_tell_no_erased_word(team, postgres):
    """Above a few hundred passages words are counted beforehand; what is new since then is counted on top."""
    ann = team("ann")
    project = ann.project_for(REPOSITORY).id
    scope = SearchScope((project,))
    words = ["zebra", "lion", "common", "zanzibar", "fresh"]

    def counts() -> Any:
        return ann.memories.term_statistics(scope, words)

    told = [f"common {'zebra' if number % 3 else 'lion'} note{number}" for number in range(400)]
    secret = memory(project, "common zanzibar")
    ann.memories.add([*(memory(project, body) for body in told), secret])
    with ann.transactions.reading() as db:
        assert db.execute("SELECT passages FROM lexicon WHERE term = 'zanzibar'").get == 1
    ann.memories.add([memory(project, "fresh common zebra")])
    counted = counts()
    assert counted.passages == 402
    assert counted.document_frequency == {"zebra": 267, "lion": 134, "common": 402, "zanzibar": 1, "fresh": 1}
    ann.memories.erase([secret.id])
    with psycopg.connect(conninfo(postgres.url())) as owner:
        left = owner.execute("SELECT count(*) FROM claude_memory.lexicon WHERE term = 'zanzibar'")
        assert left.fetchone() == (0,)
    with ann.transactions.writing() as db:
        db.execute("DELETE FROM lexicon"), db.execute("DELETE FROM lexicons")
    assert counts().document_frequency == {**counted.document_frequency, "zanzibar": 0, "common": 401}


def test_the_index_of_many_vectors_finds_what_comparing_all_of_them_finds(team, monkeypatch):
    """Above a number of vectors the index finds the nearest; a filter that lets few through compares all."""
    from claude_memory.store.postgres import finding

    ann, chance = team("ann"), random.Random(5)
    project = ann.project_for(REPOSITORY).id
    kinds = [Kind.DECISION if number % 100 == 0 else Kind.NOTE for number in range(400)]
    ann.memories.add([memory(project, f"note{place}", kind=kind) for place, kind in enumerate(kinds)])
    vectors = {one.id: chance.randbytes(16) for one in ann.memories.unembedded("model", 999)}
    ann.memories.add_vectors("model", list(vectors.items()))
    scope, rare = SearchScope((project,)), MemoryFilter(kinds=(Kind.DECISION,))
    asked = [chance.randbytes(16) for _ in range(20)]

    def nearest() -> list[Any]:
        found = [ann.memories.vector_candidates(scope, MemoryFilter(), one, "model", 10) for one in asked]
        return [{id_ for id_, _ in scan.candidates} for scan in found]

    exact = nearest()
    monkeypatch.setattr(finding, "EXACT_THROUGH", 100)
    by_index = nearest()
    assert sum(len(one & other) for one, other in zip(exact, by_index, strict=True)) >= 190
    scan = ann.memories.vector_candidates(scope, MemoryFilter(), asked[0], "model", 10)
    assert scan.scanned == 400
    assert -1.0 <= scan.minimum < scan.mean < 1.0
    assert len(ann.memories.vector_candidates(scope, rare, asked[0], "model", 10).candidates) == 4
    with ann.transactions.reading() as db:
        plan = "SELECT count(*) FROM pg_class WHERE relname LIKE 'vectors_near_%'"
        assert db.execute(plan).get >= 1


def test_the_doctor_tells_of_the_extension_and_of_rows_that_nobody_cleared_away(team, postgres):
    ann = team("ann")
    assert not [text for name, _, text, _ in ann.findings() if name == "bloat"]
    with psycopg.connect(conninfo(postgres.url()), autocommit=True) as owner:
        owner.execute("CREATE TABLE claude_memory.dead (number int) WITH (autovacuum_enabled = false)")
        try:
            owner.execute("INSERT INTO claude_memory.dead SELECT generate_series(1, 10001)")
            owner.execute("DELETE FROM claude_memory.dead")
            owner.execute("SELECT pg_stat_force_next_flush()")
            found = {name: (level, text) for name, level, text, _ in ann.findings()}
        finally:
            owner.execute("DROP TABLE claude_memory.dead")
    assert found["bloat"] == ("warn", "dead (10,001 dead rows)")
    assert found["pgvector"][0] == "ok"
    assert found["pgvector"][1][0].isdigit()


def test_a_missing_index_of_many_vectors_is_told_and_made_by_a_reindex(team, postgres, monkeypatch):
    from claude_memory.store.postgres import finding

    monkeypatch.setattr(finding, "EXACT_THROUGH", 20)
    monkeypatch.setattr(finding, "_INDEXED_AT_ONCE", 0)  # as where many come at once
    ann, chance = team("ann"), random.Random(5)
    ann.memories.add([memory(ann.project_for(REPOSITORY).id, f"note{place}") for place in range(30)])
    waiting = ann.memories.unembedded("many", 99)
    ann.memories.add_vectors("many", [(one.id, chance.randbytes(16)) for one in waiting])

    def told() -> list[str]:
        found = ann.findings()
        return [text for name, _, text, _ in found if name == "vector index" and "many" in text]

    assert len(told()) == 1
    ann.memories.rebuild_index()
    assert told() == []


def test_a_server_that_dies_while_a_drain_brings_in_what_was_captured_loses_none_of_it(tmp_path):
    """Killed and started again in the middle of drains: every event that was acknowledged is there, once."""
    from claude_memory.hook import claude_memory_hook as hook

    server, home = Server("fsync=on", "full_page_writes=on"), tmp_path / "home"
    server.start()
    try:
        flags = {"store": login(server, "killed", "ann"), "embedder": "none"}
        told, said = set(), []
        for turn in range(4):
            for number in range(30):
                prompt = f"remark {turn} {number}"
                event = {
                    "session_id": f"s{turn}",
                    "cwd": str(tmp_path),
                    "prompt_id": prompt,
                    "prompt": prompt,
                }
                hook.spool(str(home), "UserPromptSubmit", hook.DEFAULT_AGENT, [json.dumps(event).encode()])
                told.add(prompt)
            ended = threading.Timer(0.1 * turn, server.kill)
            ended.start()
            try:
                with Memory.open(home, tmp_path, flags=flags) as memory_:
                    memory_.upkeep.drain()
            except StoreFault as fault:
                said.append(str(fault))
            ended.join()
            server.start()
        with Memory.open(home, tmp_path, flags=flags) as memory_:
            memory_.upkeep.drain()
            events = memory_.store.archive.events(EVERYWHERE, EventFilter(), limit=999)
            [texts] = [[e.payload["prompt"] for e in events]]
            messages = [
                message.text
                for one in memory_.store.archive.conversations(EVERYWHERE)
                for message in memory_.store.archive.messages(one.number)
            ]
            assert memory_.store.check().problems == ()
        assert sorted(texts) == sorted(told)
        assert sorted(messages) == sorted(told)
        assert all("\n" not in line and "not lost" in line for line in said)
        assert said
    finally:
        server.remove()
