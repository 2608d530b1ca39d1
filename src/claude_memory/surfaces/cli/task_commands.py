"""Commands about tasks: their three documents, status, export and clean-up; their sessions and context.

Each is one call of `memory.tasks` and its rendering; a step out of order is refused there.
"""

from __future__ import annotations

import json as json_text
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.platform import locks
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    Shared,
    argument,
    flag,
    one_at_most,
    option,
)
from claude_memory.surfaces.cli.output import bold, counted, dim, red, styled
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.model import Problem, Session, TaskSummary
    from claude_memory.tasks.session_files import SessionManager

DOCUMENT_BYTES = 16 * 1024 * 1024
_TASK = argument("TASK", "The task's name.")
_FILE = option("FILE", "Take the text from a file; `-` is stdin.")
_SESSION = option("ID", "The session, instead of the task's own.")
_BY = option("NAME", "By whom, e.g. `agent` or `subagent:ID`.")
_CONTENT = option("TEXT", "The text; `-` reads it from stdin.")
_EDIT = flag("Write it in your editor ($VISUAL, $EDITOR).")
_FORCE = flag("Take the step out of order; this is recorded.")


def scratchpad(
    memory: Memory,
    task: str = _TASK,
    content: str | None = _CONTENT,
    edit: bool = _EDIT,
    file: Path | None = _FILE,
    history: bool = flag("List the earlier texts."),
    restore: int | None = option("N", "Make an earlier text the present one.", min=1),
    session: str | None = _SESSION,
    by: str | None = _BY,
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
        return _saved(tasks.restore_scratchpad(task, restore, session=session), "restored")
    text = _edited(_present(tasks, task, session)) if edit else _given(content, file)
    if text is None:
        return _text(task, tasks.get_scratchpad(task, session=session))
    return _saved(tasks.update_scratchpad(task, text, session=session), "saved")


def plan(
    memory: Memory,
    task: str = _TASK,
    content: str | None = _CONTENT,
    from_scratchpad: bool = flag("Take the scratchpad's text as the plan."),
    edit: bool = _EDIT,
    file: Path | None = _FILE,
    amend: str | None = option("WHY", "Add a dated amendment below the plan."),
    force: bool = _FORCE,
    session: str | None = _SESSION,
    by: str | None = _BY,
) -> Result:
    """Plan: written once, then read-only; shown when no text is given."""
    one_at_most(("--content", content), ("--file", file), ("--edit", edit))
    one_at_most(("--content", content), ("--file", file), ("--from-scratchpad", from_scratchpad))
    tasks = _signed(memory, by)
    if amend is not None:
        more = _given(content, file, stdin=False) or ""
        return _saved(tasks.amend_plan(task, amend, more, session=session), "amended")
    draft = _present(tasks, task, session) if from_scratchpad or edit else ""
    text = _edited(draft) if edit else (draft if from_scratchpad else _given(content, file))
    if text is None:
        return _text(task, tasks.get_plan(task, session=session))
    marks = tasks.order.require(task, "plan", force=force)
    return _saved(tasks.create_plan(task, text, session=session, marks=marks), "locked")


def append(
    memory: Memory,
    task: str = _TASK,
    text: list[str] | None = argument("[TEXT]", "The entry; `-` reads it from stdin.", default=None),
    file: Path | None = _FILE,
    force: bool = _FORCE,
    session: str | None = _SESSION,
    by: str | None = _BY,
) -> Result:
    """Record progress: one dated entry, added to the end."""
    tasks = _signed(memory, by)
    entry = _given(" ".join(text) if text else None, file)
    if entry is None:
        raise typer.BadParameter("an entry needs some text: give it, or --file, or `-` for standard input")
    marks = tasks.order.require(task, "progress", force=force)
    return _saved(tasks.append_progress(task, entry, session=session, marks=marks), "added")


def status(
    memory: Memory,
    task: str | None = argument("[TASK]", "One task in detail.", default=None),
    session: str | None = _SESSION,
    verify: bool = flag("Check all plans and records in full; exit 1 if one fails."),
    recover: bool = flag("Bring back task files that are gone, from the home's copy."),
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
        more = "entries unplanned_entries amendments problems next_step".split()
        last = state.last_entry
        first_line = last.text.strip().split("\n", 1)[0][:100] if last else ""
        rows = {
            "Task": state.name,
            "Phase": state.current_phase.value,
            "Session": state.session_id,
            "Updated": state.updated_at,
            "Progress": f"{state.entries} entries" if state.entries else "",
            "Unplanned": state.unplanned_entries or "",
            "Amended": f"{state.amendments} times" if state.amendments else "",
            "Last entry": f"{first_line} ({_time(last.time)}, {last.by})" if last else "",
            "Next step": state.next_step,
            **{file.part.value: file.path for file in state.files},
        }
        shown = [*output.table(rows, "bold"), *_problem_lines(state.problems)]
        return Result(_task_document(state, *more), shown, code=int(verify and bool(tasks.verify(task))))
    listed, problems = tasks.list_tasks(session, all_sessions=session is None), tasks.verify()
    current, folder = tasks.session_manager.current_id(), tasks.storage.folder
    document = {"storage": folder, "session": current, "tasks": [_task_document(item) for item in listed]}
    width, lines = min(max((len(item.name) for item in listed), default=0), 40), list[str]()
    for item in listed:
        whose = "this session" if item.session_id == current else f"session {item.session_id}"
        detail = dim(f"{_time(item.updated_at)}  {whose}")
        lines.append(f"{bold(f'{item.name:<{width}}')}  {item.current_phase:<9}  {detail}")
    lines += _problem_lines(problems)
    nothing = 'no tasks yet; `claude-memory scratchpad "NAME" --content "..."` begins one'
    notes, code = [] if listed else [nothing], int(verify and bool(problems))
    return Result({**document, "problems": problems}, lines, notes, code)


def export(
    memory: Memory,
    task: str = _TASK,
    format: Literal["json", "md", "html"] = option("F", "json, md or html.", default="json"),  # noqa: A002
    output_: Path | None = option("FILE", "Write to a file.", "--output", "-o"),
    session: str | None = _SESSION,
) -> None:
    """Print everything a task holds as one document."""
    from claude_memory.platform.files import write_atomically

    if output_ is not None and output_.is_dir():
        raise InvalidInput(f"{output_} is a folder: name a file")
    data = memory.tasks.export_task(task, format, session=session)
    text = data if isinstance(data, str) else json_text.dumps(data, ensure_ascii=False, indent=2) + "\n"
    content = text.encode("utf-8", "backslashreplace")
    if output_ is not None:
        write_atomically(output_, content)
        output.note(f"wrote {output_}")
    else:
        output.raw(content)


def cleanup(
    memory: Memory,
    days: int = option("N", "Sessions untouched for so long.", default=30, min=0, max=36_500),
    dry_run: bool = Shared.DRY_RUN,
    yes: bool = Shared.YES,
) -> Result:
    """Archive old sessions and remove idle lock files; the current session stays."""
    manager, now = memory.tasks.session_manager, datetime.now(UTC)
    old, archives = manager.untouched(days, now=now), []
    count, idle = counted(len(old), "session"), manager.idle_locks(days, now=now)
    if old and not dry_run:
        unasked = f"{count} would be archived: repeat it with --yes, or see which with --dry-run"
        question = f"Archive {count} untouched for {counted(days, 'day')}?"
        output.confirm(question, yes=yes, unasked=unasked)
    if not dry_run:
        idle = [path for path in idle if locks.drop_if_free(path)]
        archives = manager.archive(old, now=now)
    ids, verb = [session.session_id for session in old], "would archive" if dry_run else "archived"
    lines = [f"{verb} session {id_}" for id_ in ids] + [dim(f"archive {path}") for path in archives]
    back = f"back with: claude-memory session restore {ids[0]}" if archives else ""
    free = counted(len(idle), "idle lock file")
    notes = [f"{count} and {free} {'to clean' if dry_run else 'cleaned'}", back]
    document = {"dry_run": dry_run, "sessions": ids, "archives": archives, "lock_files": len(idle)}
    return Result(document, lines, notes)


def project_info(memory: Memory) -> Result:
    """Show what kind of project this is and where its task files stand."""
    tasks = memory.tasks
    facts = tasks.context_manager.get_context()
    root, folder = tasks.storage.root, tasks.storage.folder
    lines = [*facts.lines(), f"Root: {root}", f"Task files: {folder}"]
    return Result({**facts.as_json(), "root": root, "storage": folder}, lines)


def project_context(memory: Memory, refresh: bool = flag("Look at the manifests again.")) -> Result:
    """Show the project's context; refreshed by itself when a manifest changes."""
    facts = memory.tasks.context_manager.get_context(refresh=refresh)
    return Result(facts.as_json(), facts.lines())


def session_start(
    memory: Memory,
    name: str = option("NAME", "What the session is about.", default=""),
    id_: str | None = option("ID", "An id of your own."),
    by: str | None = _BY,
) -> Result:
    """Start a session and make it the project's default."""
    manager = _signed(memory, by).session_manager
    made = manager.start_session(name, session_id=id_ or None)
    manager.switch_to_session(made.session_id)
    return _chosen(manager, made)


def session_info(
    memory: Memory, id_: str | None = argument("[ID]", "Default: the current one.", default=None)
) -> Result:
    """Show the current session, or another one."""
    manager = memory.tasks.session_manager
    return _session(manager.get_session(id_) if id_ else manager.get_current_session(), manager.current_id())


def session_list(memory: Memory) -> Result:
    """List the project's sessions, newest first."""
    manager = memory.tasks.session_manager
    listed, current, lines = manager.list_sessions(), manager.current_id(), []
    for item in listed:
        own = bold(f"{'*' if item.session_id == current else ' '} {item.session_id}")
        name = f"  {item.name}" if item.name else ""
        lines.append(f"{own}{name}{dim(f'  {_time(item.created_at)}  {len(item.tasks)} tasks')}")
    document = [_session_document(item, current) for item in listed]
    return Result(document, lines, nothing="no sessions yet; `claude-memory session start` begins one")


def session_switch(
    memory: Memory,
    id_: str = argument("ID", "An id, or its unique beginning."),
    create: bool = flag("Begin it if there is none."),
) -> Result:
    """Make a session the default for this project."""
    manager = memory.tasks.session_manager
    return _chosen(manager, manager.switch_to_session(id_, create=create))


def session_restore(
    memory: Memory, id_: str = argument("ID", "An archived session's id, or its unique beginning.")
) -> Result:
    """Bring back a session that `cleanup` archived."""
    manager = memory.tasks.session_manager
    return _session(manager.restore_session(id_), manager.current_id())


def _chosen(manager: SessionManager, chosen: Session) -> Result:
    tied, id_ = manager.environment_session(), chosen.session_id
    if tied and not id_.startswith(tied):
        output.note(f"this shell is tied to session {tied}, which stays current here; others see {id_}")
    return _session(chosen, id_)


def _signed(memory: Memory, by: str | None) -> MemoryAPI:
    return memory.tasks.signed(by) if by else memory.tasks


# --- how tasks and sessions look


def _saved(path: Path, verb: str) -> Result:
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
        "Tasks": sorted(item.tasks) or "none yet",
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
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode if stdin else 0
    except (OSError, ValueError):
        mode = 0
    # Only then is input surely meant: an agent's shell may leave a silent socket open there.
    if not is_named and not stat.S_ISFIFO(mode) and not stat.S_ISREG(mode):
        return None
    text = _bounded(sys.stdin.buffer.read(DOCUMENT_BYTES + 1))
    return text if text.strip() else None


def _edited(text: str) -> str:
    """The text after the person's editor closed."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("vi" if sys.stdin.isatty() else "")
    if not editor:
        raise InvalidInput("there is no terminal to edit on: give the text with --content or --file")
    with tempfile.TemporaryDirectory(prefix="claude-memory-") as folder:
        path = Path(folder) / "text.md"
        path.write_text(text, "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except subprocess.SubprocessError as fault:
            raise InvalidInput(f"the editor {editor!r} failed, nothing was saved: {fault}") from None
        except (OSError, ValueError) as fault:
            wrong = f"cannot start the editor {editor!r}: {fault}"
            raise InvalidInput(f"{wrong}; set EDITOR to another") from None
        return _bounded(path.read_bytes())


def _bounded(content: bytes) -> str:
    if len(content) > DOCUMENT_BYTES:
        raise InvalidInput(f"a task's text may have {DOCUMENT_BYTES // 1024 // 1024} MB at most")
    return content.decode("utf-8", "replace")
