"""Commands that tie the memory to agents: install, uninstall, mcp, ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.request import Json, one_of, opened, place, since_when

if TYPE_CHECKING:
    from claude_memory.install.installer import Step


class InstallScope(StrEnum):
    """For whom an agent gets the memory."""

    USER = "user"
    PROJECT = "project"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(install)
    app.command()(uninstall)
    app.command()(mcp)
    app.command()(ledger)


def _installable(agent: str | None) -> str | None:
    from claude_memory.install.edits import INSTALLABLE
    from claude_memory.platform.agents import canonical

    return None if agent is None else one_of(canonical(agent), INSTALLABLE)


def install(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Option(
            callback=_installable,
            help="Which agent: claude-code, codex, gemini-cli, cursor, opencode, copilot-cli.",
        ),
    ] = "claude-code",
    scope: Annotated[
        InstallScope, typer.Option(metavar="SCOPE", help="For you everywhere (user), or for this project.")
    ] = InstallScope.USER,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written into each file, change nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Give an agent this memory: its hooks and the MCP server. Twice is once."""
    from claude_memory.install.installer import install as run

    where = place(context)
    steps = run(where.home_folder, agent, scope.value, root_of(where.project_folder), dry_run=dry_run)
    if json:
        output.document([documents.plain(step) for step in steps])
        return
    output.lines(line for step in steps for line in _told(step, dry_run=dry_run))
    if not dry_run:
        output.note("the next session of the agent will remember; `claude-memory doctor` checks it")


def _told(step: Step, *, dry_run: bool) -> Iterator[output.Line]:
    verb = "would change" if dry_run else "changed"
    yield [
        (f"{verb if step.changed else 'up to date'}: ", ""),
        (step.what, "bold"),
        (f"  {step.path}", "dim"),
    ]
    if dry_run and step.changed:
        yield from ([(f"  {line}", "dim")] for line in step.difference.splitlines())


def uninstall(
    context: typer.Context,
    agent: Annotated[
        str | None, typer.Option(callback=_installable, help="Only this agent; default all.")
    ] = None,
    json: Json = False,
) -> None:
    """Take the memory out of agents; their files come back as they were, your memories stay."""
    from claude_memory.install.installer import uninstall as run

    where = place(context)
    steps = run(where.home_folder, agent, root_of(where.project_folder))
    if json:
        output.document([documents.plain(step) for step in steps])
        return
    output.lines([[("removed: ", ""), (step.what, "bold"), (f"  {step.path}", "dim")] for step in steps])
    if not steps:
        output.note("nothing of ours was installed")


def mcp(
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve on loopback over HTTP instead, with a token.")
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="The port for --http; 0 takes a free one.")
    ] = 8420,
) -> None:
    """Serve this project's memory over MCP on standard input and output; agents start it."""
    where = place(context)
    if http:
        from claude_memory.surfaces.mcp.http import serve_http

        serve_http(where.home_folder, where.project_folder, port)
        return
    from claude_memory.settings import pin
    from claude_memory.surfaces.mcp.server import serve

    if where.home is not None:
        pin(str(where.home))
    serve(where.home_folder, where.project_folder)


def ledger(
    context: typer.Context,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="WHEN", parser=since_when, help="From this time on, such as `yesterday` or `7d`."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show what hooks gave to agents, by day and session, and what the session then did with it."""
    with opened(context) as memory:
        found = memory.ledger(since=since)
    if json:
        output.document([documents.plain(line) for line in found])
        return
    for line in found:
        told: list[output.Line] = [
            [
                (f"{line.day}  ", "dim"),
                (f"{line.tokens:>6} tokens  ", "bold"),
                (f"{line.times:>4}×  {line.memories:>4} memories  ", ""),
                (f"{line.given_at:<18} {line.session or '-'}", ""),
            ]
        ]
        output.lines([*told, *([(f"{'':12}used: {use}", "dim")] for use in line.used)])
    if not found:
        output.note("no hook has given anything in this project yet")
