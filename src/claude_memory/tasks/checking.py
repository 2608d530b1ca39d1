"""Finds plans and past progress entries that were changed after they were written.

`verify` reads everything. `changed` opens only what the folder listing shows as changed since it
was last found whole, so that a status over many tasks stays quick.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from claude_memory.errors import MemoryFault
from claude_memory.tasks import chain, markdown
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, Problem, TaskRecord

_CACHE = Path(".cache") / "verified.json"
_SEALED = (Part.PLAN, Part.PROGRESS)


def verify(book: TaskBook, task: str | None = None, session: str | None = None) -> list[Problem]:
    """Check one task, or all, in full."""
    records = _all(book) if task is None else [book.find(task, session)]
    return [problem for record in records for part in _SEALED for problem in _problems(book, record, part)]


def changed(book: TaskBook) -> list[Problem]:
    """Problems of all tasks; a document unchanged since it was last found whole is not read again."""
    cached = markdown.read_json(book.storage.folder / _CACHE)
    whole: dict[str, list[int]] = {}
    problems: list[Problem] = []
    for record, part in [(record, part) for record in _all(book) for part in _SEALED if part in record.files]:
        path = record.path(part)
        try:
            status = path.lstat()
            mark = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        except OSError:
            mark = []
        wrong = [] if mark and cached.get(str(path)) == mark else _problems(book, record, part)
        problems += wrong
        if mark and not wrong:
            whole[str(path)] = mark
    if whole != cached:
        with contextlib.suppress(OSError, MemoryFault):  # a cache: the next status reads more, that is all
            target = book.storage.inside(book.storage.ensure() / _CACHE)
            markdown.write(target, json.dumps(whole).encode())
    return problems


def _all(book: TaskBook) -> Iterable[TaskRecord]:
    return (record for session in book.sessions.pieces() for record in session.tasks.values())


def _problems(book: TaskBook, record: TaskRecord, part: Part) -> list[Problem]:
    if part not in record.files:
        return []
    path = record.path(part)
    try:
        book.storage.inside(path)
        wrong = _faults(path)
        if wrong and book.lock_path(record).exists():
            with book.lock(record):  # an append under way is not a fault
                wrong = _faults(path)
    except FileNotFoundError:
        wrong = [f"the {part} was removed"] if chain.read_head(path) is not None else []
    except (OSError, MemoryFault) as fault:
        return [Problem(record.name, record.session_id, path, f"cannot be read: {fault}", tampered=False)]
    return [Problem(record.name, record.session_id, path, message) for message in wrong]


def _faults(path: Path) -> list[str]:
    end = chain.read_head(path)  # first: a record may grow, but never shrink, meanwhile
    document = markdown.read(path)
    return chain.faults(document.head, document.body, end)
