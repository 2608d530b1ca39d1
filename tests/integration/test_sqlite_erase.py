"""After `erase` no byte of the content is left in any file of the home."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import apsw
import numpy as np
import pytest

from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.settings import Settings
from claude_memory.store import open_store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IDENTITY = ProjectIdentity(("path:/srv/app",), "app", "/srv/app")
MARKERS = [b"zanzibarcode", b"Zanzibarcode", b"quagmirekey", b"erasedtopic", b"erasedfile"]


def files_with_markers(home):
    found = []
    for path in home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            found += [(path.name, marker) for marker in MARKERS if marker in content]
    return found


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(home):
    opened = open_store(home, Settings())
    yield opened
    opened.close()


def fill(store, count=400):
    project = store.project_for(IDENTITY).id
    memories = [
        StoredMemory(
            MemoryId(f"m{n}"),
            project,
            Kind.NOTE,
            f"title {n}",
            f"word{n} zanzib zanzibarcodz{n} text",
            NOW + timedelta(seconds=n),
            NOW,
            session=SessionId(f"s{n // 50}"),
        )
        for n in range(count)
    ]
    store.memories.add(memories)
    secret = StoredMemory(
        MemoryId("secret"),
        project,
        Kind.DECISION,
        "quagmirekey of the plan",
        "The Zanzibarcode is 42, zanzibarcode " + "long " * 900,
        NOW + timedelta(seconds=25),
        NOW,
        session=SessionId("s0"),
        topics=("erasedtopic",),
        files=("src/erasedfile.py",),
        provenance={"event": "e1"},
    )
    event = Event(
        EventId("e1"), EventKind.PROMPT, "a", SessionId("s0"), project, "/w", NOW, {"text": "zanzibarcode"}
    )
    store.archive.add(events=[event])
    store.memories.add([secret])
    store.memories.update(replace(secret, title="quagmirekey again", updated_at=NOW + timedelta(days=1)))
    passages = store.memories.unembedded("model-a", 10_000)
    made = np.random.default_rng(1).integers(-100, 100, (len(passages), 32), dtype=np.int8)
    store.memories.add_vectors(
        "model-a", [(one.id, row.tobytes()) for one, row in zip(passages, made, strict=True)]
    )
    scope = SearchScope((project,))
    store.memories.vector_candidates(scope, MemoryFilter(), made[0].tobytes(), "model-a", 5)
    return scope, [row.tobytes() for one, row in zip(passages, made, strict=True) if one.memory == "secret"]


def test_no_byte_is_left_in_any_file(home, store):
    scope, vectors = fill(store)
    assert files_with_markers(home) != []
    store.memories.erase([MemoryId("secret")])
    assert files_with_markers(home) == []
    everything = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert not any(vector in everything for vector in vectors)
    assert store.check().problems == ()
    assert len(store.memories.text_candidates(scope, MemoryFilter(), {"word7": 1.0}, 9)) > 0


def test_nor_when_others_had_the_store_open(home, store):
    scope, vectors = fill(store)
    other = open_store(home, Settings())
    assert other.memories.find(scope, MemoryFilter(), limit=1)
    other.memories.vector_candidates(scope, MemoryFilter(), vectors[0], "model-a", 5)
    store.memories.erase([MemoryId("secret")])
    assert files_with_markers(home) == []
    scan = other.memories.vector_candidates(scope, MemoryFilter(), vectors[0], "model-a", 5)
    assert scan.scanned == 400
    other.close()


def test_a_reader_in_the_middle_only_delays_it(home, store):
    scope, _ = fill(store)
    reader = apsw.Connection(str(store.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    store._connections.get().set_busy_timeout(50)
    store.memories.erase([MemoryId("secret")])
    assert store.memories.find(scope, MemoryFilter(), ids=[MemoryId("secret")]) == []
    assert files_with_markers(home) != []
    reader.execute("COMMIT")
    store.archive.prune(None)
    reader.close()
    assert files_with_markers(home) == []
