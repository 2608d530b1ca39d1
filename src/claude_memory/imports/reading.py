"""Reads one source in batches, each ready to be committed with the place where reading goes on.

Runs in the importing process or in a worker beside it; never touches the store.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from claude_memory.capture.prepare import Preparer
from claude_memory.platform import project
from claude_memory.redact import redact_document
from claude_memory.settings import Settings
from claude_memory.store.archive_model import ImportFile, NewMessage
from claude_memory.transcripts import documents, lines
from claude_memory.transcripts.claude import AGENT as CLAUDE
from claude_memory.transcripts.model import Role, SourceFile, Turn
from claude_memory.transcripts.plain import Reader
from claude_memory.transcripts.readers import READERS, is_bookkeeping

BATCH_BYTES = 4 << 20  # of transcript between two commits
BATCH_MESSAGES = 3_000
HEAD_BYTES, TAIL_BYTES = 4096, 1024  # by which a source is known again
NO_JSON = "a line is no JSON object"
TOO_LONG = f"a line is longer than {lines.LINE_BYTES >> 20} MB"
_REASON_CHARACTERS = 160
# How our own requests begin: `claude -p` keeps a transcript of them, and what we asked is nobody's session.
SUMMING_UP = "Sum up these messages. Each begins with its number in brackets; put the numbers that an entry"


_exclusions = lru_cache(maxsize=4096)(project.exclusions)


@dataclass(frozen=True, slots=True)
class Start:
    """From where a source is read; the beginning, unless it grew since it was last read."""

    offset: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One source to be read, and from where."""

    source: SourceFile
    start: Start
    own_machine: bool = True


@dataclass(frozen=True, slots=True)
class Unread:
    """A source of which something could not be read: how often for this reason."""

    path: str
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """What was read of a source up to an offset."""

    messages: list[NewMessage]
    file: ImportFile
    read: int  # bytes
    skipped: int  # lines, since the batch before
    last: bool
    unread: tuple[Unread, ...] = ()


def batches(task: Task, settings: Settings) -> Iterator[Batch]:
    """The source's batches; a file that cannot be read gives one that says so and holds nothing."""
    run = _Run(task, settings)
    try:
        if documents.is_whole(task.source):
            yield from run.whole()
        else:
            yield from run.streamed()
    except (OSError, EOFError, ValueError) as fault:
        run.skip(_reason(fault))
        yield run.batch(last=True)


def _reason(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror.lower()
    if isinstance(fault, EOFError):
        return "it ends too early"
    return " ".join(str(fault).split())[:_REASON_CHARACTERS] or type(fault).__name__


@dataclass(slots=True)
class _Run:
    task: Task
    settings: Settings
    offset: int = 0
    began: int = 0
    skipped: int = 0
    messages: list[NewMessage] = field(default_factory=list)
    reader: Reader = field(init=False)
    preparer: Preparer = field(init=False)
    compressed: bool = False
    told: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    ours: bool | None = None  # whether our own summariser was asked here; the first prompt tells

    def __post_init__(self) -> None:
        start = self.task.start
        self.offset = self.began = start.offset
        agent = self.task.source.agent
        self.ours = start.state.get("ours", None if agent == CLAUDE and not start.offset else False)
        self.reader = READERS[agent](self.task.source, start.state.get("reader", {}))
        self.preparer = Preparer(
            agent,
            self.settings,
            _exclusions,
            start.state.get("calls"),
            path=str(self.task.source.path),
            own_machine=self.task.own_machine,
        )

    def streamed(self) -> Iterator[Batch]:
        path = self.task.source.path
        self.compressed = lines.is_compressed(path)
        passed_over = is_bookkeeping(self.task.source.agent)
        with lines.open_stream(path) as handle:
            for line in lines.lines(handle, self.offset):
                if not self._line(line, passed_over):
                    break
                self.offset = line.end
                if self._full() and self.reader.settled:
                    yield self.batch(last=False)
        self._keep(self.reader.finish())
        yield self.batch(last=True)

    def whole(self) -> Iterator[Batch]:
        """Sources that are one document, or a database: read again as a whole when they change."""
        for document in documents.whole(self.task.source):
            self._document(document)
            if len(self.messages) >= BATCH_MESSAGES and self.reader.settled:
                yield self.batch(last=False)
        self._keep(self.reader.finish())
        self.offset = self.task.source.size
        yield self.batch(last=True)

    def _line(self, line: lines.Line, passed_over: Callable[[bytes], bool]) -> bool:
        """Take one line; false for the last one if its writer is still at it."""
        if line.raw is None:
            self.skip(TOO_LONG)
            return line.complete
        if passed_over(line.raw) or not line.raw.strip():
            return True
        document = lines.document(line.raw)
        if document is None:
            if line.complete:
                self.skip(NO_JSON)
            return line.complete
        if b"private" in line.raw.lower():
            # A private part may open in one string of the line and close in another.
            document, _ = redact_document(document)
        self._document(document)
        return True

    def skip(self, reason: str) -> None:
        """Pass over what cannot be read, and keep why."""
        self.skipped += 1
        self.unread[reason] += 1

    def _document(self, document: Mapping[str, Any]) -> None:
        self._keep(self.reader.feed(document))

    def _keep(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if self.ours is None and turn.role is Role.USER:
                self.ours = turn.text.startswith(SUMMING_UP)
            message = None if self.ours else self.preparer.message(turn)
            if message is not None:
                self.messages.append(message)

    def _full(self) -> bool:
        return self.offset - self.began >= BATCH_BYTES or len(self.messages) >= BATCH_MESSAGES

    def batch(self, *, last: bool) -> Batch:
        source = self.task.source
        plain = not self.compressed and not documents.is_whole(source)
        head, tail = prints(source.path, self.offset) if plain else ("", "")
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
            skipped=self.task.start.skipped + self.skipped,
            state={"reader": self.reader.state(), "calls": self.preparer.calls, "ours": self.ours},
        )
        unread = tuple(Unread(str(source.path), reason, count) for reason, count in self.unread.items())
        read = max(0, self.offset - self.began)
        made = Batch(self.messages, file, read, self.skipped - self.told, last, unread)
        self.messages, self.began, self.told, self.unread = [], self.offset, self.skipped, Counter()
        return made


def start_of(source: SourceFile, known: ImportFile | None) -> Start | None:
    """Where to go on, or None when there is nothing new.

    A file that was cut, rewritten or replaced is read again from its beginning: what is known in it is
    passed over by its keys.
    """
    if known is None:
        return Start()
    same = (known.size, known.modified_ns, known.inode) == (source.size, source.modified_ns, source.inode)
    if same and (known.offset >= known.size or not known.tail):
        return None
    known_prints = (known.head, known.tail)
    if known.tail and known.offset <= source.size and prints(source.path, known.offset) == known_prints:
        return None if known.offset == source.size else Start(known.offset, known.state, known.skipped)
    return Start()


def prints(path: Path, offset: int) -> tuple[str, str]:
    """Hashes of the file's first bytes and of those before an offset."""
    try:
        with path.open("rb") as handle:
            head = handle.read(min(HEAD_BYTES, offset))
            handle.seek(max(0, offset - TAIL_BYTES))
            tail = handle.read(min(TAIL_BYTES, offset))
    except OSError:
        return "", ""
    return _hash(head), _hash(tail)


def _hash(content: bytes) -> str:
    return f"{len(content)}:{hashlib.blake2b(content, digest_size=12).hexdigest()}"
