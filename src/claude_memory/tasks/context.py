"""A short text about the tasks under way, for an agent's start and for its sub-agents.

Facts, not orders, in whole lines within a budget. `section` is pure over a snapshot; names come
from files that may have arrived with a clone, so they are shown as plain, short data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, Phase, TaskSummary
from claude_memory.tasks.places import storage_for
from claude_memory.tasks.sessions import SessionManager
from claude_memory.text.quotation import named

CHARACTERS_PER_TOKEN = 4
DEFAULT_TOKENS = 300
_SNAPSHOT_TASKS = 50
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the section is made of."""

    session: str | None
    storage: Path
    tasks: tuple[TaskSummary, ...]
    facts: tuple[str, ...] = ()


def snapshot(book: TaskBook, *, facts: Iterable[str] = ()) -> Snapshot:
    """The tasks last worked on, whichever session they are of."""
    latest = book.summaries()[:_SNAPSHOT_TASKS]
    return Snapshot(book.sessions.current_id(), book.storage.folder, tuple(latest), tuple(facts))


def latest_name(project: Path, *, home: Path, session: str | None = None) -> str:
    """The task worked on last, as words; empty when there is none. Writes nothing."""
    storage = storage_for(project, home=home)
    book = TaskBook(storage, SessionManager(storage=storage, session=session))
    return next((task.name.replace("-", " ").replace("_", " ") for task in book.summaries()), "")


def for_project(
    project: Path,
    *,
    home: Path,
    session: str | None = None,
    max_tokens: int = DEFAULT_TOKENS,
    commands: bool = True,
) -> str:
    """The section of the project a folder is in; empty when there is no task. Writes nothing."""
    storage = storage_for(project, home=home)
    book = TaskBook(storage, SessionManager(storage=storage, session=session))
    return section(snapshot(book), max_tokens=max_tokens, commands=commands)


def section(found: Snapshot, *, max_tokens: int = DEFAULT_TOKENS, commands: bool = True) -> str:
    """The text, empty when there is no task; the latest tasks come first and the rest are counted."""
    if not found.tasks:
        return ""
    budget = max_tokens * CHARACTERS_PER_TOKEN
    top = [
        "## Tasks",
        f"Session: {named(found.session, _NAME) if found.session else 'none yet'}",
        f"Task files: {named(str(found.storage), _PATH)}",
    ]
    lines = _fitting(top, budget)
    if len(lines) < len(top):
        return ""
    shown = _fitting([_line(task, found.session) for task in found.tasks], budget - _size(lines) - 30)
    hidden = len(found.tasks) - len(shown)
    lines += shown + ([f"- and {hidden} more"] if hidden else [])
    for block in (found.facts, _COMMANDS if commands else ()):
        if _size(lines) + _size(block) <= budget:
            lines += block
    return "\n".join(lines) if _size(lines) <= budget else ""


def _line(task: TaskSummary, session: str | None) -> str:
    whose = "" if task.session_id == session else f" (session {named(task.session_id, _NAME)})"
    plan = next((file for file in task.files if file.part is Part.PLAN), None)
    unplanned = ", without a plan" if task.current_phase is Phase.EXECUTION and plan is None else ""
    return f"- {named(task.name, _NAME)}: {_STATES[task.current_phase]}{unplanned}{whose}"


def _fitting(lines: Iterable[str], budget: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if _size(kept) + len(line) + 1 > budget:
            break
        kept.append(line)
    return kept


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)
