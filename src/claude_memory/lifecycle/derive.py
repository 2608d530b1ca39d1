"""What can be told of a memory from its text alone: subject keys, and what it mentions for the graph."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.graph.extract import mentions
from claude_memory.lifecycle.subject import subjects
from claude_memory.model import Kind, ProjectId, StoredMemory, Trust
from claude_memory.store.graph_protocol import graph_of
from claude_memory.store.lifecycle_protocol import lifecycle_of
from claude_memory.store.protocol import Store

AT_ONCE = 100  # more than this is an import, and waits for the next consolidation
BATCH = 500


def derive(store: Store, memories: Sequence[StoredMemory]) -> None:
    """Note at once what new memories lay down; what they mention, if they are few."""
    _note_subjects(store, memories)
    if len(memories) <= AT_ONCE:
        graph_of(store).put({memory.id: mentions(memory) for memory in memories})


def derive_pending(store: Store, project: ProjectId, *, limit: int = BATCH) -> int:
    """Catch up with memories that came by other ways or changed; returns how many were read."""
    waiting = graph_of(store).unread(project, limit)
    _note_subjects(store, waiting)
    graph_of(store).put({memory.id: mentions(memory) for memory in waiting})
    return len(waiting)


def _note_subjects(store: Store, memories: Sequence[StoredMemory]) -> None:
    found = {memory.id: subjects(memory.body) for memory in memories if _may_rule(memory)}
    lifecycle_of(store).put_subjects({id_: keys for id_, keys in found.items() if keys})


def _may_rule(memory: StoredMemory) -> bool:
    """A tool's output lays nothing down, nor does what merely happened."""
    return memory.trust is not Trust.TOOL and memory.kind is not Kind.SUMMARY
