"""Commands that tie the memory to agents: install, uninstall, mcp, context, ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.request import Json, one_at_most, one_of, opened, place, said, since_when

if TYPE_CHECKING:
    from claude_memory.install.installer import Step


class InstallScope(StrEnum):
    """For whom an agent gets the memory."""

    USER = "user"
    PROJECT = "project"


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
    output.answer(steps, [line for step in steps for line in _shown(step, dry_run=dry_run)], json=json)
    if not dry_run and not json:
        output.note("the next session of the agent will remember; `claude-memory doctor` checks it")


def _shown(step: Step, *, dry_run: bool) -> Iterator[output.Line]:
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
    lines = [[("removed: ", ""), (step.what, "bold"), (f"  {step.path}", "dim")] for step in steps]
    output.answer(steps, lines, json=json)
    if not steps and not json:
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
    with opened(context, fresh=True) as memory:
        given = memory.ledger(since=since)
    lines: list[output.Line] = []
    for line in given:
        lines.append(
            [
                (f"{line.day}  ", "dim"),
                (f"{line.tokens:>6} tokens  ", "bold"),
                (f"{line.times:>4}×  {line.memories:>4} memories  ", ""),
                (f"{line.given_at:<18} {line.session or '-'}", ""),
            ]
        )
        lines += ([(f"{'':12}used: {use}", "dim")] for use in line.used)
    output.answer(given, lines, json=json)
    if not given and not json:
        output.note("no hook has given anything in this project yet")


def context_(
    context: typer.Context,
    start: Annotated[bool, typer.Option("--start", help="At the start of a session.")] = False,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="With this prompt.")] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="Before this file is edited.")] = None,
    command: Annotated[str | None, typer.Option(metavar="COMMAND", help="Before this command runs.")] = None,
    subagent: Annotated[
        str | None, typer.Option(metavar="TEXT", help="To a sub-agent that starts with this prompt.")
    ] = None,
    max_tokens: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Without a moment: the budget, about 4 characters a token."),
    ] = 500,
    json: Json = False,
) -> None:
    """Show what an agent would be given at a moment, line by line, with the reason and id of each.

    Without a moment: the tasks that a sub-agent would be told of.
    """
    wanted = {"prompt": prompt, "file": file, "command": command, "subagent": subagent}
    one_at_most(("--start", start), *((f"--{name}", text) for name, text in wanted.items()))
    moment = "start" if start else next((name for name, text in wanted.items() if text is not None), "")
    if moment:
        _preview(context, moment, said(wanted.get(moment) or ""), json=json)
    else:
        from claude_memory.surfaces.cli.tasks import show_tasks

        show_tasks(context, max_tokens, json=json)


def _preview(context: typer.Context, moment: str, text: str, *, json: bool) -> None:
    from claude_memory.surfaces.hooks.preview import preview

    with opened(context, fresh=True) as memory:
        offer = preview(memory, moment, text, now=datetime.now(UTC))
        is_off = moment in memory.settings.context_off
    given = [{"text": hint.text, "id": hint.memory, "reason": hint.reason} for hint in offer.hints]
    document = {"moment": moment, "off": is_off, "tokens": offer.tokens, "text": offer.text, "lines": given}
    why = {hint.text: hint.reason for hint in offer.hints}
    lines: list[output.Line] = [
        [(line, ""), (f"  ← {why[line]}" if why.get(line) else "", "dim")] for line in offer.text.splitlines()
    ]
    output.answer(document, lines, json=json)
    if not json:
        state = ", but the setting context_off switches it off" if is_off else ""
        output.note(f"{offer.tokens} tokens{state}" if offer.text else "nothing would be given")
