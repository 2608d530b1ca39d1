"""The stores every promise is tested against. A new backend is one more entry of BACKENDS."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.text import words as text

# Opens the store of a home; the fixture gives each home of a test what it needs beyond its folder.
BACKENDS: dict[str, Callable[[Path, pytest.FixtureRequest], Settings]] = {
    "sqlite": lambda home, request: Settings(),
    "postgres": lambda home, request: Settings(store=request.getfixturevalue("team_url")(home)),
}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSIONS = 64
EVERYTHING = MemoryFilter()


@pytest.fixture(params=list(BACKENDS))
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens the test's store once more, or with `other` a second, empty one."""
    opened: list[Store] = []

    def open_again(other: str = "home") -> Store:
        home = tmp_path / other
        store = open_store(home, BACKENDS[request.param](home, request))
        opened.append(store)
        return store

    open_again.setting = lambda: BACKENDS[request.param](tmp_path / "home", request).store  # type: ignore[attr-defined]
    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(reopen: Callable[..., Store]) -> Store:
    return reopen()


@dataclass
class Make:
    """Builds values with what a test does not care about filled in, and asks short questions."""

    store: Store
    project: ProjectId
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def scope(self) -> SearchScope:
        return SearchScope((self.project,))

    def memory(self, body: str, **changed: Any) -> StoredMemory:
        number = next(self.numbers)
        at = changed.pop("created_at", NOON + timedelta(minutes=number))
        values: dict[str, Any] = {
            "id": MemoryId(f"m{number:04d}"),
            "project": self.project,
            "kind": Kind.NOTE,
            "title": f"title{number}",
            "created_at": at,
            "updated_at": at,
            **changed,
        }
        return StoredMemory(body=body, **values)

    def event(self, id_: str, **changed: Any) -> Event:
        values: dict[str, Any] = {
            "kind": EventKind.PROMPT,
            "agent": "claude-code",
            "session": SessionId("s1"),
            "project": self.project,
            "cwd": "/srv/app",
            "timestamp": NOON,
            "payload": {"prompt": "hello"},
            **changed,
        }
        return Event(id=EventId(id_), **values)

    def added(self, body: str, **changed: Any) -> StoredMemory:
        memory = self.memory(body, **changed)
        self.store.memories.add([memory])
        return memory

    def find(
        self,
        words: str,
        filter_: MemoryFilter = EVERYTHING,
        *,
        scope: SearchScope | None = None,
        limit: int = 50,
    ) -> list[MemoryId]:
        """Ids of memories found by their words, best first."""
        terms = dict.fromkeys(text.query_terms(words), 1.0)
        found = self.store.memories.text_candidates(scope or self.scope, filter_, terms, limit)
        return list(dict.fromkeys(passage.memory for passage in self.store.memories.passages(found)))

    def load(self, id_: str) -> StoredMemory | None:
        every = MemoryFilter(statuses=("active", "superseded", "forgotten"))  # type: ignore[arg-type]
        found = self.store.memories.find(SearchScope(None), every, ids=[MemoryId(id_)])
        return found[0] if found else None

    def vector(self, seed: int) -> bytes:
        raw = np.random.default_rng(seed).normal(size=DIMENSIONS)
        return np.round(raw / np.linalg.norm(raw) * 127).astype(np.int8).tobytes()

    def embed_all(self, model: str = "model-a") -> dict[MemoryId, bytes]:
        """Give every passage a vector; returns the vector of each memory's last passage."""
        missing = self.store.memories.unembedded(model, 100_000)
        made = {passage.id: self.vector(passage.id) for passage in missing}
        self.store.memories.add_vectors(model, list(made.items()))
        return {passage.memory: made[passage.id] for passage in missing}

    def near(
        self, vector: bytes, filter_: MemoryFilter = EVERYTHING, *, model: str = "model-a", limit: int = 5
    ) -> list[MemoryId]:
        """Ids of memories found by their vectors, nearest first."""
        scan = self.store.memories.vector_candidates(self.scope, filter_, vector, model, limit)
        return [
            passage.memory for passage in self.store.memories.passages([id_ for id_, _ in scan.candidates])
        ]


def identity(path: str, *names: str) -> ProjectIdentity:
    return ProjectIdentity(names or (f"path:{path}",), path.rsplit("/", 1)[-1], path)


@pytest.fixture
def identify() -> Callable[..., ProjectIdentity]:
    return identity


@pytest.fixture
def make(store: Store) -> Make:
    return Make(store, store.project_for(identity("/srv/app")).id)


@pytest.fixture
def make_in(store: Store) -> Callable[[Store, str], Make]:
    """A builder for another project, or another store."""
    return lambda where, path: Make(where, where.project_for(identity(path)).id)
