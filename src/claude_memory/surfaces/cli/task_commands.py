"""Commands about tasks: their three documents, status, export and clean-up; their sessions and context.

Each is one call of `memory.tasks` and its rendering; a step out of order is refused there.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    DryRun,
    Result,
    Yes,
    argument,
    flag,
    one_at_most,
    one_of,
    option,
    path_option,
)
from claude_memory.surfaces.cli.output import bold, counted, dim, red, styled
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.model import Problem, Session, TaskStatus, TaskSummary

DOCUMENT_BYTES = 16 * 1024 * 1024
_STATUS = ("entries", "unplanned_entries", "amendments", "problems", "next_step")
Task = Annotated[str, argument("TASK", "The task's name.")]
File = Annotated[Path | None, path_option("FILE", "Take the text from a file; `-` is stdin.", "--file")]
InSession = Annotated[str | None, option("ID", "The session, instead of the task's own.", "--session")]
By = Annotated[str | None, option("NAME", "By whom, e.g. `agent` or `subagent:ID`.", "--by")]
Content = Annotated[str | None, option("TEXT", "The text; `-` reads it from stdin.", "--content")]
Edit = Annotated[bool, flag("--edit", "Write it in your editor ($VISUAL, $EDITOR).")]
Force = Annotated[bool, flag("--force", "Take the step out of order; this is recorded.")]


def scratchpad(
    memory: Memory,
    task: Task,
    content: Content = None,
    edit: Edit = False,
    file: File = None,
    history: Annotated[bool, flag("--history", "List the earlier texts.")] = False,
    restore: Annotated[int | None, option("N", "Make an earlier text the present one.", min=1)] = None,
    session: InSession = None,
    by: By = None,
) -> Result:
    """Explore: write a task's scratchpad, or show it. The text before is kept."""
    writing = (("--content", content), ("--file", file), ("--edit", edit))
    one_at_most(*writing, ("--history", history), ("--restore", restore))
    tasks = _signed(memory, by)
    if history:
        versions = tasks.scratchpad_history(task, session=session)
        rows = [f"{v.number:>4}  {_time(v.saved_at)}  {v.size} characters  {v.by}" for v in versions]
        return Result(versions, rows, nothing="no earlier texts")
    if restore is not None:
        return _written(tasks.restore_scratchpad(task, restore, session=session), "restored")
    text = _edited(_present(tasks, task, session)) if edit else _given(content, file)
    if text is None:
        return _text(task, tasks.get_scratchpad(task, session=session))
    return _written(tasks.update_scratchpad(task, text, session=session), "saved")


def plan(
    memory: Memory,
    task: Task,
    content: Content = None,
    from_scratchpad: Annotated[
        bool, flag("--from-scratchpad", "Take the scratchpad's text as the plan.")
    ] = False,
    edit: Edit = False,
    file: File = None,
    amend: Annotated[str | None, option("WHY", "Add a dated amendment below the plan.", "--amend")] = None,
    force: Force = False,
    session: InSession = None,
    by: By = None,
) -> Result:
    """Plan: written once, then read-only; shown when no text is given."""
    one_at_most(("--content", content), ("--file", file), ("--edit", edit))
    one_at_most(("--content", content), ("--file", file), ("--from-scratchpad", from_scratchpad))
    tasks = _signed(memory, by)
    if amend is not None:
        more = _given(content, file, stdin=False) or ""
        return _written(tasks.amend_plan(task, amend, more, session=session), "amended")
    draft = _present(tasks, task, session) if from_scratchpad or edit else ""
    text = _edited(draft) if edit else (draft if from_scratchpad else _given(content, file))
    if text is None:
        return _text(task, tasks.get_plan(task, session=session))
    marks = tasks.order.require(task, "plan", force=force)
    return _written(tasks.create_plan(task, text, session=session, marks=marks), "locked")


def append(
    memory: Memory,
    task: Task,
    text: Annotated[list[str] | None, argument("[TEXT]", "The entry; `-` reads it from stdin.")] = None,
    file: File = None,
    force: Force = False,
    session: InSession = None,
    by: By = None,
) -> Result:
    """Record progress: one dated entry, added to the end."""
    tasks = _signed(memory, by)
    entry = _given(" ".join(text) if text else None, file)
    if entry is None:
        raise typer.BadParameter("an entry needs some text: give it, or --file, or `-` for standard input")
    marks = tasks.order.require(task, "progress", force=force)
    return _written(tasks.append_progress(task, entry, session=session, marks=marks), "added")


def status(
    memory: Memory,
    task: Annotated[str | None, argument("[TASK]", "One task in detail.")] = None,
    session: InSession = None,
    verify: Annotated[
        bool, flag("--verify", "Check all plans and records in full; exit 1 if one fails.")
    ] = False,
    recover: Annotated[
        bool, flag("--recover", "Bring back task files that are gone, from the home's copy.")
    ] = False,
) -> Result:
    """Show where tasks stand, and whether a plan or a record was tampered with."""
    tasks = memory.tasks
    if recover:
        output.note(f"brought back {len(tasks.recover())} files")
        tasks = memory.tasks
    elif tasks.lost_files():
        output.note("task files of this project are gone; `claude-memory status --recover` brings them back")
    # What is wrong is printed; a script must hear of it, too.
    if task is not None:
        state = tasks.get_task_status(task, session=session)
        code = int(verify and bool(tasks.verify(task)))
        return Result(_task_document(state, *_STATUS), _status_lines(state), code=code)
    listed = tasks.list_tasks(session, all_sessions=session is None)
    problems = tasks.verify()
    current = tasks.session_manager.current_id()
    document = {
        "storage": tasks.storage.folder,
        "session": current,
        "tasks": [_task_document(item) for item in listed],
        "problems": problems,
    }
    nothing = 'no tasks yet; `claude-memory scratchpad "NAME" --content "..."` begins one'
    lines = [*_task_lines(listed, current), *_problem_lines(problems)]
    return Result(document, lines, [] if listed else [nothing], code=int(verify and bool(problems)))


def _format(name: str) -> str:
    return one_of(name, ("json", "md", "html"))


def export(
    memory: Memory,
    task: Task,
    format: Annotated[  # noqa: A002
        str, option("F", "json, md or html.", "--format", callback=_format)
    ] = "json",
    to: Annotated[Path | None, path_option("FILE", "Write to a file.", "--output", "-o")] = None,
    session: InSession = None,
) -> None:
    """Print everything a task holds as one document."""
    from claude_memory.platform.files import write_atomically

    if to is not None and to.is_dir():
        raise InvalidInput(f"{to} is a folder: name a file")
    data = memory.tasks.export_task(task, format, session=session)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    content = text.encode("utf-8", "backslashreplace")
    if to is not None:
        write_atomically(to, content)
        output.note(f"wrote {to}")
    else:
        output.raw(content)


def cleanup(
    memory: Memory,
    days: Annotated[int, option("N", "Sessions untouched for so long.", "--days", min=0, max=36_500)] = 30,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Result:
    """Archive old sessions and remove idle lock files; the current session stays."""
    tasks, now = memory.tasks, datetime.now(UTC)
    done = tasks.session_manager.plan_cleanup(days, now=now)
    count = counted(len(done.sessions), "session")
    if not dry_run:
        if done.sessions:
            output.confirm(
                f"Archive {count} untouched for {counted(days, 'day')}?",
                yes=yes,
                unasked=f"{count} would be archived: repeat it with --yes, or see which with --dry-run",
                refused="nothing archived",
            )
        done = tasks.session_manager.clean_up(done, now=now)
    ids = [session.session_id for session in done.sessions]
    verb = "would archive" if dry_run else "archived"
    lines = [f"{verb} session {id_}" for id_ in ids] + [dim(f"archive {path}") for path in done.archives]
    locks = counted(len(done.lock_files), "idle lock file")
    notes = [
        f"{counted(len(ids), 'session')} and {locks} {'to clean' if dry_run else 'cleaned'}",
        f"back with: claude-memory session restore {ids[0]}" if done.archives else "",
    ]
    report = {"dry_run": dry_run, "sessions": ids, "archives": done.archives}
    return Result({**report, "lock_files": len(done.lock_files)}, lines, notes)


def project_info(memory: Memory) -> Result:
    """Show what kind of project this is and where its task files stand."""
    tasks = memory.tasks
    facts = tasks.context_manager.get_context()
    root, folder = tasks.storage.root, tasks.storage.folder
    lines = [*facts.lines(), f"Root: {root}", f"Task files: {folder}"]
    return Result({**facts.as_json(), "root": root, "storage": folder}, "\n".join(lines))


def project_context(
    memory: Memory, refresh: Annotated[bool, flag("--refresh", "Look at the manifests again.")] = False
) -> Result:
    """Show the project's context; refreshed by itself when a manifest changes."""
    facts = memory.tasks.context_manager.get_context(refresh=refresh)
    return Result(facts.as_json(), "\n".join(facts.lines()))


def session_start(
    memory: Memory,
    name: Annotated[str, option("NAME", "What the session is about.", "--name")] = "",
    session_id: Annotated[str | None, option("ID", "An id of your own.", "--id")] = None,
    by: By = None,
) -> Result:
    """Start a session and make it the project's default."""
    manager = _signed(memory, by).session_manager
    made = manager.start_session(name, session_id=session_id or None)
    manager.switch_to_session(made.session_id)
    _warn_of_environment(manager.environment_session(), made.session_id)
    return _session(made, made.session_id)


def session_info(
    memory: Memory,
    session_id: Annotated[str | None, argument("[ID]", "Default: the current one.")] = None,
) -> Result:
    """Show the current session, or another one."""
    manager = memory.tasks.session_manager
    shown = manager.get_session(session_id) if session_id else manager.get_current_session()
    return _session(shown, manager.current_id())


def session_list(memory: Memory) -> Result:
    """List the project's sessions, newest first."""
    manager = memory.tasks.session_manager
    listed, current = manager.list_sessions(), manager.current_id()
    lines = []
    for item in listed:
        mark = "*" if item.session_id == current else " "
        name = f"  {item.name}" if item.name else ""
        detail = dim(f"  {_time(item.created_at)}  {len(item.tasks)} tasks")
        lines.append(f"{bold(f'{mark} {item.session_id}')}{name}{detail}")
    document = [_session_document(item, current) for item in listed]
    return Result(document, lines, nothing="no sessions yet; `claude-memory session start` begins one")


def session_switch(
    memory: Memory,
    session_id: Annotated[str, argument("ID", "An id, or its unique beginning.")],
    create: Annotated[bool, flag("--create", "Begin it if there is none.")] = False,
) -> Result:
    """Make a session the default for this project."""
    manager = memory.tasks.session_manager
    chosen = manager.switch_to_session(session_id, create=create)
    _warn_of_environment(manager.environment_session(), chosen.session_id)
    return _session(chosen, chosen.session_id)


def session_restore(
    memory: Memory,
    session_id: Annotated[str, argument("ID", "An archived session's id, or its unique beginning.")],
) -> Result:
    """Bring back a session that `cleanup` archived."""
    tasks = memory.tasks
    return _session(tasks.session_manager.restore_session(session_id), tasks.session_manager.current_id())


def _warn_of_environment(tied: str | None, chosen: str) -> None:
    if tied and not chosen.startswith(tied):
        output.note(f"this shell is tied to session {tied}, which stays current here; others see {chosen}")


def _signed(memory: Memory, by: str | None) -> MemoryAPI:
    """The project's tasks; `by` signs what is written."""
    return memory.tasks.signed(by) if by else memory.tasks


# --- how tasks and sessions look


def _written(path: Path, verb: str) -> Result:
    return Result({"done": verb, "path": path}, f"{styled('green', verb)} {path}")


def _text(task: str, content: str | None) -> Result:
    if content is None:
        raise NotFound(f"task {task!r} has no such document yet; give its text with --content")
    return Result({"task": task, "text": content}, content.split("\n") if content else [])


def _task_document(task: TaskSummary, *more: str) -> dict[str, Any]:
    return {
        "task": task.name,
        "phase": task.current_phase,
        "session": task.session_id,
        "created": task.created_at,
        "updated": task.updated_at,
        "files": [{"phase": file.part, "path": file.path, "size": file.size} for file in task.files],
        **{name: getattr(task, name) for name in more},
    }


def _status_lines(task: TaskStatus) -> Iterator[str]:
    extra = [f"{task.unplanned_entries} unplanned"] if task.unplanned_entries else []
    extra += [f"plan amended {task.amendments} times"] if task.amendments else []
    entries = f"{task.entries} entries" + (f" ({', '.join(extra)})" if extra else "")
    last = task.last_entry
    first_line = last.text.strip().split("\n", 1)[0][:100] if last else ""
    rows = {
        "Task": task.task_name,
        "Phase": task.current_phase.value,
        "Session": task.session_id,
        "Updated": _time(task.updated_at),
        "Progress": entries if task.entries or task.amendments else "",
        "Last entry": f"{first_line} ({_time(last.time)}, {last.by})" if last else "",
        "Next step": task.next_step,
        **{file.part.value: file.path for file in task.files},
    }
    yield from output.table(rows, "bold")
    yield from _problem_lines(task.problems)


def _task_lines(tasks: Sequence[TaskSummary], current: str | None) -> Iterator[str]:
    width = min(max((len(task.name) for task in tasks), default=0), 40)
    for task in tasks:
        whose = "this session" if task.session_id == current else f"session {task.session_id}"
        detail = dim(f"{_time(task.updated_at)}  {whose}")
        yield f"{bold(f'{task.name:<{width}}')}  {task.current_phase:<9}  {detail}"


def _problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    return (f"{red('problem')}  {item.task}: {item.path.name}: {item.message}" for item in problems)


def _session_document(item: Session, current: str | None) -> dict[str, Any]:
    return {
        **{name: getattr(item, name) for name in ("session_id", "name", "by", "folder")},
        "created": item.created_at,
        "tasks": sorted(item.tasks),
        "current": item.session_id == current,
    }


def _session(item: Session, current: str | None) -> Result:
    rows = {
        "Session": item.session_id,
        "Name": item.name,
        "Started": f"{_time(item.created_at)} by {item.by or 'unknown'}",
        "Folder": item.folder,
        "Tasks": ", ".join(sorted(item.tasks)) or "none yet",
    }
    return Result(_session_document(item, current), output.table(rows, "bold"))


def _time(moment: datetime | None) -> str:
    return times.minute(moment) if moment else "undated"


# --- where a document's text comes from


def _present(tasks: MemoryAPI, task: str, session: str | None) -> str:
    if not tasks.memory_manager.parts(task, session):
        return ""
    return tasks.get_scratchpad(task, session=session) or ""


def _given(content: str | None, file: Path | None, *, stdin: bool = True) -> str | None:
    """The text as it was handed in: as an argument, in a file, or piped; None when it was not."""
    one_at_most(("a text", content), ("--file", file))
    is_named = content == "-" or file == Path("-")
    if content is not None and not is_named:
        return content
    if file is not None and not is_named:
        return _bounded(file.read_bytes())
    if not is_named and not (stdin and _is_piped()):
        return None
    text = _bounded(sys.stdin.buffer.read(DOCUMENT_BYTES + 1))
    return text if text.strip() else None


def _is_piped() -> bool:
    """Whether input is surely meant: an agent's shell may leave a silent socket open there."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


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


def _bounded(content: bytes) -> str:
    if len(content) > DOCUMENT_BYTES:
        raise InvalidInput(f"a task's text may have {DOCUMENT_BYTES // 1024 // 1024} MB at most")
    return content.decode("utf-8", "replace")
