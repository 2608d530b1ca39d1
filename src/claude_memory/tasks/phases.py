"""The order of work: scratchpad, then plan, then progress. Pure rules, and the face they are asked by."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from claude_memory.errors import Conflict
from claude_memory.tasks.model import Part, Phase

if TYPE_CHECKING:
    from claude_memory.tasks.book import TaskBook


def phase_of(present: Collection[Part]) -> Phase:
    """The phase that the documents of a task show; a task without any is about to be discovered."""
    if Part.PROGRESS in present:
        return Phase.EXECUTION
    return Phase.PLANNING if Part.PLAN in present else Phase.DISCOVERY


def objection(task: str, step: Part, present: Collection[Part]) -> str | None:
    """Why a step is out of order, with the step that comes first; None when it may be taken."""
    if step is Part.PLAN and Part.SCRATCHPAD not in present:
        return (
            f"task {task!r} has no scratchpad yet: explore first with "
            f'`claude-memory scratchpad "{task}" --content "..."`, or pass --force'
        )
    if step is Part.PROGRESS and Part.PLAN not in present:
        return (
            f"task {task!r} has no plan yet: make one with "
            f'`claude-memory plan "{task}" --content "..."`, or pass --force'
        )
    return None


def next_step(task: str, present: Collection[Part]) -> str:
    """The command that carries a task on."""
    if Part.PLAN in present or Part.PROGRESS in present:
        return f'claude-memory append "{task}" "..."'
    if Part.SCRATCHPAD in present:
        return f'claude-memory plan "{task}" --from-scratchpad'
    return f'claude-memory scratchpad "{task}" --content "..."'


class WorkflowEnforcer:
    """Answers for one project's tasks which step is next, and refuses steps out of order."""

    def __init__(self, memory_manager: TaskBook) -> None:
        self._book = memory_manager

    def get_current_phase(self, task: str) -> Phase:
        """`discovery`, `planning` or `execution`; a task that does not exist yet is in discovery."""
        return phase_of(self._book.parts(task))

    def get_next_step(self, task: str) -> str:
        """The command that carries the task on."""
        return next_step(task, self._book.parts(task))

    def can_take(self, task: str, step: Part | str) -> bool:
        """Whether a step is in order now."""
        return objection(task, Part(step), self._book.parts(task)) is None

    def require(self, task: str, step: Part | str, *, force: bool = False) -> tuple[str, ...]:
        """Raise Conflict for a step out of order; the marks to record when it is forced."""
        reason = objection(task, Part(step), self._book.parts(task))
        if reason is not None and not force:
            raise Conflict(reason)
        return ("forced",) if reason is not None else ()
