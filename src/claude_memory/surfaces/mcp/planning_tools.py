"""The tools about work ahead: intentions, and tasks in three phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.model import Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.tool_answers import ToolAnswer, fenced, given, line, moment
from claude_memory.text.quotation import named, plain, quoted, unquoted

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import IntentionBook
    from claude_memory.store.lifecycle_model import Intention
    from claude_memory.tasks.api import MemoryAPI

SHOWN = 30
TEXT_CHARACTERS = 1_000_000


class Intended(ToolAnswer):
    """One intention; `reason` says why it is due."""

    id: str
    text: str
    status: str = "open"
    reason: str = ""
    at: str = ""
    deadline: str = ""
    snoozed_until: str = ""
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    codebase: str = ""
    priority: str = "normal"


class Intentions(ToolAnswer):
    """What an intention's action gave."""

    intentions: list[Intended]
    note: str = ""


class TaskLine(ToolAnswer):
    """One task in a list."""

    name: str
    phase: str
    session: str = ""
    updated: str = ""


class TaskAnswer(ToolAnswer):
    """What a task's action gave."""

    tasks: tuple[TaskLine, ...] = ()
    phase: str = ""
    next_step: str = ""
    text: str = ""
    entries: int = 0
    problems: tuple[str, ...] = ()
    path: str = ""
    note: str = ""


class Planning:
    """intention, task."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def intention(
        self,
        action: Literal["set", "check", "list", "complete", "snooze", "cancel"],
        text: Annotated[str, Field(max_length=2_000)] = "",
        id: Annotated[str, Field(description="for complete, snooze, cancel")] = "",  # noqa: A002
        at: Annotated[str, Field(description="friday 9:00, in 2h, 2026-11-20")] = "",
        deadline: str = "",
        files: Annotated[list[str], Field(description="globs; for check: paths")] = [],  # noqa: B006
        topics: list[str] = [],  # noqa: B006
        codebase: Annotated[str, Field(description="a project's name or path")] = "",
        priority: Literal["high", "normal", "low"] = "normal",
    ) -> Annotated[CallToolResult, Intentions]:
        """Reminders. set: `text` that comes up at a time, when files or topics are touched, or in a codebase;
        at the next chance if none is given. check: what is due now, for files or for the text you work on,
        and why. list: all that are open. snooze: until `at`.

        Example: {"action": "set", "text": "rotate the key", "at": "friday 9:00", "files": ["src/auth/**"]}
        """
        with self._access.memory() as memory:
            book = memory.intentions
            if action == "check":
                due = book.check(files=files, words=text)[:SHOWN]
                shown = [_intended(one.intention, one.reason) for one in due]
                return given(Intentions(intentions=shown, note="" if shown else "nothing is due"))
            if action == "list":
                shown = [_intended(item) for item in book.list()[:SHOWN]]
                return given(Intentions(intentions=shown, note="" if shown else "none is open"))
            if action == "set":
                made = book.set(
                    text,
                    at=at or None,
                    deadline=deadline or None,
                    files=files,
                    topics=topics,
                    codebase=codebase or None,
                    priority=priority,
                )
                return given(Intentions(intentions=[_intended(made)]))
            return given(Intentions(intentions=[_intended(_changed(book, action, id, at))]))

    def task(
        self,
        action: Literal["scratchpad", "plan", "append", "status", "list"],
        name: Annotated[str, Field(description="of the task; not for list")] = "",
        text: Annotated[str, Field(max_length=TEXT_CHARACTERS)] = "",
    ) -> Annotated[CallToolResult, TaskAnswer]:
        """Longer work in three phases, kept in files: scratchpad (explore; each text replaces the last), plan
        (written once), append (one entry of progress). With text they write, without they show. status:
        where a task stands, and what is next.

        Example: {"action": "append", "name": "login", "text": "tests pass"}
        """
        with self._access.memory() as memory:
            tasks, name = memory.tasks, unquoted(name)
            if action == "list":
                listed = _listed(tasks)
                note = "" if listed else "no task yet: action scratchpad with a name and a text begins one"
                return given(TaskAnswer(tasks=listed, note=note))
            if not name.strip():
                raise InvalidInput(f"action {action} needs `name`; action list shows the tasks there are")
            try:
                path = _written(tasks, action, name, text) if text and action != "status" else ""
                return given(_task(tasks, action, name, path))
            except NotFound:
                raise NotFound(
                    f"no task {plain(name)[:80]!r} here: action list shows those there are, "
                    "action scratchpad with a text begins a new one"
                ) from None


def _changed(book: IntentionBook, action: str, id_: str, until: str) -> Intention:
    if not id_.strip():
        raise InvalidInput(f"action {action} needs `id`; action list shows the intentions there are")
    if action == "snooze" and not until:
        raise InvalidInput("action snooze needs `at`: a span or a time, such as `2h` or `tomorrow 9:00`")
    try:
        if action == "snooze":
            return book.snooze(id_, until)
        return book.complete(id_) if action == "complete" else book.cancel(id_)
    except NotFound as fault:
        raise NotFound(f"{fault}; action list shows those that are open") from None


def _intended(item: Intention, reason: str = "") -> Intended:
    return Intended(
        id=item.id,
        text=line(item.text, Trust.AGENT, 400),
        status=item.status,
        reason=plain(reason)[:200],
        at=moment(item.at) if item.at else "",
        deadline=moment(item.deadline) if item.deadline else "",
        snoozed_until=moment(item.snoozed_until) if item.snoozed_until else "",
        files=tuple(named(name) for name in item.files[:20]),
        topics=tuple(named(topic, 80) for topic in item.topics[:20]),
        codebase=named(item.codebase or ""),
        priority=item.priority,
    )


def _listed(tasks: MemoryAPI) -> tuple[TaskLine, ...]:
    return tuple(
        TaskLine(
            name=named(item.name),
            phase=item.current_phase,
            session=named(item.session_id),
            updated=moment(item.updated_at),
        )
        for item in tasks.list_tasks(all_sessions=True)[:SHOWN]
    )


def _written(tasks: MemoryAPI, action: str, name: str, text: str) -> str:
    if action == "scratchpad":
        return str(tasks.update_scratchpad(name, text))
    if action == "plan":
        if not tasks.order.can_take(name, "plan"):
            raise Conflict(f"task {name!r} has no scratchpad yet: explore first with action scratchpad")
        if tasks.get_plan(name):
            raise Conflict(
                f"task {name!r} has a plan already, and plans are written once: "
                "say what changes with action append"
            )
        return str(tasks.create_plan(name, text))
    if not tasks.order.can_take(name, "progress"):
        raise Conflict(f"task {name!r} has no plan yet: write one with action plan")
    return str(tasks.append_progress(name, text))


def _task(tasks: MemoryAPI, action: str, name: str, path: str) -> TaskAnswer:
    status = tasks.get_task_status(name)
    text = "" if path else _shown(tasks, action, name)
    steps = {
        "discovery": "explore on, then action plan",
        "planning": "do it; action append after each step",
        "execution": "go on; action append after each step",
    }
    return TaskAnswer(
        phase=status.current_phase,
        next_step=steps[status.current_phase],
        text=fenced(text, Trust.AGENT, source="the task's file") if text else "",
        entries=status.entries,
        problems=tuple(quoted(str(problem), 200) for problem in status.problems[:5]),
        path=named(path, 1_000),
    )


def _shown(tasks: MemoryAPI, action: str, name: str) -> str:
    if action == "scratchpad":
        return tasks.get_scratchpad(name) or ""
    if action == "plan":
        return tasks.get_plan(name) or ""
    if action == "append":
        return "\n\n".join(f"{entry.number}. {entry.text}" for entry in tasks.get_progress(name)[-20:])
    return ""
