"""A project is found by any name it ever had, and two projects never become one by accident."""

from dataclasses import replace

import pytest

from claude_memory.errors import NotFound
from claude_memory.model import MemoryFilter, ProjectIdentity, Scope, SearchScope
from claude_memory.store.sql import projects

ROOT = "a" * 40


def test_the_same_folder_is_the_same_project(store, identify):
    assert store.project_for(identify("/a/app")) == store.project_for(identify("/a/app"))


def test_the_id_says_the_name_and_hides_the_path(store, identify):
    id_ = store.project_for(identify("/secret/place/My App")).id
    assert id_.startswith("my-app-")
    assert "secret" not in id_


def test_clones_of_one_remote_are_one_project(store, identify):
    first = store.project_for(identify("/a/app", f"remote:host/me/app#{ROOT}", "repo:/a/app#1"))
    second = store.project_for(identify("/b/app", f"remote:host/me/app#{ROOT}", "repo:/b/app#1"))
    assert first.id == second.id


def test_adding_a_remote_later_keeps_the_project(store, identify):
    before = store.project_for(identify("/a/app", "repo:/a/app#1"))
    after = store.project_for(identify("/a/app", f"remote:host/me/app#{ROOT}", "repo:/a/app#1"))
    elsewhere = store.project_for(identify("/b/app", f"remote:host/me/app#{ROOT}", "repo:/b/app#1"))
    assert before.id == after.id == elsewhere.id


def test_a_first_commit_keeps_the_project(store, identify):
    before = store.project_for(identify("/a/app", "repo:/a/app#"))
    assert store.project_for(identify("/a/app", "repo:/a/app#abc")).id == before.id


def test_a_folder_that_becomes_a_repository_keeps_its_project(store, identify):
    before = store.project_for(identify("/a/app"))
    assert store.project_for(identify("/a/app", "repo:/a/app#abc")).id == before.id


def test_a_shared_root_commit_alone_joins_nothing(store, identify):
    first = store.project_for(identify("/a/app", "repo:/a/app#root"))
    second = store.project_for(identify("/b/app", "repo:/b/app#root"))
    assert first.id != second.id


def test_a_deleted_folder_of_a_repository_finds_its_project(store, identify):
    known = store.project_for(identify("/a/app", f"remote:host/me/app#{ROOT}", "repo:/a/app#1"))
    assert store.project_for(identify("/a/app/gone/deep")).id == known.id


def test_a_plain_folder_does_not_swallow_what_is_below(store, identify):
    home = store.project_for(identify("/home/me"))
    assert store.project_for(identify("/home/me/notes")).id != home.id


def test_projects_are_listed_with_their_names(store, identify):
    store.project_for(identify("/a/one"))
    store.project_for(identify("/a/two", "remote:host/me/two", "repo:/a/two#1"))
    assert [(found.name, found.identities[0]) for found in store.projects()] == [
        ("one", "path:/a/one"),
        ("two", "remote:host/me/two"),
    ]


def test_200_look_alike_projects_never_bleed(store, make_in):
    makers = [make_in(store, f"/srv/{number}/app") for number in range(200)]
    assert len({maker.project for maker in makers}) == 200
    memories = [maker.memory("we sign tokens with EdDSA", id=f"p{i}") for i, maker in enumerate(makers)]
    store.memories.add(memories)
    for place, maker in enumerate(makers):
        assert maker.find("sign tokens EdDSA") == [f"p{place}"]
        assert store.memories.term_statistics(maker.scope, ["token"]).document_frequency == {"token": 1}
        assert [found.id for found in store.memories.find(maker.scope, MemoryFilter())] == [f"p{place}"]
        assert store.memories.complete_id(maker.scope, "p") == [f"p{place}"]


def test_vectors_never_bleed(store, make, make_in):
    make.added("mine")
    other = make_in(store, "/srv/other")
    other.added("theirs", id="theirs")
    vectors = make.embed_all()
    assert make.near(vectors["theirs"], limit=10) == ["m0001"]
    assert (
        store.memories.vector_candidates(make.scope, MemoryFilter(), vectors["theirs"], "model-a", 10).scanned
        == 1
    )


def test_every_project_is_seen_on_request_only(store, make, make_in):
    make.added("mine about tokens")
    make_in(store, "/srv/other").added("theirs about tokens", id="theirs")
    assert set(make.find("tokens", scope=SearchScope(None))) == {"m0001", "theirs"}
    assert len(store.memories.find(SearchScope(None), MemoryFilter())) == 2
    assert store.memories.term_statistics(SearchScope(None), ["token"]).passages == 2


def test_what_travels_with_the_person_is_seen_everywhere(store, make, make_in):
    make.added("prefers tabs", scope=Scope.USER)
    other = make_in(store, "/srv/other")
    vector = make.embed_all()["m0001"]
    assert other.find("tabs") == ["m0001"]
    assert other.near(vector) == ["m0001"]
    assert [found.id for found in store.memories.find(other.scope, MemoryFilter())] == ["m0001"]


def test_a_memory_that_stops_travelling_is_seen_at_home_only(store, make, make_in):
    from dataclasses import replace

    memory = make.added("prefers tabs", scope=Scope.USER)
    vector = make.embed_all()["m0001"]
    other = make_in(store, "/srv/other")
    assert other.near(vector) == ["m0001"]
    store.memories.update(replace(memory, scope=Scope.PROJECT))
    make.embed_all()
    assert other.find("tabs") == []
    assert other.near(vector) == []
    assert make.find("tabs") == ["m0001"]


def test_words_of_a_project_do_not_travel_with_the_person(store, make, make_in):
    make.added("the launch code is zanzibar", session="s1")
    make.added("prefers tabs", session="s1", scope=Scope.USER)
    assert make_in(store, "/srv/other").find("zanzibar") == []


def test_a_partial_identity_recognises_a_project_and_makes_none(store, identify):
    known = store.project_for(identify("/srv/shop", "repo:/srv/shop#abc", "repo:/srv/shop@1"))
    partial = replace(identify("/srv/shop", "repo:/srv/shop@1"), partial=True)
    assert store.project_for(partial) == known
    with pytest.raises(NotFound):
        store.project_for(replace(identify("/srv/new", "repo:/srv/new@2"), partial=True))
    assert [project.id for project in store.projects()] == [known.id]


def test_a_remote_without_its_root_commit_joins_nothing(store, identify):
    known = store.project_for(identify("/a/app", "remote:host/me/app", "repo:/a/app@1111111"))
    assert store.project_for(identify("/b/app", "remote:host/me/app", "repo:/b/app@2222222")).id != known.id


def test_projects_are_merged_split_and_moved_to(store):
    one = store.project_for(ProjectIdentity(("repo:/one@1111111",), "one", "/one"))
    two = store.project_for(ProjectIdentity(("repo:/two@2222222",), "two", "/two"))
    with store.transactions.writing() as db:
        merged = projects.merge(db, two.id, one.id)
    assert merged.id == one.id
    assert store.project_for(ProjectIdentity(("repo:/two@2222222",), "two", "/two")).id == one.id
    assert [project.id for project in store.projects()] == [one.id]
    with store.transactions.writing() as db:
        own = projects.split(db, ProjectIdentity(("repo:/two@2222222",), "two", "/two"))
    assert own.id not in (one.id, two.id)
    assert store.project_for(ProjectIdentity(("repo:/two@2222222",), "two", "/two")).id == own.id
    third = ProjectIdentity(("remote:h/r#" + "a" * 40, "repo:/three@3333333"), "three", "/three")
    with store.transactions.writing() as db:
        assert projects.attach(db, third, own.id).id == own.id
    assert store.project_for(third).id == own.id
