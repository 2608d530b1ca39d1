"""The tools that write: memories, intentions, tasks in three phases.

What an agent says is kept as an agent's word, in this project only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.model import NewMemory, Status, StoredMemory, Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.tool_answers import ToolAnswer, fenced, filled, line, moment
from claude_memory.text.quotation import named, plain, quoted, unquoted

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import IntentionBook
    from claude_memory.memory import Memory
    from claude_memory.store.model import Intention
    from claude_memory.tasks.api import MemoryAPI

TEXT_CHARACTERS = 200_000
STANDS = "that is the user's own word and stands until they replace it; yours is kept beside it, linked"


class Remembered(ToolAnswer):
    id: str
    verdict: str
    other: str = ""  # the one it met
    reason: str = ""
    title: str = ""


class Revised(ToolAnswer):
    id: str  # the new one's after supersede
    status: str
    title: str
    pinned: bool = False
    demoted: bool = False
    supersedes: str = ""
    undo: str = ""
    note: str = ""


def remember(
    access: Access,
    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARACTERS)],
    kind: str = "note",
    title: Annotated[str, Field(description="left out: the text's beginning")] = "",
    topics: list[str] = [],  # noqa: B006  the client sees this default
    files: Annotated[list[str], Field(description="paths it is about")] = [],  # noqa: B006
    supersedes: Annotated[str, Field(description="the id of what this replaces")] = "",
) -> Remembered:
    """Keep one thing worth knowing in later sessions, with its reason; several things in several calls.
    kind: decision, correction, preference, fact, fix, pattern, convention, lesson, reflection, idea or
    note.

    verdict: added; reinforced (known already); superseded (it replaces `other`); conflict (it contradicts
    `other`: find out which holds, then revise). Never put secrets in: they are cut out.
    Example: {"text": "Sessions use JWT because the gateway is stateless", "kind": "decision",
    "topics": ["auth"], "files": ["src/auth.py"]}
    """
    with access.memory() as memory:
        old = memory.find([supersedes])[0] if supersedes else None
        said = NewMemory(text, kind=kind, title=title, topics=topics, files=files, trust=Trust.AGENT)
        said = replace(said, supersedes=old.id if old else None, provenance={"source": "mcp"})
        kept = memory.remember(said, embed=access.is_warm)
        answer = Remembered(id=kept.id, verdict="added", title=line(kept.title, Trust.USER, 100))
        if old is not None:
            answer.other, answer.verdict = old.id, "superseded"
            if kept.supersedes is None:
                answer.verdict, answer.reason = "conflict", STANDS
        elif gate := memory.verdicts.get(kept.id):
            answer.verdict, answer.other = gate.action.value, gate.other or ""
            answer.reason = line(gate.words, Trust.USER, 200) if gate.other else ""
        return answer


def revise(
    access: Access,
    id: Annotated[str, Field(description="of the memory, or its unique beginning")],  # noqa: A002
    action: Literal["update", "supersede", "pin", "demote", "forget", "restore"],
    text: Annotated[str, Field(max_length=TEXT_CHARACTERS, description="for update, supersede")] = "",
    reason: str = "",
) -> Revised:
    """Change one memory: update its text (a mistake in it), supersede it by a new text (it held once;
    the old one stays, linked), pin (never fades), demote (found last), forget (hidden, 30 days to undo),
    restore (undoes forget, supersede, demote or pin). What the user said only
    they change, hide or replace: supersede keeps your text beside it.

    Example: {"id": "m4k2", "action": "supersede", "text": "Sessions use PASETO", "reason": "audit"}
    """
    with access.memory() as memory:
        old = memory.find([id])[0]
        new = _revised(memory, old, action, text, reason)
        undo, note = f"revise {old.id} with action restore", ""
        if action == "forget":
            undo += f", within {memory.settings.forget_undo_days} days"
        elif action == "supersede" and new.supersedes is None:
            undo, note = f"revise {new.id} with action forget", STANDS
        return filled(
            Revised,
            new,
            title=line(new.title, new.trust, 100),
            demoted=_is_demoted(memory, new),
            undo="" if action in ("update", "restore") else undo,
            note=note,
        )


def _revised(memory: Memory, old: StoredMemory, action: str, text: str, reason: str) -> StoredMemory:
    is_theirs, why = old.trust is Trust.USER, reason or None
    if action in ("update", "supersede") and not text.strip():
        raise InvalidInput(f"{action} needs `text`: what the memory says from now on")
    if action == "update" and is_theirs:
        other = "action supersede keeps your text beside it, linked, for the user to accept"
        raise Conflict(f"{old.id} is the user's own word: {other}")
    if action == "update":
        return memory.revise(old.id, body=text, reason=why)
    if action == "supersede":
        told = {"source": "mcp", **({"reason": reason} if reason else {})}
        about: Any = {name: getattr(old, name) for name in ("kind", "topics", "files", "task")}
        return memory.supersede(old.id, NewMemory(text, **about, trust=Trust.AGENT, provenance=told))
    if action == "pin":
        return memory.revise(old.id, pinned=True, reason=why)
    if action == "demote":
        if is_theirs:
            raise Conflict(f"{old.id} is the user's own word, and only they can demote it")
        memory.lifecycle.review([old], "demoted")
        return memory.revise(old.id, pinned=False, reason=why) if old.pinned or reason else old
    if action == "forget":
        if old.status is Status.FORGOTTEN:
            raise Conflict(f"{old.id} is forgotten already; action restore brings it back")
        if reason and not is_theirs:
            memory.revise(old.id, reason=reason)
        return memory.forget([old.id])[0]
    return _restored(memory, old)


def _restored(memory: Memory, old: StoredMemory) -> StoredMemory:
    if old.status is Status.FORGOTTEN:
        return memory.restore([old.id])[0]
    if old.status is Status.SUPERSEDED:
        return memory.reinstate(old.id)
    if _is_demoted(memory, old) and old.trust is not Trust.USER:
        memory.lifecycle.review([old], "promoted")
        return old
    if old.pinned:
        return memory.revise(old.id, pinned=False)
    raise Conflict(f"{old.id} is neither forgotten, superseded, demoted nor pinned: there is nothing to undo")


def _is_demoted(memory: Memory, item: StoredMemory) -> bool:
    return memory.lifecycle.standing([item])[0].demoted


# --- work ahead: intentions, and tasks in three phases

SHOWN = 30
TASK_CHARACTERS = 1_000_000
NEXT_STEPS = {
    "discovery": "explore on, then action plan",
    "planning": "do it; action append after each step",
    "execution": "go on; action append after each step",
}


class Intended(ToolAnswer):
    id: str
    text: str
    status: str = "open"
    reason: str = ""  # why it is due
    at: str = ""
    deadline: str = ""
    snoozed_until: str = ""
    files: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    codebase: str = ""
    priority: str = "normal"


class Intentions(ToolAnswer):
    intentions: list[Intended]
    note: str = ""


class TaskLine(ToolAnswer):
    name: str
    phase: str
    session: str = ""
    updated: str = ""


class TaskAnswer(ToolAnswer):
    tasks: tuple[TaskLine, ...] = ()
    phase: str = ""
    next_step: str = ""
    text: str = ""
    entries: int = 0
    problems: tuple[str, ...] = ()
    path: str = ""
    note: str = ""


def intention(
    access: Access,
    action: Literal["set", "check", "list", "complete", "snooze", "cancel"],
    text: Annotated[str, Field(max_length=2_000)] = "",
    id: Annotated[str, Field(description="for complete, snooze, cancel")] = "",  # noqa: A002
    at: Annotated[str, Field(description="friday 9:00, in 2h, 2026-11-20")] = "",
    deadline: str = "",
    files: Annotated[list[str], Field(description="globs; for check: paths")] = [],  # noqa: B006
    topics: list[str] = [],  # noqa: B006
    codebase: Annotated[str, Field(description="a project's name or path")] = "",
    priority: Literal["high", "normal", "low"] = "normal",
) -> Intentions:
    """Reminders. set: `text` that comes up at a time, when files or topics are touched, or in a codebase;
    at the next chance if none is given. check: what is due now, for files or for the text you work on,
    and why. list: all that are open. snooze: until `at`.

    Example: {"action": "set", "text": "rotate the key", "at": "friday 9:00", "files": ["src/auth/**"]}
    """
    with access.memory() as memory:
        book = memory.intentions
        found: list[tuple[Intention, str]]
        if action == "check":
            found = [(due.intention, due.reason) for due in book.check(files=files, words=text)]
        elif action == "list":
            found = [(item, "") for item in book.list()]
        elif action == "set":
            when: Any = {"at": at, "deadline": deadline, "codebase": codebase}
            found = [(book.set(text, **when, files=files, topics=topics, priority=priority), "")]
        else:
            found = [(_changed(book, action, id, at), "")]
        shown = [
            filled(Intended, item, text=line(item.text, Trust.AGENT, 400), reason=plain(reason)[:200])
            for item, reason in found[:SHOWN]
        ]
        note = "" if found else "nothing is due" if action == "check" else "none is open"
        return Intentions(intentions=shown, note=note)


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


def task(
    access: Access,
    action: Literal["scratchpad", "plan", "append", "status", "list"],
    name: Annotated[str, Field(description="of the task; not for list")] = "",
    text: Annotated[str, Field(max_length=TASK_CHARACTERS)] = "",
) -> TaskAnswer:
    """Longer work in three phases, kept in files: scratchpad (explore; each text replaces the last), plan
    (written once), append (one entry of progress). With text they write, without they show. status:
    where a task stands, and what is next.

    Example: {"action": "append", "name": "login", "text": "tests pass"}
    """
    with access.memory() as memory:
        tasks, name = memory.tasks, unquoted(name)
        if action == "list":
            listed = []
            for item in tasks.list_tasks(all_sessions=True)[:SHOWN]:
                session, updated = named(item.session_id), moment(item.updated_at)
                row = TaskLine(
                    name=named(item.name), phase=item.current_phase, session=session, updated=updated
                )
                listed.append(row)
            note = "" if listed else "no task yet: action scratchpad with a name and a text begins one"
            return TaskAnswer(tasks=tuple(listed), note=note)
        if not name.strip():
            raise InvalidInput(f"action {action} needs `name`; action list shows the tasks there are")
        try:
            path = _written(tasks, action, name, text) if text and action != "status" else ""
            status = tasks.get_task_status(name)
            shown = "" if path else _shown(tasks, action, name)
        except NotFound:
            begin = "action list shows those there are, action scratchpad with a text begins a new one"
            raise NotFound(f"no task {plain(name)[:80]!r} here: {begin}") from None
        return TaskAnswer(
            phase=status.current_phase,
            next_step=NEXT_STEPS[status.current_phase],
            text=fenced(shown, Trust.AGENT, source="the task's file") if shown else "",
            entries=status.entries,
            problems=tuple(quoted(str(problem), 200) for problem in status.problems[:5]),
            path=named(path, 1_000),
        )


def _written(tasks: MemoryAPI, action: str, name: str, text: str) -> str:
    """Write one document of a task, or say what comes first; returns its path."""
    if action == "scratchpad":
        return str(tasks.update_scratchpad(name, text))
    if action == "append":
        if not tasks.order.can_take(name, "progress"):
            raise Conflict(f"task {name!r} has no plan yet: write one with action plan")
        return str(tasks.append_progress(name, text))
    if not tasks.order.can_take(name, "plan"):
        raise Conflict(f"task {name!r} has no scratchpad yet: explore first with action scratchpad")
    if tasks.get_plan(name):
        rule = "plans are written once: say what changes with action append"
        raise Conflict(f"task {name!r} has a plan already, and {rule}")
    return str(tasks.create_plan(name, text))


def _shown(tasks: MemoryAPI, action: str, name: str) -> str:
    if action == "append":
        return "\n\n".join(f"{entry.number}. {entry.text}" for entry in tasks.get_progress(name)[-20:])
    if action == "status":
        return ""
    return (tasks.get_scratchpad(name) if action == "scratchpad" else tasks.get_plan(name)) or ""
