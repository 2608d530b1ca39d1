"""Every summary gets its vectors, whoever wrote it and however long it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from claude_memory import Memory
from claude_memory.compaction.keeping import EMBEDDED_CHARACTERS, EMBEDDED_TOPICS, add_missing_vectors
from claude_memory.compaction.memories import MOST_CHARACTERS
from claude_memory.compaction.saving import save
from claude_memory.compaction.schema import schema
from claude_memory.compaction.store import Shelf
from claude_memory.compaction.vectors import fill
from claude_memory.errors import EmbedderUnavailable
from claude_memory.model import MemoryFilter, SearchScope
from claude_memory.surfaces.hooks import background

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)


class Embedder:
    """A model that notes what it is asked, and may be away."""

    model, dimensions = "fake", 2

    def __init__(self, model: str = "fake", *, away: bool = False) -> None:
        self.model, self.away = model, away
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.away:
            raise EmbedderUnavailable("away")
        self.texts += texts
        return [b"\x01\x02" for _ in texts]


def saved(memory: Memory, session: str = "s1", **more: Any) -> None:
    lists = {name: [] for name in schema()["properties"]["summary"]["required"]}
    raw = json.dumps({**lists, "executive": "An agent wrote it.", **more}).encode()
    save(memory.home, memory.store, memory.project, session, raw, now=NOW)


def models(memory: Memory, session: str = "s1") -> list[Any]:
    return [kept.document["embeddings"]["model"] for kept in Shelf(memory.home).of(session)]


def test_a_long_summary_is_cut_before_it_is_embedded(memory: Memory) -> None:
    topics = ["x" * 5_000, *(f"topic {number}" for number in range(500))]
    saved(memory, executive="word " * 100_000, topics=topics)
    embedder = Embedder()
    assert add_missing_vectors(memory.home, embedder) == 1
    assert sum(map(len, embedder.texts)) <= 2 * EMBEDDED_CHARACTERS
    [kept] = Shelf(memory.home).of("s1")
    assert len(kept.document["embeddings"]["topic_vectors"]) == EMBEDDED_TOPICS
    assert "topic 0" in kept.document["embeddings"]["topic_vectors"]
    assert len(kept.executive) > 400_000
    stored = memory.store.memories(SearchScope(None), MemoryFilter())
    assert sum(len(one.body) for one in stored) <= 2 * MOST_CHARACTERS


def test_a_drain_fills_the_vectors_of_summaries_that_a_command_wrote(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(memory)
    embedder = Embedder()
    monkeypatch.setattr(Memory, "embedder", embedder)
    monkeypatch.setattr(Memory, "embed_pending", lambda *_, **__: 0)
    monkeypatch.setattr(Memory, "judge_pending", lambda *_, **__: 0)
    background.drain_all(str(memory.home))
    assert models(memory) == ["fake"]


def test_what_has_its_vectors_is_left_alone_and_what_is_new_is_filled(memory: Memory) -> None:
    saved(memory)
    embedder = Embedder()
    assert fill(memory.home, embedder) == 1
    assert fill(memory.home, embedder) == 0
    assert len(embedder.texts) == 1
    saved(memory, executive="And another.")
    saved(memory, "s2")
    assert fill(memory.home, embedder) == 2
    assert models(memory) == ["fake", "fake"]
    assert fill(memory.home, Embedder("newer")) == 3


def test_an_embedder_that_is_away_or_no_time_leave_it_to_the_next_drain(memory: Memory) -> None:
    saved(memory)
    assert fill(memory.home, Embedder(away=True)) == 0
    assert fill(memory.home, Embedder(), seconds=-1.0) == 0
    assert fill(memory.home, Embedder()) == 1


@pytest.mark.parametrize("odd", ["", "[]", '{"model": "fake"}', '{"model": "fake", "until": "never"}'])
def test_what_is_known_may_be_damaged(memory: Memory, odd: str) -> None:
    saved(memory)
    (memory.home / "cache").mkdir(exist_ok=True)
    (memory.home / "cache" / "summary-vectors.json").write_text(odd)
    assert fill(memory.home, Embedder()) == 1
