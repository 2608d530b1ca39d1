"""Walks a project's graph in bounded steps: what is around a thing, the path between two, what is activated;
and draws it, as text for a terminal, SVG, Mermaid and GraphML.

A node is an `Entity`; a memory is one of kind `memory`. Reads the store as far as somebody walks and ranks
nothing. A thing that everything shares leads nowhere, unless it was asked for by its name.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.graph.extract import MOST_MENTIONS, memory_entity, named, plain_path
from claude_memory.model import MemoryFilter, MemoryId, Project, ProjectId, SearchScope, Status, StoredMemory
from claude_memory.store.base import Store
from claude_memory.store.model import Entity
from claude_memory.store.sql.lifecycle import Graph
from claude_memory.text.quotation import plain, unquoted
from claude_memory.text.words import is_stop_term, query_terms

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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
        ends = [self.start, *(node for edge in self.edges for node in (edge.source, edge.target))]
        return tuple(dict.fromkeys(ends))

    def drawn(self, form: str) -> str:
        """As `text`, `svg`, `mermaid` or `graphml`."""
        return {"text": _text, "svg": _svg, "mermaid": _mermaid, "graphml": _graphml}[form](self)

    def label(self, node: Entity) -> str:
        return self.titles.get(MemoryId(node.name), node.name) if node.kind == "memory" else node.name


@dataclass(frozen=True, slots=True)
class Connection:
    """A node on a path or nearby, what ties it, and the memory it is, if one may see it."""

    node: Entity
    by: Sequence[Entity | str]  # things that both mention, or words
    memory: StoredMemory | None


class ProjectGraph:
    """The graph of one project, entered by the names that people and models give things."""

    def __init__(
        self,
        store: Store,
        project: Project,
        *,
        find: Callable[[Sequence[str]], list[StoredMemory]],
        session_id: Callable[[str], str],
    ) -> None:
        self._store, self._graph = store, store.graph
        self._project = project.id
        self._find, self._session_id = find, session_id
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
        known = self._memories(seen, MemoryFilter(statuses=tuple(Status)))
        return Neighbourhood(node, tuple(edges), {item.id: item.title for item in known.values()})

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
        by = [(ties[node].get(before) or ties[before].get(node, ""),) for before, node in pairwise(path)]
        return self._shown(list(zip(path, [(), *by], strict=True)))

    def bridges(self, start: str, end: str, limit: int) -> list[Connection]:
        """Things that tie the surroundings of one to those of the other; the nearest first."""
        ends = self.node(start), self.node(end)
        one, other, shared = self._between(*ends)
        steps = []
        for node in [node for node in shared if node not in ends][:limit]:
            near, far = one[node][0], other[node][0]
            away = f"{near} step{'s' * (near > 1)} from one, {far} from the other"
            steps.append((node, ("tied to both" if near == far == 1 else away,)))
        return self._shown(steps)

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
        try:  # a session by the unique beginning of its id, unless a memory is called so
            node = Entity("session", self._session_id(said.removeprefix("session:")))
            if self._called(node.name):
                self._named.add(node)
                return node
        except (NotFound, InvalidInput):
            pass
        try:
            return memory_entity(self._find([said.removeprefix("memory:")])[0].id)
        except (NotFound, InvalidInput):
            raise NotFound(f"no memory, file, topic, symbol or session {plain(said)[:80]!r} here") from None

    def _called(self, name: str) -> list[Entity]:
        """Things of this name; a path also by its end, if only one ends so."""
        path = plain_path(name)
        exact = [item for item in self._graph.find(self._project, name) if item.name == name] if name else []
        options = exact or (self._graph.find(self._project, path) if name else [])
        whole = [item for item in options if item.name in (name, path)]
        if whole or len(options) == 1:
            return whole or options
        return self._graph.find(self._project, name.casefold()) if name != name.casefold() else []

    def _of(self, nodes: Iterable[Entity]) -> dict[Entity, Ties]:
        wanted = list(dict.fromkeys(nodes))
        new = [node for node in wanted if node not in self._ties]
        ties: dict[Entity, dict[Entity, str]] = {node: {} for node in new}
        for node, other, how in self._of_memories(self._memories(new)):
            ties[node].setdefault(other, how)
        for node in new:
            if node.kind != "memory":
                for mention, _ in self._graph.of_entities(self._project, [node], each=MOST_SHARED + 1):
                    ties[node].setdefault(memory_entity(mention.memory), _how(node, mention.relation))
                if len(ties[node]) > MOST_SHARED and node not in self._named:
                    ties[node] = {}
        self._ties.update(ties)
        return {node: self._ties[node] for node in wanted}

    def _memories(
        self, nodes: Iterable[Entity], wanted: MemoryFilter | None = None
    ) -> dict[Entity, StoredMemory]:
        """Those of the nodes that are memories of this project one may see."""
        ids = [MemoryId(node.name) for node in nodes if node.kind == "memory"]
        scope = SearchScope((self._project,))
        found = self._store.memories.find(scope, wanted or MemoryFilter(), ids=ids) if ids else []
        return {memory_entity(item.id): item for item in found if item.project == self._project}

    def _of_memories(self, memories: Mapping[Entity, StoredMemory]) -> Iterator[tuple[Entity, Entity, str]]:
        ids = [item.id for item in memories.values()]
        if not ids:
            return
        links = []
        for node, item in memories.items():
            for link, how in ((item.supersedes, "supersedes"), (item.superseded_by, "superseded by")):
                links += [(node, memory_entity(link), how)] if link else []
        for relation in self._store.lifecycle.relations(ids):
            ends = memory_entity(relation.source), memory_entity(relation.target)
            links += [(one, other, relation.kind) for one, other in (ends, ends[::-1]) if one in memories]
        visible = self._memories([other for _, other, _ in links])
        yield from (link for link in links if link[1] in visible)
        for mention in self._graph.of_memories(ids, limit=MOST_MENTIONS * len(ids)):
            yield memory_entity(mention.memory), mention.entity, _how(mention.entity, mention.relation)

    def _edges(self, nodes: Sequence[Entity]) -> Iterator[Edge]:
        """What leads on from nodes; of what many mention, only to the newest."""
        for node, ties in self._of(nodes).items():
            is_memory = node.kind == "memory"
            for other, how in islice(ties.items(), MOST_EDGES if is_memory else EACH):
                source, target = (node, other) if is_memory else (other, node)
                yield Edge(source, how, target, MemoryId(source.name))

    def _reach(self, start: Entity) -> Reach:
        reached: Reach = {start: (0, None)}
        edge = [start]
        for distance in range(1, MOST_STEPS + 1):
            fresh: list[Entity] = []
            for here, ties in self._of(edge[:MOST_THINGS]).items():
                new = [there for there in ties if there not in reached]
                reached |= dict.fromkeys(new, (distance, here))
                fresh += new
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

    def _shown(self, steps: Sequence[tuple[Entity, Sequence[Entity | str]]]) -> list[Connection]:
        memories = self._memories([node for node, _ in steps])
        return [Connection(node, by, memories.get(node)) for node, by in steps]


def _how(thing: Entity, relation: str) -> str:
    return "in" if thing.kind == "session" else relation


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
    # A topic may be kept as it is said, or by its stem.
    for term in dict.fromkeys([*said, *query_terms(words)]):
        if len(found) >= _MOST_SEEDS:
            break
        for entity in graph.find(project, term, limit=2):
            if entity.kind != "session":
                found.setdefault(entity, _NAME_SEED)
    return found


def activated(graph: Graph, project: ProjectId, seeds: Mapping[Entity, float]) -> dict[MemoryId, float]:
    """Memories by how much activation reaches them from the seeds; each hop and each crowd weakens it."""
    reached: defaultdict[MemoryId, float] = defaultdict(float)
    energy = dict(seeds)
    for hop in range(HOPS):
        strongest = sorted(energy, key=lambda entity: (-energy[entity], entity))[: 2 * EACH]
        gained: defaultdict[MemoryId, float] = defaultdict(float)
        for item, total in graph.of_entities(project, strongest, each=2 * EACH):
            gained[item.memory] += energy[item.entity] / math.log2(1.0 + total)
        for memory, value in gained.items():
            reached[memory] += value * _FADE**hop
        nearest = sorted(gained, key=lambda memory: (-gained[memory], memory))[:EACH]
        energy = defaultdict(float)
        for item in graph.of_memories(nearest, limit=MOST_EDGES) if hop + 1 < HOPS else ():
            if item.entity not in seeds and item.entity.kind not in ("session", "task"):
                energy[item.entity] += gained[item.memory] * _FADE
    return reached


# --- drawings; positions are computed

_WIDTH, _HEIGHT = 1000, 700
_COLOURS = {
    "memory": "#4c6ef5", "file": "#2f9e44", "symbol": "#0c8599", "package": "#e8590c", "command": "#5f3dc4",
    "error": "#e03131", "topic": "#f08c00", "task": "#495057", "session": "#868e96",
}  # fmt: skip
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def _text(found: Neighbourhood) -> str:
    """A tree from the start: each node once, below the first node that leads to it."""
    around: dict[Entity, dict[Entity, str]] = {}
    for edge in found.edges:
        around.setdefault(edge.source, {})[edge.target] = edge.relation
        around.setdefault(edge.target, {})[edge.source] = edge.relation
    seen = {found.start}

    def branches(node: Entity, indent: str) -> Iterator[str]:
        fresh = {other: relation for other, relation in around.get(node, {}).items() if other not in seen}
        seen.update(fresh)
        for place, (other, relation) in enumerate(fresh.items(), 1):
            last = place == len(fresh)
            yield f"{indent}{'└─' if last else '├─'} {relation} {other.kind} {found.label(other)}"
            yield from branches(other, indent + ("   " if last else "│  "))

    return "\n".join([f"{found.start.kind} {found.label(found.start)}", *branches(found.start, "")])


def _svg(found: Neighbourhood) -> str:
    """A drawing: the start in the middle, what is nearer on the inner ring."""
    from xml.etree.ElementTree import Element, SubElement

    places = _places(found)
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
    root.set("viewBox", f"0 0 {_WIDTH} {_HEIGHT}")
    SubElement(root, "rect", width="100%", height="100%", fill="white")
    for edge in found.edges:
        (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
        ends = {"x1": f"{x1:.0f}", "y1": f"{y1:.0f}", "x2": f"{x2:.0f}", "y2": f"{y2:.0f}"}
        line = SubElement(root, "line", ends, stroke="#ced4da")
        SubElement(line, "title").text = _safe(f"{edge.relation} ({edge.evidence})")
    for node in found.nodes:
        x, y = places[node]
        label, fill = _safe(found.label(node)), _COLOURS.get(node.kind, "#adb5bd")
        circle = SubElement(root, "circle", cx=f"{x:.0f}", cy=f"{y:.0f}", r="6", fill=fill)
        SubElement(circle, "title").text = f"{node.kind}: {label}"
        shown = SubElement(root, "text", {"x": f"{x + 9:.0f}", "y": f"{y + 4:.0f}", "font-size": "11"})
        shown.text = label if len(label) <= 32 else label[:31] + "…"
    return _written(root)


def _mermaid(found: Neighbourhood) -> str:
    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    lines = ["graph LR"]
    for node, name in names.items():
        label = re.sub(r'["\[\]{}|<>\n`]', " ", _safe(f"{node.kind}: {found.label(node)}"))[:80]
        lines.append(f'  {name}["{label}"]')
    lines += [f"  {names[edge.source]} -->|{edge.relation}| {names[edge.target]}" for edge in found.edges]
    return "\n".join([*lines, ""])


def _graphml(found: Neighbourhood) -> str:
    """The same as GraphML, with kind, label, relation and evidence as data."""
    from xml.etree.ElementTree import Element, SubElement

    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, what in (("kind", "node"), ("label", "node"), ("relation", "edge"), ("evidence", "edge")):
        SubElement(root, "key", {"id": name, "for": what, "attr.name": name, "attr.type": "string"})
    graph = SubElement(root, "graph", id="memory", edgedefault="directed")

    def add(tag: str, attributes: dict[str, str], **data: str) -> None:
        element = SubElement(graph, tag, attributes)
        for key, value in data.items():
            SubElement(element, "data", key=key).text = _safe(value)

    for node, name in names.items():
        add("node", {"id": name}, kind=node.kind, label=found.label(node))
    for edge in found.edges:
        ends = {"source": names[edge.source], "target": names[edge.target]}
        add("edge", ends, relation=edge.relation, evidence=edge.evidence)
    return _written(root)


def _written(root: Element) -> str:
    from xml.etree.ElementTree import indent, tostring

    indent(root)
    return tostring(root, "unicode") + "\n"


def _safe(text: str) -> str:
    return _UNSAFE.sub("", text)


def _places(found: Neighbourhood) -> dict[Entity, tuple[float, float]]:
    """Rings around the middle: first what the start touches, then the rest."""
    middle = (_WIDTH / 2, _HEIGHT / 2)
    touching = [edge for edge in found.edges if found.start in (edge.source, edge.target)]
    near = {node for edge in touching for node in (edge.source, edge.target)}
    inner = [node for node in found.nodes if node in near and node != found.start]
    outer = [node for node in found.nodes if node not in near and node != found.start]
    places = {found.start: middle}
    for ring, radius in ((inner, 0.26), (outer, 0.46)):
        for place, node in enumerate(ring):
            angle = 2 * math.pi * place / len(ring)
            across, down = radius * math.cos(angle), radius * math.sin(angle)
            places[node] = (middle[0] + _WIDTH * across, middle[1] + _HEIGHT * down)
    return places
