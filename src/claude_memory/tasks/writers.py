"""The three writers: save a scratchpad, write a plan once, append to the record.

Each works under the task's lock and leaves every file whole, whatever happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.redact import kept
from claude_memory.tasks import chain, copies, markdown, names
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Part, Session, TaskRecord

_WHOLE_BYTES = 128 * 1024  # a longer record is read at its ends only
_END_BYTES = 64 * 1024


def save_scratchpad(book: TaskBook, task: str, text: str, *, by: str, session: str | None = None) -> Path:
    """Make a text the scratchpad's; the text before goes to the history."""
    text = kept(text)
    owner, record = book.begin(task, Part.SCRATCHPAD, session)
    with book.lock(owner, record):
        path = book.path(owner, record, Part.SCRATCHPAD)
        created = datetime.now(UTC)
        if path.exists():
            before = markdown.read(path)
            if before.text.rstrip("\n") == text.rstrip("\n"):
                return path
            created = markdown.moment(before.fields.get("created")) or created
            copies.copy(book.storage, markdown.keep_version(path))
        fields = _fields(owner, record, Part.SCRATCHPAD, by, created)
        markdown.write(path, markdown.render(fields, text.rstrip("\n") + "\n"))
        copies.copy(book.storage, path)
    return path


def restore_scratchpad(
    book: TaskBook, task: str, number: int, *, by: str, session: str | None = None
) -> Path:
    """Make an earlier text the present one; the present one goes to the history."""
    path = book.path(*book.find(task, session), Part.SCRATCHPAD)
    # The text is an earlier one, perhaps not of whoever restores it, perhaps come with a clone.
    return save_scratchpad(
        book, task, markdown.version_text(path, number), by=f"restored by {by}", session=session
    )


def write_plan(
    book: TaskBook, task: str, text: str, *, by: str, session: str | None = None, marks: Sequence[str] = ()
) -> Path:
    """Write the plan, once; Conflict names the file and the way on when there is one."""
    _refuse_empty(text, "a plan")
    text, marks = kept(text), [*map(kept, marks)]
    _refuse_second_plan(book, task, session)
    owner, record = book.begin(task, Part.PLAN, session)
    with book.lock(owner, record):
        path = book.path(owner, record, Part.PLAN)
        if path.exists():
            raise _exists(task, path)
        fields = _fields(owner, record, Part.PLAN, by, datetime.now(UTC), marks)
        head = markdown.front_matter(fields)
        added, tail = chain.continued(chain.start(head), text, now=None)
        markdown.write(path, head + added, mode=book.storage.read_only)
        chain.write_head(path, tail)
        copies.copy(book.storage, path)
    return path


def amend_plan(
    book: TaskBook, task: str, why: str, text: str = "", *, by: str, session: str | None = None
) -> Path:
    """Add a dated amendment below the plan; what stands is not touched."""
    _refuse_empty(why, "an amendment")
    why, text = kept(why), kept(text)
    owner, record = book.find(task, session)
    path = book.path(owner, record, Part.PLAN)
    if not path.is_file():
        raise NotFound(
            f'task {task!r} has no plan to amend; `claude-memory plan "{task}" --content "..."` makes one'
        )
    with book.lock(owner, record):
        path.chmod(markdown.WRITABLE)
        try:
            _append(book, path, f"{why.strip()}\n\n{text}".strip(), by=by, marks=("amendment",))
            markdown.make_durable(path)
        finally:
            path.chmod(book.storage.read_only)
    return path


def append_progress(
    book: TaskBook, task: str, text: str, *, by: str, session: str | None = None, marks: Sequence[str] = ()
) -> Path:
    """Add an entry to the record; when this returns, the entry is on the disk."""
    _refuse_empty(text, "an entry")
    text, marks = kept(text), [*map(kept, marks)]
    owner, record = book.begin(task, Part.PROGRESS, session)
    with book.lock(owner, record):
        path = book.path(owner, record, Part.PROGRESS)
        if not path.exists():
            fields = _fields(owner, record, Part.PROGRESS, by, datetime.now(UTC))
            markdown.write(path, markdown.front_matter(fields))
        if not book.path(owner, record, Part.PLAN).exists():
            marks = (*marks, "unplanned")
        _append(book, path, text, by=by, marks=marks)
    markdown.make_durable(path)  # after the lock, so that many writers share one wait for the disk
    return path


def _append(book: TaskBook, path: Path, text: str, *, by: str, marks: Sequence[str]) -> None:
    copies.note_foreign(book.storage, path)
    # The time is taken under the lock: the order of entries is the order of their times.
    added, tail = chain.continued(
        _tail(path), text, now=datetime.now(UTC), by=names.signature(by), marks=marks
    )
    markdown.append(path, added)
    chain.write_head(path, tail)
    copies.extend(book.storage, path, added)


def _tail(path: Path) -> chain.Tail:
    size = path.stat().st_size
    if size > _WHOLE_BYTES:
        with path.open("rb") as handle:
            handle.seek(size - _END_BYTES)
            end = handle.read()
        if len(chain.entries(end)[0]) > 1:
            return chain.tail_of(b"", end)
    document = markdown.read(path)
    return chain.tail_of(document.head, document.body)


def _fields(
    session: Session, record: TaskRecord, part: Part, by: str, created: datetime, marks: Sequence[str] = ()
) -> dict[str, str]:
    fields = {
        "task": record.name,
        "session": session.session_id,
        "phase": part.value,
        "created": markdown.stamp(created),
        "by": names.signature(by),
    }
    return fields | ({"marks": ", ".join(marks)} if marks else {})


def _refuse_empty(text: str, what: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{what} needs some text")


def _refuse_second_plan(book: TaskBook, task: str, session: str | None) -> None:
    """Before anything is entered in an index; the check under the lock is the one that counts."""
    if session is None and Part.PLAN in book.parts(task):
        raise _exists(task, book.path(*book.find(task), Part.PLAN))


def _exists(task: str, path: Path) -> Conflict:
    return Conflict(
        f"task {task!r} has a plan already, in {path}; plans are written once: "
        f'`claude-memory plan "{task}" --amend "why"` adds to it'
    )
