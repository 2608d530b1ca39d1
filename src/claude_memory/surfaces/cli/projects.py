"""The group `projects`: which there are, and what a person says belongs together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.caller import require_person
from claude_memory.surfaces.cli import output, views
from claude_memory.surfaces.cli.request import Json, Yes, opened, path_named, place, said

if TYPE_CHECKING:
    from claude_memory.model import Project
    from claude_memory.verbs.project_book import Regrouped

app = typer.Typer(help="List projects; say which belong together.", no_args_is_help=True)

Named = Annotated[
    str, typer.Argument(metavar="PROJECT", help="Its id, its folder, or a name that only one has.")
]
_UNASKED = "this changes what belongs to a project: repeat it with --yes"


def register(program: typer.Typer) -> None:
    """Add these commands."""
    program.add_typer(app, name="projects")


@app.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List every project: its id, how much is kept of it, where it stands."""
    with opened(context) as memory:
        found = memory.projects.list()
    if json:
        output.document(
            [
                {**_document(one.project), "memories": one.memories, "events": one.events, "here": one.here}
                for one in found
            ]
        )
        return
    for one in found:
        told = f"  {one.memories} memories, {one.events} events  {views.one_line(one.project.path)}"
        mark = "  (here)" if one.here else ""
        output.lines(
            [
                [
                    (one.project.id, "cyan"),
                    (f"  {views.one_line(one.project.name)}", "bold"),
                    (told, ""),
                    (mark, "dim"),
                ]
            ]
        )


@app.command()
def merge(
    context: typer.Context,
    project: Named,
    into: Annotated[
        str | None, typer.Option("--into", metavar="PROJECT", help="Default: the project here.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Let all of a project belong to another; it cannot be undone."""
    require_person("`projects merge`")
    with opened(context) as memory:
        source = memory.projects.named(said(project))
        target = memory.projects.named(said(into)) if into else memory.project
        question = f"let all of {source.id} ({source.path}) belong to {target.id} ({target.path})?"
        if not output.confirmed(question, yes=yes, unasked=_UNASKED):
            raise typer.Abort
        done = memory.projects.merge(source.id, target.id)
    _answer("merged into", done, json=json)


@app.command()
def split(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", parser=path_named, help="Default: the folder here.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Make a folder a project of its own, with the sessions held in it."""
    require_person("`projects split`")
    wanted = folder or place(context).project_folder
    with opened(context) as memory:
        before = memory.projects.at(wanted)
        question = f"take {wanted} out of {before.id} ({before.path})?"
        if not output.confirmed(question, yes=yes, unasked=_UNASKED):
            raise typer.Abort
        done = memory.projects.split(wanted)
    _answer("split off", done, json=json)


@app.command()
def move(
    context: typer.Context,
    project: Named,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", parser=path_named, help="Where it is now; default here.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Let a folder belong to a known project: a clone whose history cannot tell, or one that moved."""
    require_person("`projects move`")
    wanted = folder or place(context).project_folder
    with opened(context) as memory:
        target = memory.projects.named(said(project))
        question = f"let {wanted} belong to {target.id} ({target.path}), and see all that is kept of it?"
        if not output.confirmed(question, yes=yes, unasked=_UNASKED):
            raise typer.Abort
        done = memory.projects.move(target.id, wanted)
    _answer("moved to", done, json=json)


def _document(project: Project) -> dict[str, object]:
    return {
        "id": project.id,
        "name": project.name,
        "path": project.path,
        "identities": list(project.identities),
    }


def _answer(verb: str, done: Regrouped, *, json: bool) -> None:
    if json:
        output.document({**_document(done.project), "set_aside": [str(path) for path in done.set_aside]})
        return
    output.lines(
        [[(f"{verb} ", ""), (done.project.id, "cyan"), (f"  {views.one_line(done.project.path)}", "dim")]]
    )
    for path in done.set_aside:
        output.note(f"both had it; the moved one is kept as {path}")
