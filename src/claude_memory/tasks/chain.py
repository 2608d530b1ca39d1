"""Sealed entries: each ends in a comment whose hash covers it and the one before.

A change, a removal or an insertion breaks the chain from there on; a cut at the end is found by the
head kept beside the file. Pure over bytes except for the head.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from claude_memory.platform.files import private_folder
from claude_memory.tasks.markdown import NO_FOLLOW, encoded, moment, read, stamp
from claude_memory.tasks.model import Entry

UNSEALED = "unsealed"  # text found without a seal: a write a crash cut short, or an edit by hand
_SEAL = re.compile(rb"^<!-- entry (\d+) ([0-9a-f]{16}) -->\n", re.MULTILINE)
_LOOKALIKE = re.compile(r"^(&(?:amp;)*lt;|<)(!-- entry \d)", re.MULTILINE)
_ESCAPED = re.compile(r"^&((?:amp;)*)lt;(!-- entry \d)", re.MULTILINE)
_HEADING = re.compile(r"^## (\d{4}-\d\d-\d\dT[\d:.]+Z) · ([^\n]*?)(?: \[([^\]\n]*)\])?$")
_TICK = timedelta(microseconds=1)
_END_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Sealed:
    """One entry with its seal."""

    number: int
    seal: str
    chunk: bytes

    @property
    def entry(self) -> Entry:
        """What was written."""
        text = self.chunk.decode("utf-8", "replace").strip("\n")
        heading, _, rest = text.partition("\n")
        match = _HEADING.match(heading)
        said = rest.strip("\n") if match else text
        said = _ESCAPED.sub(lambda m: ("&" + m[1][4:] + "lt;" if m[1] else "<") + m[2], said)
        if match is None:
            return Entry(self.number, said, marks=(UNSEALED,))
        marks = tuple(mark.strip() for mark in (match[3] or "").split(";") if mark.strip())
        return Entry(self.number, said, moment(match[1]), match[2], marks)


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the next entry goes on: number and seal of the last one, its time, and what follows it."""

    number: int
    seal: str
    time: datetime | None = None
    rest: bytes = b""


def start(head: bytes) -> Tail:
    """The beginning of a chain; the front matter is covered too."""
    return Tail(0, _hash(b"", head))


def tail_of(head: bytes, body: bytes) -> Tail:
    """The end of a chain as it stands in a file (or in its last part, when it has two seals)."""
    seals = list(_SEAL.finditer(body))
    if not seals:
        return Tail(0, start(head).seal, rest=body)
    last, before = seals[-1], seals[-2].end() if len(seals) > 1 else 0
    sealed = Sealed(int(last.group(1)), last.group(2).decode(), body[before : last.start()])
    return Tail(sealed.number, sealed.seal, sealed.entry.time, body[last.end() :])


def tail_in(path: Path) -> Tail:
    """The end of the chain in a document; of a long one, only its last part is read."""
    size = path.stat().st_size
    if size > 2 * _END_BYTES:
        with path.open("rb") as handle:
            handle.seek(size - _END_BYTES)
            end = handle.read()
        if len(entries(end)[0]) > 1:
            return tail_of(b"", end)
    document = read(path)
    return tail_of(document.head, document.body)


def continued(
    tail: Tail, text: str, *, now: datetime | None, by: str = "", marks: Sequence[str] = ()
) -> tuple[bytes, Tail]:
    """The bytes to append for a new entry, and the chain's new end. Loose text is sealed first."""
    before = b""
    if tail.rest.strip():
        # The loose text is on the disk already: only its seal is added, and nothing is ever removed.
        before, tail = _sealed(tail, b"" if tail.rest.endswith(b"\n") else b"\n", tail.time)
    if now is not None and tail.time is not None and now <= tail.time:
        now = tail.time + _TICK  # the record is ordered by time even if the clock steps back
    shown = f" [{'; '.join(marks)}]" if marks else ""
    heading = f"## {stamp(now)} · {by}{shown}\n\n" if now is not None else ""
    text = _LOOKALIKE.sub(lambda m: ("&lt;" if m[1] == "<" else "&amp;" + m[1][1:]) + m[2], text.strip("\n"))
    sealed, end = _sealed(tail, encoded(f"\n{heading}{text}\n\n"), now)
    return before + sealed, end


def entries(body: bytes) -> tuple[list[Sealed], bytes]:
    """Every sealed entry, and what stands after the last seal."""
    found, position = [], 0
    for seal in _SEAL.finditer(body):
        found.append(Sealed(int(seal.group(1)), seal.group(2).decode(), body[position : seal.start()]))
        position = seal.end()
    return found, body[position:].strip(b"\n")


def faults(head: bytes, body: bytes, known: tuple[int, str] | None) -> list[str]:
    """What is wrong with a chain, in words; `known` is the head kept beside the file."""
    sealed, loose = entries(body)
    seal, wrong = start(head).seal, []
    for place, item in enumerate(sealed, 1):
        if item.number != place:
            wrong.append(f"entry {place} is missing or out of place")
            break
        if item.seal != _hash(seal.encode(), item.chunk):
            where = "front matter or entry 1" if place == 1 else f"entry {place}"
            wrong.append(f"{where} of {len(sealed)} was changed after it was written")
            break
        seal = item.seal
        if place > 1 and UNSEALED in item.entry.marks:
            wrong.append(f"entry {place} was cut short by a crash or added by hand")
    else:
        if known and known[0] > len(sealed):
            wrong.append(f"{known[0] - len(sealed)} of {known[0]} entries are missing from the end")
        elif known and [item.seal for item in sealed[known[0] - 1 : known[0]]] != [known[1]]:
            wrong.append("it was replaced by a record with other content")
    if loose:
        wrong.append(f"text after entry {len(sealed)} was not written by claude-memory")
    return wrong


def read_head(document: Path) -> tuple[int, str] | None:
    """The number and seal last written to a document, if known."""
    try:
        number, seal = _head_path(document).read_text("ascii").split()
        return int(number), seal
    except (OSError, ValueError):
        return None


def write_head(document: Path, tail: Tail) -> None:
    """Remember a chain's end. One short write in place: behind after a crash, but never torn."""
    path = _head_path(document)
    private_folder(path.parent)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o600), "wb") as handle:
        handle.write(f"{tail.number:>15} {tail.seal}\n".encode("ascii"))


def _head_path(document: Path) -> Path:
    return document.parent / ".heads" / document.name.removesuffix(".md")


def _sealed(tail: Tail, chunk: bytes, time: datetime | None) -> tuple[bytes, Tail]:
    number = tail.number + 1
    seal = _hash(tail.seal.encode(), tail.rest + chunk)
    return chunk + f"<!-- entry {number} {seal} -->\n".encode(), Tail(number, seal, time)


def _hash(before: bytes, chunk: bytes) -> str:
    return hashlib.sha256(before + b"\0" + chunk).hexdigest()[:16]
