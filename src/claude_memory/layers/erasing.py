"""Taking erased words out of the plain files: out of the machine's own lines, never out of a person's.

Where a person wrote them down as well, that place is told, for only they may change it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from claude_memory.erasure import says, wanted, without
from claude_memory.errors import MemoryFault
from claude_memory.layers import blocks
from claude_memory.layers.editing import edit
from claude_memory.layers.places import PersonFiles, ProjectFiles

_MARKUP = "-*>#| \t[]x"


def purge(home: Path, files: ProjectFiles, texts: Sequence[str]) -> list[str]:
    """Remove what quotes one of the texts; gives the places, as file:line, where a person still says it."""
    quoted = wanted(texts)
    if not quoted:
        return []
    person = PersonFiles(home)
    imported = {path for base in files.imported for path in files.all() if path.is_relative_to(base)}
    ours = [path for path in (*files.all(), *_copies(files)) if path not in imported]
    for path in ours:
        _edited(path, lambda text: _blocks_without(text, quoted), home)
    for path in sorted(person.sessions.glob("*.jsonl")):
        _edited(path, lambda text: _records_without(text, quoted), home)
    read = (*ours, *imported, person.memory, person.reflections, *sorted(person.sessions.glob("*.jsonl")))
    return [place for path in read for place in _places(path, quoted)]


def _copies(files: ProjectFiles) -> list[Path]:
    return sorted((files.kept / "files").rglob("*.md"))


def _edited(path: Path, change: Callable[[str], str], home: Path) -> None:
    with contextlib.suppress(MemoryFault, OSError):  # what cannot be changed is told of as a place
        edit(path, change, home=home)


def _blocks_without(text: str, quoted: Sequence[str]) -> str:
    for block in blocks.find(text.split("\n")):
        kept = [line for line in block.machine if not _line_says(line, quoted)]
        if len(kept) < len(block.machine):
            text = blocks.updated(text, block.name, kept)
    return text


def _records_without(text: str, quoted: Sequence[str]) -> str:
    return "\n".join(_record_without(line, quoted) for line in text.split("\n"))


def _record_without(line: str, quoted: Sequence[str]) -> str:
    try:
        record = json.loads(line) if line.strip() else None
    except ValueError:
        return line
    left = without(record, quoted)
    return line if left == record else json.dumps(left, ensure_ascii=False)


def _places(path: Path, quoted: Sequence[str]) -> Iterator[str]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, 1):
        if _line_says(line, quoted):
            yield f"{path}:{number}"


def _line_says(line: str, quoted: Sequence[str]) -> bool:
    """Whether a line, a cell of its table or what stands behind its label says it."""
    parts = [line, *line.split("|"), *(line.partition(": ")[2:])]
    return any(says(part.strip(_MARKUP), quoted) for part in parts if part.strip(_MARKUP))
