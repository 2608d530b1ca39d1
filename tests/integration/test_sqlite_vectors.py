"""Vector search stays right whatever happens to the files of its cache."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from claude_memory.model import Kind, MemoryFilter, MemoryId, ProjectIdentity, SearchScope, StoredMemory
from claude_memory.settings import Settings
from claude_memory.store import open_store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IDENTITY = ProjectIdentity(("path:/srv/app",), "app", "/srv/app")
COUNT = 700
ROW_BYTES = 48 + 12  # a vector, and beside it its passage and length


class Searched:
    """A home with vectors, and what the right answer to a question is."""

    def __init__(self, home):
        self.home = home
        self.cache = home / "cache" / "vectors"
        self.store = open_store(home, Settings())
        self.scope = SearchScope((self.store.project_for(IDENTITY).id,))
        self.memories = [self._memory(number) for number in range(COUNT)]
        self.store.memories.add(self.memories)
        self.embed()
        self.expected = self.ask()

    def _memory(self, number):
        return StoredMemory(
            MemoryId(f"m{number}"), self.scope.projects[0], Kind.NOTE, "t", f"w{number}", NOW, NOW
        )

    def embed(self):
        added = [
            (one.id, np.random.default_rng(one.id).integers(-90, 90, 48, dtype=np.int8).tobytes())
            for one in self.store.memories.unembedded("model-a", 10_000)
        ]
        self.store.memories.add_vectors("model-a", added)

    def ask(self, store=None):
        query = np.random.default_rng(10**6).integers(-90, 90, 48, dtype=np.int8).tobytes()
        return (store or self.store).memories.vector_candidates(
            self.scope, MemoryFilter(), query, "model-a", 20
        )

    def ask_anew(self):
        store = open_store(self.home, Settings())
        try:
            return self.ask(store)
        finally:
            store.close()

    def file(self, pattern):
        [path] = self.cache.rglob(pattern)
        return path


@pytest.fixture
def searched(tmp_path):
    made = Searched(tmp_path / "home")
    yield made
    made.store.close()


def test_the_cache_is_written_private_and_used(searched):
    assert searched.file("*.rows").stat().st_size == COUNT * ROW_BYTES
    assert searched.ask_anew() == searched.expected


@pytest.mark.parametrize("how", ["missing", "empty", "half"])
def test_damaged_files_are_rebuilt(searched, how):
    path = searched.file("*.rows")
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if how == "half" else b"")
    assert searched.ask_anew() == searched.expected
    assert searched.store.check().problems == ()


def test_flipped_bits_are_reported_and_text_search_goes_on(searched):
    path = searched.file("*.rows")
    content = bytearray(path.read_bytes())
    content[100] ^= 64
    path.write_bytes(content)
    assert any("differs from the table" in problem for problem in searched.store.check().problems)
    assert len(searched.store.memories.text_candidates(searched.scope, MemoryFilter(), {"w7": 1.0}, 9)) == 1
    searched.store.memories.rebuild_index()
    assert searched.store.check().problems == ()
    assert searched.ask_anew() == searched.expected


def test_another_stores_cache_is_not_believed(searched, tmp_path):
    other = Searched(tmp_path / "other")
    other.store.close()
    for path in searched.cache.rglob("*.*"):
        path.unlink()
    for path in other.cache.rglob("*.*"):
        target = searched.cache / path.relative_to(other.cache)
        target.write_bytes(path.read_bytes())
    theirs = searched.file("*.rows").name
    assert searched.ask_anew() == searched.expected
    assert searched.file("*.rows").name != theirs


def test_without_a_place_for_the_cache_search_works_from_memory(searched):
    import shutil

    shutil.rmtree(searched.home / "cache")
    (searched.home / "cache").write_text("in the way")
    assert searched.ask_anew() == searched.expected


def test_new_vectors_are_found_before_and_after_they_are_in_the_file(searched):
    for round_ in range(3):
        late = [
            replace(searched.memories[0], id=MemoryId(f"late{round_}-{n}"), body=f"late {n}")
            for n in range(200)
        ]
        searched.store.memories.add(late)
        searched.embed()
        assert searched.ask().scanned == COUNT + 200 * (round_ + 1)
        assert searched.ask() == searched.ask_anew()
    assert searched.store.check().problems == ()


def test_a_cache_full_of_the_dead_is_written_anew(searched):
    for memory in searched.memories[:400]:
        searched.store.memories.update(replace(memory, body=f"changed {memory.id}"))
    assert searched.ask().scanned == COUNT - 400
    searched.embed()
    assert searched.ask().scanned == COUNT
    assert searched.ask() == searched.ask_anew()
    assert searched.file("*.rows").stat().st_size <= COUNT * ROW_BYTES
    assert searched.store.check().problems == ()


def test_a_restored_copy_of_an_older_store_does_not_use_newer_files(searched, tmp_path):
    searched.store.export(tmp_path / "copy.db")
    searched.store.memories.add(
        [replace(searched.memories[0], id=MemoryId(f"x{n}"), body=f"x {n}") for n in range(300)]
    )
    searched.embed()
    searched.ask()
    searched.store.close()
    for path in searched.home.glob("memory.db*"):
        path.unlink()
    (tmp_path / "copy.db").rename(searched.home / "memory.db")
    assert searched.ask_anew() == searched.expected
