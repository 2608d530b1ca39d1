"""Commands about projects: give one its own folder, list them, say which belong together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claude_memory.platform.agents import require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import Result, WorkPlace, Yes, argument, flag, option, path_named
from claude_memory.surfaces.cli.rendering import one_line

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.model import Project
    from claude_memory.store.project_book import Regrouped

Named = Annotated[str, argument("PROJECT", "Its id, its folder, or a name that only one has.")]
_UNASKED = "this changes what belongs to a project: repeat it with --yes"


class Layout(StrEnum):
    """Where a project keeps the files people write."""

    PRIVATE = "private"
    REPO = "repo"


def init(
    memory: Memory,
    layout: Annotated[
        Layout | None,
        option("LAYOUT", "`private`: all inside .claude-memories; `repo`: at the top, to be committed."),
    ] = None,
    templates: Annotated[
        bool, flag("--templates", "Also begin MEMORY.md, tasks/todo.md and tasks/lessons.md.")
    ] = False,
) -> Result:
    """Give this project its own folder, ignored by git."""
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
    return Result(done, [line])


def projects_list(memory: Memory) -> Result:
    """List every project: its id, how much is kept of it, where it stands."""
    listed = memory.projects.list()
    return Result(
        [
            {**_document(item.project), "memories": item.memories, "events": item.events, "here": item.here}
            for item in listed
        ],
        [
            [
                (item.project.id, "cyan"),
                (f"  {one_line(item.project.name)}", "bold"),
                (f"  {item.memories} memories, {item.events} events", ""),
                (f"  {one_line(item.project.path)}", ""),
                ("  (here)" if item.here else "", "dim"),
            ]
            for item in listed
        ],
    )


def projects_merge(
    memory: Memory,
    project: Named,
    into: Annotated[str | None, option("PROJECT", "Default: the project here.", "--into")] = None,
    yes: Yes = False,
) -> Result:
    """Let all of a project belong to another; it cannot be undone."""
    require_person("`projects merge`")
    source = memory.projects.named(project)
    target = memory.projects.named(into) if into else memory.project
    question = f"let all of {source.id} ({source.path}) belong to {target.id} ({target.path})?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _answer("merged into", memory.projects.merge(source.id, target.id))


def projects_split(
    memory: Memory,
    place: WorkPlace,
    folder: Annotated[Path | None, argument("[DIR]", "Default: the folder here.", parser=path_named)] = None,
    yes: Yes = False,
) -> Result:
    """Make a folder a project of its own, with the sessions held in it."""
    require_person("`projects split`")
    wanted = folder or place.project_folder
    before = memory.projects.at(wanted)
    output.confirm(f"take {wanted} out of {before.id} ({before.path})?", yes=yes, unasked=_UNASKED)
    return _answer("split off", memory.projects.split(wanted))


def projects_move(
    memory: Memory,
    place: WorkPlace,
    project: Named,
    folder: Annotated[
        Path | None, argument("[DIR]", "Where it is now; default here.", parser=path_named)
    ] = None,
    yes: Yes = False,
) -> Result:
    """Let a folder belong to a known project: a clone whose history cannot tell, or one that moved."""
    require_person("`projects move`")
    wanted = folder or place.project_folder
    target = memory.projects.named(project)
    question = f"let {wanted} belong to {target.id} ({target.path}), and see all that is kept of it?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _answer("moved to", memory.projects.move(target.id, wanted))


def _document(project: Project) -> dict[str, object]:
    return {name: getattr(project, name) for name in ("id", "name", "path", "identities")}


def _answer(verb: str, done: Regrouped) -> Result:
    path = one_line(done.project.path)
    line = [(f"{verb} ", ""), (done.project.id, "cyan"), (f"  {path}", "dim")]
    notes = [f"both had it; the moved one is kept as {beside}" for beside in done.set_aside]
    return Result({**_document(done.project), "set_aside": done.set_aside}, [line], notes)
