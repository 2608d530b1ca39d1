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
from claude_memory.tasks import chain, documents
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, Problem, Session, TaskRecord
from claude_memory.tasks.places import Storage, storage_for
from claude_memory.tasks.sessions import SessionManager
from claude_memory.tasks.writing import head_path

_SEALED = (Part.PLAN, Part.PROGRESS)
_CACHE = Path(".cache") / "verified.json"


def verify(task: str | None = None, *, storage: Storage | None = None) -> list[Problem]:
    """Check one task, or all of the project's, in full."""
    storage = storage or storage_for()
    book = TaskBook(storage, SessionManager(storage=storage))
    return verify_book(book, task)


def verify_book(book: TaskBook, task: str | None = None, session: str | None = None) -> list[Problem]:
    """Check one task, or all, in full."""
    if task is not None:
        return list(_of_task(book, *book.find(task, session)))
    owners = book.sessions.pieces()
    return [
        found
        for owner in owners
        for record in owner.tasks.values()
        for found in _of_task(book, owner, record)
    ]


def changed(book: TaskBook) -> list[Problem]:
    """Problems of all tasks; a document unchanged since it was last found whole is not read again."""
    known = _read_cache(book.storage)
    whole: dict[str, list[int]] = {}
    problems: list[Problem] = []
    for owner in book.sessions.pieces():
        for record in owner.tasks.values():
            for path, part in _paths(owner, record):
                problems += _unless_known(book, owner, record, part, path, known, whole)
    if whole != known:
        _write_cache(book.storage, whole)
    return problems


def _unless_known(
    book: TaskBook,
    owner: Session,
    record: TaskRecord,
    part: Part,
    path: Path,
    known: dict[str, list[int]],
    whole: dict[str, list[int]],
) -> list[Problem]:
    try:
        status = path.lstat()
    except OSError:
        return _of_part(book, owner, record, part)
    mark = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    if known.get(str(path)) == mark:
        whole[str(path)] = mark
        return []
    found = _of_part(book, owner, record, part)
    if not found:
        whole[str(path)] = mark
    return found


def _of_task(book: TaskBook, owner: Session, record: TaskRecord) -> Iterator[Problem]:
    for part in _SEALED:
        if part in record.files:
            yield from _of_part(book, owner, record, part)


def _of_part(book: TaskBook, owner: Session, record: TaskRecord, part: Part) -> list[Problem]:
    path = owner.folder / "tasks" / record.files[part]
    try:
        book.storage.inside(path)
        wrong = _faults(path)
        if wrong and book.lock_path(owner, record).exists():
            with book.lock(owner, record):  # an append under way is not a fault
                wrong = _faults(path)
    except FileNotFoundError:
        wrong = [f"the {part} was removed"] if chain.read_head(head_path(path)) is not None else []
    except (OSError, MemoryFault) as fault:
        return [Problem(record.name, owner.session_id, path, f"cannot be read: {fault}", tampered=False)]
    return [Problem(record.name, owner.session_id, path, message) for message in wrong]


def _faults(path: Path) -> list[str]:
    known = chain.read_head(head_path(path))  # first: a record may grow, but never shrink, meanwhile
    document = documents.read(path)
    return chain.faults(document.head, document.body, known)


def _paths(owner: Session, record: TaskRecord) -> Iterator[tuple[Path, Part]]:
    for part in _SEALED:
        if part in record.files:
            yield owner.folder / "tasks" / record.files[part], part


def _read_cache(storage: Storage) -> dict[str, list[int]]:
    try:
        found = json.loads(documents.read_bytes(storage.folder / _CACHE))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_cache(storage: Storage, whole: dict[str, list[int]]) -> None:
    with contextlib.suppress(OSError, MemoryFault):  # a cache: the next status reads more, that is all
        target = storage.inside(storage.ensure() / _CACHE)
        documents.write(target, json.dumps(whole).encode())
