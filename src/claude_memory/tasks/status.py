"""What a task's status is, gathered from its files."""

from __future__ import annotations

from claude_memory.tasks import checking
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, TaskStatus
from claude_memory.tasks.phases import next_step


def task_status(book: TaskBook, task: str, session: str | None = None) -> TaskStatus:
    """One task in full, its chains verified."""
    summary = book.summary(task, session)
    owner = summary.session_id
    progress = book.entries(task, Part.PROGRESS, owner)
    amendments = book.entries(task, Part.PLAN, owner)[1:]
    return TaskStatus(
        task_name=summary.name,
        current_phase=summary.current_phase,
        session_id=owner,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        files=summary.files,
        entries=len(progress),
        unplanned_entries=sum(entry.unplanned for entry in progress),
        amendments=len(amendments),
        last_entry=progress[-1] if progress else None,
        problems=tuple(checking.verify_book(book, task, owner)),
        next_step=next_step(summary.name, {file.part for file in summary.files}),
    )
