"""Reading what people and agents wrote, whatever state it is in: broken bytes, merge conflicts, half a line.

What can be read is read; the rest is named with its line. Nothing here writes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MAX_BYTES = 4 << 20
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})( |$)")


class Problem(NamedTuple):
    """A line that could not be used, and why."""

    path: Path
    line: int
    reason: str


class Lines(NamedTuple):
    """A text file's lines (without line ends, numbered from 1) and what was wrong with it."""

    path: Path
    lines: tuple[tuple[int, str], ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def text(self) -> str:
        """All readable lines."""
        return "\n".join(line for _, line in self.lines)


class JsonRecord(NamedTuple):
    """One JSON object of a file of lines."""

    line: int
    value: dict[str, Any]


def read_bytes(path: Path) -> bytes:
    """A regular file's content, at most 4 MB; nothing for what is missing, a link or a device."""
    try:
        descriptor = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0),
        )
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return handle.read(MAX_BYTES)


def read_lines(path: Path) -> Lines:
    """The lines of a text, conflict markers left out and reported."""
    return parse_lines(path, read_bytes(path))


def parse_lines(path: Path, content: bytes) -> Lines:
    """The lines in these bytes."""
    lines: list[tuple[int, str]] = []
    problems: list[Problem] = []
    for number, raw in enumerate(_split(content), 1):
        text, is_clean = _decoded(raw)
        if not is_clean:
            problems.append(Problem(path, number, "not UTF-8: read as far as possible"))
        if _CONFLICT.match(text):
            problems.append(Problem(path, number, "a merge conflict was not resolved: both sides are read"))
            continue
        lines.append((number, text))
    return Lines(path, tuple(lines), tuple(problems))


def read_records(path: Path) -> tuple[list[JsonRecord], list[Problem]]:
    """The JSON objects of a file of lines, and the lines that are none."""
    return records_of(read_lines(path))


def records_of(found: Lines) -> tuple[list[JsonRecord], list[Problem]]:
    """The JSON objects in these lines, and the lines that are none."""
    records: list[JsonRecord] = []
    problems = [problem for problem in found.problems if "conflict" in problem.reason]
    for number, text in found.lines:
        if not text.strip():
            continue
        value = _object(text)
        if value is None:
            problems.append(Problem(found.path, number, "not a JSON object: this line is passed over"))
        else:
            records.append(JsonRecord(number, value))
    return records, problems


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _split(content: bytes) -> Iterator[bytes]:
    if not content:
        return
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for line in lines:
        yield line.removesuffix(b"\r")


def _decoded(raw: bytes) -> tuple[str, bool]:
    try:
        return raw.decode("utf-8"), True
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), False
