"""What of the daily logs belongs into MEMORY.md: proposed as a diff, applied only when a person says so."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from claude_memory.notes import blocks
from claude_memory.notes.documents import one_line, rewrite
from claude_memory.notes.long_term import DISTILLED, TITLE
from claude_memory.notes.places import ProjectFiles
from claude_memory.notes.reading import read_bytes, read_lines
from claude_memory.notes.triggers import scan

LASTING = ("decision", "architecture", "correction", "value")
MAX_PROPOSED = 30
_DAY = re.compile(r"^(\d{4}-\d\d-\d\d)\.md$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_STAMP = re.compile(r"^\d\d:\d\d\s+")
_DECIDED = re.compile(r"decided: (.*?)(?= · |$)")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be added, and how the file would change."""

    lines: tuple[str, ...]
    diff: str


def propose(files: ProjectFiles, *, since: date) -> Proposal:
    """What the logs from `since` on settled and MEMORY.md does not say yet."""
    before = read_bytes(files.memory).decode("utf-8", "surrogateescape")
    lines = tuple(_fresh(files, before, since))[:MAX_PROPOSED]
    after = _with(before, lines)
    diff = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        "MEMORY.md",
        "MEMORY.md, with what was distilled",
        lineterm="",
    )
    return Proposal(lines, "\n".join(diff))


def apply(files: ProjectFiles, home: Path, proposal: Proposal) -> bool:
    """Add what was proposed, to whatever the file says by now."""
    return rewrite(files, home, files.memory, lambda text: _with(text, proposal.lines))


def _with(text: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return text
    present = blocks.content(text, DISTILLED)
    wanted = [*present, *(line for line in lines if line not in present)]
    return blocks.updated(text or f"{TITLE}\n", DISTILLED, wanted, heading="## From the daily logs")


def _fresh(files: ProjectFiles, memory: str, since: date) -> Iterator[str]:
    known = _plain(memory)
    seen: set[str] = set()
    for day, path in _logs(files, since):
        for _, line in read_lines(path).lines:
            for text in _lasting(line):
                plain = _plain(text)
                if plain and plain not in known and plain not in seen:
                    seen.add(plain)
                    yield f"- {day}: {text}"


def _lasting(line: str) -> Iterator[str]:
    """What a line of a log settles; an entry of a session names its decisions itself."""
    decided = _DECIDED.search(line)
    if decided:
        yield from (one_line(part) for part in decided[1].split("; ") if part.strip())
        return
    spoken = _STAMP.sub("", _BULLET.sub("", line))
    if not spoken.startswith(("#", "<!--", "|")):
        yield from (one_line(found.text) for found in scan(spoken) if found.label in LASTING)


def _logs(files: ProjectFiles, since: date) -> Iterator[tuple[str, Path]]:
    for path in sorted(files.folder.glob("*.md")) if files.folder.is_dir() else []:
        found = _DAY.match(path.name)
        if found and found[1] >= f"{since:%Y-%m-%d}" and files.inside(path):
            yield found[1], path


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.lower()).strip()
