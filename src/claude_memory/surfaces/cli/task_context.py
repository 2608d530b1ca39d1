"""Commands that show what a project is, and what a sub-agent would be told."""

from __future__ import annotations

from typing import Annotated

import typer

from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.request import Json
from claude_memory.surfaces.cli.task_request import api


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("context")(context_)
    app.command("project-info")(project_info)
    app.command("project-context")(project_context)


def context_(
    context: typer.Context,
    max_tokens: Annotated[
        int, typer.Option(metavar="N", min=1, help="The budget, about 4 characters a token.")
    ] = 500,
    json: Json = False,
) -> None:
    """Show what a sub-agent would be given."""
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
