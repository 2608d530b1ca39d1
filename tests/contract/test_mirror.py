"""Every change of a memory can be read once, and all of them rebuild the store."""

from dataclasses import replace
from datetime import timedelta

from claude_memory.model import MemoryFilter, SearchScope, Status
from claude_memory.store.model import Added

EVERY = MemoryFilter(statuses=tuple(Status))


def records(store):
    return [change.record for change in store.changes_since("memories.jsonl", 10_000)]


def memories(store):
    return store.memories.find(SearchScope(None), EVERY)


def test_changes_wait_until_they_are_mirrored(store, make):
    first = make.added("one")
    make.added("two", supersedes=first.id)
    kinds = [(record["change"], record.get("memory", {}).get("id")) for record in records(store)]
    assert kinds == [("project", None), ("add", "m0001"), ("add", "m0002"), ("supersede", "m0001")]
    through = store.changes_since("memories.jsonl", 2)[-1].sequence
    store.changes_taken("memories.jsonl", through)
    assert [record["change"] for record in records(store)] == ["add", "supersede"]


def test_forgetting_and_restoring_are_told(store, make):
    memory = make.added("one")
    store.memories.update(replace(memory, status=Status.FORGOTTEN, forgotten_at=memory.created_at))
    store.memories.update(memory)
    store.memories.update(replace(memory, pinned=True))
    assert [record["change"] for record in records(store)][2:] == ["forget", "restore", "update"]


def test_records_rebuild_every_memory_and_project(store, make, reopen, identify):
    first = make.added("zebra", session="s1", topics=("a",), files=("b.py",), provenance={"x": [1]})
    make.added("lion", session="s1", supersedes=first.id)
    hidden = make.added("hidden")
    store.memories.update(
        replace(hidden, status=Status.FORGOTTEN, forgotten_at=hidden.created_at, pinned=True)
    )
    rebuilt = reopen("rebuilt")
    assert rebuilt.replay(records(store)).memories == 3
    assert memories(rebuilt) == memories(store)
    assert rebuilt.projects() == store.projects()
    assert rebuilt.project_for(identify("/srv/app")).id == make.project
    assert records(rebuilt) == []
    assert rebuilt.memories.text_candidates(make.scope, EVERY, {"zebra": 1.0}, 9) != []
    assert rebuilt.check().problems == ()


def test_replaying_twice_changes_nothing(store, make):
    memory = make.added("one")
    store.memories.update(replace(memory, body="two", updated_at=memory.updated_at + timedelta(days=1)))
    before, told = memories(store), records(store)
    assert store.replay(told) == Added(duplicates=1)
    assert store.replay(told[:2]) == Added(duplicates=1)  # an older state does not win
    assert memories(store) == before


def test_erased_memories_are_told_by_hash_alone_and_stay_away(store, make, reopen):
    memory = make.added("the launch code is zanzibar")
    told = records(store)
    store.memories.erase([memory.id])
    erased = records(store)
    assert "zanzibar" not in str(erased)
    assert memory.id not in str(erased)
    rebuilt = reopen("rebuilt")
    assert rebuilt.replay([*told, *erased]) == Added(tombstoned=1)
    assert memories(rebuilt) == []
    assert rebuilt.memories.add([memory]) == Added(tombstoned=1)
    assert store.replay(told) == Added(tombstoned=1)
