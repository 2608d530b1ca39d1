"""Commands about tasks: their three documents, status, export and clean-up; their sessions and context.

Refuses steps out of order; everything else is one call of `memory.tasks` and its rendering.
"""

from __future__ import annotations

import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli import output, task_views
from claude_memory.surfaces.cli.request import (
    DryRun,
    Json,
    Yes,
    one_at_most,
    one_of,
    opened,
    path_named,
    said,
    said_if,
)

if TYPE_CHECKING:
    from claude_memory.tasks.api import MemoryAPI

TEXT_BYTES = 16 * 1024 * 1024

Task = Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", callback=said)]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", parser=path_named, help="Take the text from a file; `-` is stdin."
    ),
]
InSession = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session, instead of the task's own.")
]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="By whom, e.g. `agent` or `subagent:ID`.")
]
Content = Annotated[
    str | None, typer.Option("--content", metavar="TEXT", help="The text; `-` reads it from stdin.")
]
Edit = Annotated[bool, typer.Option("--edit", help="Write it in your editor ($VISUAL, $EDITOR).")]
Force = Annotated[bool, typer.Option("--force", help="Take the step out of order; this is recorded.")]


session = typer.Typer(help="Start, show, list, switch and restore sessions.", no_args_is_help=True)


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
    tasks = _tasks(context, by)
    if history:
        task_views.history(tasks.scratchpad_history(task, session=session), json=json)
        return
    if restore is not None:
        task_views.written(tasks.restore_scratchpad(task, restore, session=session), "restored", json=json)
        return
    text = _edited(_present(tasks, task, session)) if edit else _given_text(content, file)
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
    tasks = _tasks(context, by)
    if amend is not None:
        more = _given_text(content, file, stdin=False) or ""
        task_views.written(tasks.amend_plan(task, said(amend), more, session=session), "amended", json=json)
        return
    draft = _present(tasks, task, session) if from_scratchpad or edit else ""
    text = _edited(draft) if edit else (draft if from_scratchpad else _given_text(content, file))
    if text is None:
        task_views.text(task, tasks.get_plan(task, session=session), json=json)
        return
    marks = tasks.order.require(task, "plan", force=force)
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
    tasks = _tasks(context, by)
    entry = _given_text(" ".join(text) if text else None, file)
    if entry is None:
        raise typer.BadParameter("an entry needs some text: give it, or --file, or `-` for standard input")
    marks = tasks.order.require(task, "progress", force=force)
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
    tasks = _tasks(context)
    if recover:
        restored = tasks.recover()
        output.note(f"brought back {len(restored)} files")
        tasks = _tasks(context)
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
    return one_of(name, ("json", "md", "html"))


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
    data = _tasks(context).export_task(task, format, session=session)
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
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Archive old sessions and remove idle lock files; the current session stays."""
    tasks, now = _tasks(context), datetime.now(UTC)
    planned = tasks.plan_cleanup(days, now=now)
    count = output.counted(len(planned.sessions), "session")
    question = f"Archive {count} untouched for {output.counted(days, 'day')}?"
    unasked = f"{count} would be archived: repeat it with --yes, or see which with --dry-run"
    if planned.sessions and not dry_run and not output.confirmed(question, yes=yes, unasked=unasked):
        raise InvalidInput("nothing archived")
    done = planned if dry_run else tasks.clean_up(planned, now=now)
    report = {
        "dry_run": dry_run,
        "sessions": [session.session_id for session in done.sessions],
        "archives": [str(path) for path in done.archives],
        "lock_files": len(done.lock_files),
    }
    task_views.cleaned(report, json=json)


def show_tasks(context: typer.Context, max_tokens: int, *, json: bool) -> None:
    """The tasks that a sub-agent would be told of."""
    tasks = _tasks(context)
    text = tasks.get_context(max_tokens=max_tokens)
    document = {
        "session": tasks.session_manager.current_id(),
        "storage": tasks.storage.folder,
        "text": text,
    }
    output.answer(document, task_views.lines(text), json=json)
    if not text and not json:
        output.note("no tasks yet, so a sub-agent would be told nothing")


def project_info(context: typer.Context, json: Json = False) -> None:
    """Show what kind of project this is and where its task files stand."""
    tasks = _tasks(context)
    found = tasks.context_manager.get_context()
    place = {"root": str(tasks.storage.root), "storage": str(tasks.storage.folder)}
    lines = [*found.lines(), f"Root: {place['root']}", f"Task files: {place['storage']}"]
    output.answer({**found.as_json(), **place}, "\n".join(lines), json=json)


def project_context(
    context: typer.Context,
    refresh: Annotated[bool, typer.Option("--refresh", help="Look at the manifests again.")] = False,
    json: Json = False,
) -> None:
    """Show the project's context; refreshed by itself when a manifest changes."""
    found = _tasks(context).context_manager.get_context(refresh=refresh)
    output.answer(found.as_json(), "\n".join(found.lines()), json=json)


@session.command()
def start(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the session is about.")] = "",
    session_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own.")] = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Start a session and make it the project's default."""
    manager = _tasks(context, by).session_manager
    made = manager.start_session(said(name), session_id=said_if(session_id))
    manager.switch_to_session(made.session_id)
    _warn_of_environment(manager.environment_session(), made.session_id)
    task_views.session(made, made.session_id, json=json)


@session.command()
def info(
    context: typer.Context,
    session_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Default: the current one.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the current session, or another one."""
    manager = _tasks(context).session_manager
    found = manager.get_session(said(session_id)) if session_id else manager.get_current_session()
    task_views.session(found, manager.current_id(), json=json)


@session.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the project's sessions, newest first."""
    manager = _tasks(context).session_manager
    task_views.sessions(manager.list_sessions(), manager.current_id(), json=json)


@session.command()
def switch(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="ID", help="An id, or its unique beginning.")],
    create: Annotated[bool, typer.Option("--create", help="Begin it if there is none.")] = False,
    json: Json = False,
) -> None:
    """Make a session the default for this project."""
    manager = _tasks(context).session_manager
    found = manager.switch_to_session(said(session_id), create=create)
    _warn_of_environment(manager.environment_session(), found.session_id)
    task_views.session(found, found.session_id, json=json)


@session.command()
def restore(
    context: typer.Context,
    session_id: Annotated[
        str, typer.Argument(metavar="ID", help="An archived session's id, or its unique beginning.")
    ],
    json: Json = False,
) -> None:
    """Bring back a session that `cleanup` archived."""
    tasks = _tasks(context)
    restored = tasks.restore_session(said(session_id))
    task_views.session(restored, tasks.session_manager.current_id(), json=json)


def _warn_of_environment(tied: str | None, chosen: str) -> None:
    if tied and not chosen.startswith(tied):
        output.note(f"this shell is tied to session {tied}, which stays current here; others see {chosen}")


def _tasks(context: typer.Context, by: str | None = None) -> MemoryAPI:
    """The tasks of the project the command is about; `by` signs what is written."""
    tasks = opened(context).tasks
    return tasks.signed(said(by)) if by else tasks


def _present(tasks: MemoryAPI, task: str, session: str | None) -> str:
    if not tasks.memory_manager.parts(task, session):
        return ""
    return tasks.get_scratchpad(task, session=session) or ""


def _given_text(content: str | None, file: Path | None, *, stdin: bool = True) -> str | None:
    """The text as it was handed in: as an argument, in a file, or piped; None when it was not."""
    one_at_most(("a text", content), ("--file", file))
    if content == "-" or (file is not None and str(file) == "-"):
        return _from_stdin()
    if content is not None:
        return said(content)
    if file is not None:
        return _bounded(file.read_bytes())
    # Only what is surely meant as input: an agent's shell may leave a silent socket open there.
    return _from_stdin() if stdin and _piped() else None


def _edited(text: str) -> str:
    """The text after the person's editor closed; InvalidInput when it failed or nothing was written."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise InvalidInput("there is no terminal to edit on: give the text with --content or --file")
    editor = editor or ("notepad" if os.name == "nt" else "vi")
    with tempfile.TemporaryDirectory(prefix="claude-memory-") as folder:
        path = Path(folder) / "text.md"
        path.write_text(text, "utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as fault:  # the latter for a quote that is never closed
            reason = getattr(fault, "strerror", None) or fault
            raise InvalidInput(f"cannot start the editor {editor!r}: {reason}; set EDITOR") from None
        if code:
            raise InvalidInput(f"the editor {editor!r} ended with code {code}; nothing was saved")
        return _bounded(path.read_bytes())


def _piped() -> bool:
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _from_stdin() -> str | None:
    text = _bounded(sys.stdin.buffer.read(TEXT_BYTES + 1))
    return text if text.strip() else None


def _bounded(content: bytes) -> str:
    if len(content) > TEXT_BYTES:
        raise InvalidInput(f"a task's text may have {TEXT_BYTES // 1024 // 1024} MB at most")
    return content.decode("utf-8", "replace")
