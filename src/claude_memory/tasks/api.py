"""The tasks of one project in one class: every verb of the workflow, for commands, programs and sub-agents.

It accepts steps out of order and marks them; refusing them is `WorkflowEnforcer`'s business. Whatever writes
works under the task's lock and leaves every file whole. Lists are made from folder listings alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound
from claude_memory.platform import files
from claude_memory.redact import kept
from claude_memory.tasks import documents, model
from claude_memory.tasks.model import Entry, Part, Problem, Session, TaskRecord, TaskStatus, TaskSummary
from claude_memory.tasks.session_files import SessionManager, changing, read_session
from claude_memory.tasks.storage import Storage, storage_for

if TYPE_CHECKING:
    from claude_memory.tasks.project_context import ContextKeeper

DEFAULT_PATTERN = "{task}-{session}-{phase}.md"
DEFAULT_TOKENS = 300
_PATTERN = re.compile(r'(?!\.)(?:[^/\\:*?"<>|{}]|\{(?:task|session|timestamp|phase)\})+\.md')
_PATTERN_KEY = "task_file_pattern"


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
        self.by = model.signed(by) if by else model.me()
        self.storage = storage or storage_for(project, storage_path=storage_path)
        self.session_manager = SessionManager(storage=self.storage, session=session, by=self.by)

    @property
    def memory_manager(self) -> MemoryAPI:
        """The tasks themselves, by the name under which programs know them."""
        return self

    @property
    def context_manager(self) -> ContextKeeper:
        from claude_memory.tasks.project_context import ContextKeeper

        return ContextKeeper(self.storage)

    @property
    def order(self) -> WorkflowEnforcer:
        """Which step is next, and which are out of order."""
        return WorkflowEnforcer(self)

    def signed(self, by: str) -> MemoryAPI:
        """The same tasks; what is written is marked as this one's."""
        return MemoryAPI(storage=self.storage, by=by)

    # --- scratchpad: can be rewritten, every earlier text is kept

    def create_scratchpad(
        self, task: str, content: str = "", *, session: str | None = None, by: str | None = None
    ) -> Path:
        """Begin a task's exploration, or replace its text; the text before stays in the history."""
        text = kept(content).rstrip("\n")
        record, path = self._begun(task, Part.SCRATCHPAD, session)
        with self._lock(record):
            created = None
            if path.exists():
                before = documents.read(path)
                if before.text == text.lstrip("\n"):
                    return path
                created = before.created_at
                self.storage.copy(documents.keep_version(path))
            head = self._front_matter(record, Part.SCRATCHPAD, by or self.by, created)
            self.storage.write(path, head + documents.encoded(f"\n{text}\n"))
        return path

    update_scratchpad = create_scratchpad

    def restore_scratchpad(self, task: str, number: int, *, session: str | None = None) -> Path:
        """Make an earlier text the present one."""
        record = self._find(task, session)
        if Part.SCRATCHPAD not in record.files:
            raise NotFound(f"task {task!r} has no scratchpad, so there is no earlier text")
        text = documents.version_text(self._checked_path(record, Part.SCRATCHPAD), number)
        # The text is an earlier one, perhaps not of whoever restores it, perhaps come with a clone.
        return self.create_scratchpad(task, text, session=session, by=f"restored by {self.by}")

    def get_scratchpad(self, task: str, *, session: str | None = None) -> str | None:
        document = self._document(self._find(task, session), Part.SCRATCHPAD)
        return document.text if document else None

    def scratchpad_history(self, task: str, *, session: str | None = None) -> list[model.Version]:
        """Earlier texts of the scratchpad, oldest first; they stand even where it was removed itself."""
        record = self._find(task, session)
        begun = Part.SCRATCHPAD in record.files
        return documents.versions(self._checked_path(record, Part.SCRATCHPAD)) if begun else []

    # --- plan: written once, amendments stand below it

    def create_plan(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Write the plan; it cannot be changed afterwards, only amended."""
        text = _some(content, "a plan")
        present = self.parts(task)
        if session is None and Part.PLAN in present:  # before anything is entered in an index
            raise _planned(task, self._find(task).path(Part.PLAN))
        marks = [*map(kept, marks), *(() if Part.SCRATCHPAD in present else ("unexplored",))]
        record, path = self._begun(task, Part.PLAN, session)
        with self._lock(record):
            if path.exists():
                raise _planned(task, path)
            head = self._front_matter(record, Part.PLAN, self.by, marks=marks)
            added, tail = documents.continued(documents.parse(head).tail, text, now=None)
            self.storage.write(path, head + added, mode=self.storage.read_only)
            documents.write_end(path, tail)
        return path

    def amend_plan(self, task: str, why: str, content: str = "", *, session: str | None = None) -> Path:
        """Add a dated amendment below the plan; what stands is not touched."""
        why = _some(why, "an amendment")
        record = self._find(task, session)
        path = self._path(record, Part.PLAN)
        if path is None:
            command = f'`claude-memory plan "{task}" --content "..."`'
            raise NotFound(f"task {task!r} has no plan to amend; {command} makes one")
        with self._lock(record):
            path.chmod(files.FILE_MODE)
            try:
                self._append(path, f"{why.strip()}\n\n{kept(content)}".strip(), ("amendment",))
                documents.make_durable(path)
            finally:
                path.chmod(self.storage.read_only)
        return path

    def get_plan(self, task: str, *, session: str | None = None) -> str | None:
        """The plan as it was written, without its amendments."""
        return next((entry.text for entry in self._entries(self._find(task, session), Part.PLAN)), None)

    # --- progress: entries are added, none is ever changed

    def append_progress(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Add an entry to the record; without a plan it is marked unplanned.

        When this returns, the entry is on the disk.
        """
        text = _some(content, "an entry")
        record, path = self._begun(task, Part.PROGRESS, session)
        with self._lock(record):
            if not path.exists():
                self.storage.write(path, self._front_matter(record, Part.PROGRESS, self.by))
            planned = self._path(record, Part.PLAN) is not None
            self._append(path, text, (*map(kept, marks), *(() if planned else ("unplanned",))))
        documents.make_durable(path)  # after the lock, so that many writers share one wait for the disk
        return path

    def get_progress(self, task: str, *, session: str | None = None) -> list[Entry]:
        """All entries of the record, in order."""
        return self._entries(self._find(task, session), Part.PROGRESS)

    def _append(self, path: Path, text: str, marks: Sequence[str]) -> None:
        # The time is taken under the lock: the order of entries is the order of their times.
        tail, now = documents.read_tail(path), datetime.now(UTC)
        added, tail = documents.continued(tail, text, now=now, by=self.by, marks=marks)
        self.storage.append(path, added)
        documents.write_end(path, tail)

    # --- what is there

    def parts(self, task: str, session: str | None = None) -> set[Part]:
        """Which documents of a task are there."""
        record = self._located(task, session)
        return {part for part in Part if record and self._path(record, part)}

    def list_tasks(self, session: str | None = None, *, all_sessions: bool = False) -> list[TaskSummary]:
        """Tasks of a session, by default the current one, or of all sessions; last changed first."""
        pieces = self.session_manager.pieces(session)
        if not (all_sessions or session):
            current = self.session_manager.current_id()
            pieces = [piece for piece in pieces if piece.session_id == current]
        summaries: list[TaskSummary] = []
        for owner in pieces:
            listing = _listing(owner.folder)
            summaries += filter(None, (_summary(record, listing) for record in owner.tasks.values()))
        return sorted(summaries, key=lambda summary: summary.updated_at, reverse=True)

    def get_task_status(self, task: str, *, session: str | None = None) -> TaskStatus:
        """Phase, files, counts and problems of a task, whichever session it is of."""
        record = self._find(task, session)
        summary = _summary(record, _listing(record.folder))
        if summary is None:
            raise NotFound(f"the files of task {task!r} are gone; `claude-memory status --recover` may help")
        progress = self._entries(record, Part.PROGRESS)
        return TaskStatus(
            **{**asdict(summary), "files": summary.files},
            entries=len(progress),
            unplanned_entries=sum(entry.unplanned for entry in progress),
            amendments=max(0, len(self._entries(record, Part.PLAN)) - 1),
            last_entry=progress[-1] if progress else None,
            problems=tuple(self._problems(record)),
            next_step=model.next_step(summary.name, {file.part for file in summary.files}),
        )

    def export_task(
        self,
        task: str,
        format: str = "json",  # noqa: A002 - the published name
        *,
        session: str | None = None,
    ) -> Any:
        """The whole task: a mapping for `json`, text for `md` and `html`."""
        from claude_memory.tasks import views

        return views.export(self, task, format, session)

    def get_context(self, *, max_tokens: int = DEFAULT_TOKENS) -> str:
        """What a sub-agent is told about the tasks under way."""
        from claude_memory.tasks import views

        facts = self.context_manager.get_context().lines() if self.list_tasks(all_sessions=True) else ()
        return views.section(self, facts, max_tokens=max_tokens)

    def lost_files(self) -> list[Path]:
        """Task files that are gone from the project but kept in the home."""
        return self.storage.missing()

    def recover(self) -> list[Path]:
        """Bring such files back. A project folder that was gone is made again: open a new MemoryAPI."""
        return self.storage.recover()

    # --- plans and past entries that were changed after they were written

    def verify(self, task: str | None = None, session: str | None = None) -> list[Problem]:
        """Check one task, or all."""
        records = self._records() if task is None else [self._find(task, session)]
        return [problem for record in records for problem in self._problems(record)]

    problems = verify

    def _problems(self, record: TaskRecord) -> Iterator[Problem]:
        for part in (Part.PLAN, Part.PROGRESS):
            if part in record.files:
                yield from self._problems_of(record, part)

    def _problems_of(self, record: TaskRecord, part: Part) -> list[Problem]:
        path = record.path(part)
        try:
            wrong = _faults(self.storage.inside(path))
            if wrong and (record.folder / ".locks" / f"task-{record.stem}.lock").exists():
                with self._lock(record):  # an append under way is not a fault
                    wrong = _faults(path)
        except FileNotFoundError:
            wrong = [f"the {part} was removed"] if documents.read_end(path) is not None else []
        except (OSError, MemoryFault) as fault:
            return [Problem(record.name, record.session_id, path, f"cannot be read: {fault}", tampered=False)]
        return [Problem(record.name, record.session_id, path, message) for message in wrong]

    # --- where a task and its documents stand

    def _located(self, task: str, session: str | None = None) -> TaskRecord | None:
        """The task in the session told, else in the current one, else in the last that has it."""
        name = model.checked(task)
        records = [piece.tasks[name] for piece in self.session_manager.pieces(session) if name in piece.tasks]
        current = self.session_manager.current_id() if len(records) > 1 else None
        here = (record for record in records if record.session_id == current)
        return next(here, records[0] if records else None)

    def _find(self, task: str, session: str | None = None) -> TaskRecord:
        """The same; NotFound, with the nearest names, when there is none."""
        if record := self._located(task, session):
            return record
        import difflib

        near = difflib.get_close_matches(task, {record.name for record in self._records()}, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`claude-memory status` lists all"
        raise NotFound(f"no task {task!r} in this project; {hint}")

    def _records(self) -> Iterator[TaskRecord]:
        return (record for session in self.session_manager.pieces() for record in session.tasks.values())

    def _path(self, record: TaskRecord, part: Part) -> Path | None:
        """Where a document stands; None where there is none."""
        path = self._checked_path(record, part) if part in record.files else None
        return path if path and path.is_file() else None

    def _checked_path(self, record: TaskRecord, part: Part) -> Path:
        """Where a document stands or will stand, which no link leads out of the storage."""
        path = self.storage.inside(record.path(part))
        if part is Part.SCRATCHPAD:
            self.storage.inside(documents.beside(path, ".history"))
        return path

    def _document(self, record: TaskRecord, part: Part) -> documents.Document | None:
        path = self._path(record, part)
        return documents.read(path) if path else None

    def _entries(self, record: TaskRecord, part: Part) -> list[Entry]:
        document = self._document(record, part)
        return document.entries if document else []

    def _lock(self, record: TaskRecord) -> AbstractContextManager[None]:
        return self.storage.lock(f"task-{record.stem}.lock", record.folder)

    def _begun(self, task: str, part: Part, session: str | None) -> tuple[TaskRecord, Path]:
        """The task, with the document entered in its session's index, and where that stands."""
        name = model.checked(task)
        if session is not None:
            session = self.session_manager.named(session).session_id
        record = self._located(name, session)
        if record is None:
            # Of many who begin the same task at once, in whatever sessions, one makes it and all use it.
            with self.storage.lock("new-task.lock"):
                record = self._located(name, session)
                record = record or self._entered(self.session_manager.home_for_new(session), name, part)
        if part not in record.files:
            record = self._entered(read_session(self.storage, record.folder), name, part)
        return record, self._checked_path(record, part)

    def _entered(self, owner: Session, name: str, part: Part) -> TaskRecord:
        with changing(self.storage, owner) as tasks:
            record = tasks.get(name)
            if record is None:
                stem = model.apart(name, [other.stem for other in tasks.values()])
                record = TaskRecord(name, stem, datetime.now(UTC), self.by, owner.session_id, owner.folder)
            if part not in record.files:
                file = self._file_name(owner, record, part)
                record = replace(record, files={**record.files, part: file})
            tasks[name] = record
        return record

    # --- how new documents are named and begin

    def _file_name(self, session: Session, record: TaskRecord, part: Part) -> str:
        pattern = str(self._config().get(_PATTERN_KEY, ""))
        file = (pattern if _is_pattern(pattern) else DEFAULT_PATTERN).format(  # it may have come with a clone
            task=record.stem,
            session=model.stem(session.short_id or "session"),
            timestamp=datetime.now(UTC).strftime("%Y%m%dT%H%M%S"),
            phase=part.value,
        )
        if not (session.folder / "tasks" / file).exists():
            return file
        return f"{file.removesuffix('.md')}~{model.digest(record.name)}.md"

    def set_file_pattern(self, pattern: str) -> None:
        """Name new documents after a pattern of {task}, {session}, {timestamp} and {phase}."""
        if not _is_pattern(pattern):
            known = "{task}, {phase} and, if you like, {session} and {timestamp}"
            raise InvalidInput(f"file pattern {pattern!r} must be a file name that ends in .md, of {known}")
        content = json.dumps({**self._config(), _PATTERN_KEY: pattern}, indent=2) + "\n"
        self.storage.write(self.storage.ensure() / "config.json", documents.encoded(content))

    def _config(self) -> dict[str, object]:
        return documents.read_json(self.storage.folder / "config.json")

    def _front_matter(
        self,
        record: TaskRecord,
        part: Part,
        by: str,
        created: datetime | None = None,
        marks: Sequence[str] = (),
    ) -> bytes:
        front = {
            "task": record.name,
            "session": record.session_id,
            "phase": part.value,
            "created": documents.stamp(created or datetime.now(UTC)),
            "by": model.signature(by),
        }
        return documents.front_matter(front | ({"marks": ", ".join(marks)} if marks else {}))


class WorkflowEnforcer:
    """Answers for one project's tasks which step is next, and refuses steps out of order."""

    def __init__(self, memory_manager: MemoryAPI) -> None:
        self._tasks = memory_manager

    def get_current_phase(self, task: str) -> model.Phase:
        """`discovery`, `planning` or `execution`; a task that does not exist yet is in discovery."""
        return model.phase_of(self._tasks.parts(task))

    def can_take(self, task: str, step: Part | str) -> bool:
        """Whether a step is in order now."""
        return model.objection(task, Part(step), self._tasks.parts(task)) is None

    def require(self, task: str, step: Part | str, *, force: bool = False) -> tuple[str, ...]:
        """Raise Conflict for a step out of order; the marks to record when it is forced."""
        reason = model.objection(task, Part(step), self._tasks.parts(task))
        if reason is not None and not force:
            raise Conflict(reason)
        return ("forced",) if reason is not None else ()


def _faults(path: Path) -> list[str]:
    end = documents.read_end(path)  # first: a record may grow, but never shrink, meanwhile
    return documents.read(path).faults(end)


def _listing(folder: Path) -> dict[str, os.stat_result]:
    """One folder listing gives phase, size and age of every task in it; no document is opened."""
    return {item.name: item.stat(follow_symlinks=False) for item in documents.listing(folder / "tasks")}


def _summary(record: TaskRecord, listing: dict[str, os.stat_result]) -> TaskSummary | None:
    present = tuple(
        model.TaskFile(part, record.path(part), status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        for part in Part
        if (status := listing.get(record.files.get(part, "")))
    )
    if not present:
        return None
    phase = model.phase_of({file.part for file in present})
    changed = max(file.updated_at for file in present)
    return TaskSummary(record.name, phase, record.session_id, record.created_at, changed, present)


def _is_pattern(pattern: str) -> bool:
    has_both = "{task}" in pattern and "{phase}" in pattern
    return bool(_PATTERN.fullmatch(pattern)) and has_both and pattern.isprintable()


def _some(text: str, what: str) -> str:
    if not text.strip():
        raise InvalidInput(f"{what} needs some text")
    return kept(text)


def _planned(task: str, path: Path) -> Conflict:
    return Conflict(
        f"task {task!r} has a plan already, in {path}; plans are written once: "
        f'`claude-memory plan "{task}" --amend "why"` adds to it'
    )
