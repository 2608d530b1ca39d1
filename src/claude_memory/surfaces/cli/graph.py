"""Commands about what a project knows: graph, knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import output, views
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import Json, opened, path_named, said, said_if

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.model import StoredMemory

_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".md": "mermaid", ".graphml": "graphml", ".xml": "graphml"}


def graph(
    context: typer.Context,
    start: Annotated[
        str, typer.Argument(metavar="ID|PATH|TOPIC", help="A memory, a file, a topic, a symbol, an error.")
    ],
    hops: Annotated[int, typer.Option(min=1, max=4, metavar="N", help="How far to go.")] = 2,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_named,
            help="Also write it: .svg, .mmd (Mermaid) or .graphml, by its ending.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Draw what is around a memory, a file or a topic."""
    if write is not None and write.suffix not in _FORMATS:
        raise typer.BadParameter("the file must end in .svg, .mmd or .graphml")
    with opened(context, fresh=True, graph=True) as memory:
        around = memory.graph.around(said(start), hops=hops)
    if write is not None:
        write.write_text(around.drawn(_FORMATS[write.suffix]), "utf-8", "replace")
        output.note(f"wrote {write}")
    nodes = [{"kind": node.kind, "name": node.name, "label": around.label(node)} for node in around.nodes]
    edges = [
        {
            "source": edge.source.name,
            "relation": edge.relation,
            "target": edge.target.name,
            "evidence": edge.evidence,
        }
        for edge in around.edges
    ]
    tree = ([(line, "")] for line in around.drawn("text").split("\n"))
    output.answer({"nodes": nodes, "edges": edges}, tree, json=json)


def knowledge(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="Only what concerns this.")] = None,
    json: Json = False,
) -> None:
    """Show decisions with their reasons, and rules with how often and since when they came up."""
    with opened(context, fresh=True, graph=True) as memory:
        known = memory.knowledge(said_if(topic))
    output.answer(known, _lines(known), json=json)
    if not json and not (known.decisions or known.rules or known.things or known.recurring):
        output.note("nothing is known about this yet" if topic else "nothing is known here yet")


def _lines(known: Knowledge) -> Iterator[Line]:
    blocks = {
        "decisions": list(_decisions(known)),
        "patterns and conventions": list(_rules(known)),
        "how it is checked": list(_recurring(known, "check")),
        "changes together": list(_recurring(known, "together")),
        "most mentioned": [
            [(f"  {entity.kind} {entity.name}", ""), (f"  {count}", "dim")] for entity, count in known.things
        ],
    }
    for heading, block in blocks.items():
        if block:
            yield [(heading, "bold")]
            yield from block


def _recurring(known: Knowledge, kind: str) -> Iterator[Line]:
    for item in known.recurring:
        if item.kind == kind:
            yield [(f"  {item.text}", ""), (f"  {len(item.sessions)} sessions", "dim")]


def _decisions(known: Knowledge) -> Iterator[Line]:
    for decision in known.decisions:
        yield _head(decision.memory, views.day(decision.memory.created_at))
        if decision.reason:
            yield [(f"    why: {views.one_line(decision.reason)}", "dim")]
        if decision.replaced:
            yield [(f"    replaced: {', '.join(decision.replaced)}", "dim")]
        yield from _contradictions(decision.contradicted_by)


def _rules(known: Knowledge) -> Iterator[Line]:
    for rule in known.rules:
        sessions = output.counted(rule.sessions, "session")
        yield _head(rule.memory, f"{rule.memory.kind}, {sessions} since {views.day(rule.since)}")
        yield from _contradictions(rule.contradicted_by)


def _head(memory: StoredMemory, facts: str) -> Line:
    return [(f"  {memory.id}", "cyan"), (f"  {facts}  ", "dim"), (views.one_line(memory.title), "")]


def _contradictions(ids: Sequence[str]) -> Iterator[Line]:
    if ids:
        yield [(f"    contradicted by: {', '.join(ids)}", "yellow")]
