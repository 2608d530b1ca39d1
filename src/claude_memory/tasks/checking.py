"""Finds plans and past progress entries that were changed after they were written.

`verify` reads everything. `changed` opens only what the folder listing shows as changed since it
was last found whole, so that a status over many tasks stays quick.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from claude_memory.errors import MemoryFault
from claude_memory.tasks import chain, markdown
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, Problem, Session, TaskRecord, TaskStatus, next_step
from claude_memory.tasks.session_files import SessionManager
from claude_memory.tasks.storage import Storage, storage_for

_CACHE = Path(".cache") / "verified.json"


def verify(task: str | None = None, *, storage: Storage | None = None) -> list[Problem]:
    """Check one task, or all of the project's, in full."""
    storage = storage or storage_for()
    return verify_book(TaskBook(storage, SessionManager(storage=storage)), task)


def verify_book(book: TaskBook, task: str | None = None, session: str | None = None) -> list[Problem]:
    """Check one task, or all, in full."""
    if task is None:
        return [problem for sealed in _sealed(book) for problem in _problems(book, *sealed)]
    owner, record = book.find(task, session)
    return [problem for part in _parts(record) for problem in _problems(book, owner, record, part)]


def changed(book: TaskBook) -> list[Problem]:
    """Problems of all tasks; a document unchanged since it was last found whole is not read again."""
    cached = _read_cache(book.storage)
    whole: dict[str, list[int]] = {}
    problems: list[Problem] = []
    for owner, record, part in _sealed(book):
        path = owner.folder / "tasks" / record.files[part]
        try:
            status = path.lstat()
            mark = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        except OSError:
            mark = []
        wrong = [] if mark and cached.get(str(path)) == mark else _problems(book, owner, record, part)
        problems += wrong
        if mark and not wrong:
            whole[str(path)] = mark
    if whole != cached:
        with contextlib.suppress(OSError, MemoryFault):  # a cache: the next status reads more, that is all
            target = book.storage.inside(book.storage.ensure() / _CACHE)
            markdown.write(target, json.dumps(whole).encode())
    return problems


def _sealed(book: TaskBook) -> Iterator[tuple[Session, TaskRecord, Part]]:
    for owner in book.sessions.pieces():
        for record in owner.tasks.values():
            yield from ((owner, record, part) for part in _parts(record))


def _parts(record: TaskRecord) -> list[Part]:
    return [part for part in (Part.PLAN, Part.PROGRESS) if part in record.files]


def _problems(book: TaskBook, owner: Session, record: TaskRecord, part: Part) -> list[Problem]:
    path = owner.folder / "tasks" / record.files[part]
    try:
        book.storage.inside(path)
        wrong = _faults(path)
        if wrong and book.lock_path(owner, record).exists():
            with book.lock(owner, record):  # an append under way is not a fault
                wrong = _faults(path)
    except FileNotFoundError:
        wrong = [f"the {part} was removed"] if chain.read_head(path) is not None else []
    except (OSError, MemoryFault) as fault:
        return [Problem(record.name, owner.session_id, path, f"cannot be read: {fault}", tampered=False)]
    return [Problem(record.name, owner.session_id, path, message) for message in wrong]


def _faults(path: Path) -> list[str]:
    end = chain.read_head(path)  # first: a record may grow, but never shrink, meanwhile
    document = markdown.read(path)
    return chain.faults(document.head, document.body, end)


def _read_cache(storage: Storage) -> dict[str, list[int]]:
    try:
        cached = json.loads(markdown.read_bytes(storage.folder / _CACHE))
    except (OSError, ValueError, RecursionError):
        return {}
    return cached if isinstance(cached, dict) else {}


def task_status(book: TaskBook, task: str, session: str | None = None) -> TaskStatus:
    """One task in full, its chains verified."""
    summary = book.summary(task, session)
    owner = summary.session_id
    progress = book.entries(task, Part.PROGRESS, owner)
    return TaskStatus(
        task_name=summary.name,
        current_phase=summary.current_phase,
        session_id=owner,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        files=summary.files,
        entries=len(progress),
        unplanned_entries=sum(entry.unplanned for entry in progress),
        amendments=max(0, len(book.entries(task, Part.PLAN, owner)) - 1),
        last_entry=progress[-1] if progress else None,
        problems=tuple(verify_book(book, task, owner)),
        next_step=next_step(summary.name, {file.part for file in summary.files}),
    )
