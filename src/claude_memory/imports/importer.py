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
from typing import Any

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
class ImportPlan:
    """What an import would do: agent, path and new bytes of each file that it would read."""

    files: tuple[dict[str, Any], ...]
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
    late = deadline(request.budget_seconds)  # whether the time is up
    # The one in a drain's slack is short, and worth waiting for.
    with held(lock, wait_seconds=request.wait_seconds, conflict=busy):
        done = _read(store, settings, request, late, progress)
        if understand is not None:
            memories = understand(late)
            done = replace(done, memories=memories, waiting=len(store.archive.waiting(WAITING_COUNTED)))
    return done


def plan_import(store: Store, request: Request) -> ImportPlan:
    """What `import_history` would read, without reading it."""
    tasks, unread = _tasks(store, request)
    files = [
        {"agent": task.source.agent, "path": str(task.source.path), "bytes": task.bytes} for task in tasks
    ]
    return ImportPlan(tuple(files), _told(unread))


def sources(request: Request) -> list[tuple[SourceFile, bool]]:
    """What to read, oldest first: an original comes before its copies. And whether it was written here."""
    agent = None if request.agent is None else canonical(request.agent)
    if agent is not None and agent not in AGENTS:
        raise InvalidInput(f"unknown agent {request.agent!r}: one of {', '.join(AGENTS)}")
    agents = AGENTS if agent is None else (agent,)
    chosen = here = {
        source.path: source for source in discover(request.user_home or Path.home(), os.environ, agents)
    }
    if request.paths:
        named = {source.path: source for path in request.paths for source in _named(path, agent)}
        chosen = {path: here.get(path, source) for path, source in named.items()}
    since = request.since.timestamp() * 1e9 if request.since is not None else 0
    found = [(source, path in here) for path, source in chosen.items() if source.modified_ns >= since]
    return sorted(found, key=lambda item: (item[0].modified_ns, str(item[0].path)))


def _named(path: Path, agent: str | None) -> Iterable[SourceFile]:
    path = path.expanduser().absolute()
    if not path.exists():
        raise InvalidInput(f"no such file or folder: {path}")
    files = list(within(path, agent))
    if path.is_file() and not any(file.agent for file in files):
        raise InvalidInput(f"no agent is known to write such a file: {path}; name it with --agent")
    return files


def _tasks(store: Store, request: Request) -> tuple[list[Task], Counter[tuple[str, str]]]:
    """What is new, and files that nobody can read."""
    known = {file.path: file for file in store.archive.files()}
    tasks, unread = [], Counter[tuple[str, str]]()
    for source, own in sources(request):
        if not source.agent:
            unread[str(source.path), "no agent is known to write such a file"] += 1
        elif task := task_of(source, known.get(str(source.path)), own_machine=own):
            tasks.append(task)
    return tasks, unread


def _told(unread: Counter[tuple[str, str]]) -> tuple[Unread, ...]:
    return tuple(Unread(path, reason, count) for (path, reason), count in unread.items())


def _read(
    store: Store,
    settings: Settings,
    request: Request,
    late: Callable[[], bool],
    progress: Callable[[Progress], None] | None,
) -> Imported:
    """Commit batch after batch, with the place where each file goes on, until all is read or it is late."""
    tasks, unread = _tasks(store, request)
    total = sum(task.bytes for task in tasks)
    counts: Counter[str] = Counter()
    projects: dict[str, ProjectId] = {}
    waiting: list[Batch] = []
    is_late = False

    def commit() -> Imported:
        """Small files share a transaction: each commit costs a sync and a piece of the index."""
        messages = [_placed(message, projects, store) for batch in waiting for message in batch.messages]
        added = store.archive.add(messages, projects, [batch.file for batch in waiting])
        for name in ("sessions", "messages", "duplicates", "events"):
            counts[name] += getattr(added, name)
        for batch in waiting:
            counts.update(files=batch.last, read_bytes=batch.read)
            unread.update({(batch.file.path, reason): count for reason, count in batch.unread.items()})
        waiting.clear()
        done = Imported(**counts, skipped=unread.total(), unread=_told(unread), complete=not is_late)
        if progress is not None:
            progress(Progress(min(done.read_bytes, total), total, done))
        return done

    for batch in _batches(tasks, settings, request.workers, total):
        waiting.append(batch)
        is_late = late()
        if is_late:
            break
        if sum(len(item.messages) for item in waiting) >= COMMIT_MESSAGES:
            commit()
    return commit()


def _batches(tasks: list[Task], settings: Settings, wanted: int | None, total: int) -> Iterator[Batch]:
    count = wanted if wanted is not None else min(os.cpu_count() or 1, 3)
    if count and tasks and (wanted or total >= POOL_FROM_BYTES):
        return pooled(tasks, settings, min(count, len(tasks)))
    return (batch for task in tasks for batch in batches(task, settings))


def _placed(message: NewMessage, projects: dict[str, ProjectId], store: Store) -> NewMessage:
    """The message, with its project named in the event that it is."""
    if message.cwd not in projects:
        projects[message.cwd] = project.resolve_noted(message.cwd, store.project_for, thorough=True).id
    if message.event is None:
        return message
    return message._replace(event=replace(message.event, project=projects[message.cwd]))
