"""Brings agents' own histories into the store: what is new since last time, once, and safe to interrupt.

Each commit holds a batch and the place where its file goes on, so that a killed import goes on there.
Files are read by workers beside this process when there is much to do; only this one writes.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.capture.messages import Preparer
from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT
from claude_memory.model import ProjectId
from claude_memory.platform import project
from claude_memory.platform.agents import canonical
from claude_memory.platform.child import Child, parent_pipe
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import held
from claude_memory.redact import redact_document
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.store.model import ImportFile, NewMessage
from claude_memory.text.times import deadline
from claude_memory.transcripts import sources
from claude_memory.transcripts.model import Role, SourceFile, Turn
from claude_memory.transcripts.readers import READERS

POOL_FROM_BYTES = 8 << 20  # a worker takes a third of a second to start
COMMIT_MESSAGES = 5_000  # half a second of writing; larger pieces of the index need less merging
WAITING_COUNTED = 100_000
BATCH_BYTES = 4 << 20  # of transcript between two commits
BATCH_MESSAGES = 3_000
HEAD_BYTES, TAIL_BYTES = 4096, 1024  # by which a source is known again
NO_JSON = "a line is no JSON object"
TOO_LONG = f"a line is longer than {sources.LINE_BYTES >> 20} MB"
_REASON_CHARACTERS = 160
# How our own requests begin: `claude -p` keeps a transcript of them, and what we asked is nobody's session.
SUMMING_UP = "Sum up these messages. Each begins with its number in brackets; put the numbers that an entry"

_exclusions = lru_cache(maxsize=4096)(project.exclusions)


@dataclass(frozen=True, slots=True)
class Unread:
    """A source of which something could not be read: how often for this reason."""

    path: str
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Imported:
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


# Told how many bytes are read, of how many, and what was added so far.
Progress = Callable[[int, int, Imported], None]


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
    progress: Progress | None = None,
    understand: Callable[[Callable[[], bool]], int] | None = None,
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


def wanted_sources(request: Request) -> list[tuple[SourceFile, bool]]:
    """What to read, oldest first: an original comes before its copies. And whether it was written here."""
    agent = None if request.agent is None else canonical(request.agent)
    if agent is not None and agent not in sources.AGENTS:
        raise InvalidInput(f"unknown agent {request.agent!r}: one of {', '.join(sources.AGENTS)}")
    agents = sources.AGENTS if agent is None else (agent,)
    found_here = sources.discover(request.user_home or Path.home(), os.environ, agents)
    chosen = here = {source.path: source for source in found_here}
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
    files = list(sources.within(path, agent))
    if path.is_file() and not any(file.agent for file in files):
        raise InvalidInput(f"no agent is known to write such a file: {path}; name it with --agent")
    return files


def _tasks(store: Store, request: Request) -> tuple[list[Task], Counter[tuple[str, str]]]:
    """What is new, and files that nobody can read."""
    known = {file.path: file for file in store.archive.files()}
    tasks, unread = [], Counter[tuple[str, str]]()
    for source, own in wanted_sources(request):
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
    progress: Progress | None,
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
        counts.update(added._asdict())
        for batch in waiting:
            counts.update(files=batch.last, read_bytes=batch.read)
            unread.update({(batch.file.path, reason): count for reason, count in batch.unread.items()})
        waiting.clear()
        done = Imported(**counts, skipped=unread.total(), unread=_told(unread), complete=not is_late)
        if progress is not None:
            progress(min(done.read_bytes, total), total, done)
        return done

    for batch in _batches(tasks, settings, request.workers, total):
        waiting.append(batch)
        is_late = late()
        if is_late:
            break
        if sum(len(item.messages) for item in waiting) >= COMMIT_MESSAGES:
            commit()
    return commit()


def _placed(message: NewMessage, projects: dict[str, ProjectId], store: Store) -> NewMessage:
    """The message, with its project named in the event that it is."""
    if message.cwd not in projects:
        projects[message.cwd] = project.resolve_noted(message.cwd, store.project_for, thorough=True).id
    if message.event is None:
        return message
    return message._replace(event=replace(message.event, project=projects[message.cwd]))


# --- reading a source in batches, here or in a worker; nothing from here on touches the store


class Task(NamedTuple):
    """One source to be read from its beginning, or from where it was left if it only grew since then."""

    source: SourceFile
    left: ImportFile | None = None
    own_machine: bool = True

    @property
    def offset(self) -> int:
        return self.left.offset if self.left else 0

    @property
    def bytes(self) -> int:  # that are new
        return max(0, self.source.size - self.offset)


class Batch(NamedTuple):
    """What was read of a source up to an offset."""

    messages: list[NewMessage]
    file: ImportFile
    read: int  # bytes
    last: bool
    unread: Mapping[str, int]  # how often something could not be read, by its reason


def batches(task: Task, settings: Settings) -> Iterator[Batch]:
    """The source's batches; a file that cannot be read gives one that says so and holds nothing."""
    run = _Reading(task, settings)
    try:
        for document in run.documents():
            run.keep(run.reader.feed(document))
            is_full = run.offset - run.began >= BATCH_BYTES or len(run.messages) >= BATCH_MESSAGES
            if is_full and run.reader.settled:
                yield run.batch(last=False)
        run.keep(run.reader.finish())
    except (OSError, EOFError, ValueError) as fault:
        said = (getattr(fault, "strerror", "") or "").lower() or " ".join(str(fault).split())
        run.unread[said[:_REASON_CHARACTERS] or "it ends too early"] += 1
    yield run.batch(last=True)


class _Reading:
    """One source on its way: what was read since the last batch, and how often something could not be."""

    def __init__(self, task: Task, settings: Settings) -> None:
        self.source, agent = task.source, task.source.agent
        state = task.left.state if task.left else {}
        self.offset = self.began = task.offset
        self.skipped = task.left.skipped if task.left else 0
        self.messages: list[NewMessage] = []
        self.unread: Counter[str] = Counter()
        self.can_go_on = not sources.is_whole(self.source)
        # Whether our own summariser was asked here: the first prompt tells.
        self.ours = state.get("ours", None if agent == DEFAULT_AGENT and not task.offset else False)
        self.reader = READERS[agent](self.source, state.get("reader", {}))
        calls = dict(state.get("calls") or {})
        path = str(self.source.path)
        self.preparer = Preparer(agent, settings, _exclusions, calls, path, task.own_machine)

    def documents(self) -> Iterator[Mapping[str, Any]]:
        """What is new, with the place behind each; what is one document, or a database, as a whole."""
        if not self.can_go_on:
            yield from sources.whole(self.source)
            self.offset = self.source.size
            return
        self.can_go_on = not sources.is_compressed(self.source.path)
        with sources.open_stream(self.source.path) as handle:
            for line in sources.lines(handle, self.offset):
                if line.raw is not None and (not line.raw.strip() or self.reader.is_bookkeeping(line.raw)):
                    self.offset = line.end
                    continue
                document = sources.json_object(line.raw) if line.raw is not None else None
                if document is None:
                    self.unread[TOO_LONG if line.raw is None else NO_JSON] += line.complete
                    if not line.complete:
                        return  # its writer is still at it
                elif line.raw is not None and b"private" in line.raw.lower():
                    # A private part may open in one string of the line and close in another.
                    document = redact_document(document)
                self.offset = line.end
                if document is not None:
                    yield document

    def keep(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if self.ours is None and turn.role is Role.USER:
                self.ours = turn.text.startswith(SUMMING_UP)
            message = None if self.ours else self.preparer.message(turn)
            if message is not None:
                self.messages.append(message)

    def batch(self, *, last: bool) -> Batch:
        source = self.source
        self.skipped += self.unread.total()
        head, tail = prints(source.path, self.offset) if self.can_go_on else ("", "")
        file = ImportFile(
            path=str(source.path),
            agent=source.agent,
            inode=source.inode,
            # Until a source is read to its end, it must not look as if it were.
            size=source.size if last else -1,
            modified_ns=source.modified_ns,
            offset=self.offset,
            head=head,
            tail=tail,
            skipped=self.skipped,
            state={"reader": self.reader.state(), "calls": self.preparer.calls, "ours": self.ours},
        )
        made = Batch(self.messages, file, max(0, self.offset - self.began), last, +self.unread)
        self.messages, self.began, self.unread = [], self.offset, Counter()
        return made


def task_of(source: SourceFile, known: ImportFile | None, *, own_machine: bool) -> Task | None:
    """What is to be read of a source, or None when there is nothing new.

    A file that was cut, rewritten or replaced is read again from its beginning: what is known in it is
    passed over by its keys.
    """
    anew = Task(source, own_machine=own_machine)
    if known is None:
        return anew
    same = (known.size, known.modified_ns, known.inode) == (source.size, source.modified_ns, source.inode)
    if same and (known.offset >= known.size or not known.tail):
        return None
    known_prints = (known.head, known.tail)
    if known.tail and known.offset <= source.size and prints(source.path, known.offset) == known_prints:
        return None if known.offset == source.size else anew._replace(left=known)
    return anew


def prints(path: Path, offset: int) -> tuple[str, str]:
    """Hashes of the file's first bytes and of those before an offset."""
    try:
        with path.open("rb") as handle:
            head = handle.read(min(HEAD_BYTES, offset))
            handle.seek(max(0, offset - TAIL_BYTES))
            tail = handle.read(min(TAIL_BYTES, offset))
    except OSError:
        return "", ""
    first, last = (
        f"{len(part)}:{hashlib.blake2b(part, digest_size=12).hexdigest()}" for part in (head, tail)
    )
    return first, last


# --- workers: sources are dealt out in turn and taken back in order, so that the store is always the same


def _batches(tasks: list[Task], settings: Settings, wanted: int | None, total: int) -> Iterator[Batch]:
    """The batches of all tasks, in the tasks' order; of many bytes by workers, each one batch ahead."""
    count = min(len(tasks), min(os.cpu_count() or 1, 3) if wanted is None else wanted)
    workers: list[Child] = []
    if not count or not (wanted or total >= POOL_FROM_BYTES):
        for task in tasks:
            yield from batches(task, settings)
        return
    try:
        for number in range(count):
            workers.append(Child(__name__, "work"))
            workers[-1].send((tasks[number::count], settings))
        for number in range(len(tasks)):
            batch: Batch | None = None
            while batch is None or not batch.last:
                batch = workers[number % count].receive()
                yield batch
    except (EOFError, OSError):
        fault = "a reading process ended early; import again to go on where it was"
        raise StoreFault(fault) from None
    finally:
        for worker in workers:
            worker.end()


def work() -> None:
    """A worker's whole life: take the tasks, read them, hand the batches over."""
    parent = parent_pipe()
    if hasattr(os, "nice"):
        os.nice(5)
    with suppress(BrokenPipeError, EOFError):  # nobody is there to hear of it
        tasks, settings = parent.receive()
        for task in tasks:
            for batch in batches(task, settings):
                parent.send(batch)
