"""Commands about projects: give one its own folder, list them, say which belong together."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.caller import require_person
from claude_memory.surfaces.cli import output, views
from claude_memory.surfaces.cli.request import Json, Yes, opened, path_named, place, said

if TYPE_CHECKING:
    from claude_memory.model import Project
    from claude_memory.store.project_book import Regrouped

projects = typer.Typer(help="List projects; say which belong together.", no_args_is_help=True)

Named = Annotated[
    str, typer.Argument(metavar="PROJECT", help="Its id, its folder, or a name that only one has.")
]
_UNASKED = "this changes what belongs to a project: repeat it with --yes"


class Layout(StrEnum):
    """Where a project keeps the files people write."""

    PRIVATE = "private"
    REPO = "repo"


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
    with opened(context) as memory:
        foreign = memory.notes.unapproved(repo=layout is Layout.REPO)
        if foreign:  # they came with a clone: whoever takes them over makes them a person's word
            require_person(f"taking over {foreign[0]}")
            output.note(f"from now on your own words: {', '.join(map(str, foreign))}")
        done, brought_back = memory.notes.prepare(layout)
        for path in brought_back:
            output.note(f"brought back {path}")
        for path in memory.notes.documents.put_templates() if templates else []:
            output.note(f"begun {path}")
        if not templates and not memory.notes.files.memory.exists():
            output.note("`claude-memory init --templates` begins MEMORY.md, todo.md and lessons.md")
    verb = "made" if done.created else "already there:"
    line = [(f"{verb} ", ""), (str(done.folder), "bold"), (f"  layout {done.layout}", "dim")]
    output.answer(done, [line], json=json)


@projects.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List every project: its id, how much is kept of it, where it stands."""
    with opened(context) as memory:
        listed = memory.projects.list()
    output.answer(
        [
            {**_document(item.project), "memories": item.memories, "events": item.events, "here": item.here}
            for item in listed
        ],
        [
            [
                (item.project.id, "cyan"),
                (f"  {views.one_line(item.project.name)}", "bold"),
                (f"  {item.memories} memories, {item.events} events", ""),
                (f"  {views.one_line(item.project.path)}", ""),
                ("  (here)" if item.here else "", "dim"),
            ]
            for item in listed
        ],
        json=json,
    )


@projects.command()
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
        book = memory.projects
        source = book.named(said(project))
        target = book.named(said(into)) if into else memory.project
        question = f"let all of {source.id} ({source.path}) belong to {target.id} ({target.path})?"
        done = _regrouped(question, lambda: book.merge(source.id, target.id), yes=yes)
    _answer("merged into", done, json=json)


@projects.command()
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
        book = memory.projects
        before = book.at(wanted)
        question = f"take {wanted} out of {before.id} ({before.path})?"
        done = _regrouped(question, lambda: book.split(wanted), yes=yes)
    _answer("split off", done, json=json)


@projects.command()
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
        book = memory.projects
        target = book.named(said(project))
        question = f"let {wanted} belong to {target.id} ({target.path}), and see all that is kept of it?"
        done = _regrouped(question, lambda: book.move(target.id, wanted), yes=yes)
    _answer("moved to", done, json=json)


def _regrouped(question: str, change: Callable[[], Regrouped], *, yes: bool) -> Regrouped:
    if not output.confirmed(question, yes=yes, unasked=_UNASKED):
        raise typer.Abort
    return change()


def _document(project: Project) -> dict[str, object]:
    return {
        "id": project.id,
        "name": project.name,
        "path": project.path,
        "identities": list(project.identities),
    }


def _answer(verb: str, done: Regrouped, *, json: bool) -> None:
    path = views.one_line(done.project.path)
    line = [(f"{verb} ", ""), (done.project.id, "cyan"), (f"  {path}", "dim")]
    output.answer({**_document(done.project), "set_aside": done.set_aside}, [line], json=json)
    if not json:
        for beside in done.set_aside:
            output.note(f"both had it; the moved one is kept as {beside}")
