"""A neighbourhood as text for a terminal, and as SVG, Mermaid and GraphML. Pure; positions are computed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from html import escape

from claude_memory.graph.walk import Edge, Neighbourhood
from claude_memory.store.model import Entity

Label = Callable[[Entity], str]

_WIDTH, _HEIGHT = 1000, 700
_COLOURS = {
    "memory": "#4c6ef5", "file": "#2f9e44", "symbol": "#0c8599", "package": "#e8590c", "command": "#5f3dc4",
    "error": "#e03131", "topic": "#f08c00", "task": "#495057", "session": "#868e96",
}  # fmt: skip
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def text(found: Neighbourhood) -> str:
    """A tree from the start: each node once, below the first node that leads to it."""
    around: dict[Entity, list[tuple[str, Entity]]] = {}
    for edge in found.edges:
        around.setdefault(edge.source, []).append((edge.relation, edge.target))
        around.setdefault(edge.target, []).append((edge.relation, edge.source))
    branches = _branches(found.start, around, {found.start}, found.label, "")
    return "\n".join([f"{found.start.kind} {found.label(found.start)}", *branches])


def _branches(
    node: Entity, around: dict[Entity, list[tuple[str, Entity]]], seen: set[Entity], label: Label, indent: str
) -> Iterator[str]:
    fresh = [(relation, other) for relation, other in around.get(node, []) if other not in seen]
    seen.update(other for _, other in fresh)
    fresh = list({other: (relation, other) for relation, other in fresh}.values())
    for place, (relation, other) in enumerate(fresh):
        last = place == len(fresh) - 1
        yield f"{indent}{'└─' if last else '├─'} {relation} {other.kind} {label(other)}"
        yield from _branches(other, around, seen, label, indent + ("   " if last else "│  "))


def svg(found: Neighbourhood) -> str:
    """A drawing: the start in the middle, what is nearer on the inner ring."""
    places = _places(found)
    lines = [_svg_edge(edge, places) for edge in found.edges]
    nodes = [_svg_node(node, places[node], found.label(node)) for node in found.nodes]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, *nodes, "</svg>", ""])


def mermaid(found: Neighbourhood) -> str:
    """A flow chart in Mermaid's words."""
    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    lines = ["graph LR"]
    lines += [
        f'  {name}["{_mermaid_text(f"{node.kind}: {found.label(node)}")}"]' for node, name in names.items()
    ]
    lines += [f"  {names[edge.source]} -->|{edge.relation}| {names[edge.target]}" for edge in found.edges]
    return "\n".join([*lines, ""])


def graphml(found: Neighbourhood) -> str:
    """The same as GraphML, with kind, label, relation and evidence as data."""
    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    keys = [
        f'<key id="{name}" for="{what}" attr.name="{name}" attr.type="string"/>'
        for name, what in (("kind", "node"), ("label", "node"), ("relation", "edge"), ("evidence", "edge"))
    ]
    nodes = [
        f'<node id="{name}"><data key="kind">{_xml(node.kind)}</data>'
        f'<data key="label">{_xml(found.label(node))}</data></node>'
        for node, name in names.items()
    ]
    edges = [
        f'<edge source="{names[edge.source]}" target="{names[edge.target]}">'
        f'<data key="relation">{_xml(edge.relation)}</data><data key="evidence">{edge.evidence}</data></edge>'
        for edge in found.edges
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    opened = '<graph id="memory" edgedefault="directed">'
    return "\n".join([head, *keys, opened, *nodes, *edges, "</graph>", "</graphml>", ""])


def _places(found: Neighbourhood) -> dict[Entity, tuple[float, float]]:
    """Rings around the middle: first what the start touches, then the rest."""
    middle = (_WIDTH / 2, _HEIGHT / 2)
    near = {
        node
        for edge in found.edges
        if found.start in (edge.source, edge.target)
        for node in (edge.source, edge.target)
    }
    inner = [node for node in found.nodes if node in near and node != found.start]
    outer = [node for node in found.nodes if node not in near and node != found.start]
    places = {found.start: middle}
    for ring, radius in ((inner, 0.26), (outer, 0.46)):
        for place, node in enumerate(ring):
            angle = 2 * math.pi * place / len(ring)
            places[node] = (
                middle[0] + _WIDTH * radius * math.cos(angle),
                middle[1] + _HEIGHT * radius * math.sin(angle),
            )
    return places


def _svg_edge(edge: Edge, places: dict[Entity, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    return (
        f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#ced4da">'
        f"<title>{_xml(edge.relation)} ({_xml(edge.evidence)})</title></line>"
    )


def _svg_node(node: Entity, place: tuple[float, float], text: str) -> str:
    x, y = place
    shown = text if len(text) <= 32 else text[:31] + "…"
    return (
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{_COLOURS.get(node.kind, "#adb5bd")}">'
        f"<title>{_xml(node.kind)}: {_xml(text)}</title></circle>"
        f'<text x="{x + 9:.0f}" y="{y + 4:.0f}" font-size="11">{_xml(shown)}</text>'
    )


FORMS = {"text": text, "svg": svg, "mermaid": mermaid, "graphml": graphml}


def _xml(text: str) -> str:
    return escape(_UNSAFE.sub("", text))


def _mermaid_text(text: str) -> str:
    return re.sub(r'["\[\]{}|<>\n`]', " ", _UNSAFE.sub("", text))[:80]
