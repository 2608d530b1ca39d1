"""Task texts as the search sees them: one document per scratchpad, plan, amendment and entry.

Reads the files and derives an origin from where a text stands, so that indexing again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from claude_memory.errors import MemoryFault
from claude_memory.model import Kind, MemoryId, NewMemory, ProjectId, Trust, memory_id
from claude_memory.tasks import mirror, people
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Entry, Part, TaskFile, TaskSummary
from claude_memory.tasks.places import Storage
from claude_memory.tasks.sessions import SessionManager

_PATH = re.compile(r"(?<![\w/:.-])(?:[\w.-]+/)+[\w.-]*\w\.[A-Za-z]\w{0,7}\b")


@dataclass(frozen=True, slots=True)
class TaskText:
    """One searchable text of a task."""

    origin: str
    title: str
    body: str
    task: str
    session: str
    part: Part
    by: str
    trust: Trust
    created_at: datetime
    updated_at: datetime
    files: tuple[str, ...]

    def id_in(self, project: ProjectId) -> MemoryId:
        """The memory it becomes; for a scratchpad that changed, the one to revise."""
        return memory_id(f"origin:{project}:{self.origin}")

    def memory(self) -> NewMemory:
        """As `Memory.remember_many` takes it."""
        return NewMemory(
            origin=self.origin,
            title=self.title,
            body=self.body,
            kind=Kind.NOTE,
            task=self.task,
            session=self.session,
            files=self.files,
            created_at=self.created_at,
            trust=self.trust,
            provenance={"source": "task", "part": self.part.value, "by": self.by},
        )


def documents(storage: Storage, *, since: datetime | None = None) -> list[TaskText]:
    """Every text of every task; with `since`, only those of files changed after it."""
    book = TaskBook(storage, SessionManager(storage=storage))
    return [text for summary in book.summaries() for text in _of_task(book, summary, since)]


def _of_task(book: TaskBook, task: TaskSummary, since: datetime | None) -> Iterator[TaskText]:
    for file in task.files:
        if since is None or file.updated_at > since:
            try:
                yield from _of_file(book, task, file)
            except (OSError, MemoryFault):  # removed meanwhile, or a link that leads outside
                continue


def _of_file(book: TaskBook, task: TaskSummary, file: TaskFile) -> Iterator[TaskText]:
    own = mirror.own_texts(book.storage, file.path)
    if file.part is Part.SCRATCHPAD:
        text = book.text(task.name, file.part, task.session_id) or ""
        by = book.author(task.name, file.part, task.session_id)
        yield _text(task, file, Entry(0, text, task.created_at, by), own)
        return
    for entry in book.entries(task.name, file.part, task.session_id):
        yield _text(task, file, entry, own)


def _text(task: TaskSummary, file: TaskFile, entry: Entry, own: frozenset[str] | None) -> TaskText:
    place = f"task\n{task.session_id}\n{task.name}\n{file.part}\n{entry.number}"
    when = entry.time or task.created_at
    return TaskText(
        origin=place,
        title=f"{task.name}: {file.part}" + (f" {entry.number}" if file.part is Part.PROGRESS else ""),
        body=entry.text,
        task=task.name,
        session=task.session_id,
        part=file.part,
        by=entry.by,
        trust=_trust(entry, own),
        created_at=when,
        updated_at=file.updated_at if file.part is Part.SCRATCHPAD else when,
        files=tuple(dict.fromkeys(_PATH.findall(entry.text)))[:20],
    )


def _trust(entry: Entry, own: frozenset[str] | None) -> Trust:
    """A text that was not written on this machine came with a clone, whatever name it is signed with."""
    if own is not None and mirror.digest(entry.text) not in own:
        return Trust.IMPORTED
    return Trust.USER if people.is_person(entry.by) else Trust.AGENT
