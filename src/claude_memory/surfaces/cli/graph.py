"""Commands about what a project knows: graph, knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import Json, opened, path_named, said

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import Decision, Knowledge, Rule

_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".md": "mermaid", ".graphml": "graphml", ".xml": "graphml"}


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(graph)
    app.command()(knowledge)


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
    from claude_memory.graph import draw

    if write is not None and write.suffix not in _FORMATS:
        raise typer.BadParameter("the file must end in .svg, .mmd or .graphml")
    with opened(context) as memory:
        found, label = memory.graph(said(start), hops=hops)
    if write is not None:
        drawn = getattr(draw, _FORMATS[write.suffix])(found, label)
        write.write_text(drawn, "utf-8", "replace")
        output.note(f"wrote {write}")
    if json:
        output.document(
            {
                "nodes": [
                    {"kind": node.kind, "name": node.name, "label": label(node)} for node in found.nodes
                ],
                "edges": [
                    {
                        "source": edge.source.name,
                        "relation": edge.relation,
                        "target": edge.target.name,
                        "evidence": edge.evidence,
                    }
                    for edge in found.edges
                ],
            }
        )
        return
    output.lines([(line, "")] for line in draw.text_lines(found, label))


def knowledge(
    context: typer.Context,
    topic: Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="Only what concerns this.")] = None,
    json: Json = False,
) -> None:
    """Show decisions with their reasons, and rules with how often and since when they came up."""
    with opened(context) as memory:
        found = memory.knowledge(said(topic) if topic else None)
    if json:
        output.document(documents.plain(found))
        return
    if not (found.decisions or found.rules or found.things or found.recurring):
        output.note("nothing is known about this yet" if topic else "nothing is known here yet")
    output.lines(_lines(found))


def _lines(found: Knowledge) -> Iterator[output.Line]:
    for heading, block in (
        ("decisions", [line for decision in found.decisions for line in _decision(decision)]),
        ("patterns and conventions", [line for rule in found.rules for line in _rule(rule)]),
        (
            "how it is checked",
            [
                [(f"  {item.text}", ""), (f"  {len(item.sessions)} sessions", "dim")]
                for item in found.recurring
                if item.kind == "check"
            ],
        ),
        (
            "changes together",
            [
                [(f"  {item.text}", ""), (f"  {len(item.sessions)} sessions", "dim")]
                for item in found.recurring
                if item.kind == "together"
            ],
        ),
        (
            "most mentioned",
            [[(f"  {entity.kind} {entity.name}", ""), (f"  {n}", "dim")] for entity, n in found.things],
        ),
    ):
        if block:
            yield [(heading, "bold")]
            yield from block


def _decision(decision: Decision) -> Iterator[output.Line]:
    memory = decision.memory
    yield [
        (f"  {memory.id}", "cyan"),
        (f"  {views.day(memory.created_at)}  ", "dim"),
        (views.one_line(memory.title), ""),
    ]
    if decision.reason:
        yield [(f"    why: {views.one_line(decision.reason)}", "dim")]
    if decision.replaced:
        yield [(f"    replaced: {', '.join(decision.replaced)}", "dim")]
    if decision.contradicted_by:
        yield [(f"    contradicted by: {', '.join(decision.contradicted_by)}", "yellow")]


def _rule(rule: Rule) -> Iterator[output.Line]:
    sessions = f"{rule.sessions} session{'s' if rule.sessions != 1 else ''}"
    yield [
        (f"  {rule.memory.id}", "cyan"),
        (f"  {rule.memory.kind}, {sessions} since {views.day(rule.since)}  ", "dim"),
        (views.one_line(rule.memory.title), ""),
    ]
    if rule.contradicted_by:
        yield [(f"    contradicted by: {', '.join(rule.contradicted_by)}", "yellow")]
