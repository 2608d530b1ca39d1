"""Machine-made text in files that people write: marked blocks, and nothing outside them is ever touched.

The end mark carries a short hash of each line the machine wrote. So a line that a person put inside a
block is recognised, and moves in front of it instead of being overwritten. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claude_memory.notes.digest import short

_BEGIN = "<!-- claude-memory:begin "
_END = "<!-- claude-memory:end "
_CLOSE = " -->"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz-")
_DIGITS = frozenset("0123456789abcdef")


class Block(NamedTuple):
    """A block found in a text: its place (mark to mark), the machine's lines, a person's lines inside."""

    name: str
    first: int
    last: int
    machine: tuple[str, ...]
    human: tuple[str, ...]


def find(lines: Sequence[str], name: str | None = None) -> list[Block]:
    """The whole blocks of a text, in order. A mark without its partner is a person's line like any other."""
    found: list[Block] = []
    opened: tuple[int, str] | None = None
    for place, raw in enumerate(lines):
        line = raw.rstrip("\r")
        begin, end = _mark(line, _BEGIN), _mark(line, _END)
        if begin and len(begin) == 1:
            opened = (place, begin[0])
        elif end and opened is not None:
            if opened[1] == end[0]:
                found.append(_block(lines, opened[0], place, end))
            opened = None
    return [block for block in found if name is None or block.name == name]


def content(text: str, name: str) -> list[str]:
    """The machine's lines of a block, in order."""
    return [line for block in find(text.split("\n"), name) for line in block.machine]


def updated(text: str, name: str, wanted: Sequence[str], *, heading: str = "") -> str:
    """The text with the block saying `wanted`; every line a person wrote stays, in order.

    A new block goes to the end, under its heading. No wanted lines: the block goes.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    present = find(lines, name)
    if not present:
        return _appended(text, _drawn(name, wanted, newline, heading), newline) if wanted else text
    end_of_line = "\r" if newline == "\r\n" else ""
    result: list[str] = []
    place = 0
    for number, block in enumerate(present):
        result += [*lines[place : block.first], *block.human]
        if number == 0 and wanted:
            result += [line + end_of_line for line in _marked(name, wanted)]
        place = block.last + 1
    return "\n".join([*result, *lines[place:]])


def human_lines(text: str) -> list[str]:
    """What people wrote: everything outside blocks and what they put inside, in the order it will have."""
    lines = text.split("\n")
    result: list[str] = []
    place = 0
    for block in find(lines):
        result += [*lines[place : block.first], *block.human]
        place = block.last + 1
    return [line.rstrip("\r") for line in [*result, *lines[place:]]]


def _mark(line: str, kind: str) -> list[str]:
    """A mark's name and hashes; nothing for any other line."""
    if not (line.startswith(kind) and line.endswith(_CLOSE)):
        return []
    name, *hashes = line[len(kind) : -len(_CLOSE)].split(" ")
    whole = name and _LETTERS.issuperset(name) and all(len(h) == 6 and _DIGITS.issuperset(h) for h in hashes)
    return [name, *hashes] if whole else []


def _block(lines: Sequence[str], first: int, last: int, end: Sequence[str]) -> Block:
    inside = list(lines[first + 1 : last])
    hashes = list(end[1:])
    machine: list[str] = []
    human: list[str] = []
    place = 0
    for line in inside:
        mark = _hash(line.rstrip("\r"))
        if mark in hashes[place:]:
            place = hashes.index(mark, place) + 1
            machine.append(line.rstrip("\r"))
        else:
            human.append(line)
    return Block(end[0], first, last, tuple(machine), tuple(human))


def _drawn(name: str, wanted: Sequence[str], newline: str, heading: str) -> str:
    head = [heading, ""] if heading else []
    return newline.join([*head, *_marked(name, wanted)]) + newline


def _marked(name: str, wanted: Sequence[str]) -> list[str]:
    clean = [" ".join(line.splitlines()).replace("<!--", "").replace("-->", "").rstrip() for line in wanted]
    hashes = "".join(f" {_hash(line)}" for line in clean)
    return [f"<!-- claude-memory:begin {name} -->", *clean, f"<!-- claude-memory:end {name}{hashes} -->"]


def _appended(text: str, addition: str, newline: str) -> str:
    if not text or text == "\ufeff":
        return text + addition
    gap = "" if text.endswith(("\n\n", "\r\n\r\n")) else newline
    return f"{text}{'' if text.endswith(chr(10)) else newline}{gap}{addition}"


def _hash(line: str) -> str:
    return short(line.encode("utf-8", "surrogatepass"), 3)
