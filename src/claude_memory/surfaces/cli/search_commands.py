"""Commands that ask: search, timeline, why; about what was done: blame, fix, how; graph and knowledge."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    AllProjects,
    Id,
    OnlyFiles,
    OnlyKinds,
    OnlySession,
    OnlyTask,
    OnlyTopics,
    Result,
    Since,
    Until,
    agent_option,
    argument,
    flag,
    one_at_most,
    option,
    path_option,
)
from claude_memory.surfaces.cli.output import bold, cyan, day, dim, head, one_line, yellow
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.memory import Memory
    from claude_memory.search.past_work import CommandRuns, Fixed, Shaped, TimelineEntry

_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)")
_OUTCOMES = {"passed": "passed afterwards", "failing": "still failed then", "unknown": "not run again there"}
_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".md": "mermaid", ".graphml": "graphml", ".xml": "graphml"}
Limit = Annotated[int, option("N", "How many at most.", min=1, max=100)]


def _a_number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # no range leaves it out
        raise typer.BadParameter(f"{value} is not a number.")
    return value


def search(
    memory: Memory,
    query: Annotated[list[str], argument("QUERY", "A question, or a few words.")],
    limit: Annotated[int | None, option("N", "How many hits at most.", min=1, max=1000)] = None,
    kind: OnlyKinds = None,
    topic: OnlyTopics = None,
    file: OnlyFiles = None,
    task: OnlyTask = None,
    session: OnlySession = None,
    since: Since = None,
    until: Until = None,
    min_relevance: Annotated[
        float | None,
        option(
            "R", "Leave out hits below this relevance; 0 shows every hit.", min=0, max=1, callback=_a_number
        ),
    ] = None,
    agent: Annotated[str | None, agent_option("Only with this agent: claude-code, codex …")] = None,
    branch: Annotated[str | None, option("NAME", "Only work on this branch.")] = None,
    command: Annotated[str | None, option("WORDS", "Only where a command with these words was run.")] = None,
    commit: Annotated[str | None, option("HASH", "Only where this commit was made: hash or words.")] = None,
    failed: Annotated[
        bool, flag("--failed", "Only where a tool failed; with --command, that command.")
    ] = False,
    all_projects: AllProjects = False,
) -> Result:
    """Find memories and past work by words and meaning, best first."""
    memory.warm_up()
    memory.catch_up()
    hits = memory.search(
        " ".join(query),
        limit=limit,
        kinds=kind or (),
        topics=topic or (),
        files=file or (),
        task=task or None,
        session=session or None,
        since=since,
        until=until,
        agent=agent,
        branch=branch or None,
        command=command or None,
        commit=commit or None,
        failed=failed,
        min_relevance=min_relevance,
        all_projects=all_projects,
    )
    memory.note_question()
    if "words only" in memory.search_mode:
        output.note(f"searched {memory.search_mode}")
        from claude_memory.surfaces.hooks import background

        background.go_on(memory)
    if not hits:
        output.note(_nothing(memory, all_projects=all_projects))
    return Result([output.hit(hit) for hit in hits], output.hit_lines(hits, output.width()))


def _nothing(memory: Memory, *, all_projects: bool) -> str:
    if not sum(memory.stats(all_projects=all_projects).memories.values()):
        where = "" if all_projects else " of this project"
        return f'no memories{where} yet: claude-memory remember "…" keeps the first'
    advice = "other words or fewer filters" + ("" if all_projects else ", or --all-projects")
    return f"nothing found; try {advice}"


def timeline(
    memory: Memory,
    around: Annotated[str | None, option("ID", "Around this memory.")] = None,
    query: Annotated[str | None, option("QUERY", "Around the best answer to this.")] = None,
    before: Annotated[int, option("N", "Entries before it.", min=0, max=1000)] = 5,
    after: Annotated[int, option("N", "Entries after it.", min=0, max=1000)] = 5,
    session: OnlySession = None,
) -> Result:
    """Show what happened when: lately, or around a memory."""
    one_at_most(("--around", around), ("--query", query))
    memory.catch_up()
    entries = memory.timeline(
        around=around or None, query=query or None, before=before, after=after, session=session or None
    )
    return Result(entries, map(_happened, entries), nothing="nothing has happened here yet")


def _happened(entry: TimelineEntry) -> str:
    mark = "▸" if entry.anchor else "·" if entry.is_event else " "
    title = one_line(entry.title)[:160]
    facts = dim(f"{mark} {times.minute(entry.timestamp)}  {entry.kind:<12}")
    return (
        f"{facts} {bold(title) if entry.anchor else title}{cyan('' if entry.is_event else f'  {entry.id}')}"
    )


def why(
    memory: Memory,
    id_: Id,
    query: Annotated[str | None, option("QUERY", "The question; default the last one asked here.")] = None,
) -> Result:
    """Explain why a memory answers a question, in words and numbers, and when agents were given it."""
    memory.catch_up()
    given = memory.given(id_)
    lines = [
        f"given to an agent {bold(times.minute(item.timestamp))}"
        + dim(f"  at {one_line(item.given_at)}, session {one_line(item.session or '-')}")
        for item in given
    ]
    try:
        explained = memory.why(id_, query)
    except InvalidInput:
        if not given:
            raise
        return Result({"given": given}, lines)  # never searched for, but hooks have given it
    question = (
        f"{dim('for the question')} {bold(f'“{one_line(explained.query)}”')}" if explained.query else ""
    )
    words = [line for text in explained.words for line in output.paragraph(text, output.width(), "")]
    numbers = output.table({name: f"{value:.4g}" for name, value in explained.numbers.items()}, indent="  ")
    shown = [*filter(None, [question]), *words, "", *numbers, *lines]
    return Result({**output.plain(explained), "given": given}, shown)


# --- what was done


def blame(
    memory: Memory,
    named: Annotated[str, argument("FILE[:LINE]", "A file, or one line of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
) -> Result:
    """Tell which exchanges shaped a file, or a line of it, and why."""
    file, line = _file_and_line(named)
    memory.catch_up()
    root, whole = Path(memory.project.path or "."), Path.cwd() / file
    below = (whole.relative_to(root) if whole.is_relative_to(root) else Path(file)).as_posix()
    exchanges = memory.work(all_projects=all_projects).blame(below, line=line, limit=limit)
    if exchanges and line is not None and not any(exchange.line for exchange in exchanges):
        output.note("no edit of this very line is known; these edited the file")
    return Result(exchanges, _shaped(exchanges), nothing=f"no exchange is known to have edited {file}")


def _file_and_line(named: str) -> tuple[str, str | None]:
    """The file, and the text of the line that was asked about."""
    match = _LINE.fullmatch(named)
    if match is None or Path(named).exists():
        return named, None
    try:
        lines = Path(match["file"]).read_text("utf-8", "replace").splitlines()
        return match["file"], lines[int(match["line"]) - 1]
    except (OSError, IndexError):
        raise typer.BadParameter(f"{match['file']} has no line {match['line']} here.") from None


def _shaped(exchanges: Sequence[Shaped]) -> Iterator[str]:
    for item in exchanges:
        edits = output.counted(item.edits, "edit") + (", this line" if item.line else "")
        yield head(item.id, day(item.timestamp), item.title, dim(f"  {edits}"))
        yield from _details(asked=item.why, ended=item.ended, commit=item.commits)


def fix(
    memory: Memory,
    error: Annotated[list[str], argument("ERROR", "The error's text, or its main line.")],
    limit: Limit = 5,
    all_projects: AllProjects = False,
) -> Result:
    """Tell what was done after this error before, and whether it held."""
    memory.catch_up()
    fixes = memory.work(all_projects=all_projects).fix(" ".join(error), limit=limit)
    return Result(fixes, _fixed(fixes), nothing="this error was not met here before, as far as is known")


def _fixed(fixes: Sequence[Fixed]) -> Iterator[str]:
    for item in fixes:
        back = f", came back {times.minute(item.came_back)}" if item.came_back else ""
        outcome = dim(f"  {_OUTCOMES[item.outcome]}{back}")
        yield head(item.id, times.minute(item.timestamp), item.title, outcome)
        yield from _details(error=item.error, command=item.command, then=item.after, ended=item.ended)


def how(
    memory: Memory,
    words: Annotated[list[str], argument("WORDS", "What it does, or a part of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
) -> Result:
    """Show the commands that worked here for something."""
    memory.catch_up()
    commands = memory.work(all_projects=all_projects).how(" ".join(words), limit=limit)
    nothing = "no command with these words was run here, as far as is known"
    return Result(commands, _worked(commands), nothing=nothing)


def _worked(commands: Sequence[CommandRuns]) -> Iterator[str]:
    for item in commands:
        failed = f", failed {item.failed}×" if item.failed else ""
        facts = dim(f"worked {item.worked}×{failed}, last {times.minute(item.last)}")
        yield f"{bold(one_line(item.command))}  {facts}  {cyan(item.id)}"
        yield from _details(**{"failed with": item.error})


def _details(**values: str | Sequence[str]) -> Iterator[str]:
    for name, value in values.items():
        for text in [value] if isinstance(value, str) else value:
            if text:
                yield f"{dim(f'    {name:<8}')}{one_line(text)}"


# --- what a project knows


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
        {**output.plain(edge), "source": edge.source.name, "target": edge.target.name}
        for edge in around.edges
    ]
    return Result({"nodes": nodes, "edges": edges}, around.drawn("text").split("\n"))


def knowledge(
    memory: Memory, topic: Annotated[str | None, argument("[TOPIC]", "Only what concerns this.")] = None
) -> Result:
    """Show decisions with their reasons, and rules with how often and since when they came up."""
    memory.catch_up(graph=True)
    known = memory.knowledge(topic or None)
    nothing = "nothing is known about this yet" if topic else "nothing is known here yet"
    return Result(known, _known_lines(known), nothing=nothing)


def _known_lines(known: Knowledge) -> Iterator[str]:
    blocks = {
        "decisions": list(_decisions(known)),
        "patterns and conventions": list(_rules(known)),
        "how it is checked": list(_recurring(known, "check")),
        "changes together": list(_recurring(known, "together")),
        "most mentioned": [f"  {item.kind} {item.name}{dim(f'  {count}')}" for item, count in known.things],
    }
    for heading, block in blocks.items():
        yield from [bold(heading), *block] if block else []


def _recurring(known: Knowledge, kind: str) -> Iterator[str]:
    for item in known.recurring:
        if item.kind == kind:
            yield f"  {item.text}{dim(f'  {len(item.sessions)} sessions')}"


def _decisions(known: Knowledge) -> Iterator[str]:
    for item in known.decisions:
        yield head(f"  {item.memory.id}", day(item.memory.created_at), item.memory.title)
        if item.reason:
            yield dim(f"    why: {one_line(item.reason)}")
        if item.replaced:
            yield dim(f"    replaced: {', '.join(item.replaced)}")
        yield from _contradictions(item.contradicted_by)


def _rules(known: Knowledge) -> Iterator[str]:
    for item in known.rules:
        facts = f"{item.memory.kind}, {output.counted(item.sessions, 'session')} since {day(item.since)}"
        yield head(f"  {item.memory.id}", facts, item.memory.title)
        yield from _contradictions(item.contradicted_by)


def _contradictions(ids: Sequence[str]) -> Iterator[str]:
    if ids:
        yield yellow(f"    contradicted by: {', '.join(ids)}")
