"""The tasks of one project: found by name in every session, listed from folder listings alone, and checked.

Reads and locates, and says which step is next; what changes a document is in `api`.
"""

from __future__ import annotations

import contextlib
import json
import os
import string
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound
from claude_memory.tasks import documents, names
from claude_memory.tasks.model import (
    Entry,
    Part,
    Phase,
    Problem,
    Session,
    TaskFile,
    TaskRecord,
    TaskStatus,
    TaskSummary,
    Version,
    next_step,
    objection,
    phase_of,
)
from claude_memory.tasks.session_files import SessionManager, changing
from claude_memory.tasks.storage import Storage

DEFAULT_PATTERN = "{task}-{session}-{phase}.md"
_FIELDS = {"task", "session", "timestamp", "phase"}
_PATTERN_KEY = "task_file_pattern"
_CACHE = Path(".cache") / "verified.json"
_SEALED = (Part.PLAN, Part.PROGRESS)


class TaskBook:
    """Every task of a project."""

    def __init__(self, storage: Storage, session: str | None = None, by: str | None = None) -> None:
        self.storage = storage
        self.session_manager = SessionManager(storage=storage, session=session, by=by)

    def locate(self, name: str, session: str | None = None) -> TaskRecord | None:
        """The task in the session told, else in the current one, else in the last that has it."""
        name = names.checked(name)
        found = [piece.tasks[name] for piece in self.session_manager.pieces(session) if name in piece.tasks]
        current = self.session_manager.current_id() if len(found) > 1 else None
        here = (record for record in found if record.session_id == current)
        return next(here, found[0] if found else None)

    def find(self, name: str, session: str | None = None) -> TaskRecord:
        """Like `locate`; NotFound, with the nearest names, when there is none."""
        if found := self.locate(name, session):
            return found
        import difflib

        known = {record.name for record in self._records()}
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`claude-memory status` lists all"
        raise NotFound(f"no task {name!r} in this project; {hint}")

    def _records(self) -> Iterator[TaskRecord]:
        return (record for session in self.session_manager.pieces() for record in session.tasks.values())

    def parts(self, name: str, session: str | None = None) -> set[Part]:
        """Which documents of a task are there."""
        record = self.locate(name, session)
        return {part for part in Part if record and self.path(record, part)}

    def path(self, record: TaskRecord, part: Part) -> Path | None:
        """Where a document stands; None where there is none."""
        path = self.checked_path(record, part) if part in record.files else None
        return path if path and path.is_file() else None

    def checked_path(self, record: TaskRecord, part: Part) -> Path:
        """Where a document stands or will stand, which no link leads out of the storage."""
        path = self.storage.inside(record.path(part))
        if part is Part.SCRATCHPAD:
            self.storage.inside(documents.history_of(path))
        return path

    def lock(self, record: TaskRecord) -> AbstractContextManager[None]:
        """The task's own lock."""
        return self.storage.lock(_lock_name(record), folder=record.folder)

    def begin(self, name: str, part: Part, session: str | None = None) -> tuple[TaskRecord, Path]:
        """The task, with the document entered in its session's index, and where that stands."""
        name = names.checked(name)
        if session is not None:
            session = self.session_manager.named(session).session_id
        record = self.locate(name, session)
        if record is None:
            # Of many who begin the same task at once, in whatever sessions, one makes it and all use it.
            with self.storage.lock("new-task.lock"):
                record = self.locate(name, session)
                record = record or self._entered(self.session_manager.home_for_new(session), name, part)
        if part not in record.files:
            record = self._entered(self.session_manager.read(record.folder), name, part)
        return record, self.checked_path(record, part)

    def _entered(self, owner: Session, name: str, part: Part) -> TaskRecord:
        with changing(self.storage, owner) as tasks:
            record = tasks.get(name)
            if record is None:
                stem = names.apart(name, [other.stem for other in tasks.values()])
                now, by = datetime.now(UTC), self.session_manager.by
                record = TaskRecord(name, stem, now, by, owner.session_id, owner.folder)
            if part not in record.files:
                file = self._file_name(owner, record, part)
                record = replace(record, files={**record.files, part: file})
            tasks[name] = record
        return record

    def _file_name(self, session: Session, record: TaskRecord, part: Part) -> str:
        file = self.file_pattern.format(
            task=record.stem,
            session=names.stem(session.short_id or "session"),
            timestamp=datetime.now(UTC).strftime("%Y%m%dT%H%M%S"),
            phase=part.value,
        )
        if not (session.folder / "tasks" / file).exists():
            return file
        return f"{file.removesuffix('.md')}~{names.digest(record.name)}.md"

    # --- what is there

    def summaries(self, session: str | None = None) -> list[TaskSummary]:
        """All tasks, or those of one session, last changed first."""
        found: list[TaskSummary] = []
        for owner in self.session_manager.pieces(session):
            listing = _listing(owner.folder)
            found += filter(None, (_summary(record, listing) for record in owner.tasks.values()))
        return sorted(found, key=lambda summary: summary.updated_at, reverse=True)

    def summary(self, name: str, session: str | None = None) -> TaskSummary:
        """One task as a list shows it."""
        record = self.find(name, session)
        if found := _summary(record, _listing(record.folder)):
            return found
        raise NotFound(
            f"the files of task {name!r} are gone; `claude-memory status --recover` looks for a copy"
        )

    def list_tasks(self, session: str | None = None, *, all_sessions: bool = False) -> list[TaskSummary]:
        """Tasks of a session, by default the current one; or of all sessions."""
        if all_sessions:
            return self.summaries()
        wanted = session or self.session_manager.current_id()
        known = {found.session_id for found in self.session_manager.list_sessions()}
        return self.summaries(wanted) if session or wanted in known else []

    def get_task_status(self, task: str, *, session: str | None = None) -> TaskStatus:
        """Phase, files, counts and problems of a task, whichever session it is of."""
        summary = self.summary(task, session)
        owner = summary.session_id
        progress = self.entries(task, Part.PROGRESS, owner)
        return TaskStatus(
            **{field.name: getattr(summary, field.name) for field in fields(TaskSummary)},
            entries=len(progress),
            unplanned_entries=sum(entry.unplanned for entry in progress),
            amendments=max(0, len(self.entries(task, Part.PLAN, owner)) - 1),
            last_entry=progress[-1] if progress else None,
            problems=tuple(self.verify(task, owner)),
            next_step=next_step(summary.name, {file.part for file in summary.files}),
        )

    # --- what documents say

    def document(self, name: str, part: Part, session: str | None = None) -> documents.Document | None:
        """A document taken apart; None where there is none."""
        path = self.path(self.find(name, session), part)
        return documents.read(path) if path else None

    def entries(self, name: str, part: Part, session: str | None = None) -> list[Entry]:
        """The sealed entries of a progress record, or of a plan with its amendments."""
        document = self.document(name, part, session)
        entries = document.entries if document else []
        if part is Part.PLAN and document and entries:  # its heading is the front matter
            created = documents.moment(document.fields.get("created"))
            entries[0] = replace(entries[0], time=created, by=document.fields.get("by", ""), marks=())
        return entries

    def get_scratchpad(self, task: str, *, session: str | None = None) -> str | None:
        """The scratchpad's text."""
        document = self.document(task, Part.SCRATCHPAD, session)
        return document.text.rstrip("\n") if document else None

    def scratchpad_history(self, task: str, *, session: str | None = None) -> list[Version]:
        """Earlier texts of the scratchpad, oldest first; they stand even where it was removed itself."""
        record = self.find(task, session)
        begun = Part.SCRATCHPAD in record.files
        return documents.versions(self.checked_path(record, Part.SCRATCHPAD)) if begun else []

    def get_plan(self, task: str, *, session: str | None = None) -> str | None:
        """The plan as it was written, without its amendments."""
        return next((entry.text for entry in self.entries(task, Part.PLAN, session)), None)

    def get_progress(self, task: str, *, session: str | None = None) -> list[Entry]:
        """All entries of the record, in order."""
        return self.entries(task, Part.PROGRESS, session)

    # --- plans and past entries that were changed after they were written

    def verify(self, task: str | None = None, session: str | None = None) -> list[Problem]:
        """Check one task, or all, in full."""
        records = self._records() if task is None else [self.find(task, session)]
        return [problem for record in records for part in _SEALED for problem in self._problems(record, part)]

    def problems(self) -> list[Problem]:
        """Problems of all tasks; a document unchanged since it was last found whole is not read again."""
        cached = documents.read_json(self.storage.folder / _CACHE)
        whole: dict[str, list[int]] = {}
        problems: list[Problem] = []
        every = ((record, part) for record in self._records() for part in _SEALED if part in record.files)
        for record, part in every:
            path = record.path(part)
            try:
                status = path.lstat()
                mark = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
            except OSError:
                mark = []
            wrong = [] if mark and cached.get(str(path)) == mark else self._problems(record, part)
            problems += wrong
            if mark and not wrong:
                whole[str(path)] = mark
        if whole != cached:
            with contextlib.suppress(OSError, MemoryFault):  # a cache: the next status reads more
                target = self.storage.inside(self.storage.ensure() / _CACHE)
                documents.write(target, json.dumps(whole).encode())
        return problems

    def _problems(self, record: TaskRecord, part: Part) -> list[Problem]:
        if part not in record.files:
            return []
        path = record.path(part)
        try:
            self.storage.inside(path)
            wrong = _faults(path)
            if wrong and (record.folder / ".locks" / _lock_name(record)).exists():
                with self.lock(record):  # an append under way is not a fault
                    wrong = _faults(path)
        except FileNotFoundError:
            wrong = [f"the {part} was removed"] if documents.read_end(path) is not None else []
        except (OSError, MemoryFault) as fault:
            return [Problem(record.name, record.session_id, path, f"cannot be read: {fault}", tampered=False)]
        return [Problem(record.name, record.session_id, path, message) for message in wrong]

    # --- how new documents are named

    @property
    def file_pattern(self) -> str:
        """How new documents are named."""
        try:
            return _checked_pattern(str(self._config().get(_PATTERN_KEY, DEFAULT_PATTERN)))
        except InvalidInput:
            return DEFAULT_PATTERN  # the file may have come with a clone

    def set_file_pattern(self, pattern: str) -> None:
        """Name new documents after a pattern of {task}, {session}, {timestamp} and {phase}."""
        config = {**self._config(), _PATTERN_KEY: _checked_pattern(pattern)}
        content = documents.encoded(json.dumps(config, indent=2) + "\n")
        self.storage.write(self.storage.ensure() / "config.json", content)

    def _config(self) -> dict[str, object]:
        return documents.read_json(self.storage.folder / "config.json")


def _lock_name(record: TaskRecord) -> str:
    return f"task-{record.stem}.lock"


def _faults(path: Path) -> list[str]:
    end = documents.read_end(path)  # first: a record may grow, but never shrink, meanwhile
    return documents.read(path).faults(end)


def _listing(folder: Path) -> dict[str, os.stat_result]:
    """One folder listing gives phase, size and age of every task in it; no document is opened."""
    try:
        return {item.name: item.stat(follow_symlinks=False) for item in os.scandir(folder / "tasks")}
    except OSError:
        return {}


def _summary(record: TaskRecord, listing: dict[str, os.stat_result]) -> TaskSummary | None:
    found = tuple(
        TaskFile(part, record.path(part), status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        for part in Part
        if (status := listing.get(record.files.get(part, "")))
    )
    if not found:
        return None
    phase = phase_of({file.part for file in found})
    changed = max(file.updated_at for file in found)
    return TaskSummary(record.name, phase, record.session_id, record.created_at, changed, found)


def _checked_pattern(pattern: str) -> str:
    try:
        fields = {field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None}
        plain = pattern.format(task="t", session="s", timestamp="1", phase="p")
    except (ValueError, KeyError, IndexError, AttributeError) as fault:
        raise InvalidInput(f"file pattern {pattern!r} cannot be read: {fault}") from None
    if not {"task", "phase"} <= fields <= _FIELDS:
        raise InvalidInput(
            f"file pattern {pattern!r} needs {{task}} and {{phase}}, and knows {sorted(_FIELDS)}"
        )
    if any(c in plain for c in '/\\:*?"<>|') or not plain.isprintable() or plain.startswith("."):
        raise InvalidInput(f"file pattern {pattern!r} must give a file name, not a path")
    if not plain.endswith(".md"):
        raise InvalidInput(f"file pattern {pattern!r} must end in .md")
    return pattern


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
