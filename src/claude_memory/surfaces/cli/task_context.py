"""Commands that show what a project is, and what an agent would be told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.request import Json, one_at_most, opened, said
from claude_memory.surfaces.cli.task_request import api


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("context")(context_)
    app.command("project-info")(project_info)
    app.command("project-context")(project_context)


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
        _tasks(context, max_tokens, json=json)


def _preview(context: typer.Context, moment: str, text: str, *, json: bool) -> None:
    from claude_memory.surfaces.hooks.preview import preview

    with opened(context) as memory:
        offer = preview(memory, moment, text, now=datetime.now(UTC))
        is_off = moment in memory.settings.context_off
    if json:
        lines = [{"text": hint.text, "id": hint.memory, "reason": hint.reason} for hint in offer.hints]
        document = {"moment": moment, "off": is_off, "tokens": offer.tokens, "text": offer.text}
        output.document({**document, "lines": lines})
        return
    why = {hint.text: hint.reason for hint in offer.hints}
    for line in offer.text.splitlines():
        output.lines([[(line, ""), (f"  ← {why[line]}" if why.get(line) else "", "dim")]])
    state = ", but the setting context_off switches it off" if is_off else ""
    output.note(f"{offer.tokens} tokens{state}" if offer.text else "nothing would be given")


def _tasks(context: typer.Context, max_tokens: int, *, json: bool) -> None:
    tasks = api(context)
    text = tasks.get_context(max_tokens=max_tokens)
    if json:
        session = tasks.session_manager.current_id()
        output.document({"session": session, "storage": str(tasks.storage.folder), "text": text})
        return
    if not text:
        output.note("no tasks yet, so a sub-agent would be told nothing")
    output.lines([[(line, "")] for line in text.split("\n") if text])


def project_info(context: typer.Context, json: Json = False) -> None:
    """Show what kind of project this is and where its task files stand."""
    tasks = api(context)
    found = tasks.context_manager.get_context()
    place = {"root": str(tasks.storage.root), "storage": str(tasks.storage.folder)}
    if json:
        output.document({**found.as_json(), **place})
        return
    lines = [*found.lines(), f"Root: {place['root']}", f"Task files: {place['storage']}"]
    output.lines([[(line, "")] for line in lines])


def project_context(
    context: typer.Context,
    refresh: Annotated[bool, typer.Option("--refresh", help="Look at the manifests again.")] = False,
    json: Json = False,
) -> None:
    """Show the project's context; refreshed by itself when a manifest changes."""
    found = api(context).context_manager.get_context(refresh=refresh)
    if json:
        output.document(found.as_json())
    else:
        output.lines([[(line, "")] for line in found.lines()])
