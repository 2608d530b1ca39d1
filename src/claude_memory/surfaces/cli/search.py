"""Commands that ask: search, timeline, why."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import (
    KINDS,
    Json,
    agent_name,
    one_at_most,
    opened,
    said,
    said_all,
    since_when,
    until_when,
)

if TYPE_CHECKING:
    from claude_memory.memory import Memory

_WHEN = "a date (2026-11-15), `today`, `yesterday`, `3d`, `2 weeks ago`"
AllProjects = Annotated[bool, typer.Option("--all-projects", help="Search every project.")]
Session = Annotated[
    str | None,
    typer.Option(metavar="SESSION", help="Only this conversation: its id, or its unique beginning."),
]


def _a_number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # no range leaves it out
        raise typer.BadParameter(f"{value} is not a number.")
    return value


def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="A question, or a few words.")],
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1000, help="How many hits at most.")
    ] = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(metavar="KIND", help=f"Only this kind; repeatable: {KINDS}.")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC", help="Only this topic; repeatable.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Only about this file; repeatable.")
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="TASK", help="Only this task.")] = None,
    session: Session = None,
    since: Annotated[
        datetime | None, typer.Option(metavar="WHEN", parser=since_when, help=f"Not before {_WHEN}.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(metavar="WHEN", parser=until_when, help="Not after it; same forms.")
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            min=0.0,
            max=1.0,
            callback=_a_number,
            help="Leave out hits below this relevance; 0 shows every hit.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", callback=agent_name, help="Only with this agent: claude-code, codex …"),
    ] = None,
    branch: Annotated[str | None, typer.Option(metavar="NAME", help="Only work on this branch.")] = None,
    command: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only where a command with these words was run.")
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Only where this commit was made: hash or words."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only where a tool failed; with --command, that command.")
    ] = False,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """Find memories and past work by words and meaning, best first."""
    with opened(context, fresh=True, warm=True) as memory:
        hits = memory.search(
            said(" ".join(query)),
            limit=limit,
            kinds=kind or (),
            topics=said_all(topic),
            files=said_all(file),
            task=said(task) if task else None,
            session=said(session) if session else None,
            since=since,
            until=until,
            agent=agent,
            branch=said(branch) if branch else None,
            command=said(command) if command else None,
            commit=said(commit) if commit else None,
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
    if json:
        output.document([documents.hit(hit) for hit in hits])
    else:
        output.lines(views.hits(hits, output.width()))


def _nothing(memory: Memory, *, all_projects: bool) -> str:
    if not sum(memory.stats(all_projects=all_projects).memories.values()):
        where = "" if all_projects else " of this project"
        return f'no memories{where} yet: claude-memory remember "…" keeps the first'
    advice = "other words or fewer filters" + ("" if all_projects else ", or --all-projects")
    return f"nothing found; try {advice}"


def timeline(
    context: typer.Context,
    around: Annotated[str | None, typer.Option(metavar="ID", help="Around this memory.")] = None,
    query: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Around the best answer to this.")
    ] = None,
    before: Annotated[int, typer.Option(metavar="N", min=0, max=1000, help="Entries before it.")] = 5,
    after: Annotated[int, typer.Option(metavar="N", min=0, max=1000, help="Entries after it.")] = 5,
    session: Session = None,
    json: Json = False,
) -> None:
    """Show what happened when: lately, or around a memory."""
    one_at_most(("--around", around), ("--query", query))
    with opened(context, fresh=True) as memory:
        entries = memory.timeline(
            around=said(around) if around else None,
            query=said(query) if query else None,
            before=before,
            after=after,
            session=said(session) if session else None,
        )
    if not entries:
        output.note("nothing has happened here yet")
    if json:
        output.document([documents.plain(entry) for entry in entries])
    else:
        output.lines(views.timeline(entries))


def why(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The memory, or its unique beginning.")],
    query: Annotated[
        str | None, typer.Option(metavar="QUERY", help="The question; default the last one asked here.")
    ] = None,
    json: Json = False,
) -> None:
    """Explain why a memory answers a question, in words and numbers, and when agents were given it."""
    with opened(context, fresh=True) as memory:
        given = memory.given(said(id_))
        try:
            found = memory.why(said(id_), said(query) if query is not None else None)
        except InvalidInput:
            if not given:
                raise
            found = None  # nothing was searched, but hooks have given it
    if json:
        explained = documents.plain(found) if found is not None else {}
        output.document({**explained, "given": [documents.plain(item) for item in given]})
        return
    if found is not None:
        output.lines(views.explanation(found, output.width()))
    output.lines(views.given(given))
