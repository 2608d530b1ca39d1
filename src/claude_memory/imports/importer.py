"""Brings agents' own histories into the store: what is new since last time, once, and safe to interrupt.

Each commit holds a batch and the place where its file goes on, so that a killed import goes on there.
Files are read by workers beside this process when there is much to do; only this one writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.imports.pool import pooled
from claude_memory.imports.reading import Batch, Task, Unread, batches, start_of
from claude_memory.model import ProjectId
from claude_memory.platform import project
from claude_memory.platform.agents import canonical
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import held
from claude_memory.settings import Settings
from claude_memory.store.archive_model import NewMessage
from claude_memory.store.protocol import Store
from claude_memory.text.times import deadline
from claude_memory.transcripts import places
from claude_memory.transcripts.model import SourceFile

POOL_FROM_BYTES = 8 << 20  # a worker takes a third of a second to start
COMMIT_MESSAGES = 5_000  # half a second of writing; larger pieces of the index need less merging
WAITING_COUNTED = 100_000
Understand = Callable[[Callable[[], bool]], int]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import added, and what it passed over."""

    files: int = 0
    sessions: int = 0
    messages: int = 0
    duplicates: int = 0
    skipped: int = 0  # lines that could not be read
    events: int = 0
    memories: int = 0
    read_bytes: int = 0
    complete: bool = True
    waiting: int = 0  # conversations that another go must make exchanges of
    unread: tuple[Unread, ...] = ()  # what was skipped: of which file, why, how often


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is."""

    done_bytes: int
    total_bytes: int
    imported: Imported


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be imported; without paths, everything in the known places."""

    paths: tuple[Path, ...] = ()
    agent: str | None = None
    since: datetime | None = None
    budget_seconds: float | None = None
    workers: int | None = None
    user_home: Path | None = None
    wait_seconds: float = 0  # for another import to end


def import_history(
    home: Path,
    store: Store,
    settings: Settings,
    request: Request,
    *,
    progress: Callable[[Progress], None] | None = None,
    understand: Understand | None = None,
) -> Imported:
    """Read what is new of all wanted sources; `understand` makes exchanges and memories of what grew."""
    lock = private_folder(home / "cache") / "import.lock"
    busy = "another import is running; it goes on where it is"
    # The one in a drain's slack is short, and worth waiting for.
    with held(lock, wait_seconds=request.wait_seconds, conflict=busy):
        run = _Run(store, settings, request, progress)
        run.all()
        memories = understand(run.late) if understand is not None else 0
        waiting = len(store.archive.waiting(WAITING_COUNTED)) if understand is not None else 0
    return replace(run.done, memories=memories, waiting=waiting)


def sources(request: Request) -> list[tuple[SourceFile, bool]]:
    """What to read, oldest first: an original comes before its copies. And whether it was written here."""
    agent = None if request.agent is None else canonical(request.agent)
    if agent is not None and agent not in places.AGENTS:
        raise InvalidInput(f"unknown agent {request.agent!r}: one of {', '.join(places.AGENTS)}")
    agents = places.AGENTS if agent is None else (agent,)
    known = list(places.discover(request.user_home or Path.home(), os.environ, agents))
    if request.paths:
        here = {source.path: source for source in known}
        named = {source.path: source for path in request.paths for source in _named(path, agent)}
        chosen = [(here.get(path, source), path in here) for path, source in named.items()]
    else:
        chosen = [(source, True) for source in known]
    if request.since is not None:
        since = request.since.timestamp() * 1e9
        chosen = [(source, own) for source, own in chosen if source.modified_ns >= since]
    return sorted(chosen, key=lambda item: (item[0].modified_ns, str(item[0].path)))


def _named(path: Path, agent: str | None) -> Iterable[SourceFile]:
    path = path.expanduser().absolute()
    if not path.exists():
        raise InvalidInput(f"no such file or folder: {path}")
    found = list(places.within(path, agent))
    if not found and path.is_file():
        raise InvalidInput(f"no agent is known to write such a file: {path}; name it with --agent")
    return found


def _together(unread: Iterable[Unread]) -> tuple[Unread, ...]:
    """Each file and reason once, with their number."""
    counts: dict[tuple[str, str], int] = {}
    for one in unread:
        counts[one.path, one.reason] = counts.get((one.path, one.reason), 0) + one.count
    return tuple(Unread(path, reason, count) for (path, reason), count in counts.items())


@dataclass(slots=True)
class _Run:
    """One import's state."""

    store: Store
    settings: Settings
    request: Request
    progress: Callable[[Progress], None] | None
    done: Imported = field(default_factory=Imported)
    projects: dict[str, ProjectId] = field(default_factory=dict)
    late: Callable[[], bool] = lambda: False  # whether the time is up

    def all(self) -> None:
        self.late = deadline(self.request.budget_seconds)
        tasks = list(self._tasks())
        total = sum(max(0, task.source.size - task.start.offset) for task in tasks)
        waiting: list[Batch] = []
        for batch in self._batches(tasks, total):
            waiting.append(batch)
            late = self.late()
            if late or sum(len(item.messages) for item in waiting) >= COMMIT_MESSAGES:
                self._commit(waiting, total)
                waiting = []
            if late:
                self.done = replace(self.done, complete=False)
                return
        self._commit(waiting, total)

    def _tasks(self) -> Iterator[Task]:
        known = {file.path: file for file in self.store.archive.files()}
        for source, own in sources(self.request):
            start = start_of(source, known.get(str(source.path)))
            if start is not None:
                yield Task(source, start, own)

    def _batches(self, tasks: list[Task], total: int) -> Iterator[Batch]:
        wanted = self.request.workers
        count = wanted if wanted is not None else min(os.cpu_count() or 1, 3)
        if count and len(tasks) and (wanted or total >= POOL_FROM_BYTES):
            yield from pooled(tasks, self.settings, min(count, len(tasks)))
            return
        for task in tasks:
            yield from batches(task, self.settings)

    def _commit(self, waiting: list[Batch], total: int) -> None:
        """Small files share a transaction: each commit costs a sync and a piece of the index."""
        messages = [self._placed(message) for batch in waiting for message in batch.messages]
        added = self.store.archive.add(messages, self.projects, [batch.file for batch in waiting])
        self.done = Imported(
            files=self.done.files + sum(batch.last for batch in waiting),
            sessions=self.done.sessions + added.sessions,
            messages=self.done.messages + added.messages,
            duplicates=self.done.duplicates + added.duplicates,
            skipped=self.done.skipped + sum(batch.skipped for batch in waiting),
            events=self.done.events + added.events,
            read_bytes=self.done.read_bytes + sum(batch.read for batch in waiting),
            unread=_together((*self.done.unread, *(one for batch in waiting for one in batch.unread))),
        )
        if self.progress is not None:
            self.progress(Progress(min(self.done.read_bytes, total), total, self.done))

    def _placed(self, message: NewMessage) -> NewMessage:
        """The message, with its project named in the event that it is."""
        if message.cwd not in self.projects:
            found = project.resolve_noted(message.cwd, self.store.project_for, thorough=True)
            self.projects[message.cwd] = found.id
        if message.event is None:
            return message
        return message._replace(event=replace(message.event, project=self.projects[message.cwd]))
