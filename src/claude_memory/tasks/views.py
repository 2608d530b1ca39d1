"""Tasks as others see them: a short section for agents, a task as one document, texts for the search.

Reads, never writes. Names come from files that may have arrived with a clone, so they are shown as plain,
short data; a text's origin is derived from where it stands, so that indexing again changes nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any

from claude_memory.errors import InvalidInput, MemoryFault
from claude_memory.model import Kind, NewMemory, Trust
from claude_memory.tasks import documents
from claude_memory.tasks.api import DEFAULT_TOKENS, MemoryAPI
from claude_memory.tasks.documents import Storage, stamp
from claude_memory.tasks.model import Entry, Part, Phase, TaskFile, TaskSummary, is_person
from claude_memory.text.quotation import named

CHARACTERS_PER_TOKEN = 4
_MOST_TASKS = 50
_NAME, _PATH = 80, 1_000  # characters
_STATES = {
    Phase.DISCOVERY: "discovery, scratchpad being written",
    Phase.PLANNING: "planning, plan locked, no progress yet",
    Phase.EXECUTION: "execution, progress being recorded",
}
_COMMANDS = (
    "Commands that record task work:",
    '- claude-memory scratchpad "TASK" --content "..." (exploration, can be rewritten)',
    '- claude-memory plan "TASK" --content "..." (written once)',
    '- claude-memory append "TASK" "..." (progress, append-only)',
    '- claude-memory status "TASK"',
)
_STYLE = (
    "body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}"
    "pre{white-space:pre-wrap;background:#f5f5f5;padding:1rem;border-radius:.5rem}"
    "dt{font-weight:600}.problem{color:#a00}"
)
_FILE = re.compile(r"(?<![\w/:.-])(?:[\w.-]+/)+[\w.-]*\w\.[A-Za-z]\w{0,7}\b")


def section(
    api: MemoryAPI, facts: Sequence[str] = (), *, max_tokens: int = DEFAULT_TOKENS, commands: bool = True
) -> str:
    """What agents are given: the tasks last worked on, of whichever session; empty when there is none.

    Facts, not orders, in whole lines within the budget; the rest is counted.
    """
    tasks, session = api.list_tasks(all_sessions=True)[:_MOST_TASKS], api.session_manager.current_id()
    budget = max_tokens * CHARACTERS_PER_TOKEN
    lines = [
        "## Tasks",
        f"Session: {named(session, _NAME) if session else 'none yet'}",
        f"Task files: {named(str(api.storage.folder), _PATH)}",
    ]
    if not tasks or _size(lines) > budget:
        return ""
    listed = [_state(task, session) for task in tasks]
    while listed and _size(lines) + _size(listed) > budget - 30:
        listed.pop()
    hidden = len(tasks) - len(listed)
    lines += [*listed, *([f"- and {hidden} more"] if hidden else [])]
    for block in (facts, _COMMANDS if commands else ()):
        if _size(lines) + _size(block) <= budget:
            lines += block
    return "\n".join(lines) if _size(lines) <= budget else ""


def _state(task: TaskSummary, session: str | None) -> str:
    whose = "" if task.session_id == session else f" (session {named(task.session_id, _NAME)})"
    planned = any(file.part is Part.PLAN for file in task.files)
    unplanned = "" if planned or task.current_phase is not Phase.EXECUTION else ", without a plan"
    return f"- {named(task.name, _NAME)}: {_STATES[task.current_phase]}{unplanned}{whose}"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def export(tasks: MemoryAPI, task: str, kind: str, session: str | None) -> dict[str, Any] | str:
    """The task in one of the formats; a mapping for `json`, text for the others."""
    forms: dict[str, Callable[[dict[str, Any]], dict[str, Any] | str]]
    forms = {"json": dict, "md": _markdown, "markdown": _markdown, "html": _page}
    if kind not in forms:
        raise InvalidInput(f"unknown format {kind!r}: json, md, html are known")
    status = tasks.get_task_status(task, session=session)
    owner = status.session_id
    entries = {
        file.part: [
            entry._asdict() | {"time": stamp(entry.time) if entry.time else None, "marks": [*entry.marks]}
            for entry in documents.read(file.path).entries
        ]
        for file in status.files
    }
    plan = entries.get(Part.PLAN, [])
    return forms[kind](
        {
            "task": status.name,
            "session": owner,
            "phase": status.current_phase.value,
            "created": stamp(status.created_at),
            "updated": stamp(status.updated_at),
            "files": [{"phase": file.part.value, "path": str(file.path)} for file in status.files],
            "scratchpad": tasks.get_scratchpad(task, session=owner),
            "scratchpad_versions": [
                {"number": version.number, "saved": stamp(version.saved_at), "by": version.by}
                for version in tasks.scratchpad_history(task, session=owner)
            ],
            "plan": plan[0]["text"] if plan else None,
            "amendments": plan[1:],
            "progress": entries.get(Part.PROGRESS, []),
            "problems": [str(problem) for problem in status.problems],
        }
    )


def _markdown(data: dict[str, Any]) -> str:
    phase = f"Phase: {data['phase']} · session {data['session']} · {data['updated']}"
    lines = [f"# {data['task']}", "", phase]
    lines += [f"\n> **Problem:** {problem}" for problem in data["problems"]]
    lines += [f"\n## {title}\n\n{text}" for title, text in _parts(data)]
    return "\n".join(lines).rstrip() + "\n"


def _page(data: dict[str, Any]) -> str:
    """A page that needs nothing else; every text is escaped."""
    title = escape(data["task"])
    body = [f"<h1>{title}</h1>", f"<p>Phase: {data['phase']} · session {escape(data['session'])}</p>"]
    body += [f'<p class="problem">{escape(problem)}</p>' for problem in data["problems"]]
    body += [f"<h2>{escape(name)}</h2>\n<pre>{escape(text)}</pre>" for name, text in _parts(data)]
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _parts(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for title in ("Scratchpad", "Plan"):
        if text := data[title.lower()]:
            yield title, text
    for title, name in (("Amendment", "amendments"), ("Progress", "progress")):
        for entry in data[name]:
            marks = f" [{', '.join(entry['marks'])}]" if entry["marks"] else ""
            yield f"{title} · {entry['time'] or 'undated'} · {entry['by'] or 'unknown'}{marks}", entry["text"]


def texts(storage: Storage, *, since: datetime | None = None) -> Iterator[NewMemory]:
    """Every scratchpad, plan, amendment and entry as a memory; with `since`, of files changed after it."""
    for task in MemoryAPI(storage=storage).list_tasks(all_sessions=True):
        for file in task.files:
            if since is None or file.updated_at > since:
                # Removed meanwhile, or a link that leads outside: nothing to say.
                with contextlib.suppress(OSError, MemoryFault):
                    yield from [*_of_file(storage, task, file)]


def _of_file(storage: Storage, task: TaskSummary, file: TaskFile) -> Iterator[NewMemory]:
    document, copy = documents.read(storage.inside(file.path)), storage.copy_of(file.path)
    entries, part = document.entries, file.part.value
    here = documents.parse(documents.read_if_there(copy)).texts if copy else ()
    written_here = {text.strip() for text in here}
    if file.part is Part.SCRATCHPAD:
        entries = [Entry(0, document.text, task.created_at, document.fields.get("by", ""))]
    for entry in entries:
        trust = Trust.USER if is_person(entry.by) else Trust.AGENT
        if copy and entry.text.strip() not in written_here:
            trust = Trust.IMPORTED  # it came with a clone, whatever name it is signed with
        number = f" {entry.number}" if file.part is Part.PROGRESS else ""
        yield NewMemory(
            origin=f"task\n{task.session_id}\n{task.name}\n{part}\n{entry.number}",
            title=f"{task.name}: {part}{number}",
            body=entry.text,
            kind=Kind.NOTE,
            task=task.name,
            session=task.session_id,
            files=tuple(dict.fromkeys(_FILE.findall(entry.text)))[:20],
            created_at=entry.time or task.created_at,
            trust=trust,
            provenance={"source": "task", "part": part, "by": entry.by},
        )
