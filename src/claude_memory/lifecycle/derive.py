"""What can be told of a memory from its text alone: what it mentions, for the graph."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.graph.extract import mentions
from claude_memory.model import ProjectId, StoredMemory
from claude_memory.store.graph_protocol import graph_of
from claude_memory.store.protocol import Store

AT_ONCE = 100  # more than this is an import, and waits for the next consolidation
BATCH = 500


def derive(store: Store, memories: Sequence[StoredMemory]) -> None:
    """Note at once what new memories mention, if they are few."""
    if len(memories) <= AT_ONCE:
        graph_of(store).put({memory.id: mentions(memory) for memory in memories})


def derive_pending(store: Store, project: ProjectId, *, limit: int = BATCH) -> int:
    """Catch up with memories that came by other ways or changed; returns how many were read."""
    waiting = graph_of(store).unread(project, limit)
    graph_of(store).put({memory.id: mentions(memory) for memory in waiting})
    return len(waiting)
