"""From what a person names to a drawn neighbourhood: memories that wait are read first."""

from __future__ import annotations

from claude_memory.errors import NotFound
from claude_memory.graph.draw import Label
from claude_memory.graph.extract import memory_entity, mentions
from claude_memory.graph.walk import Neighbourhood, neighbourhood, start_at
from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope, Status
from claude_memory.store.graph_protocol import Entity, graph_of
from claude_memory.store.protocol import Store

_CATCH_UP = 500


def around(store: Store, project: Project, start: str, *, hops: int) -> tuple[Neighbourhood, Label]:
    """The neighbourhood of a memory, a path, a topic, a symbol; and names for its nodes."""
    graph = graph_of(store)
    waiting = graph.unread(project.id, _CATCH_UP)
    graph.put({memory.id: mentions(memory) for memory in waiting})
    scope = SearchScope((project.id,))
    known = store.complete_id(scope, start.strip())
    try:
        node = memory_entity(known[0]) if len(known) == 1 else start_at(graph, project.id, start)
    except NotFound:
        raise NotFound(f"no memory, file, topic or symbol {start!r} in this project") from None
    found = neighbourhood(graph, project.id, node, hops=hops)
    ids = [MemoryId(item.name) for item in found.nodes if item.kind == "memory"]
    memories = store.memories(scope, MemoryFilter(statuses=tuple(Status)), ids=ids)
    titles = {memory.id: memory.title for memory in memories}

    def label(entity: Entity) -> str:
        return titles.get(MemoryId(entity.name), entity.name) if entity.kind == "memory" else entity.name

    return found, label
