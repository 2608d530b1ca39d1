"""Commands about tasks: their three documents, their status, their export, and the clean-up.

Refuses steps out of order; everything else is one call of `MemoryAPI` and its rendering.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli import output, task_context, task_sessions, task_views
from claude_memory.surfaces.cli.request import Json, Yes, one_at_most, one_of, path_named, said
from claude_memory.surfaces.cli.task_request import By, File, InSession, Task, api, edited, given_text

if TYPE_CHECKING:
    from claude_memory.tasks.api import MemoryAPI

Content = Annotated[
    str | None, typer.Option("--content", metavar="TEXT", help="The text; `-` reads it from stdin.")
]
Edit = Annotated[bool, typer.Option("--edit", help="Write it in your editor ($VISUAL, $EDITOR).")]
Force = Annotated[bool, typer.Option("--force", help="Take the step out of order; this is recorded.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (scratchpad, plan, append, status, export, cleanup):
        app.command()(command)
    task_context.register(app)
    task_sessions.register(app)


def scratchpad(
    context: typer.Context,
    task: Task,
    content: Content = None,
    edit: Edit = False,
    file: File = None,
    history: Annotated[bool, typer.Option("--history", help="List the earlier texts.")] = False,
    restore: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Make an earlier text the present one.")
    ] = None,
    session: InSession = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Explore: write a task's scratchpad, or show it. The text before is kept."""
    writing = (("--content", content), ("--file", file), ("--edit", edit))
    one_at_most(*writing, ("--history", history), ("--restore", restore))
    tasks = api(context, by)
    if history:
        task_views.history(tasks.scratchpad_history(task, session=session), json=json)
        return
    if restore is not None:
        task_views.written(tasks.restore_scratchpad(task, restore, session=session), "restored", json=json)
        return
    text = edited(_present(tasks, task, session)) if edit else given_text(content, file)
    if text is None:
        task_views.text(task, tasks.get_scratchpad(task, session=session), json=json)
        return
    task_views.written(tasks.update_scratchpad(task, text, session=session), "saved", json=json)


def plan(
    context: typer.Context,
    task: Task,
    content: Content = None,
    from_scratchpad: Annotated[
        bool, typer.Option("--from-scratchpad", help="Take the scratchpad's text as the plan.")
    ] = False,
    edit: Edit = False,
    file: File = None,
    amend: Annotated[
        str | None, typer.Option("--amend", metavar="WHY", help="Add a dated amendment below the plan.")
    ] = None,
    force: Force = False,
    session: InSession = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Plan: written once, then read-only; shown when no text is given."""
    one_at_most(("--content", content), ("--file", file), ("--edit", edit))
    one_at_most(("--content", content), ("--file", file), ("--from-scratchpad", from_scratchpad))
    tasks = api(context, by)
    if amend is not None:
        more = given_text(content, file, stdin=False) or ""
        task_views.written(tasks.amend_plan(task, said(amend), more, session=session), "amended", json=json)
        return
    draft = _present(tasks, task, session) if from_scratchpad or edit else ""
    text = edited(draft) if edit else (draft if from_scratchpad else given_text(content, file))
    if text is None:
        task_views.text(task, tasks.get_plan(task, session=session), json=json)
        return
    marks = _in_order(tasks, task, "plan", force=force)
    task_views.written(tasks.create_plan(task, text, session=session, marks=marks), "locked", json=json)


def append(
    context: typer.Context,
    task: Task,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]", help="The entry; `-` reads it from stdin.")
    ] = None,
    file: File = None,
    force: Force = False,
    session: InSession = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Record progress: one dated entry, added to the end."""
    tasks = api(context, by)
    entry = given_text(" ".join(text) if text else None, file)
    if entry is None:
        raise typer.BadParameter("an entry needs some text: give it, or --file, or `-` for standard input")
    marks = _in_order(tasks, task, "progress", force=force)
    task_views.written(tasks.append_progress(task, entry, session=session, marks=marks), "added", json=json)


def status(
    context: typer.Context,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="One task in detail.")] = None,
    session: InSession = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check all plans and records in full; exit 1 if one fails.")
    ] = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="Bring back task files that are gone, from the home's copy.")
    ] = False,
    json: Json = False,
) -> None:
    """Show where tasks stand, and whether a plan or a record was tampered with."""
    tasks = api(context)
    if recover:
        restored = tasks.recover()
        output.note(f"brought back {len(restored)} files")
        tasks = api(context)
    elif tasks.lost_files():
        output.note("task files of this project are gone; `claude-memory status --recover` brings them back")
    if task is not None:
        task_views.status(tasks.get_task_status(said(task), session=session), json=json)
        problems = tasks.verify(said(task)) if verify else []
    else:
        found = tasks.list_tasks(session, all_sessions=session is None)
        problems = tasks.verify() if verify else tasks.problems()
        task_views.overview(found, problems, tasks, json=json)
    if verify and problems:
        raise typer.Exit(1)  # what is wrong was printed; a script must hear of it, too


def _format(name: str) -> str:
    from claude_memory.tasks.views import FORMATS

    return one_of(name, FORMATS)


def export(
    context: typer.Context,
    task: Task,
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="F", callback=_format, help="json, md or html.")
    ] = "json",
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", parser=path_named, help="Write to a file."),
    ] = None,
    session: InSession = None,
) -> None:
    """Print everything a task holds as one document."""
    from claude_memory.platform.files import write_atomically

    if to is not None and to.is_dir():
        raise InvalidInput(f"{to} is a folder: name a file")
    data = api(context).export_task(task, format, session=session)
    if to is not None:
        write_atomically(to, task_views.exported(data))
        output.note(f"wrote {to}")
    elif isinstance(data, dict):
        output.document(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(task_views.exported(data))
        sys.stdout.buffer.flush()


def cleanup(
    context: typer.Context,
    days: Annotated[
        int,
        typer.Option("--days", metavar="N", min=0, max=36_500, help="Sessions untouched for so long."),
    ] = 30,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Archive old sessions and remove idle lock files; the current session stays."""
    from claude_memory.tasks import cleanup as cleaning

    sessions, now = api(context).session_manager, datetime.now(UTC)
    planned = cleaning.plan(sessions, days, now=now)
    count = output.counted(len(planned.sessions), "session")
    question = f"Archive {count} untouched for {output.counted(days, 'day')}?"
    unasked = f"{count} would be archived: repeat it with --yes, or see which with --dry-run"
    if planned.sessions and not dry_run and not output.confirmed(question, yes=yes, unasked=unasked):
        raise InvalidInput("nothing archived")
    done = planned if dry_run else cleaning.carry_out(sessions, planned, now=now)
    report = {
        "dry_run": dry_run,
        "sessions": [session.session_id for session in done.sessions],
        "archives": [str(path) for path in done.archives],
        "lock_files": len(done.lock_files),
    }
    if json:
        output.document(report)
    else:
        task_views.cleaned(report)


def _present(tasks: MemoryAPI, task: str, session: str | None) -> str:
    if not tasks.memory_manager.parts(task, session):
        return ""
    return tasks.get_scratchpad(task, session=session) or ""


def _in_order(tasks: MemoryAPI, task: str, step: str, *, force: bool) -> tuple[str, ...]:
    from claude_memory.tasks.book import WorkflowEnforcer

    return WorkflowEnforcer(tasks.memory_manager).require(task, step, force=force)
