"""What is erased is gone and stays gone; retention removes by the same means."""

from dataclasses import replace
from datetime import timedelta

from claude_memory.model import MemoryFilter, Status
from claude_memory.store.protocol import Added, Erased, EventFilter, Pruned


def test_erasing_removes_memory_text_vector_and_events(store, make):
    store.add([make.event("e1"), make.event("e2"), make.event("e3")], [])
    memory = make.added("zebra", provenance={"events": ["e1"], "source": {"event": "e2"}})
    make.embed_all()
    assert store.erase([memory.id]) == Erased(memories=1, events=2, passages=1, vectors=1)
    assert make.load(memory.id) is None
    assert make.find("zebra") == []
    assert [event.id for event in store.events(make.scope, EventFilter(), limit=9)] == ["e3"]
    assert store.integrity().problems == ()


def test_events_that_quote_the_memory_go_too(store, make):
    memory = make.added("the launch code is zanzibar")
    store.add([make.event("e1", payload={"prompt": 'remember: the launch code is zanzibar, "ok"?'})], [])
    assert store.erase([memory.id]).events == 1


def test_erased_memories_and_events_do_not_come_back(store, make, reopen):
    event = make.event("e1")
    memory = make.memory("zebra crossing", provenance={"event": "e1"})
    store.add([event], [memory])
    store.erase([memory.id])
    reworded = replace(memory, id="other", body="  Zebra\nCROSSING ")
    assert reopen().add([event], [memory, reworded]) == Added(tombstoned=3)


def test_the_same_words_in_another_project_are_not_touched(store, make, make_in):
    make.added("zebra crossing")
    other = make_in(store, "/srv/other")
    store.erase(["m0001"])
    assert store.add((), [other.memory("zebra crossing", id="theirs")]) == Added(memories=1)


def test_erasing_the_unknown_is_no_error(store):
    assert store.erase(["nobody"]) == Erased(0, 0, 0, 0)


def test_neighbours_forget_the_words_of_an_erased_one(store, make):
    memories = [make.memory(body, session="s1") for body in ("alpha", "bravo", "charlie")]
    store.add((), memories)
    store.erase([memories[1].id])
    assert make.find("bravo") == []
    assert store.term_statistics(make.scope, ["bravo"]).document_frequency == {"bravo": 0}


def test_pruning_drops_old_events_and_long_forgotten_memories(store, make):
    old, new = make.event("e1"), make.event("e2", timestamp=make.event("x").timestamp + timedelta(days=10))
    kept, gone = make.memory("kept"), make.memory("gone")
    store.add([old, new], [kept, gone])
    limit = old.timestamp + timedelta(days=5)
    store.update(replace(kept, status=Status.FORGOTTEN, forgotten_at=limit + timedelta(days=1)))
    store.update(replace(gone, status=Status.FORGOTTEN, forgotten_at=limit - timedelta(days=1)))
    assert store.prune(events_before=limit, forgotten_before=limit) == Pruned(events=1, memories=1)
    assert [event.id for event in store.events(make.scope, EventFilter(), limit=9)] == ["e2"]
    assert make.load(kept.id) is not None
    assert store.add((), [gone]) == Added(tombstoned=1)


def test_pruning_nothing_keeps_everything(store, make):
    memory = make.added("kept")
    store.update(replace(memory, status=Status.FORGOTTEN, forgotten_at=memory.created_at))
    assert store.prune(events_before=None, forgotten_before=None) == Pruned(0, 0)
    assert store.memories(make.scope, MemoryFilter(statuses=(Status.FORGOTTEN,))) != []
