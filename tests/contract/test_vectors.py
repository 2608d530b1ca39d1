"""Vectors are exact, belong to one model, and never outlive their passage."""

from dataclasses import replace

import numpy as np
import pytest

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryFilter
from claude_memory.store.model import VectorScan


def cosines(vectors, query):
    rows = np.stack([np.frombuffer(one, np.int8).astype(float) for one in vectors])
    wanted = np.frombuffer(query, np.int8).astype(float)
    return rows @ wanted / np.linalg.norm(rows, axis=1) / np.linalg.norm(wanted)


def test_the_scan_is_exact_and_tells_the_distribution(store, make):
    store.memories.add([make.memory(f"memory {number}") for number in range(700)])
    vectors = make.embed_all()
    query = make.vector(10**6)
    scan = store.memories.vector_candidates(make.scope, MemoryFilter(), query, "model-a", 20)
    truth = cosines(vectors.values(), query)
    assert [score for _, score in scan.candidates] == pytest.approx(sorted(truth)[::-1][:20], abs=1e-5)
    assert scan.scanned == 700
    assert (scan.minimum, scan.mean, scan.deviation) == pytest.approx(
        (truth.min(), truth.mean(), truth.std()), abs=1e-5
    )


def test_vectors_need_not_be_unit_length(store, make):
    memories = [make.added("a"), make.added("b")]
    first, second = (one.id for one in store.memories.unembedded("model-a", 9))
    store.memories.add_vectors("model-a", [(first, bytes([100, 0])), (second, bytes([3, 3]))])
    scan = store.memories.vector_candidates(make.scope, MemoryFilter(), bytes([5, 5]), "model-a", 9)
    assert scan.candidates == ((second, pytest.approx(1.0)), (first, pytest.approx(0.5**0.5)))
    assert len(memories) == 2


def test_newest_are_embedded_first_and_observations_last(store, make):
    bulk = make.added("bulk", kind=Kind.OBSERVATION)
    old = make.added("old")
    new = make.added("new")
    newest_bulk = make.added("newest bulk", kind=Kind.OBSERVATION)
    order = [one.memory for one in store.memories.unembedded("model-a", 9)]
    assert order == [new.id, old.id, newest_bulk.id, bulk.id]
    assert [one.memory for one in store.memories.unembedded("model-a", 1)] == [new.id]


def test_only_what_is_missing_is_asked_for(store, make, make_in):
    make.added("one")
    make_in(store, "/srv/other").added("two", id="two")
    make.embed_all()
    assert store.memories.unembedded("model-a", 9) == []
    assert len(store.memories.unembedded("model-b", 9)) == 2
    make.added("three", id="three")
    assert [one.memory for one in store.memories.unembedded("model-a", 9)] == ["three"]


def test_the_coverage_counts_passages_without_a_vector_of_the_model(store, make):
    assert store.memories.coverage("model-a") == (0, 0)
    make.added("one")
    make.embed_all("model-a")
    make.added("two")
    assert store.memories.coverage("model-a") == (2, 1)
    assert store.memories.coverage("model-b") == (2, 2)


def test_two_models_never_meet(store, make):
    memory = make.added("one")
    vector = make.embed_all("model-a")[memory.id]
    assert make.near(vector, model="model-b") == []
    assert store.memories.vector_candidates(make.scope, MemoryFilter(), vector, "model-b", 9) == VectorScan(
        (), 0, 0, 0, 0
    )
    [passage] = store.memories.unembedded("model-b", 9)
    assert store.memories.cosines(vector, "model-a", [passage.id]) == {passage.id: pytest.approx(1)}
    assert store.memories.cosines(vector, "model-b", [passage.id]) == {}


def test_a_passage_that_is_gone_gets_no_vector(store, make):
    memory = make.added("one")
    [passage] = store.memories.unembedded("model-a", 9)
    store.memories.update(replace(memory, body="two"))
    assert store.memories.add_vectors("model-a", [(passage.id, make.vector(1))]) == 0
    assert store.check().problems == ()


def test_a_passage_keeps_its_first_vector(store, make):
    make.added("one")
    [passage] = store.memories.unembedded("model-a", 9)
    assert store.memories.add_vectors("model-a", [(passage.id, make.vector(1))]) == 1
    assert store.memories.add_vectors("model-a", [(passage.id, make.vector(2))]) == 0
    near = store.memories.cosines(make.vector(1), "model-a", [passage.id])
    assert near == {passage.id: pytest.approx(1)}


def test_vectors_of_different_lengths_are_refused(store, make):
    make.added("one")
    make.added("two")
    first, second = store.memories.unembedded("model-a", 9)
    with pytest.raises(InvalidInput):
        store.memories.add_vectors("model-a", [(first.id, b"12"), (second.id, b"123")])
    assert store.memories.add_vectors("model-a", [(first.id, b"12")]) == 1
    with pytest.raises(InvalidInput):
        store.memories.add_vectors("model-a", [(second.id, b"123")])


def test_dropping_other_models_keeps_one(store, make):
    memory = make.added("one")
    vector = make.embed_all("model-a")[memory.id]
    make.embed_all("model-b")
    assert store.memories.drop_vectors(keep="model-b") == 1
    assert make.near(vector, model="model-a") == []
    assert make.near(vector, model="model-b") == [memory.id]


def test_a_model_that_comes_back_starts_anew(store, make):
    store.memories.add([make.memory(f"memory {number}") for number in range(600)])
    old = make.embed_all("model-a")
    assert make.near(old["m0001"], limit=1) == ["m0001"]
    store.memories.drop_vectors(keep=None)
    passages = store.memories.unembedded("model-a", 1000)
    store.memories.add_vectors("model-a", [(one.id, make.vector(one.id + 5000)) for one in passages])
    scan = store.memories.vector_candidates(make.scope, MemoryFilter(), old["m0001"], "model-a", 1)
    assert scan.scanned == 600
    assert scan.candidates[0][1] < 0.9


def test_changed_and_erased_memories_leave_the_scan(store, make):
    memories = [make.memory(f"memory {number}") for number in range(600)]
    store.memories.add(memories)
    vectors = make.embed_all()
    assert make.near(vectors["m0005"], limit=1) == ["m0005"]
    store.memories.update(replace(memories[4], body="new words"))
    store.memories.erase([memories[5].id])
    scan = store.memories.vector_candidates(make.scope, MemoryFilter(), vectors["m0005"], "model-a", 3)
    assert scan.scanned == 598
    assert all(score < 0.9 for _, score in scan.candidates)
    again = store.memories.vector_candidates(make.scope, MemoryFilter(), vectors["m0006"], "model-a", 3)
    assert all(score < 0.9 for _, score in again.candidates)


def test_another_process_sees_new_vectors_at_once(store, make, reopen):
    store.memories.add([make.memory(f"memory {number}") for number in range(300)])
    other = reopen()
    other.memories.vector_candidates(make.scope, MemoryFilter(), make.vector(1), "model-a", 1)
    make.embed_all()
    late = make.added("late")
    vector = make.embed_all()[late.id]
    scan = other.memories.vector_candidates(make.scope, MemoryFilter(), vector, "model-a", 1)
    assert scan.scanned == 301
    assert scan.candidates[0][1] == pytest.approx(1)


def test_a_query_without_length_finds_nothing(store, make):
    make.added("one")
    make.embed_all()
    assert (
        store.memories.vector_candidates(make.scope, MemoryFilter(), bytes(64), "model-a", 9).candidates == ()
    )
    assert (
        store.memories.vector_candidates(make.scope, MemoryFilter(), bytes([1] * 3), "model-a", 9).candidates
        == ()
    )
