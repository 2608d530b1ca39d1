"""The tools that write: memories, intentions, tasks in three phases.

What an agent says is kept as an agent's word, in this project only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.model import NewMemory, Status, StoredMemory, Trust
from claude_memory.surfaces.mcp.tool_answers import (
    Access,
    ToolAnswer,
    fenced,
    filled,
    line,
    moment,
)
from claude_memory.text.quotation import named, plain, quoted, unquoted

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import IntentionBook
    from claude_memory.memory import Memory
    from claude_memory.store.model import Intention
    from claude_memory.tasks.api import MemoryAPI

TEXT_CHARACTERS = 200_000
STANDS = "that is the user's own word and stands until they replace it; yours is kept beside it, linked"
Change = Literal["update", "supersede", "pin", "demote", "forget", "restore"]


class Remembered(ToolAnswer):
    """What became of a new memory; `other` is the one it met."""

    id: str
    verdict: str
    other: str = ""
    reason: str = ""
    title: str = ""


class Revised(ToolAnswer):
    """How a memory stands now; `id` is the new one's after supersede."""

    id: str
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
        kept = memory.remember(
            NewMemory(
                text,
                kind=kind,
                title=title or None,
                topics=topics,
                files=files,
                supersedes=old.id if old else None,
                trust=Trust.AGENT,
                provenance={"source": "mcp"},
            ),
            embed=access.is_warm(),
        )
        return _verdict(memory, kept, old)


def revise(
    access: Access,
    id: Annotated[str, Field(description="of the memory, or its unique beginning")],  # noqa: A002
    action: Change,
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
        if action in ("update", "supersede") and not text.strip():
            raise InvalidInput(f"{action} needs `text`: what the memory says from now on")
        return _CHANGES[action](memory, old, text, reason)


def _verdict(memory: Memory, kept: StoredMemory, old: StoredMemory | None) -> Remembered:
    verdict, other, reason = "added", "", ""
    gate = memory.verdicts.get(kept.id)
    if old is not None:
        is_refused = kept.supersedes is None
        verdict, other, reason = (
            "conflict" if is_refused else "superseded",
            old.id,
            STANDS if is_refused else "",
        )
    elif gate is not None:
        verdict, other = gate.action.value, gate.other or ""
        reason = line(gate.words, Trust.USER, 200) if other else ""
    title = line(kept.title, Trust.USER, 100)
    return Remembered(id=kept.id, verdict=verdict, other=other, reason=reason, title=title)


def _update(memory: Memory, old: StoredMemory, text: str, reason: str) -> Revised:
    if old.trust is Trust.USER:
        raise Conflict(
            f"{old.id} is the user's own word: action supersede keeps your text beside it, linked, "
            "for the user to accept"
        )
    return _revised(memory, memory.revise(old.id, body=text, reason=reason or None))


def _supersede(memory: Memory, old: StoredMemory, text: str, reason: str) -> Revised:
    new = NewMemory(
        text,
        kind=old.kind,
        topics=old.topics,
        files=old.files,
        task=old.task,
        trust=Trust.AGENT,
        provenance={"source": "mcp", **({"reason": reason} if reason else {})},
    )
    kept = memory.supersede(old.id, new)
    if kept.supersedes is None:
        return _revised(memory, kept, undo=f"revise {kept.id} with action forget", note=STANDS)
    return _revised(memory, kept, undo=_restoring(old))


def _pin(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    pinned = memory.revise(old.id, pinned=True, reason=reason or None)
    return _revised(memory, pinned, undo=_restoring(old))


def _demote(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    if old.trust is Trust.USER:
        raise Conflict(f"{old.id} is the user's own word, and only they can demote it")
    memory.lifecycle.review([old], "demoted")
    if old.pinned or reason:
        old = memory.revise(old.id, pinned=False, reason=reason or None)
    return _revised(memory, old, undo=_restoring(old))


def _forget(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    if old.status is Status.FORGOTTEN:
        raise Conflict(f"{old.id} is forgotten already; action restore brings it back")
    if reason and old.trust is not Trust.USER:
        memory.revise(old.id, reason=reason)
    [hidden] = memory.forget([old.id])
    days = memory.settings.forget_undo_days
    return _revised(memory, hidden, undo=f"{_restoring(old)}, within {days} days")


def _restore(memory: Memory, old: StoredMemory, _: str, reason: str) -> Revised:
    del reason
    if old.status is Status.FORGOTTEN:
        return _revised(memory, memory.restore([old.id])[0])
    if old.status is Status.SUPERSEDED:
        return _revised(memory, memory.reinstate(old.id))
    if _is_demoted(memory, old) and old.trust is not Trust.USER:
        memory.lifecycle.review([old], "promoted")
        return _revised(memory, old)
    if old.pinned:
        return _revised(memory, memory.revise(old.id, pinned=False))
    raise Conflict(f"{old.id} is neither forgotten, superseded, demoted nor pinned: there is nothing to undo")


def _restoring(old: StoredMemory) -> str:
    return f"revise {old.id} with action restore"


def _is_demoted(memory: Memory, item: StoredMemory) -> bool:
    return memory.lifecycle.standing([item])[0].demoted


def _revised(memory: Memory, item: StoredMemory, *, undo: str = "", note: str = "") -> Revised:
    title, demoted = line(item.title, item.trust, 100), _is_demoted(memory, item)
    return filled(Revised, item, title=title, demoted=demoted, undo=undo, note=note)


_CHANGES = {
    "update": _update,
    "supersede": _supersede,
    "pin": _pin,
    "demote": _demote,
    "forget": _forget,
    "restore": _restore,
}


# --- work ahead: intentions, and tasks in three phases

SHOWN = 30
TASK_CHARACTERS = 1_000_000
_BEFORE = {  # what an action adds to, and what is said when it comes too early
    "plan": ("plan", "scratchpad yet: explore first with action scratchpad"),
    "append": ("progress", "plan yet: write one with action plan"),
}


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
        if action == "check":
            due = book.check(files=files, words=text)[:SHOWN]
            shown = [_intended(one.intention, one.reason) for one in due]
            return Intentions(intentions=shown, note="" if shown else "nothing is due")
        if action == "list":
            shown = [_intended(item) for item in book.list()[:SHOWN]]
            return Intentions(intentions=shown, note="" if shown else "none is open")
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
            return Intentions(intentions=[_intended(made)])
        return Intentions(intentions=[_intended(_changed(book, action, id, at))])


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
            listed = _listed(tasks)
            note = "" if listed else "no task yet: action scratchpad with a name and a text begins one"
            return TaskAnswer(tasks=listed, note=note)
        if not name.strip():
            raise InvalidInput(f"action {action} needs `name`; action list shows the tasks there are")
        try:
            path = _written(tasks, action, name, text) if text and action != "status" else ""
            return _task(tasks, action, name, path)
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
    return filled(Intended, item, text=line(item.text, Trust.AGENT, 400), reason=plain(reason)[:200])


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
    part, missing = _BEFORE.get(action, ("", ""))
    if part and not tasks.order.can_take(name, part):
        raise Conflict(f"task {name!r} has no {missing}")
    if action == "plan" and tasks.get_plan(name):
        raise Conflict(
            f"task {name!r} has a plan already, and plans are written once: "
            "say what changes with action append"
        )
    if action == "scratchpad":
        return str(tasks.update_scratchpad(name, text))
    return str(tasks.create_plan(name, text) if action == "plan" else tasks.append_progress(name, text))


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
