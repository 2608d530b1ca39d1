"""The tasks of one project: found by name in every session, listed from folder listings alone.

Published as `MemoryAPI.memory_manager`. Reads and locates; what changes a document is in `writing`.
"""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.tasks import chain, copies, markdown, names
from claude_memory.tasks.model import (
    Entry,
    Part,
    Phase,
    Session,
    TaskFile,
    TaskRecord,
    TaskSummary,
    Version,
    next_step,
    objection,
    phase_of,
)
from claude_memory.tasks.session_files import SessionManager, changing
from claude_memory.tasks.storage import Storage, held

DEFAULT_PATTERN = "{task}-{session}-{phase}.md"
_FIELDS = {"task", "session", "timestamp", "phase"}
_PATTERN_KEY = "task_file_pattern"


class TaskBook:
    """Every task of a project."""

    def __init__(self, storage: Storage, sessions: SessionManager) -> None:
        self.storage = storage
        self.sessions = sessions

    def locate(self, name: str, session: str | None = None) -> tuple[Session, TaskRecord] | None:
        """The task and its session: the one told, else the current one, else the last that has it."""
        name = names.checked(name)
        owners = [found for found in self.sessions.pieces(session) if name in found.tasks]
        if not owners:
            return None
        current = self.sessions.current_id() if len(owners) > 1 else None
        owner = next((found for found in owners if found.session_id == current), owners[0])
        return owner, owner.tasks[name]

    def find(self, name: str, session: str | None = None) -> tuple[Session, TaskRecord]:
        """Like `locate`; NotFound, with the nearest names, when there is none."""
        found = self.locate(name, session)
        if found is not None:
            return found
        import difflib

        known = {task for owner in self.sessions.list_sessions() for task in owner.tasks}
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`claude-memory status` lists all"
        raise NotFound(f"no task {name!r} in this project; {hint}")

    def parts(self, name: str, session: str | None = None) -> set[Part]:
        """Which documents of a task are there."""
        found = self.locate(name, session)
        return {part for part in Part if found and self.path(*found, part).is_file()}

    def path(self, session: Session, record: TaskRecord, part: Part) -> Path:
        """Where a document stands, or would stand under the name it was given."""
        name = record.files.get(part) or self._file_name(session, record, part)
        path = self.storage.inside(session.folder / "tasks" / name)
        if part is Part.SCRATCHPAD:
            self.storage.inside(markdown.history_of(path))
        return path

    def lock_path(self, session: Session, record: TaskRecord) -> Path:
        """The file of the task's own lock."""
        return self.storage.inside(session.folder / ".locks" / f"task-{record.stem}.lock")

    def lock(self, session: Session, record: TaskRecord) -> AbstractContextManager[None]:
        """The task's own lock."""
        return held(self.lock_path(session, record))

    def begin(self, name: str, part: Part, session: str | None = None) -> tuple[Session, TaskRecord]:
        """The task, with the document's name entered in its session's index; made when it is new."""
        name = names.checked(name)
        if session is not None:
            session = self.sessions.named(session).session_id
        found = self.locate(name, session)
        if found is not None:
            return found if part in found[1].files else self._entered(found[0], name, part)
        # Of many who begin the same task at once, in whatever sessions, one makes it and all use it.
        with held(self.storage.inside(self.storage.ensure() / ".locks" / "new-task.lock")):
            found = self.locate(name, session)
            owner = found[0] if found else self.sessions.home_of(self._session_for(session))
            return self._entered(owner, name, part)

    def _entered(self, owner: Session, name: str, part: Part) -> tuple[Session, TaskRecord]:
        with changing(self.storage, owner) as tasks:
            record = tasks.get(name) or self._new_record(name, tasks)
            if part not in record.files:
                file = self._file_name(owner, record, part)
                record = replace(record, files={**record.files, part: file})
            tasks[name] = record
        return owner, record

    def summaries(self, session: str | None = None) -> list[TaskSummary]:
        """All tasks, or those of one session, last changed first."""
        found = [summary for owner in self.sessions.pieces(session) for summary in _summaries(owner)]
        return sorted(found, key=lambda summary: summary.updated_at, reverse=True)

    def summary(self, name: str, session: str | None = None) -> TaskSummary:
        """One task as a list shows it."""
        owner, record = self.find(name, session)
        only = next(_summaries(replace(owner, tasks={record.name: record})), None)
        if only is None:
            raise NotFound(
                f"the files of task {name!r} are gone; `claude-memory status --recover` looks for a copy"
            )
        return only

    def text(self, name: str, part: Part, session: str | None = None) -> str | None:
        """The scratchpad, or the plan as it was first written."""
        path = self.path(*self.find(name, session), part)
        if not path.is_file():
            return None
        if part is Part.SCRATCHPAD:
            return markdown.read(path).text.rstrip("\n")
        return next((entry.text for entry in self.entries(name, part, session)), "")

    def author(self, name: str, part: Part, session: str | None = None) -> str:
        """By whom a document was begun, or a scratchpad last saved."""
        return markdown.read_head(self.path(*self.find(name, session), part)).get("by", "")

    def entries(self, name: str, part: Part = Part.PROGRESS, session: str | None = None) -> list[Entry]:
        """The sealed entries of a progress record, or of a plan with its amendments."""
        path = self.path(*self.find(name, session), part)
        if not path.is_file():
            return []
        document = markdown.read(path)
        found = [item.entry for item in chain.entries(document.body)[0]]
        if part is Part.PLAN and found:  # its heading is the front matter
            created = markdown.moment(document.fields.get("created"))
            found[0] = replace(found[0], time=created, by=document.fields.get("by", ""), marks=())
        return found

    def history(self, name: str, session: str | None = None) -> list[Version]:
        """Earlier texts of the scratchpad, oldest first."""
        return markdown.versions(self.path(*self.find(name, session), Part.SCRATCHPAD))

    @property
    def file_pattern(self) -> str:
        """How new documents are named."""
        pattern = self._config().get(_PATTERN_KEY)
        try:
            return _checked_pattern(pattern) if isinstance(pattern, str) else DEFAULT_PATTERN
        except InvalidInput:
            return DEFAULT_PATTERN  # the file may have come with a clone

    def set_file_pattern(self, pattern: str) -> None:
        """Name new documents after a pattern of {task}, {session}, {timestamp} and {phase}."""
        config = {**self._config(), _PATTERN_KEY: _checked_pattern(pattern)}
        target = self.storage.inside(self.storage.ensure() / "config.json")
        markdown.write(target, markdown.encoded(json.dumps(config, indent=2) + "\n"))
        copies.copy(self.storage, target)

    def _config(self) -> dict[str, object]:
        try:
            found = json.loads(markdown.read_if_there(self.storage.folder / "config.json") or b"")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _session_for(self, session: str | None) -> Session:
        return self.sessions.get_current_session() if session is None else self.sessions.named(session)

    def _new_record(self, name: str, tasks: dict[str, TaskRecord]) -> TaskRecord:
        stem = names.apart(name, [record.stem for record in tasks.values()])
        return TaskRecord(name, stem, datetime.now(UTC), self.sessions.by)

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


def _summaries(session: Session) -> Iterator[TaskSummary]:
    """One folder listing gives phase, size and age of every task in it; no document is opened."""
    try:
        listing = {
            item.name: item.stat(follow_symlinks=False) for item in os.scandir(session.folder / "tasks")
        }
    except OSError:
        return
    for record in session.tasks.values():
        present = [(part, name, listing[name]) for part, name in record.files.items() if name in listing]
        found = tuple(
            TaskFile(part, session.folder / "tasks" / name, status.st_size, _time(status.st_mtime))
            for part, name, status in sorted(present, key=lambda item: list(Part).index(item[0]))
        )
        if found:
            phase = phase_of({file.part for file in found})
            changed = max(file.updated_at for file in found)
            yield TaskSummary(record.name, phase, session.session_id, record.created_at, changed, found)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


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
