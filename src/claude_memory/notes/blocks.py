"""Machine-made text in files that people write: marked blocks, and nothing outside them is ever touched.

The end mark carries a short hash of each line the machine wrote. So a line that a person put inside a
block is recognised, and moves in front of it instead of being overwritten. A block's heading stands inside
it, so that it goes with it; where a person has that heading already, the block stands below theirs. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

try:
    from _blake2 import blake2b  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # another Python: the same hash, but `hashlib` loads more than a prompt hook should
    from hashlib import blake2b

DECISIONS, AGENT_DECISIONS = "decisions", "agent-decisions"
SETTLED, WORKSTREAMS, DISTILLED = "settled", "workstreams", "distilled"
KEY_FILES = "key-files"  # written by 0.1.0
LESSONS, AGENT_LESSONS, LEARNED, UNSOLVED = "lessons", "agent-lessons", "learned", "unsolved"
TODO, SESSIONS = "todo", "sessions"
PROMPTS, NOTES, AGENT_NOTES, EXCHANGES, NEXT = "prompts", "write-ahead", "agent-notes", "exchanges", "next"
# Every block by the file it stands in, with its heading; sessions stand in the day's log, and notes of
# agents in the knowledge base, too.
IN_FILES = {
    "MEMORY.md": {
        DECISIONS: "## Architecture decisions",
        AGENT_DECISIONS: "## Decisions noted by agents",
        SETTLED: "## Settled in sessions",
        WORKSTREAMS: "## Active Workstreams",
        DISTILLED: "## From the daily logs",
    },
    "tasks/lessons.md": {
        LESSONS: "",
        AGENT_LESSONS: "## Noted by agents",
        LEARNED: "## From failures that were solved",
        UNSOLVED: "## Failing, not solved yet",
    },
    "tasks/todo.md": {TODO: "## The agent's list"},
    "memory/working-buffer.md": {
        PROMPTS: "## Said lately",
        NOTES: "## Noted",
        AGENT_NOTES: "## Noted by agents",
        EXCHANGES: "## Last exchanges before the compaction",
        NEXT: "## Next",
    },
    "": {SESSIONS: "## Sessions"},
}
HEADINGS = {name: heading for blocks in IN_FILES.values() for name, heading in blocks.items()}
BY_PERSON = (DECISIONS, LESSONS, NOTES)  # a person's own words, put there by the machine
BY_AGENT = (AGENT_DECISIONS, AGENT_LESSONS, AGENT_NOTES, LEARNED)  # what is read back as theirs
FROM_SESSIONS = (SETTLED, WORKSTREAMS, KEY_FILES, LEARNED, UNSOLVED, TODO)  # records of sessions say the same

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
                machine, human = _written(lines[opened[0] + 1 : place], end[1:])
                found.append(Block(end[0], opened[0], place, machine, human))
            opened = None
    return [block for block in found if name is None or block.name == name]


def content(text: str, name: str) -> list[str]:
    """The machine's lines of a block, in order, without its heading."""
    machine = [line for block in find(text.split("\n"), name) for line in block.machine]
    return [line for line in machine if not line.startswith("#")]


def updated(text: str, name: str, wanted: Sequence[str]) -> str:
    """The text with the block saying `wanted`; every line a person wrote stays, in order.

    A new block goes below its heading, else to the end. No wanted lines: the block goes.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    present = find(lines, name)
    heading = HEADINGS.get(name, "")
    if not wanted and not present:
        return text
    theirs = bool(heading) and heading in human_lines(text)
    drawn = drawn_block(name, wanted if theirs or not heading else [heading, *wanted]) if wanted else []
    if not present and not theirs:
        gap = "" if text in ("", "\ufeff") or text.endswith(("\n\n", "\r\n\r\n")) else newline
        gap += newline if gap and not text.endswith("\n") else ""
        return text + gap + newline.join(drawn) + newline
    drawn = [line + newline[:-1] for line in drawn]
    if not present:
        below = 1 + next(place for place, line in enumerate(lines) if line.rstrip("\r") == heading)
        return "\n".join([*lines[:below], *drawn, *lines[below:]])
    return "\n".join(_without(lines, present, drawn))


def drawn_block(name: str, wanted: Sequence[str]) -> list[str]:
    """A block's lines, marks and all; nothing in it can end it."""
    clean = [" ".join(line.splitlines()).replace("<!--", "").replace("-->", "").rstrip() for line in wanted]
    hashes = "".join(f" {short(line)}" for line in clean)
    return [f"{_BEGIN}{name}{_CLOSE}", *clean, f"{_END}{name}{hashes}{_CLOSE}"]


def human_lines(text: str) -> list[str]:
    """What people wrote: everything outside blocks and what they put inside, in the order it will have."""
    lines = text.split("\n")
    return [line.rstrip("\r") for line in _without(lines, find(lines), ())]


def _without(lines: Sequence[str], taken: Sequence[Block], instead: Sequence[str]) -> list[str]:
    """A text's lines without these blocks but with what people put inside, and `instead` at the first."""
    result: list[str] = []
    place = 0
    for number, block in enumerate(taken):
        result += [*lines[place : block.first], *block.human, *([] if number else instead)]
        place = block.last + 1
    return [*result, *lines[place:]]


def _mark(line: str, kind: str) -> list[str]:
    """A mark's name and hashes; nothing for any other line."""
    if not (line.startswith(kind) and line.endswith(_CLOSE)):
        return []
    name, *hashes = line[len(kind) : -len(_CLOSE)].split(" ")
    whole = name and _LETTERS.issuperset(name) and all(len(h) == 6 and _DIGITS.issuperset(h) for h in hashes)
    return [name, *hashes] if whole else []


def _written(lines: Sequence[str], hashes: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    machine: list[str] = []
    human: list[str] = []
    for line in lines:
        mark = short(line.rstrip("\r"))
        if mark in hashes:
            del hashes[: hashes.index(mark) + 1]
            machine.append(line.rstrip("\r"))
        else:
            human.append(line)
    return tuple(machine), tuple(human)


def short(text: str, size: int = 3) -> str:
    """A hash as twice `size` hexadecimal digits."""
    return str(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest())
