"""What a store must do for the knowledge graph: keep what memories mention, and walk it in bounded steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from claude_memory.errors import StoreFault
from claude_memory.model import MemoryId, ProjectId, StoredMemory
from claude_memory.store.protocol import Store


class Entity(NamedTuple):
    """A thing that memories speak of: a file, symbol, package, command, error, topic, task, session."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A memory's bearing on a thing; the memory is the evidence."""

    memory: MemoryId
    relation: str
    entity: Entity


class GraphStore(Protocol):
    """The graph of a store, one project at a time."""

    def put(self, mentions: Mapping[MemoryId, Sequence[Mention]]) -> None:
        """Replace what memories mention; an empty list notes that they were looked at."""
        ...

    def unread(self, project: ProjectId, limit: int) -> list[StoredMemory]:
        """Memories not looked at yet, or changed since, oldest first."""
        ...

    def find(self, project: ProjectId, name: str, *, limit: int = 20) -> list[Entity]:
        """Things by their name, or a path by its end."""
        ...

    def of_memories(self, ids: Sequence[MemoryId], *, limit: int) -> list[Mention]:
        """What memories mention."""
        ...

    def of_entities(
        self, project: ProjectId, entities: Sequence[Entity], *, each: int
    ) -> list[tuple[Mention, int]]:
        """Visible memories that mention things, the newest of each, and how many mention it in all."""
        ...

    def common(self, project: ProjectId, kinds: Sequence[str], *, limit: int) -> list[tuple[Entity, int]]:
        """What is mentioned most, and by how many memories."""
        ...


def graph_of(store: Store) -> GraphStore:
    """The graph side of a store."""
    found = getattr(store, "graph", None)
    if found is None:
        raise StoreFault("this store keeps no knowledge graph")
    return found  # type: ignore[no-any-return]
