"""Brings agents' own histories into the store: what is new since last time, once, and safe to interrupt.

Each commit holds a batch and the place where its file goes on, so that a killed import goes on there.
Files are read by workers beside this process when there is much to do; only this one writes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.imports.reading import Batch, Task, batches, pooled, task_of
from claude_memory.model import ProjectId
from claude_memory.platform import project
from claude_memory.platform.agents import canonical
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import held
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.store.model import NewMessage
from claude_memory.text.times import deadline
from claude_memory.transcripts.model import SourceFile
from claude_memory.transcripts.sources import AGENTS, discover, within

POOL_FROM_BYTES = 8 << 20  # a worker takes a third of a second to start
COMMIT_MESSAGES = 5_000  # half a second of writing; larger pieces of the index need less merging
WAITING_COUNTED = 100_000
Understand = Callable[[Callable[[], bool]], int]


@dataclass(frozen=True, slots=True)
class Unread:
    """A source of which something could not be read: how often for this reason."""

    path: str
    reason: str
    count: int = 1


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
class PlannedFile:
    """A file that an import would read, and how much of it is new."""

    agent: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do."""

    files: tuple[PlannedFile, ...]
    unread: tuple[Unread, ...] = ()


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
        run = _Import(store, settings, request, progress)
        run.all()
        memories = understand(run.late) if understand is not None else 0
        waiting = len(store.archive.waiting(WAITING_COUNTED)) if understand is not None else 0
    return replace(run.done, memories=memories, waiting=waiting)


def plan_import(store: Store, settings: Settings, request: Request) -> ImportPlan:
    """What `import_history` would read, without reading it."""
    return _Import(store, settings, request, None).plan()


def sources(request: Request) -> list[tuple[SourceFile, bool]]:
    """What to read, oldest first: an original comes before its copies. And whether it was written here."""
    agent = None if request.agent is None else canonical(request.agent)
    if agent is not None and agent not in AGENTS:
        raise InvalidInput(f"unknown agent {request.agent!r}: one of {', '.join(AGENTS)}")
    agents = AGENTS if agent is None else (agent,)
    known = list(discover(request.user_home or Path.home(), os.environ, agents))
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
    files = list(within(path, agent))
    if path.is_file() and not any(file.agent for file in files):
        raise InvalidInput(f"no agent is known to write such a file: {path}; name it with --agent")
    return files


class _Import:
    """One import's state."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        request: Request,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.settings, self.request, self.progress = store, settings, request, progress
        self.done = Imported()
        self.unread: Counter[tuple[str, str]] = Counter()
        self.projects: dict[str, ProjectId] = {}
        self.late = deadline(request.budget_seconds)  # whether the time is up

    def all(self) -> None:
        tasks = list(self._tasks())
        total = sum(max(0, task.source.size - task.offset) for task in tasks)
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
            if not source.agent:
                self.unread[str(source.path), "no agent is known to write such a file"] += 1
            elif task := task_of(source, known.get(str(source.path)), own_machine=own):
                yield task

    def plan(self) -> ImportPlan:
        """What `all` would read."""
        files = [
            PlannedFile(task.source.agent, str(task.source.path), max(0, task.source.size - task.offset))
            for task in self._tasks()
        ]
        return ImportPlan(tuple(files), self._unread())

    def _unread(self) -> tuple[Unread, ...]:
        return tuple(Unread(path, reason, count) for (path, reason), count in self.unread.items())

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
        done, added = self.done, self.store.archive.add(messages, self.projects, [b.file for b in waiting])
        for batch in waiting:
            self.unread.update({(batch.file.path, reason): count for reason, count in batch.unread.items()})
        self.done = Imported(
            files=done.files + sum(batch.last for batch in waiting),
            sessions=done.sessions + added.sessions,
            messages=done.messages + added.messages,
            duplicates=done.duplicates + added.duplicates,
            skipped=self.unread.total(),
            events=done.events + added.events,
            read_bytes=done.read_bytes + sum(batch.read for batch in waiting),
            unread=self._unread(),
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
