"""What is erased is gone and stays gone; retention removes old events."""

from dataclasses import replace
from datetime import timedelta

from claude_memory.model import MemoryFilter
from claude_memory.redact.erasure import holds
from claude_memory.store.model import Added, Erased, EventFilter


def test_erasing_removes_memory_text_vector_and_events(store, make):
    store.archive.add(events=[make.event("e1"), make.event("e2"), make.event("e3")])
    memory = make.added("zebra", provenance={"events": ["e1"], "source": {"event": "e2"}})
    make.embed_all()
    assert store.memories.erase([memory.id]) == Erased(memories=1, events=2, passages=1, vectors=1)
    assert make.load(memory.id) is None
    assert make.find("zebra") == []
    assert [event.id for event in store.archive.events(make.scope, EventFilter(), limit=9)] == ["e3"]
    assert store.check().problems == ()


def test_events_that_quote_the_memory_go_too(store, make):
    memory = make.added("the launch code is zanzibar")
    store.archive.add(
        events=[make.event("e1", payload={"prompt": 'remember: the launch code is zanzibar, "ok"?'})]
    )
    assert store.memories.erase([memory.id]).events == 1


def test_erased_memories_and_events_do_not_come_back(store, make, reopen):
    event = make.event("e1")
    memory = make.memory("zebra crossing", provenance={"event": "e1"})
    store.archive.add(events=[event])
    store.memories.add([memory])
    store.memories.erase([memory.id])
    reworded = replace(memory, id="other", body="  Zebra\nCROSSING ")
    again = reopen()
    assert again.memories.add([memory, reworded]) == Added(tombstoned=2)
    assert again.archive.add(events=[event]).events == 0


def test_the_same_words_in_another_project_are_not_touched(store, make, make_in):
    make.added("zebra crossing")
    other = make_in(store, "/srv/other")
    store.memories.erase(["m0001"])
    assert store.memories.add([other.memory("zebra crossing", id="theirs")]) == Added(memories=1)


def test_erasing_the_unknown_is_no_error(store):
    assert store.memories.erase(["nobody"]) == Erased(0, 0, 0, 0)


def test_neighbours_forget_the_words_of_an_erased_one(store, make):
    memories = [make.memory(body, session="s1") for body in ("alpha", "bravo", "charlie")]
    store.memories.add(memories)
    store.memories.erase([memories[1].id])
    assert make.find("bravo") == []
    assert store.memories.term_statistics(make.scope, ["bravo"]).document_frequency == {"bravo": 0}


def test_pruning_drops_old_events_and_nothing_else(store, make):
    old, new = make.event("e1"), make.event("e2", timestamp=make.event("x").timestamp + timedelta(days=10))
    store.archive.add(events=[old, new])
    memory = make.added("kept")
    assert store.archive.prune(old.timestamp + timedelta(days=5)) == 1
    assert [event.id for event in store.archive.events(make.scope, EventFilter(), limit=9)] == ["e2"]
    assert make.load(memory.id) is not None


def test_pruning_nothing_keeps_everything(store, make):
    store.archive.add(events=[make.event("e1")])
    assert store.archive.prune(None) == 0
    assert len(store.archive.events(make.scope, EventFilter(), limit=9)) == 1


def test_what_was_erased_is_known_by_its_hashes_in_its_project(store, make, make_in):
    memory = make.added("the launch code is zanzibar")
    assert not holds("the launch code is zanzibar", store.memories.erased_sentences())
    store.memories.erase([memory.id])
    for project in (make.project, None):
        assert holds("I said: the launch code is Zanzibar.", store.memories.erased_sentences(project))
    elsewhere = store.memories.erased_sentences(make_in(store, "/srv/other").project)
    assert not holds("the launch code is zanzibar", elsewhere)


def test_tombstones_of_another_store_are_honoured(store, make, reopen):
    secret = make.added("the launch code is zanzibar")
    other = reopen("other home")
    other.replay([change.record for change in store.changes_since("m", 99)])
    told = make.memory("they said: the launch code is zanzibar", id="quoted")
    other.memories.add([told])
    store.memories.erase([secret.id])
    other.replay([change.record for change in store.changes_since("m", 99)])
    done = other.memories.apply_tombstones()
    assert (done.memories, set(done.ids)) == (2, {secret.id, "quoted"})
    assert other.memories.find(make.scope, MemoryFilter()) == []
    assert other.check().problems == ()
