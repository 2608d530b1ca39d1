"""Walking the graph in bounded steps: the neighbourhood of a thing, and activation that spreads.

Reads the store, ranks nothing. Whatever the graph's size, a walk reads at most so many edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from claude_memory.errors import NotFound
from claude_memory.graph.extract import memory_entity, named, plain_path
from claude_memory.model import MemoryId, ProjectId
from claude_memory.store.graph_protocol import Entity, GraphStore, Mention
from claude_memory.text.words import is_stop_term, query_terms

MOST_EDGES = 120
EACH = 12
HOPS = 2
# What is mentioned everywhere connects nothing: activation is shared among all that mention a thing.
_FADE = 0.5
_MOST_SEEDS = 24
_FILE_SEED, _NAME_SEED = 1.0, 0.7


@dataclass(frozen=True, slots=True)
class Edge:
    """A drawn edge; `evidence` is the memory that says so."""

    source: Entity
    relation: str
    target: Entity
    evidence: MemoryId


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What is around one node, nearest first."""

    start: Entity
    edges: tuple[Edge, ...]

    @property
    def nodes(self) -> tuple[Entity, ...]:
        """Every node once, in the order met."""
        found = [self.start, *(node for edge in self.edges for node in (edge.source, edge.target))]
        return tuple(dict.fromkeys(found))


def start_at(graph: GraphStore, project: ProjectId, name: str) -> Entity:
    """The node that a person names: a path, a topic, a symbol; memories are found by their id elsewhere."""
    found = graph.find(project, plain_path(name)) or graph.find(project, name.casefold())
    if not found:
        raise NotFound(f"nothing called {name!r} in this project's graph")
    return found[0]


def neighbourhood(
    graph: GraphStore, project: ProjectId, start: Entity, *, hops: int = HOPS, most: int = MOST_EDGES
) -> Neighbourhood:
    """Edges around a node, by breadth, at most so many."""
    edges: dict[Edge, None] = {}
    seen = {start}
    frontier = [start]
    for _ in range(hops):
        fresh: list[Entity] = []
        for edge in _around(graph, project, frontier):
            if len(edges) >= most:
                break
            edges.setdefault(edge)
            fresh += [node for node in (edge.source, edge.target) if node not in seen]
            seen.update((edge.source, edge.target))
        frontier = fresh
    return Neighbourhood(start, tuple(edges))


def _around(graph: GraphStore, project: ProjectId, nodes: Sequence[Entity]) -> list[Edge]:
    memories = [MemoryId(node.name) for node in nodes if node.kind == "memory"]
    things = [node for node in nodes if node.kind != "memory"]
    found = [_edge(item) for item in graph.of_memories(memories, limit=MOST_EDGES)] if memories else []
    return found + [_edge(item) for item, _ in graph.of_entities(project, things[:EACH], each=EACH)]


def _edge(item: Mention) -> Edge:
    return Edge(memory_entity(item.memory), item.relation, item.entity, item.memory)


def seeds(
    graph: GraphStore, project: ProjectId, words: str, files: Sequence[str] = ()
) -> dict[Entity, float]:
    """Where activation starts: the files in play, and every topic or name that the words speak of."""
    found = {Entity("file", plain_path(file)): _FILE_SEED for file in files[:_MOST_SEEDS]}
    for entity in named(words):
        found.setdefault(entity, _NAME_SEED)
    said = [word for word in words.casefold().split() if len(word) > 2 and not is_stop_term(word)]
    for term in dict.fromkeys(
        [*said, *query_terms(words)]
    ):  # a topic may be kept as it is said, or by its stem
        if len(found) >= _MOST_SEEDS:
            break
        for entity in graph.find(project, term, limit=2):
            if entity.kind != "session":
                found.setdefault(entity, _NAME_SEED)
    return found


def activated(
    graph: GraphStore, project: ProjectId, seeds: Mapping[Entity, float], *, hops: int = HOPS
) -> dict[MemoryId, float]:
    """Memories by how much activation reaches them from the seeds; each hop and each crowd weakens it."""
    reached: dict[MemoryId, float] = {}
    energy = dict(seeds)
    for hop in range(hops):
        strongest = sorted(energy, key=lambda entity: (-energy[entity], entity))[: 2 * EACH]
        gained: dict[MemoryId, float] = {}
        for item, total in graph.of_entities(project, strongest, each=2 * EACH):
            share = energy[item.entity] / math.log2(1.0 + total)
            gained[item.memory] = gained.get(item.memory, 0.0) + share
        for memory, value in gained.items():
            reached[memory] = reached.get(memory, 0.0) + value * _FADE**hop
        if hop + 1 < hops:
            energy = _onward(graph, gained, set(seeds))
    return reached


def _onward(graph: GraphStore, gained: Mapping[MemoryId, float], known: set[Entity]) -> dict[Entity, float]:
    """What the activated memories mention besides the seeds."""
    strongest = sorted(gained, key=lambda memory: (-gained[memory], memory))[:EACH]
    energy: dict[Entity, float] = {}
    for item in graph.of_memories(strongest, limit=MOST_EDGES):
        if item.entity not in known and item.entity.kind not in ("session", "task"):
            energy[item.entity] = energy.get(item.entity, 0.0) + gained[item.memory] * _FADE
    return energy
