"""The Python face of tasks: every verb of the workflow in one class, for programs and sub-agents.

It accepts steps out of order and marks them; refusing them is the command line's business. Whatever writes
works under the task's lock and leaves every file whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, overload

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.redact import kept
from claude_memory.tasks import documents, names, views
from claude_memory.tasks.book import TaskBook, WorkflowEnforcer
from claude_memory.tasks.model import Part, TaskRecord
from claude_memory.tasks.project_context import ContextKeeper
from claude_memory.tasks.storage import Storage, storage_for


class MemoryAPI(TaskBook):
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
        self.by = names.signed(by) if by else names.me()
        super().__init__(storage or storage_for(project, storage_path=storage_path), session, self.by)
        self.context_manager = ContextKeeper(self.storage)

    @property
    def memory_manager(self) -> TaskBook:
        """The tasks themselves, by the name under which programs know them."""
        return self

    @property
    def order(self) -> WorkflowEnforcer:
        """Which step is next, and which are out of order."""
        return WorkflowEnforcer(self)

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
        record = self.find(task, session)
        if Part.SCRATCHPAD not in record.files:
            raise NotFound(f"task {task!r} has no scratchpad, so there is no earlier text")
        text = documents.version_text(self.checked_path(record, Part.SCRATCHPAD), number)
        # The text is an earlier one, perhaps not of whoever restores it, perhaps come with a clone.
        return self._saved(task, text, f"restored by {self.by}", session)

    def _saved(self, task: str, text: str, by: str, session: str | None) -> Path:
        text = kept(text).rstrip("\n")
        record, path = self.begin(task, Part.SCRATCHPAD, session)
        with self.lock(record):
            created = datetime.now(UTC)
            if path.exists():
                before = documents.read(path)
                if before.text.rstrip("\n") == text:
                    return path
                created = documents.moment(before.fields.get("created")) or created
                self.storage.copy(documents.keep_version(path))
            head = _front_matter(record, Part.SCRATCHPAD, by, created)
            self.storage.write(path, head + documents.encoded(f"\n{text}\n"))
        return path

    # --- plan: written once, amendments stand below it

    def create_plan(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Write the plan; it cannot be changed afterwards, only amended."""
        text = _some(content, "a plan")
        present = self.parts(task)
        if session is None and Part.PLAN in present:  # before anything is entered in an index
            raise _planned(task, self.find(task).path(Part.PLAN))
        marks = [*map(kept, marks), *(() if Part.SCRATCHPAD in present else ("unexplored",))]
        record, path = self.begin(task, Part.PLAN, session)
        with self.lock(record):
            if path.exists():
                raise _planned(task, path)
            head = _front_matter(record, Part.PLAN, self.by, datetime.now(UTC), marks)
            added, tail = documents.continued(documents.parse(head).tail, text, now=None)
            documents.write(path, head + added, mode=self.storage.read_only)
            documents.write_end(path, tail)
            self.storage.copy(path)
        return path

    def amend_plan(self, task: str, why: str, content: str = "", *, session: str | None = None) -> Path:
        """Add a dated amendment below the plan; what stands is not touched."""
        why = _some(why, "an amendment")
        record = self.find(task, session)
        path = self.path(record, Part.PLAN)
        if path is None:
            raise NotFound(
                f'task {task!r} has no plan to amend; `claude-memory plan "{task}" --content "..."` makes one'
            )
        with self.lock(record):
            path.chmod(documents.WRITABLE)
            try:
                self._append(path, f"{why.strip()}\n\n{kept(content)}".strip(), ("amendment",))
                documents.make_durable(path)
            finally:
                path.chmod(self.storage.read_only)
        return path

    # --- progress: entries are added, none is ever changed

    def append_progress(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Add an entry to the record; without a plan it is marked unplanned.

        When this returns, the entry is on the disk.
        """
        text = _some(content, "an entry")
        record, path = self.begin(task, Part.PROGRESS, session)
        with self.lock(record):
            if not path.exists():
                documents.write(path, _front_matter(record, Part.PROGRESS, self.by, datetime.now(UTC)))
            planned = self.path(record, Part.PLAN) is not None
            self._append(path, text, (*map(kept, marks), *(() if planned else ("unplanned",))))
        documents.make_durable(path)  # after the lock, so that many writers share one wait for the disk
        return path

    def _append(self, path: Path, text: str, marks: Sequence[str]) -> None:
        self.storage.note_foreign(path)
        # The time is taken under the lock: the order of entries is the order of their times.
        tail, now = documents.read_tail(path), datetime.now(UTC)
        added, tail = documents.continued(tail, text, now=now, by=self.by, marks=marks)
        documents.append(path, added, tail)
        self.storage.copy(path)

    # --- the whole of it

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
        return views.export(self, task, format, session)

    def lost_files(self) -> list[Path]:
        """Task files that are gone from the project but kept in the home."""
        return self.storage.missing()

    def recover(self) -> list[Path]:
        """Bring such files back. A project folder that was gone is made again: open a new MemoryAPI."""
        return self.storage.recover()

    def get_context(self, *, max_tokens: int = views.DEFAULT_TOKENS) -> str:
        """What a sub-agent is told about the tasks under way."""
        facts = self.context_manager.get_context().lines() if self.summaries() else ()
        return views.section_of(self, facts, max_tokens=max_tokens)


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
        "created": documents.stamp(created),
        "by": names.signature(by),
    }
    return documents.front_matter(fields | ({"marks": ", ".join(marks)} if marks else {}))


def _planned(task: str, path: Path) -> Conflict:
    return Conflict(
        f"task {task!r} has a plan already, in {path}; plans are written once: "
        f'`claude-memory plan "{task}" --amend "why"` adds to it'
    )
