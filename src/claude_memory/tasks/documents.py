"""Task documents on disk: their format, where a project keeps them, and their copy in the home.

A document is markdown with a small front matter. Each entry of a plan or a record ends in a comment whose
hash covers it and the one before: a change, a removal or an insertion breaks the chain from there on, and a
cut at the end is found by the end kept beside the file.

An initialised project keeps them in its own `.claude-memories/`, copied to the home as well, because
`git clean` deletes ignored files; any other project is never written to, and its files stand under the home
in the same layout. The copy gets every write that is made here and nothing else, so it also tells what was
written here from what came with a clone. A failure to write it does not fail the work.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from claude_memory import settings
from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.platform import files, locks, project
from claude_memory.platform.files import FOLDER, stays_inside
from claude_memory.tasks.model import Entry, digest
from claude_memory.text import markdown, times

WAIT_SECONDS = 30.0
_ROOT = ".root"  # in a copy: whose it is, so that it can be told when that is gone
UNSEALED = "unsealed"  # text found without a seal: a write a crash cut short, or an edit by hand
_FENCE = b"---\n"
_PLAIN = re.compile(r"[A-Za-z0-9](?:[\w.:@+/-]*[\w.@+/-])?")
_SEAL = re.compile(rb"^<!-- entry (\d+) ([0-9a-f]{16}) -->\n", re.MULTILINE)
_LOOKALIKE = re.compile(r"^(&(?:amp;)*lt;|<)(!-- entry \d)", re.MULTILINE)
_ESCAPED = re.compile(r"^&((?:amp;)*)lt;(!-- entry \d)", re.MULTILINE)
_HEADING = re.compile(r"^## (\d{4}-\d\d-\d\dT[\d:.]+Z) · ([^\n]*?)(?: \[([^\]\n]*)\])?$")
_LONG_BYTES = 65_536  # of a longer record only the end is read to add to it: an entry costs the same


class Tail(NamedTuple):
    """Where the next entry goes on: number and seal of the last one, its time, and what follows it."""

    number: int
    seal: str
    time: datetime | None = None
    rest: bytes = b""


class Document(NamedTuple):
    """A file taken apart: `head` is the front matter's bytes, fences included."""

    fields: Mapping[str, str]
    head: bytes
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").strip("\n")

    @property
    def created_at(self) -> datetime | None:
        return times.stated(self.fields.get("created"))

    @property
    def sealed(self) -> list[tuple[int, str, bytes]]:
        chunks = _SEAL.split(self.body)
        triples = zip(chunks[1::3], chunks[2::3], chunks[0::3], strict=False)
        return [(int(number), seal.decode(), chunk) for number, seal, chunk in triples]

    @property
    def tail(self) -> Tail:
        """The end of the chain as it stands in the file; the front matter is covered too."""
        *_, rest = _SEAL.split(self.body)
        for number, seal, chunk in self.sealed[-1:]:
            return Tail(number, seal, _entry(number, chunk).time, rest)
        return Tail(0, _hash(b"", self.head), rest=rest)

    @property
    def entries(self) -> list[Entry]:
        """The entries of a record, or a plan with its amendments: its own heading is the front matter."""
        entries = [_entry(number, chunk) for number, _, chunk in self.sealed]
        if entries and self.fields.get("phase") == "plan":
            entries[0] = Entry(entries[0].number, entries[0].text, self.created_at, self.fields.get("by", ""))
        return entries

    @property
    def texts(self) -> list[str]:
        """Every text in it: the whole, each entry, and what stands after the last seal."""
        return [self.text, *(entry.text for entry in self.entries), _entry(0, self.tail.rest).text]

    def faults(self, end: tuple[int, str] | None) -> list[str]:
        """What is wrong with the chain, in words; `end` is what was kept beside the file."""
        sealed, wrong = self.sealed, []
        before = _hash(b"", self.head)
        for place, (number, seal, chunk) in enumerate(sealed, 1):
            if number != place:
                wrong.append(f"entry {place} is missing or out of place")
                break
            if seal != _hash(before.encode(), chunk):
                where = "front matter or entry 1" if place == 1 else f"entry {place}"
                wrong.append(f"{where} of {len(sealed)} was changed after it was written")
                break
            before = seal
            if place > 1 and UNSEALED in _entry(number, chunk).marks:
                wrong.append(f"entry {place} was cut short by a crash or added by hand")
        else:
            if end and end[0] > len(sealed):
                wrong.append(f"{end[0] - len(sealed)} of {end[0]} entries are missing from the end")
            elif end and [seal for _, seal, _ in sealed[end[0] - 1 : end[0]]] != [end[1]]:
                wrong.append("it was replaced by a record with other content")
        if self.tail.rest.strip(b"\n"):
            wrong.append(f"text after entry {len(sealed)} was not written by claude-memory")
        return wrong


def _entry(number: int, chunk: bytes) -> Entry:
    text = chunk.decode("utf-8", "replace").strip("\n")
    heading, _, rest = text.partition("\n")
    match = _HEADING.match(heading)
    text = rest.strip("\n") if match else text
    text = _ESCAPED.sub(lambda m: ("&" + m[1][4:] + "lt;" if m[1] else "<") + m[2], text)
    if match is None:
        return Entry(number, text, marks=(UNSEALED,))
    marks = tuple(filter(None, map(str.strip, (match[3] or "").split(";"))))
    return Entry(number, text, times.stated(match[1]), match[2], marks)


def parse(content: bytes) -> Document:
    """Take a document apart; one without front matter is all body."""
    end = content.find(b"\n" + _FENCE, len(_FENCE) - 1) if content.startswith(_FENCE) else -1
    if end < 0:
        return Document({}, b"", content)
    head = content[: end + 1 + len(_FENCE)]
    meta = markdown.front_matter(head.decode("utf-8", "replace").splitlines()[1:-1])
    return Document({key: markdown.first(meta, key) for key in meta}, head, content[len(head) :])


def front_matter(fields: Mapping[str, str]) -> bytes:
    """The head of a document; values that YAML could misread are quoted."""
    lines = [
        f"{key}: {value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)}"
        for key, value in fields.items()
    ]
    return _FENCE + encoded("\n".join(lines)) + b"\n" + _FENCE


def continued(
    tail: Tail, text: str, *, now: datetime | None, by: str = "", marks: Sequence[str] = ()
) -> tuple[bytes, Tail]:
    """The bytes to append for a new entry, and the chain's new end. Loose text is sealed first."""
    before = b""
    if tail.rest.strip():
        # The loose text is on the disk already: only its seal is added, and nothing is ever removed.
        before, tail = _sealed(tail, b"" if tail.rest.endswith(b"\n") else b"\n", tail.time)
    if now is not None and tail.time is not None and now <= tail.time:
        now = tail.time + timedelta(microseconds=1)  # in order of time even if the clock steps back
    shown = f" [{'; '.join(marks)}]" if marks else ""
    heading = f"## {stamp(now)} · {by}{shown}\n\n" if now is not None else ""
    text = _LOOKALIKE.sub(lambda m: ("&lt;" if m[1] == "<" else "&amp;" + m[1][1:]) + m[2], text.strip("\n"))
    sealed, end = _sealed(tail, encoded(f"\n{heading}{text}\n\n"), now)
    return before + sealed, end


def _sealed(tail: Tail, chunk: bytes, time: datetime | None) -> tuple[bytes, Tail]:
    number = tail.number + 1
    seal = _hash(tail.seal.encode(), tail.rest + chunk)
    return chunk + f"<!-- entry {number} {seal} -->\n".encode(), Tail(number, seal, time)


def _hash(before: bytes, chunk: bytes) -> str:
    return hashlib.sha256(before + b"\0" + chunk).hexdigest()[:16]


def encoded(text: str) -> bytes:
    """UTF-8; what cannot be encoded becomes a visible mark instead of an error."""
    return text.encode("utf-8", "backslashreplace")


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _opened(path: Path, flags: int) -> BinaryIO:
    flags |= getattr(os, "O_NOFOLLOW", 0)
    mode = "rb" if flags & (os.O_WRONLY | os.O_RDWR) == 0 else "wb"
    return cast("BinaryIO", os.fdopen(os.open(path, flags, files.FILE_MODE), mode, buffering=0))


def read(path: Path, size: int = -1) -> Document:
    with _opened(path, os.O_RDONLY) as handle:
        return parse(handle.read(size))


def read_tail(path: Path) -> Tail:
    """The end of a document's chain; the last part of a long one is enough if two entries end there."""
    if path.stat().st_size > _LONG_BYTES:
        with _opened(path, os.O_RDONLY) as handle:
            handle.seek(-_LONG_BYTES // 2, os.SEEK_END)
            end = Document({}, b"", handle.read())
        if len(end.sealed) > 1:
            return end.tail
    return read(path).tail


def read_if_there(path: Path) -> bytes:
    """The file's content; nothing where there is none, or a link. Any other failure is one: a file that
    cannot be read now must not be taken for lost."""
    try:
        with _opened(path, os.O_RDONLY) as handle:
            return handle.read()
    except OSError as fault:
        if fault.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return b""
        raise


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_if_there(path))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def listing(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def write(path: Path, content: bytes, *, mode: int = files.FILE_MODE) -> None:
    files.private_folder(path.parent)
    files.write_atomically(path, content, mode=mode)


def append(path: Path, content: bytes) -> None:
    """Add bytes to the end in one write; `make_durable` brings them to the disk."""
    with _opened(path, os.O_WRONLY | os.O_APPEND) as handle:
        view = memoryview(content)
        while view:  # the system may take less than it is offered
            view = view[handle.write(view) :]


def make_durable(path: Path) -> None:
    with _opened(path, os.O_WRONLY) as handle:
        files.sync_file(handle)


def beside(document: Path, folder: str) -> Path:
    """What is kept for a document: the end of its chain in `.heads`, its earlier texts in `.history`."""
    return document.parent / folder / document.name.removesuffix(".md")


def read_end(document: Path) -> tuple[int, str] | None:
    try:
        number, seal = beside(document, ".heads").read_text("ascii").split()
        return int(number), seal
    except (OSError, ValueError):
        return None


def write_end(document: Path, tail: Tail) -> None:
    """Remember a chain's end. One short write in place: behind after a crash, but never torn."""
    path = beside(document, ".heads")
    files.private_folder(path.parent)
    with _opened(path, os.O_WRONLY | os.O_CREAT) as handle:
        handle.write(f"{tail.number:>15} {tail.seal}\n".encode("ascii"))


def keep_version(scratchpad: Path) -> Path:
    """Keep the present text among the earlier ones, numbered; nothing is ever dropped."""
    target = beside(scratchpad, ".history") / f"{max(versions(scratchpad), default=0) + 1:04}.md"
    write(target, read_if_there(scratchpad))
    written = scratchpad.stat().st_mtime_ns
    os.utime(target, ns=(written, written))  # a version is as old as its text
    return target


def versions(scratchpad: Path) -> dict[int, Path]:
    paths = (Path(entry.path) for entry in listing(beside(scratchpad, ".history")))
    return {int(path.stem): path for path in paths if path.suffix == ".md" and path.stem.isdecimal()}


# --- where a project keeps them


def held(path: Path, *, wait_seconds: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """Hold a lock of task files, waiting for a live owner; Conflict when it does not let go in time."""
    files.private_folder(path.parent)
    conflict = f"another process holds {path} for over {wait_seconds:g} s; try again"
    return locks.held(path, wait_seconds=wait_seconds, conflict=conflict)


@dataclass(frozen=True, slots=True)
class Storage:
    """The folder new files go to, others that are read too, and the copy in the home."""

    folder: Path
    root: Path
    home: Path
    also: tuple[Path, ...] = ()
    mirror: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.folder, *self.also)

    @property
    def read_only(self) -> int:
        """The mode of what must not be changed; the home's files are nobody else's to read."""
        return 0o400 if self.folder.is_relative_to(self.home) else 0o444

    def inside(self, path: Path) -> Path:
        """The path itself, or InvalidInput when a link leads it out of the storage."""
        if not any(stays_inside(path, folder) for folder in self.folders):
            real = os.path.realpath(path)
            raise InvalidInput(f"{path} leads outside the task folder, to {real}; remove the link")
        return path

    def lock(self, name: str, folder: Path | None = None) -> AbstractContextManager[None]:
        return held(self.inside((folder or self.folder) / ".locks" / name))

    def write(self, path: Path, content: bytes, *, mode: int = files.FILE_MODE) -> None:
        write(self.inside(path), content, mode=mode)
        self.copy(path)

    def append(self, path: Path, content: bytes) -> None:
        """Add to a file, and to its copy: of one that came with a clone, only what is added is copied."""
        append(path, content)
        with contextlib.suppress(OSError):
            if target := self.copy_of(path):
                if not target.exists():
                    self.copy(path, read(path).head)
                append(target, content)

    def bring_back(self, path: Path, content: bytes) -> None:
        """Write a document as it was; plans are read-only."""
        is_plan = path.name.endswith("plan.md")
        write(path, content, mode=self.read_only if is_plan else files.FILE_MODE)

    def copy_of(self, path: Path) -> Path | None:
        if self.mirror is None or not path.is_relative_to(self.folder):
            return None
        return self.mirror / path.relative_to(self.folder)

    def copy(self, path: Path, part: bytes | None = None) -> None:
        """Copy a file whose whole content was just written here, or the part of it that was."""
        with contextlib.suppress(OSError):
            if self.mirror and (target := self.copy_of(path)):
                write(target, path.read_bytes() if part is None else part)
                if not (self.mirror / _ROOT).exists():
                    write(self.mirror / _ROOT, os.fsencode(self.root))

    def missing(self) -> list[Path]:
        """Files that stand in a copy but no longer in the project, or in a work tree that is gone."""
        return [target for _, _, target in self._lost()]

    def recover(self) -> list[Path]:
        restored = []
        for copied, own, target in list(self._lost()):
            if own == self.root / FOLDER:
                project.prepare(self.root)
            if not stays_inside(target.parent, own):
                raise InvalidInput(f"{target.parent} leads outside the task folder; remove the link")
            self.bring_back(target, copied.read_bytes())
            self.copy(target)
            restored.append(target)
        return restored

    def _lost(self) -> Iterator[tuple[Path, Path, Path]]:
        """Each copy whose file is gone, the folder that it belongs to, and its place there.

        Looked at are the copy of this work tree, and those of work trees that are gone.
        """
        kept = self.mirror.parent.parent if self.mirror else self.folder
        here = _mirror_of(kept, self.root)  # perhaps of a `.claude-memories/` that is gone
        every = [(here, self.root / FOLDER)] if (here / "sessions").is_dir() else []
        for note in sorted(here.parent.glob("*/" + _ROOT)):
            if note.parent != here and not Path(os.fsdecode(note.read_bytes())).exists():
                every.append((note.parent, self.folder))
        for copies, own in every:
            # The copy of an archived session stays: it tells which of its texts were written here.
            archived = {path.stem[: -len("-20260101T000000")] for path in copies.glob("archive/*.zip")}
            for copied in sorted(copies.rglob("*")):
                place = copied.relative_to(copies)
                ours = place.parts[0][0] == "." or copied.suffix == ".tmp"
                lost = copied.is_file() and archived.isdisjoint(place.parts[1:2])
                if lost and not ours and not (own / place).exists():
                    yield copied, own, own / place


def storage_for(
    folder: Path | str | None = None, *, home: Path | None = None, storage_path: Path | str | None = None
) -> Storage:
    """The storage of the project a folder is in; `storage_path` overrides it."""
    home = home or settings.home()
    start = folder or Path.cwd()
    root = project.root_of(start)
    if storage_path is not None:
        return Storage(Path(storage_path).expanduser().absolute(), root, home)
    # The project's folders under the home: those that exist for any of its names, else a new one.
    named = [home / "projects" / digest(name, 16) for name in _names(start, home)]
    first, *others = [path for path in named if path.is_dir()] or named[:1]
    also = tuple(path for path in others if (path / "sessions").is_dir())
    own = root / FOLDER
    if not own.is_dir():
        return Storage(first, root, home, also)
    if not stays_inside(own, root):
        real = os.path.realpath(own)
        raise InvalidInput(f"{own} is a link that leads outside the project, to {real}; remove it")
    before = (first,) if (first / "sessions").is_dir() else ()
    return Storage(own, root, home, (*before, *also), _mirror_of(first, root))


def _mirror_of(kept: Path, root: Path) -> Path:
    """Where the task files of one work tree are copied to; two clones never share a copy."""
    return kept / "tasks-mirror" / digest(str(root))


def _names(folder: Path | str, home: Path) -> tuple[str, ...]:
    """The names the store has for the project; what a folder says of itself, where there is no store."""
    configured = settings.load(home)
    from claude_memory.store import database_path, open_store

    if database_path(home, configured.store).is_file():  # to ask for a name makes no store
        with contextlib.suppress(StoreFault), contextlib.closing(open_store(home, configured)) as store:
            return project.resolve(folder, store.project_for).identities
    return project.identify(folder).identities
