"""Takes erased sentences out of every file of a home, and tells where they still stand.

What the machine wrote loses them: caches, logs, session records, knowledge, its blocks in Markdown. What a
person wrote is never touched: its place is told, for only they may change it. What holds a sentence,
`erasure` decides.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from claude_memory.errors import MemoryFault
from claude_memory.notes import blocks
from claude_memory.notes.plain_files import edit
from claude_memory.redact.erasure import Holder, holds, says, without

_MARKUP = "-*>#| \t[]x"
_MODELS = Path("cache", "models")  # weights: large, and nobody's words
_MANY = 200  # places told of one file


def purge(home: Path, holder: Holder, folders: Sequence[Path] = ()) -> None:
    """Take the sentences out of what the machine wrote in the home, and in its blocks under `folders`.

    Store and mirror have their own ways. What cannot be changed now is found again by `places`.
    """
    for path in _files(home):
        with contextlib.suppress(MemoryFault, OSError):
            _purge_file(home, path, holder)
    for path in (path for folder in folders for path in _files(folder) if path.suffix == ".md"):
        with contextlib.suppress(MemoryFault, OSError):
            edit(path, lambda text: _blocks_without(text, holder), home=home)


def _purge_file(home: Path, path: Path, holder: Holder) -> None:
    name = path.relative_to(home)
    top = name.parts[0]
    is_mirror = len(name.parts) == 1 and name.suffix == ".jsonl" and name.stem.partition("-")[0] == "memories"
    if is_mirror or _is_database(name) or top == "backups" or name.parts[:2] == ("spool", "new"):
        return
    if top in ("cache", "spool"):
        if holds(path.read_text("utf-8", "replace"), holder):
            path.unlink()  # made anew from the store, or a capture that nobody can read
    elif change := without if top == "logs" else _CHANGES.get(path.suffix):
        edit(path, lambda text: str(change(text, holder)), home=home)


def _is_database(name: Path) -> bool:
    return len(name.parts) == 1 and name.name.startswith("memory.db")


def places(paths: Iterable[Path], holder: Holder) -> list[str]:
    """Where the sentences stand, as file:line; folders are read with all that is in them."""
    return [place for path in paths for file in _files(path) for place in _places(file, holder)]


def places_in_home(home: Path, holder: Holder, texts: Sequence[str]) -> list[str]:
    """The same for every byte of the home: its files, and the store's by the very words."""
    found = []
    for path in _files(home):
        name = path.relative_to(home)
        if name.parts[0] == "backups":
            found.append(f"{path} (made before; restoring it takes this out again)")
        elif _is_database(name):
            with (
                contextlib.suppress(OSError, ValueError),  # gone meanwhile, or empty
                path.open("rb") as handle,
                mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content,
            ):
                if any(content.find(text.encode("utf-8", "replace")) >= 0 for text in texts):
                    found.append(str(path))
        else:
            found += _places(path, holder)
    return found


def _files(path: Path) -> Iterator[Path]:
    """The files under a folder, or the file itself. Links lead elsewhere and are left alone."""
    every = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    for file in [path, *sorted(every)]:
        if file.is_file() and not file.is_symlink() and not file.is_relative_to(path / _MODELS):
            yield file


def _places(path: Path, holder: Holder) -> Iterator[str]:
    try:
        with path.open("r", encoding="utf-8", errors="replace", newline="\n") as lines:
            held = [number for number, line in enumerate(lines, 1) if holds(line, holder)]
        yield from (f"{path}:{number}" for number in held[:_MANY])
        if not held and path.suffix == ".md" and holds(path.read_text("utf-8", "replace"), holder):
            yield str(path)  # broken over lines
    except OSError:
        return


def _blocks_without(text: str, holder: Holder) -> str:
    for block in blocks.find(text.split("\n")):
        if any(_line_says(line, holder) for line in block.machine):
            lines = blocks.content(text, block.name)
            text = blocks.updated(text, block.name, [line for line in lines if not _line_says(line, holder)])
    return text


def _line_says(line: str, holder: Holder) -> bool:
    """Whether a line, a cell of its table or what stands behind its label says it."""
    parts = [line, *line.split("|"), *(line.partition(": ")[2:])]
    return any(says(part.strip(_MARKUP), holder) for part in parts if part.strip(_MARKUP))


def _records_without(text: str, holder: Holder) -> str:
    """Lines of JSON; one in which nothing else was said goes."""
    kept = []
    for line in text.split("\n"):
        record = _parsed(line)
        left = without([record], holder, pieces=True)
        if left == [record]:
            kept.append(line)
        elif left:
            kept.append(json.dumps(left[0], ensure_ascii=False))
    return "\n".join(kept)


def _document_without(text: str, holder: Holder) -> str:
    document = _parsed(text)
    left = without(document, holder, pieces=True)
    return text if left == document else json.dumps(left, ensure_ascii=False, indent=1) + "\n"


def _parsed(text: str) -> Any:
    """What JSON makes of a text; None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_CHANGES: dict[str, Callable[[str, Holder], str]] = {
    ".md": _blocks_without,
    ".jsonl": _records_without,
    ".json": _document_without,
}
