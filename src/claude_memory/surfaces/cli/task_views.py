"""How tasks, sessions and problems look on a terminal, and as JSON documents."""

from __future__ import annotations

import json as jsons
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import NotFound
from claude_memory.surfaces.cli import documents, output
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.model import Entry, Problem, Session, TaskFile, TaskStatus, TaskSummary, Version


def written(path: Path, verb: str, *, json: bool) -> None:
    """A document was changed."""
    output.answer({"done": verb, "path": path}, [[(f"{verb} ", "green"), (str(path), "")]], json=json)


def text(task: str, content: str | None, *, json: bool) -> None:
    """A document's text."""
    if content is None:
        raise NotFound(f"task {task!r} has no such document yet; give its text with --content")
    output.answer({"task": task, "text": content}, lines(content), json=json)


def lines(text: str) -> list[output.Line]:
    """A text line by line; none where there is nothing."""
    return [[(line, "")] for line in text.split("\n")] if text else []


def history(versions: Sequence[Version], *, json: bool) -> None:
    """Earlier texts of a scratchpad."""
    rows = [f"{v.number:>4}  {_time(v.saved_at)}  {v.size} characters  {v.by}" for v in versions]
    output.answer(versions, [[(row, "")] for row in rows], json=json)
    if not versions and not json:
        output.note("no earlier texts")


def status(found: TaskStatus, *, json: bool) -> None:
    """One task in detail."""
    if json:
        output.document(status_json(found))
        return
    rows = [
        ("Task", found.task_name),
        ("Phase", found.current_phase.value),
        ("Session", found.session_id),
        ("Updated", _time(found.updated_at)),
        ("Progress", _entries(found)),
        ("Last entry", _last(found.last_entry)),
        ("Next step", found.next_step),
    ]
    output.lines([[(f"{label:<11}", "bold"), (value, "")] for label, value in rows if value])
    output.lines([[(f"{file.part.value:<11}", "bold"), (str(file.path), "")] for file in found.files])
    problems(found.problems)


def status_json(found: TaskStatus) -> dict[str, Any]:
    """One task as a document."""
    return {
        **summary_json(found),
        "entries": found.entries,
        "unplanned_entries": found.unplanned_entries,
        "amendments": found.amendments,
        "problems": [_problem(problem) for problem in found.problems],
        "next_step": found.next_step,
    }


def overview(tasks: Sequence[TaskSummary], found: Sequence[Problem], api: MemoryAPI, *, json: bool) -> None:
    """All tasks, and what is wrong with them."""
    current = api.session_manager.current_id()
    if json:
        output.document(
            {
                "storage": str(api.storage.folder),
                "session": current,
                "tasks": [summary_json(task) for task in tasks],
                "problems": [_problem(problem) for problem in found],
            }
        )
        return
    if not tasks:
        output.note('no tasks yet; `claude-memory scratchpad "NAME" --content "..."` begins one')
    width = min(max((len(task.name) for task in tasks), default=0), 40)
    for task in tasks:
        whose = "this session" if task.session_id == current else f"session {task.session_id}"
        head = [(f"{task.name:<{width}}  ", "bold"), (f"{task.current_phase:<9}  ", "")]
        output.lines([[*head, (f"{_time(task.updated_at)}  {whose}", "dim")]])
    problems(found)


def summary_json(task: TaskSummary) -> dict[str, Any]:
    """A task in a list as a document."""
    return {
        "task": task.name,
        "phase": task.current_phase.value,
        "session": task.session_id,
        "created": documents.plain(task.created_at),
        "updated": documents.plain(task.updated_at),
        "files": [_file(file) for file in task.files],
    }


def problems(found: Sequence[Problem]) -> None:
    """What a person should look at."""
    output.lines([[("problem  ", "red"), (f"{p.task}: {p.path.name}: {p.message}", "")] for p in found])


def sessions(found: Sequence[Session], current: str | None, *, json: bool) -> None:
    """All sessions, the current one marked."""
    shown: list[output.Line] = []
    for session in found:
        mark = "*" if session.session_id == current else " "
        named = f"  {session.name}" if session.name else ""
        detail = f"  {_time(session.created_at)}  {len(session.tasks)} tasks"
        shown.append([(f"{mark} {session.session_id}", "bold"), (named, ""), (detail, "dim")])
    output.answer([session_json(session, current) for session in found], shown, json=json)
    if not found and not json:
        output.note("no sessions yet; `claude-memory session start` begins one")


def session_json(session: Session, current: str | None) -> dict[str, Any]:
    """A session as a document."""
    return {
        "session_id": session.session_id,
        "name": session.name,
        "created": documents.plain(session.created_at),
        "by": session.by,
        "folder": str(session.folder),
        "tasks": sorted(session.tasks),
        "current": session.session_id == current,
    }


def session(found: Session, current: str | None, *, json: bool) -> None:
    """One session."""
    rows = {
        "Session": found.session_id,
        "Name": found.name,
        "Started": f"{_time(found.created_at)} by {found.by or 'unknown'}",
        "Folder": str(found.folder),
        "Tasks": ", ".join(sorted(found.tasks)) or "none yet",
    }
    shown = [[(f"{label:<9}", "bold"), (value, "")] for label, value in rows.items() if value]
    output.answer(session_json(found, current), shown, json=json)


def cleaned(report: dict[str, Any], *, json: bool) -> None:
    """What a clean-up did, or would do."""
    if json:
        output.document(report)
        return
    verb = "would archive" if report["dry_run"] else "archived"
    output.lines([[(f"{verb} session {session_id}", "")] for session_id in report["sessions"]])
    output.lines([[(f"archive {path}", "dim")] for path in report["archives"]])
    cleaned_up = (
        output.counted(len(report["sessions"]), "session"),
        output.counted(report["lock_files"], "idle lock file"),
    )
    output.note(f"{' and '.join(cleaned_up)} {'to clean' if report['dry_run'] else 'cleaned'}")
    if report["archives"]:
        output.note(f"back with: claude-memory session restore {report['sessions'][0]}")


def exported(data: dict[str, Any] | str) -> bytes:
    """An export as bytes for a file."""
    text = data if isinstance(data, str) else jsons.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _file(file: TaskFile) -> dict[str, Any]:
    return {"phase": file.part.value, "path": str(file.path), "size": file.size}


def _problem(problem: Problem) -> dict[str, Any]:
    return {**documents.plain(problem), "path": str(problem.path)}


def _entries(found: TaskStatus) -> str:
    if not found.entries and not found.amendments:
        return ""
    extra = [f"{found.unplanned_entries} unplanned"] if found.unplanned_entries else []
    extra += [f"plan amended {found.amendments} times"] if found.amendments else []
    return f"{found.entries} entries" + (f" ({', '.join(extra)})" if extra else "")


def _last(entry: Entry | None) -> str:
    if entry is None:
        return ""
    first = entry.text.strip().split("\n", 1)[0][:100]
    return f"{first} ({_time(entry.time)}, {entry.by})"


def _time(moment: Any) -> str:
    return times.minute(moment) if moment else "undated"
