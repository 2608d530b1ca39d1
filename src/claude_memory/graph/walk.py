"""Walks a project's graph in bounded steps: what is around a thing, the path between two, what is activated.

A node is an `Entity`; a memory is one of kind `memory`. Reads the store as far as somebody walks and ranks
nothing. A thing that everything shares leads nowhere, unless it was asked for by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.graph.extract import MOST_MENTIONS, memory_entity, named, plain_path
from claude_memory.model import (
    MemoryFilter,
    MemoryId,
    Project,
    ProjectId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
)
from claude_memory.store.base import Store
from claude_memory.store.model import Entity
from claude_memory.store.sql.lifecycle import Graph
from claude_memory.text.quotation import plain, unquoted
from claude_memory.text.words import is_stop_term, query_terms

MOST_EDGES = 120
EACH = 12
HOPS = 2
MOST_SHARED = 60  # a session or topic of more memories connects everything and says nothing
MOST_STEPS = 3  # from either end: a longer path says nothing either
MOST_THINGS = 1_500  # that a walk looks at
# What is mentioned everywhere connects nothing: activation is shared among all that mention a thing.
_FADE = 0.5
_MOST_SEEDS = 24
_FILE_SEED, _NAME_SEED = 1.0, 0.7

Ties = Mapping[Entity, str]  # what a node is tied to, and how
Reach = dict[Entity, tuple[int, Entity | None]]  # in how many steps, and from which node, it was reached


@dataclass(frozen=True, slots=True)
class Edge:
    """A drawn edge; `evidence` is the memory that says so."""

    source: Entity
    relation: str
    target: Entity
    evidence: MemoryId


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What is around one node, nearest first, and the titles of its memories."""

    start: Entity
    edges: tuple[Edge, ...]
    titles: Mapping[MemoryId, str]

    @property
    def nodes(self) -> tuple[Entity, ...]:
        """Every node once, in the order met."""
        ends = [self.start, *(node for edge in self.edges for node in (edge.source, edge.target))]
        return tuple(dict.fromkeys(ends))

    def drawn(self, form: str) -> str:
        """As `text`, `svg`, `mermaid` or `graphml`."""
        from claude_memory.graph.draw import FORMS

        return FORMS[form](self)

    def label(self, node: Entity) -> str:
        """What a person calls a node."""
        return self.titles.get(MemoryId(node.name), node.name) if node.kind == "memory" else node.name


@dataclass(frozen=True, slots=True)
class Connection:
    """A node on a path or nearby, what ties it, and the memory it is, if one may see it."""

    node: Entity
    by: tuple[Entity | str, ...]  # things that both mention, or words
    memory: StoredMemory | None


class ProjectGraph:
    """The graph of one project, entered by the names that people and models give things."""

    def __init__(
        self,
        store: Store,
        project: Project,
        *,
        find: Callable[[Sequence[str]], list[StoredMemory]],
        session_id: Callable[[str], SessionId],
    ) -> None:
        self._store = store
        self._project = project.id
        self._find = find
        self._session_id = session_id
        self._graph = store.graph
        self._ties: dict[Entity, Ties] = {}
        self._named: set[Entity] = set()  # lead to their newest memories, however many there are

    def around(self, start: str, *, hops: int = HOPS, most: int = MOST_EDGES) -> Neighbourhood:
        """Edges around a thing, by breadth, at most so many."""
        node = self.node(start)
        edges: dict[Edge, None] = {}
        seen, frontier = {node}, [node]
        for _ in range(hops):
            fresh = [edge for edge in self._edges(frontier) if edge not in edges]
            edges.update(dict.fromkeys(islice(fresh, most - len(edges))))
            ends = [end for edge in edges for end in (edge.source, edge.target)]
            frontier = [end for end in dict.fromkeys(ends) if end not in seen]
            seen.update(frontier)
        nodes = [node, *(end for edge in edges for end in (edge.source, edge.target))]
        titles = {item.id: item.title for item in self._memories(nodes, tuple(Status)).values()}
        return Neighbourhood(node, tuple(edges), titles)

    def nearest(self, start: str, limit: int) -> list[Connection]:
        """Other memories nearest to a thing, with what ties them: what few share ties closest."""
        node = self.node(start)
        near = self._of([node])[node]
        weights: dict[Entity, dict[Entity | str, float]] = {
            thing: {how: 1.0} for thing, how in near.items() if thing.kind == "memory"
        }
        for thing, ties in self._of(thing for thing in near if thing.kind != "memory").items():
            for far in ties:
                if far != node and far.kind == "memory":
                    weights.setdefault(far, {})[thing] = 1.0 / len(ties)
        ordered = sorted(weights, key=lambda far: -sum(weights[far].values()))  # stable: the newest first
        return self._shown([(far, tuple(weights[far])) for far in ordered[:limit]])

    def chain(self, start: str, end: str) -> list[Connection]:
        """A shortest path, both ends included; empty if there is none within reach."""
        one, other, shared = self._between(self.node(start), self.node(end))
        if not shared:
            return []
        path = [*_back(one, shared[0])[::-1], *_back(other, shared[0])[1:]]
        ties = self._of(path)
        steps: list[tuple[Entity, tuple[Entity | str, ...]]] = [(path[0], ())]
        for before, node in pairwise(path):
            steps.append((node, (ties[node].get(before) or ties[before].get(node, ""),)))
        return self._shown(steps)

    def bridges(self, start: str, end: str, limit: int) -> list[Connection]:
        """Things that tie the surroundings of one to those of the other; the nearest first."""
        ends = self.node(start), self.node(end)
        one, other, shared = self._between(*ends)
        bridges = [node for node in shared if node not in ends][:limit]
        return self._shown([(node, (_steps_away(one[node][0], other[node][0]),)) for node in bridges])

    def boosts(self, words: str, files: Sequence[str], weight: float) -> dict[MemoryId, float]:
        """What spreads through the graph from a question, at most `weight` a memory."""
        reached = activated(self._graph, self._project, seeds(self._graph, self._project, words, files))
        top = max(reached.values(), default=0.0) or 1.0
        return {memory: weight * value / top for memory, value in reached.items()}

    def subjects(self, limit: int) -> list[str]:
        """The topics and files that most memories are about."""
        return [node.name for node, _ in self._graph.common(self._project, ("topic", "file"), limit=limit)]

    def node(self, name: str) -> Entity:
        """What a name means: a thing as we write it, a file, topic, symbol, session, or a memory's id."""
        said = unquoted(name)
        kind, colon, rest = said.partition(":")
        for text in (rest, said) if colon else (said,):
            options = self._called(text)
            node = next((item for item in options if item.kind == kind), options[0] if options else None)
            if node is not None and (text == said or node.kind == kind):
                self._named.add(node)
                return node
        return self._session(said) or self._memory(said)

    def _called(self, name: str) -> list[Entity]:
        """Things of this name; a path also by its end, if only one ends so."""
        if not name:
            return []
        path = plain_path(name)
        exact = [item for item in self._graph.find(self._project, name) if item.name == name]
        options = exact or self._graph.find(self._project, path)
        whole = [item for item in options if item.name in (name, path)]
        if whole or len(options) == 1:
            return whole or options
        return self._graph.find(self._project, name.casefold()) if name != name.casefold() else []

    def _session(self, said: str) -> Entity | None:
        """A session by the unique beginning of its id, unless a memory is called so."""
        try:
            node = Entity("session", self._session_id(said.removeprefix("session:")))
        except (NotFound, InvalidInput):
            return None
        if not self._called(node.name):
            return None
        self._named.add(node)
        return node

    def _memory(self, said: str) -> Entity:
        try:
            return memory_entity(self._find([said.removeprefix("memory:")])[0].id)
        except (NotFound, InvalidInput):
            raise NotFound(f"no memory, file, topic, symbol or session {plain(said)[:80]!r} here") from None

    def _of(self, nodes: Iterable[Entity]) -> dict[Entity, Ties]:
        """The ties of nodes; none of what ties too much together."""
        wanted = list(dict.fromkeys(nodes))
        new = [node for node in wanted if node not in self._ties]
        memories = self._memories(new)
        ties: dict[Entity, dict[Entity, str]] = {node: {} for node in new}
        for node, other, how in self._of_memories(memories):
            ties[node].setdefault(other, how)
        for node in new:
            if node.kind != "memory":
                ties[node] = self._of_thing(node)
        self._ties.update(ties)
        return {node: self._ties[node] for node in wanted}

    def _memories(
        self, nodes: Iterable[Entity], statuses: tuple[Status, ...] | None = None
    ) -> dict[Entity, StoredMemory]:
        """Those of the nodes that are memories of this project one may see."""
        ids = [MemoryId(node.name) for node in nodes if node.kind == "memory"]
        wanted = MemoryFilter(statuses=statuses) if statuses else MemoryFilter()
        found = self._store.memories.find(SearchScope((self._project,)), wanted, ids=ids) if ids else []
        return {memory_entity(item.id): item for item in found if item.project == self._project}

    def _of_memories(self, memories: Mapping[Entity, StoredMemory]) -> Iterator[tuple[Entity, Entity, str]]:
        ids = [item.id for item in memories.values()]
        if not ids:
            return
        links: list[tuple[Entity, Entity, str]] = []
        for node, item in memories.items():
            for link, how in ((item.supersedes, "supersedes"), (item.superseded_by, "superseded by")):
                if link:
                    links.append((node, memory_entity(link), how))
        for relation in self._store.lifecycle.relations(ids):
            ends = memory_entity(relation.source), memory_entity(relation.target)
            links += [(one, other, relation.kind) for one, other in (ends, ends[::-1]) if one in memories]
        visible = self._memories([other for _, other, _ in links])
        yield from (link for link in links if link[1] in visible)
        for mention in self._graph.of_memories(ids, limit=MOST_MENTIONS * len(ids)):
            yield memory_entity(mention.memory), mention.entity, _how(mention.entity, mention.relation)

    def _of_thing(self, node: Entity) -> dict[Entity, str]:
        mentions = self._graph.of_entities(self._project, [node], each=MOST_SHARED + 1)
        ties: dict[Entity, str] = {}
        for mention, _ in mentions:
            ties.setdefault(memory_entity(mention.memory), _how(node, mention.relation))
        return ties if len(ties) <= MOST_SHARED or node in self._named else {}

    def _edges(self, nodes: Sequence[Entity]) -> Iterator[Edge]:
        """What leads on from nodes; of what many mention, only to the newest."""
        for node, ties in self._of(nodes).items():
            is_memory = node.kind == "memory"
            for other, how in islice(ties.items(), MOST_EDGES if is_memory else EACH):
                source, target = (node, other) if is_memory else (other, node)
                yield Edge(source, how, target, MemoryId(source.name))

    def _reach(self, start: Entity) -> Reach:
        """Nodes within a few steps."""
        reached: Reach = {start: (0, None)}
        edge = [start]
        for distance in range(1, MOST_STEPS + 1):
            fresh: list[Entity] = []
            for here, ties in self._of(edge[:MOST_THINGS]).items():
                for there in ties:
                    if there not in reached:
                        reached[there] = (distance, here)
                        fresh.append(there)
            edge = fresh
            if len(self._ties) > MOST_THINGS:
                break
        return reached

    def _between(self, first: Entity, last: Entity) -> tuple[Reach, Reach, list[Entity]]:
        """What is within reach of each, and what of both, the nearest first; no dead ends."""
        one, other = self._reach(first), self._reach(last)
        ties = self._of(one.keys() & other.keys())
        shared = [node for node, leads in ties.items() if leads or node in (first, last)]
        return one, other, sorted(shared, key=lambda node: (one[node][0] + other[node][0], node))

    def _shown(self, steps: Sequence[tuple[Entity, tuple[Entity | str, ...]]]) -> list[Connection]:
        memories = self._memories([node for node, _ in steps])
        return [Connection(node, by, memories.get(node)) for node, by in steps]


def _how(thing: Entity, relation: str) -> str:
    return "in" if thing.kind == "session" else relation


def _steps_away(one: int, other: int) -> str:
    if one == other == 1:
        return "tied to both"
    return f"{one} step{'s' * (one > 1)} from one, {other} from the other"


def _back(reached: Reach, node: Entity) -> list[Entity]:
    path = [node]
    while (before := reached[path[-1]][1]) is not None:
        path.append(before)
    return path


def seeds(graph: Graph, project: ProjectId, words: str, files: Sequence[str] = ()) -> dict[Entity, float]:
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


def activated(graph: Graph, project: ProjectId, seeds: Mapping[Entity, float]) -> dict[MemoryId, float]:
    """Memories by how much activation reaches them from the seeds; each hop and each crowd weakens it."""
    reached: dict[MemoryId, float] = {}
    energy = dict(seeds)
    for hop in range(HOPS):
        strongest = sorted(energy, key=lambda entity: (-energy[entity], entity))[: 2 * EACH]
        gained: dict[MemoryId, float] = {}
        for item, total in graph.of_entities(project, strongest, each=2 * EACH):
            share = energy[item.entity] / math.log2(1.0 + total)
            gained[item.memory] = gained.get(item.memory, 0.0) + share
        for memory, value in gained.items():
            reached[memory] = reached.get(memory, 0.0) + value * _FADE**hop
        nearest = sorted(gained, key=lambda memory: (-gained[memory], memory))[:EACH]
        energy = {}
        for item in graph.of_memories(nearest, limit=MOST_EDGES) if hop + 1 < HOPS else ():
            if item.entity not in seeds and item.entity.kind not in ("session", "task"):
                energy[item.entity] = energy.get(item.entity, 0.0) + gained[item.memory] * _FADE
    return reached
