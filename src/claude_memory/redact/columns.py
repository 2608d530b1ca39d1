"""Secrets in a column of a table: its head says what the cells below are. Pure.

A pattern finds heads (`| user | password |`, `user,password`); what stands in their column in the lines
below, as long as these are lines of the same table, is a find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_MAX_ROWS = 200
_MAX_LINE = 2000
_EDGES = b" \t*`\"'"
_RULER = re.compile(rb"[\s|:+=-]*")


def find_columns(shadow: bytes, heads: Any) -> Iterator[tuple[int, int]]:
    """Where the cells of secret columns begin and end."""
    for head in heads.finditer(shadow):
        start = shadow.rfind(b"\n", 0, head.start(1)) + 1
        end = _line_end(shadow, start)
        line = shadow[start:end]
        mark = _separator(line, head.start(1) - start, head.end(1) - start)
        if mark and len(line) <= _MAX_LINE:
            column = line[: head.start(1) - start].count(mark)
            yield from _cells(shadow, end + 1, mark, line.count(mark), column)


def _separator(line: bytes, start: int, end: int) -> bytes | None:
    beside = line[:start].rstrip(_EDGES)[-1:] + line[end:].lstrip(_EDGES)[:1]
    return next((mark for mark in (b"|", b"\t", b",", b";") if mark in beside), None)


def _cells(shadow: bytes, start: int, mark: bytes, count: int, column: int) -> Iterator[tuple[int, int]]:
    for _ in range(_MAX_ROWS):
        end = _line_end(shadow, start)
        line = shadow[start:end]
        if start >= len(shadow) or len(line) > _MAX_LINE or line.count(mark) != count:
            return
        if not _RULER.fullmatch(line):
            cells = line.split(mark)
            before = start + sum(len(cell) + 1 for cell in cells[:column])
            value = cells[column].strip(b" \t\r*`\"'")
            place = before + cells[column].find(value)
            if value and not value.isspace() and b"\0" not in value and b" " not in value:
                yield place, place + len(value)
        start = end + 1


def _line_end(shadow: bytes, start: int) -> int:
    end = shadow.find(b"\n", start)
    return len(shadow) if end == -1 else end
