"""Commands about what a project knows: graph, knowledge, and compactions: summaries, summary, summarize."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.errors import InvalidInput, StoreBusy
from claude_memory.platform.agents import require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    AllProjects,
    Result,
    agent_option,
    argument,
    one_of,
    option,
    path_named,
    path_option,
    reading,
)
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.rendering import day, head, one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.memory import Memory
    from claude_memory.summaries.shelf import KeptSummary

_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".md": "mermaid", ".graphml": "graphml", ".xml": "graphml"}
MAX_BYTES = 4 << 20
PROVIDERS = ("rules", "anthropic", "claude", "endpoint:URL")


def graph(
    memory: Memory,
    start: Annotated[str, argument("ID|PATH|TOPIC", "A memory, a file, a topic, a symbol, an error.")],
    hops: Annotated[int, option("N", "How far to go.", min=1, max=4)] = 2,
    write: Annotated[
        Path | None, path_option("FILE", "Also write it: .svg, .mmd (Mermaid) or .graphml, by its ending.")
    ] = None,
) -> Result:
    """Draw what is around a memory, a file or a topic."""
    if write is not None and write.suffix not in _FORMATS:
        raise typer.BadParameter("the file must end in .svg, .mmd or .graphml")
    memory.catch_up(graph=True)
    around = memory.graph.around(start, hops=hops)
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
    tree = [[(line, "")] for line in around.drawn("text").split("\n")]
    return Result({"nodes": nodes, "edges": edges}, tree)


def knowledge(
    memory: Memory, topic: Annotated[str | None, argument("[TOPIC]", "Only what concerns this.")] = None
) -> Result:
    """Show decisions with their reasons, and rules with how often and since when they came up."""
    memory.catch_up(graph=True)
    known = memory.knowledge(topic or None)
    lines = list(_known_lines(known))
    nothing = "nothing is known about this yet" if topic else "nothing is known here yet"
    return Result(known, lines, [] if lines else [nothing])


def _known_lines(known: Knowledge) -> Iterator[Line]:
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
        yield head(f"  {decision.memory.id}", day(decision.memory.created_at), decision.memory.title)
        if decision.reason:
            yield [(f"    why: {one_line(decision.reason)}", "dim")]
        if decision.replaced:
            yield [(f"    replaced: {', '.join(decision.replaced)}", "dim")]
        yield from _contradictions(decision.contradicted_by)


def _rules(known: Knowledge) -> Iterator[Line]:
    for rule in known.rules:
        sessions = output.counted(rule.sessions, "session")
        facts = f"{rule.memory.kind}, {sessions} since {day(rule.since)}"
        yield head(f"  {rule.memory.id}", facts, rule.memory.title)
        yield from _contradictions(rule.contradicted_by)


def _contradictions(ids: Sequence[str]) -> Iterator[Line]:
    if ids:
        yield [(f"    contradicted by: {', '.join(ids)}", "yellow")]


def summaries(
    memory: Memory,
    session: Annotated[
        str | None, option("ID", "Only this session's; the beginning of its id is enough.")
    ] = None,
    all_projects: AllProjects = False,
) -> Result:
    """List what compactions left in this project, the newest session first."""
    _sum_up(memory)
    listed = memory.summaries.list(session or "", all_projects=all_projects)
    lines = [line for item in listed for line in _summary_lines(item)]
    return Result(
        [_row(item) for item in listed], lines, [] if listed else ["no compaction was summed up yet"]
    )


def summaries_push(
    memory: Memory,
    url: Annotated[str, argument("URL", "postgresql://…, or `supabase` for what SUPABASE_DB_URL names.")],
    all_projects: AllProjects = False,
) -> Result:
    """Write compaction summaries and session records to plain tables of a database of your own."""
    require_person("sending summaries to a server")
    _sum_up(memory)
    summaries_, sessions = memory.summaries.push(url, all_projects=all_projects)
    done = f"{summaries_} summaries and {sessions} session records are up to date there"
    return Result({"summaries": summaries_, "sessions": sessions}, done)


def summary(
    memory: Memory,
    named: Annotated[
        str, argument("SESSION/NNN", "Which one, as `summaries` shows it; or `save` to keep one from stdin.")
    ],
    session: Annotated[str | None, option("ID", "For `save`: the session; default this shell's.")] = None,
) -> Result:
    """Print one summary in full, or `save` one that an agent wrote: JSON on stdin, checked by the schema."""
    if named == "save":
        saved, is_new = memory.summaries.save(*_from_stdin(session))
        done = f"saved {saved.id}" if is_new else f"{saved.id} says the same already: nothing was saved"
        return Result({"saved": saved.id, "new": is_new}, done)
    with reading("SESSION/NNN"):
        memory.summaries.shelf.place_of(named)
    _sum_up(memory)
    whole = memory.summaries.shelf.one(named)
    return Result(whole.document, _whole_summary(whole))


def _provider(name: str | None) -> str | None:
    if name is not None:
        kind, _, place = name.partition(":")
        one_of(f"{kind}:URL" if kind == "endpoint" and place else kind, PROVIDERS)
    return name


def summarize(
    memory: Memory,
    path: Annotated[Path, argument("PATH", "A transcript of any known agent.", parser=path_named)],
    agent: Annotated[str | None, agent_option("Whose it is, where that cannot be told.")] = None,
    provider: Annotated[
        str | None,
        option(
            "NAME",
            "rules, anthropic, claude or endpoint:URL; default the setting `summariser`.",
            callback=_provider,
        ),
    ] = None,
) -> Result:
    """Sum up a transcript from its last compaction to its end; nothing is stored."""
    made = memory.summaries.summarize(path, agent=agent, provider=provider, note=output.note)
    return Result(made.document, _whole_summary(made))


def _sum_up(memory: Memory) -> None:
    """Bring in what hooks captured, and sum up what was compacted."""
    try:
        memory.drain(budget_seconds=5.0)
        memory.summaries.sum_up()
    except (StoreBusy, OSError):
        return


def _from_stdin(session: str | None) -> tuple[str, bytes]:
    """Whose summary stands on standard input, and what it says."""
    owner = session or os.environ.get("CLAUDE_MEMORY_SESSION")
    if not owner:
        raise typer.BadParameter("whose summary is it? Give --session, or run it in an agent's shell")
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
    return owner, raw


def _row(item: KeptSummary) -> dict[str, Any]:
    names = "timestamp compaction_trigger token_count_before token_count_after original_message_range".split()
    return {
        "id": item.id,
        "session": item.session,
        "number": item.number,
        **{name: item.document.get(name) for name in names},
        "executive": item.executive,
    }


def _summary_lines(item: KeptSummary) -> Iterator[Line]:
    first, last = item.document.get("original_message_range") or (0, 0)
    facts = f"{times.minute_of(item.document.get('timestamp'))}  {item.document.get('compaction_trigger')}"
    yield [(item.id, "bold"), (f"  {facts}  messages {first} to {last}", "dim")]
    yield [(f"  {' '.join(item.executive.split())}", "")]


def _whole_summary(item: KeptSummary) -> Iterator[Line]:
    first, last = item.document["original_message_range"]
    size = f"{item.document['token_count_before']:,} tokens"
    facts = f"  {times.minute_of(item.document['timestamp'])}  messages {first} to {last}, {size}"
    yield [(item.id, "bold"), (facts, "dim")]
    yield from ([(line, "")] for line in item.executive.splitlines())
    for name, entries in item.summary.items():
        if name in ("executive", "sources") or not entries:
            continue
        yield []
        yield [(name.replace("_", " ").capitalize(), "bold")]
        if name == "topics":
            yield [(", ".join(entries), "")]
            continue
        yield from map(_entry, entries)


def _entry(entry: Any) -> Line:
    if not isinstance(entry, dict):
        return [(f"- {entry}", "")]
    where = ", ".join(map(str, entry.get("messages", ())))
    parts = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in entry.items()
        if name != "messages" and value
    ]
    return [(f"- {'; '.join(parts)}", ""), (f"  [{where}]" if where else "", "dim")]
