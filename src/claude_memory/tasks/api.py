"""The Python face of tasks: every verb of the workflow in one class, for programs and sub-agents.

It accepts steps out of order and marks them; refusing them is the command line's business. Whatever writes
works under the task's lock and leaves every file whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.redact import kept
from claude_memory.tasks import chain, markdown, names, views
from claude_memory.tasks.book import TaskBook, WorkflowEnforcer
from claude_memory.tasks.model import (
    Entry,
    Part,
    Problem,
    Session,
    TaskRecord,
    TaskStatus,
    TaskSummary,
    Version,
    next_step,
)
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

    # --- scratchpad: can be rewritten, every earlier text is kept

    def create_scratchpad(self, task: str, content: str = "", *, session: str | None = None) -> Path:
        """Begin a task's exploration; on a task that has a scratchpad it is an update."""
        return self._saved(task, content, self.by, session)

    def update_scratchpad(self, task: str, content: str, *, session: str | None = None) -> Path:
        """Replace the scratchpad's text; the text before stays in the history."""
        return self._saved(task, content, self.by, session)

    def restore_scratchpad(self, task: str, number: int, *, session: str | None = None) -> Path:
        """Make an earlier text the present one."""
        record = self.memory_manager.find(task, session)
        if Part.SCRATCHPAD not in record.files:
            raise NotFound(f"task {task!r} has no scratchpad, so there is no earlier text")
        text = markdown.version_text(self.memory_manager.checked_path(record, Part.SCRATCHPAD), number)
        # The text is an earlier one, perhaps not of whoever restores it, perhaps come with a clone.
        return self._saved(task, text, f"restored by {self.by}", session)

    def _saved(self, task: str, text: str, by: str, session: str | None) -> Path:
        text = kept(text).rstrip("\n")
        record, path = self.memory_manager.begin(task, Part.SCRATCHPAD, session)
        with self.memory_manager.lock(record):
            created = datetime.now(UTC)
            if path.exists():
                before = markdown.read(path)
                if before.text.rstrip("\n") == text:
                    return path
                created = markdown.moment(before.fields.get("created")) or created
                self.storage.copy(markdown.keep_version(path))
            head = _front_matter(record, Part.SCRATCHPAD, by, created)
            self.storage.write(path, head + markdown.encoded(f"\n{text}\n"))
        return path

    def get_scratchpad(self, task: str, *, session: str | None = None) -> str | None:
        """The scratchpad's text."""
        return self.memory_manager.text(task, Part.SCRATCHPAD, session)

    def scratchpad_history(self, task: str, *, session: str | None = None) -> list[Version]:
        """Earlier texts, oldest first."""
        return self.memory_manager.history(task, session)

    # --- plan: written once, amendments stand below it

    def create_plan(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Write the plan; it cannot be changed afterwards, only amended."""
        book, text = self.memory_manager, _some(content, "a plan")
        present = book.parts(task)
        if session is None and Part.PLAN in present:  # before anything is entered in an index
            raise _planned(task, book.find(task).path(Part.PLAN))
        marks = [*map(kept, marks), *(() if Part.SCRATCHPAD in present else ("unexplored",))]
        record, path = book.begin(task, Part.PLAN, session)
        with book.lock(record):
            if path.exists():
                raise _planned(task, path)
            head = _front_matter(record, Part.PLAN, self.by, datetime.now(UTC), marks)
            added, tail = chain.continued(chain.start(head), text, now=None)
            markdown.write(path, head + added, mode=self.storage.read_only)
            chain.write_head(path, tail)
            self.storage.copy(path)
        return path

    def amend_plan(self, task: str, why: str, content: str = "", *, session: str | None = None) -> Path:
        """Add a dated amendment below the plan; what stands is not touched."""
        why, book = _some(why, "an amendment"), self.memory_manager
        record = book.find(task, session)
        path = book.path(record, Part.PLAN)
        if path is None:
            raise NotFound(
                f'task {task!r} has no plan to amend; `claude-memory plan "{task}" --content "..."` makes one'
            )
        with book.lock(record):
            path.chmod(markdown.WRITABLE)
            try:
                self._append(path, f"{why.strip()}\n\n{kept(content)}".strip(), ("amendment",))
                markdown.make_durable(path)
            finally:
                path.chmod(self.storage.read_only)
        return path

    def get_plan(self, task: str, *, session: str | None = None) -> str | None:
        """The plan as it was written, without its amendments."""
        return self.memory_manager.text(task, Part.PLAN, session)

    # --- progress: entries are added, none is ever changed

    def append_progress(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Add an entry to the record; without a plan it is marked unplanned.

        When this returns, the entry is on the disk.
        """
        book, text = self.memory_manager, _some(content, "an entry")
        record, path = book.begin(task, Part.PROGRESS, session)
        with book.lock(record):
            if not path.exists():
                markdown.write(path, _front_matter(record, Part.PROGRESS, self.by, datetime.now(UTC)))
            planned = book.path(record, Part.PLAN) is not None
            self._append(path, text, (*map(kept, marks), *(() if planned else ("unplanned",))))
        markdown.make_durable(path)  # after the lock, so that many writers share one wait for the disk
        return path

    def _append(self, path: Path, text: str, marks: Sequence[str]) -> None:
        self.storage.note_foreign(path)
        # The time is taken under the lock: the order of entries is the order of their times.
        tail, now = chain.tail_in(path), datetime.now(UTC)
        added, tail = chain.continued(tail, text, now=now, by=self.by, marks=marks)
        markdown.append(path, added)
        chain.write_head(path, tail)
        self.storage.copy(path)

    def get_progress(self, task: str, *, session: str | None = None) -> list[Entry]:
        """All entries, in order."""
        return self.memory_manager.entries(task, Part.PROGRESS, session)

    # --- what is there, and whether it is whole

    def get_task_status(self, task: str, *, session: str | None = None) -> TaskStatus:
        """Phase, files, counts and problems of a task, whichever session it is of."""
        book = self.memory_manager
        summary = book.summary(task, session)
        owner = summary.session_id
        progress = book.entries(task, Part.PROGRESS, owner)
        return TaskStatus(
            name=summary.name,
            current_phase=summary.current_phase,
            session_id=owner,
            created_at=summary.created_at,
            updated_at=summary.updated_at,
            files=summary.files,
            entries=len(progress),
            unplanned_entries=sum(entry.unplanned for entry in progress),
            amendments=max(0, len(book.entries(task, Part.PLAN, owner)) - 1),
            last_entry=progress[-1] if progress else None,
            problems=tuple(book.verify(task, owner)),
            next_step=next_step(summary.name, {file.part for file in summary.files}),
        )

    def list_tasks(self, session: str | None = None, *, all_sessions: bool = False) -> list[TaskSummary]:
        """Tasks of a session, by default the current one; or of all sessions."""
        if all_sessions:
            return self.memory_manager.summaries()
        wanted = session or self.session_manager.current_id()
        known = {found.session_id for found in self.session_manager.list_sessions()}
        return self.memory_manager.summaries(wanted) if session or wanted in known else []

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
        return self.memory_manager.verify(task)

    def problems(self) -> list[Problem]:
        """Like `verify` for all tasks, but files unchanged since they were found whole are not read."""
        return self.memory_manager.problems()

    def lost_files(self) -> list[Path]:
        """Task files that are gone from the project but kept in the home."""
        return self.storage.missing()

    def recover(self) -> list[Path]:
        """Bring such files back. A project folder that was gone is made again: open a new MemoryAPI."""
        return self.storage.recover()

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
        return views.section_of(self.memory_manager, facts, max_tokens=max_tokens)


def _some(text: str, what: str) -> str:
    if not text.strip():
        raise InvalidInput(f"{what} needs some text")
    return kept(text)


def _front_matter(
    record: TaskRecord, part: Part, by: str, created: datetime, marks: Sequence[str] = ()
) -> bytes:
    fields = {
        "task": record.name,
        "session": record.session_id,
        "phase": part.value,
        "created": markdown.stamp(created),
        "by": names.signature(by),
    }
    return markdown.front_matter(fields | ({"marks": ", ".join(marks)} if marks else {}))


def _planned(task: str, path: Path) -> Conflict:
    return Conflict(
        f"task {task!r} has a plan already, in {path}; plans are written once: "
        f'`claude-memory plan "{task}" --amend "why"` adds to it'
    )
