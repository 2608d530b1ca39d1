"""The tasks of one project in one class: every verb of the workflow, for commands, programs and sub-agents.

It accepts steps out of order and marks them; refusing them is `WorkflowEnforcer`'s business. Whatever writes
works under the task's lock and leaves every file whole. Lists are made from folder listings alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound
from claude_memory.platform import files
from claude_memory.redact import kept
from claude_memory.tasks import documents, model
from claude_memory.tasks.documents import Storage, storage_for
from claude_memory.tasks.model import Entry, Part, Problem, Session, TaskRecord, TaskStatus, TaskSummary
from claude_memory.tasks.session_files import SessionManager, changing, read_session

if TYPE_CHECKING:
    from claude_memory.tasks.project_context import ContextKeeper

DEFAULT_PATTERN = "{task}-{session}-{phase}.md"
DEFAULT_TOKENS = 300
_PATTERN = re.compile(r'(?!\.)(?:[^/\\:*?"<>|{}]|\{(?:task|session|timestamp|phase)\})+\.md')
_PATTERN_KEY = "task_file_pattern"
_BEFORE = {Part.PLAN: Part.SCRATCHPAD, Part.PROGRESS: Part.PLAN}  # which step comes before which


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
        self.by = model.writer(by)
        self.storage = storage or storage_for(project, storage_path=storage_path)
        self.session_manager = SessionManager(storage=self.storage, session=session, by=self.by)

    @property
    def memory_manager(self) -> MemoryAPI:
        return self  # by the name under which programs know them

    @property
    def context_manager(self) -> ContextKeeper:
        from claude_memory.tasks.project_context import ContextKeeper

        return ContextKeeper(self.storage)

    @property
    def order(self) -> WorkflowEnforcer:
        return WorkflowEnforcer(self)

    def signed(self, by: str) -> MemoryAPI:
        """The same tasks; what is written is marked as this one's."""
        return MemoryAPI(storage=self.storage, by=by)

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
            since, signed = documents.stamp(created or datetime.now(UTC)), model.signature(by or self.by)
            head = self._head(record, Part.SCRATCHPAD, created=since, by=signed)
            self.storage.write(path, head + documents.encoded(f"\n{text}\n"))
        return path

    update_scratchpad = create_scratchpad

    def restore_scratchpad(self, task: str, number: int, *, session: str | None = None) -> Path:
        earlier = self._earlier(task, session)
        if earlier is None:
            raise NotFound(f"task {task!r} has no scratchpad, so there is no earlier text")
        if number not in earlier:
            raise NotFound(f"task {task!r} has no version {number}; it has {len(earlier)}, see --history")
        text = documents.read(earlier[number]).text
        # The text is an earlier one, perhaps not of whoever restores it, perhaps come with a clone.
        return self.create_scratchpad(task, text, session=session, by=f"restored by {self.by}")

    def get_scratchpad(self, task: str, *, session: str | None = None) -> str | None:
        path = self._path(self._find(task, session), Part.SCRATCHPAD)
        return documents.read(path).text if path else None

    def scratchpad_history(self, task: str, *, session: str | None = None) -> list[model.Version]:
        """Earlier texts of the scratchpad, oldest first; they stand even where it was removed itself."""
        versions = []
        for number, path in sorted((self._earlier(task, session) or {}).items()):
            document, saved = documents.read(path), datetime.fromtimestamp(path.stat().st_mtime, UTC)
            by, size = document.fields.get("by", ""), len(document.text)
            versions.append(model.Version(number, saved, by, size, path))
        return versions

    def _earlier(self, task: str, session: str | None) -> dict[int, Path] | None:
        """Earlier texts by number; None for a task without a scratchpad."""
        record = self._find(task, session)
        begun = Part.SCRATCHPAD in record.files
        return documents.versions(self._checked_path(record, Part.SCRATCHPAD)) if begun else None

    def create_plan(
        self, task: str, content: str, *, session: str | None = None, marks: Sequence[str] = ()
    ) -> Path:
        """Write the plan; it cannot be changed afterwards, only amended."""
        text = _some(content, "a plan")
        explored = Part.SCRATCHPAD in self.parts(task)
        marks = [*map(kept, marks), *(() if explored else ("unexplored",))]
        record, path = self._begun(task, Part.PLAN, session)
        with self._lock(record):
            if path.exists():
                raise Conflict(
                    f"task {task!r} has a plan already, in {path}; plans are written once: "
                    f'`claude-memory plan "{task}" --amend "why"` adds to it'
                )
            head = self._head(record, Part.PLAN, **({"marks": ", ".join(marks)} if marks else {}))
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
                self.storage.write(path, self._head(record, Part.PROGRESS))
            planned = self._path(record, Part.PLAN) is not None
            self._append(path, text, (*map(kept, marks), *(() if planned else ("unplanned",))))
        documents.make_durable(path)  # after the lock, so that many writers share one wait for the disk
        return path

    def get_progress(self, task: str, *, session: str | None = None) -> list[Entry]:
        return self._entries(self._find(task, session), Part.PROGRESS)

    def _append(self, path: Path, text: str, marks: Sequence[str]) -> None:
        # The time is taken under the lock: the order of entries is the order of their times.
        tail, now = documents.read_tail(path), datetime.now(UTC)
        added, tail = documents.continued(tail, text, now=now, by=self.by, marks=marks)
        self.storage.append(path, added)
        documents.write_end(path, tail)

    def parts(self, task: str, session: str | None = None) -> set[Part]:
        record = self._located(task, session)
        return {part for part in Part if record and self._path(record, part)}

    def list_tasks(self, session: str | None = None, *, all_sessions: bool = False) -> list[TaskSummary]:
        """Tasks of a session, by default the current one, or of all sessions; last changed first."""
        pieces = self.session_manager.pieces(session)
        if not (all_sessions or session):
            current = self.session_manager.current_id()
            pieces = [piece for piece in pieces if piece.session_id == current]
        summaries = (
            summary for piece in pieces for summary in _summaries(piece.folder, piece.tasks.values())
        )
        return sorted(summaries, key=lambda summary: summary.updated_at, reverse=True)

    def get_task_status(self, task: str, *, session: str | None = None) -> TaskStatus:
        """Phase, files, counts and problems of a task, whichever session it is of."""
        record = self._find(task, session)
        summary = next(_summaries(record.folder, [record]), None)
        if summary is None:
            raise NotFound(f"the files of task {task!r} are gone; `claude-memory status --recover` may help")
        progress = self._entries(record, Part.PROGRESS)
        present = {file.part for file in summary.files}
        explored = f'claude-memory plan "{summary.name}" --from-scratchpad'
        planned = f'claude-memory append "{summary.name}" "..."'
        return TaskStatus(
            **{**asdict(summary), "files": summary.files},
            entries=len(progress),
            unplanned_entries=sum(entry.unplanned for entry in progress),
            amendments=max(0, len(self._entries(record, Part.PLAN)) - 1),
            last_entry=progress[-1] if progress else None,
            problems=tuple(self._problems(record)),
            next_step=explored if present == {Part.SCRATCHPAD} else planned,
        )

    def export_task(self, task: str, format: str = "json", *, session: str | None = None) -> Any:  # noqa: A002
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

    def verify(self, task: str | None = None, session: str | None = None) -> list[Problem]:
        records = self._records() if task is None else [self._find(task, session)]
        return [problem for record in records for problem in self._problems(record)]

    problems = verify

    def _problems(self, record: TaskRecord) -> Iterator[Problem]:
        for part in (Part.PLAN, Part.PROGRESS):
            if part not in record.files:
                continue
            path, tampered = record.path(part), True
            try:
                wrong = _faults(self.storage.inside(path))
                if wrong and (record.folder / ".locks" / f"task-{record.stem}.lock").exists():
                    with self._lock(record):  # an append under way is not a fault
                        wrong = _faults(path)
            except FileNotFoundError:
                wrong = [f"the {part} was removed"] if documents.read_end(path) is not None else []
            except (OSError, MemoryFault) as fault:
                wrong, tampered = [f"cannot be read: {fault}"], False
            for message in wrong:
                yield Problem(record.name, record.session_id, path, message, tampered)

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

    def _entries(self, record: TaskRecord, part: Part) -> list[Entry]:
        path = self._path(record, part)
        return documents.read(path).entries if path else []

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
        """The task, entered in its session's index with a name for this document."""
        with changing(self.storage, owner) as tasks:
            record = tasks.get(name)
            if record is None:
                stem = model.apart(name, [other.stem for other in tasks.values()])
                record = TaskRecord(name, stem, datetime.now(UTC), self.by, owner.session_id, owner.folder)
            if part not in record.files:
                pattern = str(self._config().get(_PATTERN_KEY, ""))  # it may have come with a clone
                file = (pattern if _is_pattern(pattern) else DEFAULT_PATTERN).format(
                    task=record.stem,
                    session=model.stem(owner.short_id or "session"),
                    timestamp=datetime.now(UTC).strftime("%Y%m%dT%H%M%S"),
                    phase=part.value,
                )
                if (owner.folder / "tasks" / file).exists():
                    file = f"{file.removesuffix('.md')}~{model.digest(name)}.md"
                record = replace(record, files={**record.files, part: file})
            tasks[name] = record
        return record

    def set_file_pattern(self, pattern: str) -> None:
        """Name new documents after a pattern of {task}, {session}, {timestamp} and {phase}."""
        if not _is_pattern(pattern):
            known = "{task}, {phase} and, if you like, {session} and {timestamp}"
            raise InvalidInput(f"file pattern {pattern!r} must be a file name that ends in .md, of {known}")
        content = json.dumps({**self._config(), _PATTERN_KEY: pattern}, indent=2) + "\n"
        self.storage.write(self.storage.folder / "config.json", documents.encoded(content))

    def _config(self) -> dict[str, object]:
        return documents.read_json(self.storage.folder / "config.json")

    def _head(self, record: TaskRecord, part: Part, **more: str) -> bytes:
        front = {"task": record.name, "session": record.session_id, "phase": part.value}
        front |= {"created": documents.stamp(datetime.now(UTC)), "by": self.by}
        return documents.front_matter(front | more)


class WorkflowEnforcer:
    """Answers for one project's tasks which step is next, and refuses steps out of order."""

    def __init__(self, memory_manager: MemoryAPI) -> None:
        self._tasks = memory_manager

    def get_current_phase(self, task: str) -> model.Phase:
        """`discovery`, `planning` or `execution`; a task that does not exist yet is in discovery."""
        return model.phase_of(self._tasks.parts(task))

    def can_take(self, task: str, step: Part | str) -> bool:
        first = _BEFORE.get(Part(step))
        return first is None or first in self._tasks.parts(task)

    def require(self, task: str, step: Part | str, *, force: bool = False) -> tuple[str, ...]:
        """Raise Conflict for a step out of order; the marks to record when it is forced."""
        if self.can_take(task, step):
            return ()
        if force:
            return ("forced",)
        first = _BEFORE[Part(step)]
        todo = "explore first" if first is Part.SCRATCHPAD else "make one"
        command = f'`claude-memory {first} "{task}" --content "..."`'
        raise Conflict(f"task {task!r} has no {first} yet: {todo} with {command}, or pass --force")


def _faults(path: Path) -> list[str]:
    end = documents.read_end(path)  # first: a record may grow, but never shrink, meanwhile
    return documents.read(path).faults(end)


def _summaries(folder: Path, records: Iterable[TaskRecord]) -> Iterator[TaskSummary]:
    """One folder listing gives phase, size and age of every task in it; no document is opened."""
    listed = {item.name: item.stat(follow_symlinks=False) for item in documents.listing(folder / "tasks")}
    for record in records:
        files = []
        for part in Part:
            if status := listed.get(record.files.get(part, "")):
                changed = datetime.fromtimestamp(status.st_mtime, UTC)
                files.append(model.TaskFile(part, record.path(part), status.st_size, changed))
        if files:
            phase = model.phase_of({file.part for file in files})
            changed = max(file.updated_at for file in files)
            yield TaskSummary(record.name, phase, record.session_id, record.created_at, changed, tuple(files))


def _is_pattern(pattern: str) -> bool:
    has_both = "{task}" in pattern and "{phase}" in pattern
    return bool(_PATTERN.fullmatch(pattern)) and has_both and pattern.isprintable()


def _some(text: str, what: str) -> str:
    if not text.strip():
        raise InvalidInput(f"{what} needs some text")
    return kept(text)
