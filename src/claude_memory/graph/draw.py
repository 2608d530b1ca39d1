"""A neighbourhood as text for a terminal, and as SVG, Mermaid and GraphML. Pure; positions are computed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from claude_memory.graph.walk import Neighbourhood
from claude_memory.store.model import Entity

_WIDTH, _HEIGHT = 1000, 700
_COLOURS = {
    "memory": "#4c6ef5", "file": "#2f9e44", "symbol": "#0c8599", "package": "#e8590c", "command": "#5f3dc4",
    "error": "#e03131", "topic": "#f08c00", "task": "#495057", "session": "#868e96",
}  # fmt: skip
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def text(found: Neighbourhood) -> str:
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


def svg(found: Neighbourhood) -> str:
    """A drawing: the start in the middle, what is nearer on the inner ring."""
    places = _places(found)
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    root = Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": size, "font-family": "sans-serif"}
    )
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


def mermaid(found: Neighbourhood) -> str:
    """A flow chart in Mermaid's words."""
    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    lines = ["graph LR"]
    for node, name in names.items():
        label = re.sub(r'["\[\]{}|<>\n`]', " ", _safe(f"{node.kind}: {found.label(node)}"))[:80]
        lines.append(f'  {name}["{label}"]')
    lines += [f"  {names[edge.source]} -->|{edge.relation}| {names[edge.target]}" for edge in found.edges]
    return "\n".join([*lines, ""])


def graphml(found: Neighbourhood) -> str:
    """The same as GraphML, with kind, label, relation and evidence as data."""
    names = {node: f"n{place}" for place, node in enumerate(found.nodes)}
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, what in (("kind", "node"), ("label", "node"), ("relation", "edge"), ("evidence", "edge")):
        SubElement(root, "key", {"id": name, "for": what, "attr.name": name, "attr.type": "string"})
    graph = SubElement(root, "graph", id="memory", edgedefault="directed")
    for node, name in names.items():
        _with_data(SubElement(graph, "node", id=name), kind=node.kind, label=found.label(node))
    for edge in found.edges:
        drawn = SubElement(graph, "edge", source=names[edge.source], target=names[edge.target])
        _with_data(drawn, relation=edge.relation, evidence=edge.evidence)
    return _written(root)


FORMS = {"text": text, "svg": svg, "mermaid": mermaid, "graphml": graphml}


def _with_data(element: Element, **values: str) -> None:
    for key, value in values.items():
        SubElement(element, "data", key=key).text = _safe(value)


def _written(root: Element) -> str:
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
