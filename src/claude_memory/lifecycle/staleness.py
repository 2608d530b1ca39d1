"""Whether a memory may be out of date: what it says of files, and its files as they were and as they are now.

A text may claim something of a file in two forms: `path::symbol`, and a sentence that names one file and sets
a value in backticks, such as "`retries = 5` in `src/client.py`". Of files that a memory is tied to, hashes of
their lines are kept, so that how much changed can be told. Reads files of the project only.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope, StoredMemory
from claude_memory.store.base import Store
from claude_memory.store.model import FileState
from claude_memory.text.sentences import sentences

# From this share of lines on a file counts as changed a lot: below it, most of what was said of it holds.
CHANGED_A_LOT = 0.5
_SAMPLE = 64  # smallest line hashes kept: tells the shared share to within some percent
STALE = "stale"  # the provenance's word for it
_MOST_CLAIMS, _MOST_BYTES, _READ_CHARACTERS = 5, 1 << 20, 20_000
_PATH = r"(?:[\w.@-]+/)*[\w.@-]+\.\w{1,8}"
_SYMBOL = re.compile(rf"(?<![\w/])({_PATH})::([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)(?:\(\))?")
_FILE = re.compile(rf"(?<![\w/.:-])({_PATH})(?![\w/:-])")
_VALUE = re.compile(r"""`([A-Za-z_][\w.-]{1,60})\s*(?:=|:)\s*["']?([\w.%+-]{1,40})["']?`""")


# --- the files that a memory is tied to


def sketch(content: bytes) -> str:
    """A file in few characters: the smallest hashes of its distinct lines, and of the whole."""
    lines = {line.strip() for line in content.splitlines()} - {b""}
    hashes = sorted(blake2b(line, digest_size=5).hexdigest() for line in lines)[:_SAMPLE]
    return f"{blake2b(content, digest_size=8).hexdigest()}:{''.join(hashes)}"


def changed_share(before: str, after: str) -> float:
    """How much of a file changed, 0 to 1, by two sketches."""
    one, other = (set(re.findall(r"\w{10}", text.partition(":")[2])) for text in (before, after))
    smallest = set(sorted(one | other)[:_SAMPLE])
    return 1.0 - len(smallest & one & other) / len(smallest) if smallest else 0.0


def tied(memories: Iterable[StoredMemory], root: Path) -> list[FileState]:
    """What the files of new memories hold right now; files outside the project are left alone."""
    files = ((memory.id, file, read_inside(root, file)) for memory in memories for file in memory.files)
    return [FileState(id_, file, sketch(content)) for id_, file, content in files if content is not None]


def refreshed(store: Store, project: Project, root: Path) -> int:
    """Compare files with what they were, and mark their memories; returns how many changed their standing.

    What speaks against a memory stands in its provenance, where ranking and context find it.
    """
    kept = store.lifecycle
    scope = SearchScope((project.id,))
    words: defaultdict[MemoryId, list[str]] = defaultdict(list)
    changed = []
    for state in kept.file_states(scope):
        now, content = f"{state.path} is gone", read_inside(root, state.path)
        if content is not None:
            share = changed_share(state.sketch, sketch(content))
            now = f"{state.path} changed by {share:.0%} since" if share >= CHANGED_A_LOT else ""
        words[state.memory] += [now] if now else []
        if now != state.stale:
            changed.append(state._replace(stale=now))
    if changed:
        kept.put_file_states(changed)
        for memory in store.memories.find(scope, MemoryFilter(), ids=[state.memory for state in changed]):
            rest = {name: value for name, value in memory.provenance.items() if name != STALE}
            mark = {STALE: "; ".join(words[memory.id])} if words[memory.id] else {}
            store.memories.update(replace(memory, provenance=rest | mark))
    return len({state.memory for state in changed})


# --- what a text says of files


def checked(text: str, root: Path) -> str:
    """In words what of a text's claims no longer holds; empty if all holds or nothing can be told."""
    return "; ".join(words for claim in claims(text) if (words := _against(*claim, root)))


def claims(text: str) -> list[tuple[str, str, str]]:
    """What a text says of files: the path, a name in it, and perhaps its value; few, and in a plain form."""
    head = text[:_READ_CHARACTERS]
    found = [(match[1], match[2], "") for match in _SYMBOL.finditer(head)]
    for sentence in (item.said for item in sentences(head)):
        values = _VALUE.findall(sentence)
        files = set(_FILE.findall(_VALUE.sub(" ", sentence))) if values else set()
        found += [(*files, *value) for value in values if len(files) == 1]
    return list(dict.fromkeys(found))[:_MOST_CLAIMS]


def _against(file: str, name: str, value: str, root: Path) -> str:
    content, path = read_inside(root, file), root / file
    if content is None:
        # A path that never was in this tree may be another machine's or a sentence's own: nothing is told.
        return f"{file} is gone" if "/" in file and path.parent.is_dir() and not path.exists() else ""
    last = re.escape(name if value else re.split(r"\.|::", name)[-1])
    text = content.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if re.search(rf"(?<!\w){last}(?!\w)", line)]
    if not lines:
        return f"{name} is gone from {file}"
    if not value or any(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", line) for line in lines):
        return ""
    now = re.search(rf"{last}[\"']?[ \t]*[=:][ \t]*[\"']?([\w.%+-]+)", "\n".join(lines))
    return f"{name} in {file} changed since" + (f", now {now[1]}" if now else "")


def read_inside(root: Path, file: str) -> bytes | None:
    """A file's first bytes, if it is a regular file inside the project; a link that leads out is none."""
    if "\0" in file:  # no file can be called so
        return None
    base = os.path.realpath(root)
    path = Path(os.path.realpath(Path(base) / file))
    try:
        # A pipe would be waited for without end.
        if not str(path).startswith(base + os.sep) or not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as handle:
            return handle.read(_MOST_BYTES)
    except OSError:
        return None
