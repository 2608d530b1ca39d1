"""The Python face of tasks: every verb of the workflow in one class, for programs and sub-agents.

It accepts steps out of order and marks them; refusing them is the command line's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from claude_memory.tasks import checking, copies, names, views, writers
from claude_memory.tasks.book import TaskBook, WorkflowEnforcer
from claude_memory.tasks.model import Entry, Part, Problem, Session, TaskStatus, TaskSummary, Version
from claude_memory.tasks.project_context import ContextKeeper
from claude_memory.tasks.session_files import SessionManager
from claude_memory.tasks.storage import Storage, storage_for

if TYPE_CHECKING:
    from claude_memory.tasks.cleanup import Cleanup


class MemoryAPI:
    """Tasks, sessions and context of one project; the current folder's unless told otherwise."""

    def __init__(
        self,
        storage_path: Path | str | None = None,
        *,
        project: Path | str | None = None,
        session: str | None = None,
        by: str | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.storage = storage or storage_for(project, storage_path=storage_path)
        self.by = names.signed(by) if by else names.me()
        self.session_manager = SessionManager(storage=self.storage, session=session, by=self.by)
        self.memory_manager = TaskBook(self.storage, self.session_manager)
        self.context_manager = ContextKeeper(self.storage)

    @property
    def order(self) -> WorkflowEnforcer:
        """Which step is next, and which are out of order."""
        return WorkflowEnforcer(self.memory_manager)

    def signed(self, by: str) -> MemoryAPI:
        """The same tasks; what is written is marked as this one's."""
        return MemoryAPI(storage=self.storage, by=by)

    def create_scratchpad(self, task: str, content: str = "", *, session: str | None = None) -> Path:
        """Begin a task's exploration; on a task that has a scratchpad it is an update."""
        return writers.save_scratchpad(self.memory_manager, task, content, by=self.by, session=session)

    def update_scratchpad(self, task: str, content: str, *, session: str | None = None) -> Path:
        """Replace the scratchpad's text; the text before stays in the history."""
        return writers.save_scratchpad(self.memory_manager, task, content, by=self.by, session=session)

    def get_scratchpad(self, task: str, *, session: str | None = None) -> str | None:
        """The scratchpad's text."""
        return self.memory_manager.text(task, Part.SCRATCHPAD, session)

    def scratchpad_history(self, task: str, *, session: str | None = None) -> list[Version]:
        """Earlier texts, oldest first."""
        return self.memory_manager.history(task, session)

    def restore_scratchpad(self, task: str, number: int, *, session: str | None = None) -> Path:
        """Make an earlier text the present one."""
        return writers.restore_scratchpad(self.memory_manager, task, number, by=self.by, session=session)

    def create_plan(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Write the plan; it cannot be changed afterwards, only amended."""
        if Part.SCRATCHPAD not in self.memory_manager.parts(task):
            marks = (*marks, "unexplored")
        return writers.write_plan(
            self.memory_manager, task, content, by=self.by, session=session, marks=marks
        )

    def amend_plan(self, task: str, why: str, content: str = "", *, session: str | None = None) -> Path:
        """Add a dated amendment below the plan."""
        return writers.amend_plan(self.memory_manager, task, why, content, by=self.by, session=session)

    def get_plan(self, task: str, *, session: str | None = None) -> str | None:
        """The plan as it was written, without its amendments."""
        return self.memory_manager.text(task, Part.PLAN, session)

    def append_progress(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Add an entry to the record; without a plan it is marked unplanned."""
        return writers.append_progress(
            self.memory_manager, task, content, by=self.by, session=session, marks=marks
        )

    def get_progress(self, task: str, *, session: str | None = None) -> list[Entry]:
        """All entries, in order."""
        return self.memory_manager.entries(task, Part.PROGRESS, session)

    def get_task_status(self, task: str, *, session: str | None = None) -> TaskStatus:
        """Phase, files, counts and problems of a task, whichever session it is of."""
        return checking.task_status(self.memory_manager, task, session)

    def list_tasks(self, session: str | None = None, *, all_sessions: bool = False) -> list[TaskSummary]:
        """Tasks of a session, by default the current one; or of all sessions."""
        if all_sessions:
            return self.memory_manager.summaries()
        wanted = session or self.session_manager.current_id()
        known = {found.session_id for found in self.session_manager.list_sessions()}
        if session is None and wanted not in known:
            return []
        return self.memory_manager.summaries(wanted)

    @overload
    def export_task(
        self, task: str, format: Literal["json"] = "json", *, session: str | None = None
    ) -> dict[str, Any]: ...
    @overload
    def export_task(self, task: str, format: str, *, session: str | None = None) -> dict[str, Any] | str: ...
    def export_task(
        self,
        task: str,
        format: str = "json",  # noqa: A002 - the published name
        *,
        session: str | None = None,
    ) -> dict[str, Any] | str:
        """The whole task: a mapping for `json`, text for `md` and `html`."""
        return views.export(self.memory_manager, task, format, session)

    def verify(self, task: str | None = None) -> list[Problem]:
        """Plans and entries that were changed after they were written."""
        return checking.verify_book(self.memory_manager, task)

    def problems(self) -> list[Problem]:
        """Like `verify` for all tasks, but files unchanged since they were found whole are not read."""
        return checking.changed(self.memory_manager)

    def lost_files(self) -> list[Path]:
        """Task files that are gone from the project but kept in the home."""
        return copies.missing(self.storage)

    def recover(self) -> list[Path]:
        """Bring such files back. A project folder that was gone is made again: open a new MemoryAPI."""
        return copies.recover(self.storage)

    def plan_cleanup(self, days: int, *, now: datetime) -> Cleanup:
        """Which sessions were untouched for so long, and which lock files are idle."""
        from claude_memory.tasks import cleanup

        return cleanup.plan(self.session_manager, days, now=now)

    def clean_up(self, planned: Cleanup, *, now: datetime) -> Cleanup:
        """Archive those sessions and remove those files."""
        from claude_memory.tasks import cleanup

        return cleanup.carry_out(self.session_manager, planned, now=now)

    def restore_session(self, named: str) -> Session:
        """Bring back a session that was archived."""
        from claude_memory.tasks import cleanup

        return cleanup.restore(self.session_manager, named)

    def get_context(self, *, max_tokens: int = views.DEFAULT_TOKENS) -> str:
        """What a sub-agent is told about the tasks under way."""
        facts = self.context_manager.get_context().lines() if self.memory_manager.summaries() else ()
        found = views.snapshot(self.memory_manager, facts=facts)
        return views.section(found, max_tokens=max_tokens)
