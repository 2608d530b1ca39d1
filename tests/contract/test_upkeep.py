"""Checks, rebuilding and copies."""

import threading
from datetime import timedelta

from claude_memory.model import MemoryFilter


def test_a_healthy_store_counts_alike(store, make):
    store.memories.add([make.memory("word " * 1000, session="s1") for _ in range(5)])
    make.embed_all()
    found = store.check()
    assert found.problems == ()
    assert found.memories == 5
    assert found.passages == found.text_entries == found.vectors["model-a"] > 5


def test_rebuilding_the_index_changes_nothing_and_keeps_vectors(store, make):
    memories = [
        make.memory(f"alpha bravo w{n} " * (1 + 400 * (n % 2)), session=f"s{n % 3}") for n in range(30)
    ]
    store.memories.add(memories)
    vectors = make.embed_all()
    before = {term: make.find(term) for term in ("alpha", "w7", "w8")}
    counted = store.memories.term_statistics(make.scope, ["alpha", "w7"])
    made = store.memories.rebuild_index()
    assert made == store.check().passages
    assert {term: make.find(term) for term in before} == before
    assert store.memories.term_statistics(make.scope, ["alpha", "w7"]) == counted
    assert make.near(vectors["m0009"], limit=1) == ["m0009"]
    assert store.memories.unembedded("model-a", 9) == []
    assert store.check().problems == ()


def test_rebuilding_while_others_write_loses_nothing(store, make, reopen):
    store.memories.add([make.memory(f"word{n}", session="s") for n in range(200)])
    late = [make.memory(f"late{n}", session="s", created_at=make.memory("x").created_at) for n in range(40)]
    writer = reopen()
    thread = threading.Thread(target=lambda: [writer.memories.add([memory]) for memory in late])
    thread.start()
    for _ in range(3):
        store.memories.rebuild_index()
    thread.join()
    assert len(store.memories.find(make.scope, MemoryFilter())) == 240
    assert all(make.find(f"late{n}") for n in range(40))
    assert store.check().problems == ()


def test_threads_share_a_store(store, make):
    batches = [[make.memory(f"word{n}x{i}", session="s") for i in range(5)] for n in range(8)]
    threads = [threading.Thread(target=store.memories.add, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(make.find("word3x2")) > 0
    assert (
        len(store.memories.find(make.scope, MemoryFilter(since=batches[0][0].created_at - timedelta(1))))
        == 40
    )
    assert store.check().problems == ()
