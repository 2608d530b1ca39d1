"""Commands about the project's own folder."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from claude_memory.notes.places import approve, bring_back, unapproved
from claude_memory.platform import layout as layouts
from claude_memory.platform.caller import require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.request import Json, opened, place


class Layout(StrEnum):
    """Where a project keeps the files people write."""

    PRIVATE = "private"
    REPO = "repo"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)


def init(
    context: typer.Context,
    layout: Annotated[
        Layout | None,
        typer.Option(
            metavar="LAYOUT",
            help="`private`: all inside .claude-memories; `repo`: at the top, to be committed.",
        ),
    ] = None,
    templates: Annotated[
        bool,
        typer.Option("--templates", help="Also begin MEMORY.md, tasks/todo.md and tasks/lessons.md."),
    ] = False,
    json: Json = False,
) -> None:
    """Give this project its own folder, ignored by git."""
    where = place(context)
    root = root_of(where.project_folder)
    with opened(context) as memory:
        foreign = unapproved(where.home_folder, memory.project.id, root, repo=layout is Layout.REPO)
        if foreign:  # they came with a clone: whoever takes them over makes them a person's word
            require_person(f"taking over {foreign[0]}")
            output.note(f"from now on your own words: {', '.join(map(str, foreign))}")
        done = layouts.prepare(root, layout)
        approve(where.home_folder, memory.project.id, root)
        shelf = memory.keeper.shelf_of(memory.project.id, root)
        for path in bring_back(shelf.files):
            output.note(f"brought back {path}")
        for path in shelf.put_templates() if templates else []:
            output.note(f"begun {path}")
        if not templates and not shelf.files.memory.exists():
            output.note("`claude-memory init --templates` begins MEMORY.md, todo.md and lessons.md")
    if json:
        output.document(documents.plain(done))
        return
    verb = "made" if done.created else "already there:"
    output.lines([[(f"{verb} ", ""), (str(done.folder), "bold"), (f"  layout {done.layout}", "dim")]])
