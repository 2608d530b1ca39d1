"""Task documents on disk: markdown with a small front matter, sealed entries, and earlier texts.

Each entry of a plan or a record ends in a comment whose hash covers it and the one before: a change, a
removal or an insertion breaks the chain from there on, and a cut at the end is found by the end kept beside
the file. Which file belongs to which task is not known here.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from claude_memory.errors import NotFound
from claude_memory.platform import files
from claude_memory.tasks.model import Entry, Version
from claude_memory.text import markdown

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


@dataclass(frozen=True, slots=True)
class Document:
    """A file taken apart: `head` is the front matter's bytes, fences included."""

    fields: Mapping[str, str]
    head: bytes
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").strip("\n")

    @property
    def created_at(self) -> datetime | None:
        return moment(self.fields.get("created"))

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
            by = self.fields.get("by", "")
            entries[0] = replace(entries[0], time=self.created_at, by=by, marks=())
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
    marks = tuple(mark.strip() for mark in (match[3] or "").split(";") if mark.strip())
    return Entry(number, text, moment(match[1]), match[2], marks)


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


def moment(text: str | None) -> datetime | None:
    """A time read back; None when it is none."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# --- files


def _opened(path: Path, flags: int) -> BinaryIO:
    """An open file; a link in its place is an error, not a detour."""
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
    """A JSON object of ours; an empty one when there is none, or it is broken."""
    try:
        content = json.loads(read_if_there(path))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def listing(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, by name; nothing where there is none."""
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
    """Return only when everything written to the file so far is on the disk."""
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


# --- earlier texts of a scratchpad: every save keeps the one before, numbered, and nothing is dropped


def keep_version(scratchpad: Path) -> Path:
    target = beside(scratchpad, ".history") / f"{max(_versions(scratchpad), default=0) + 1:04}.md"
    write(target, read_if_there(scratchpad))
    written = scratchpad.stat().st_mtime_ns
    os.utime(target, ns=(written, written))  # a version is as old as its text
    return target


def versions(scratchpad: Path) -> list[Version]:
    earlier = []
    for number, path in sorted(_versions(scratchpad).items()):
        document, saved = read(path), datetime.fromtimestamp(path.stat().st_mtime, UTC)
        earlier.append(Version(number, saved, document.fields.get("by", ""), len(document.text), path))
    return earlier


def version_text(scratchpad: Path, number: int) -> str:
    present = _versions(scratchpad)
    if number not in present:
        raise NotFound(f"{scratchpad.name} has no version {number}; it has {len(present)}, see --history")
    return read(present[number]).text


def _versions(scratchpad: Path) -> dict[int, Path]:
    paths = (Path(entry.path) for entry in listing(beside(scratchpad, ".history")))
    return {int(path.stem): path for path in paths if path.suffix == ".md" and path.stem.isdecimal()}
