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
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from claude_memory.model import Kind, MemoryFilter, MemoryId, Project, SearchScope, StoredMemory
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
    if before == after:
        return 0.0
    one, other = _hashes(before), _hashes(after)
    if not one and not other:
        return 0.0
    smallest = set(sorted(one | other)[:_SAMPLE])
    return 1.0 - len(smallest & one & other) / max(len(smallest), 1)


def tied(memories: Iterable[StoredMemory], root: Path) -> list[FileState]:
    """What the files of new memories hold right now; files outside the project are left alone."""
    found = []
    for memory in memories:
        for file in memory.files:
            content = read_inside(root, file)
            if content is not None:
                found.append(FileState(memory.id, file, sketch(content)))
    return found


def refreshed(store: Store, project: Project, root: Path) -> int:
    """Compare files with what they were, and mark their memories; returns how many changed their standing."""
    kept = store.lifecycle
    scope = SearchScope((project.id,))
    words: defaultdict[MemoryId, list[str]] = defaultdict(list)
    changed = []
    for state in kept.file_states(scope):
        now = staleness(state, read_inside(root, state.path))
        words[state.memory] += [now] if now else []
        if now != state.stale:
            changed.append(state._replace(stale=now))
    if changed:
        kept.put_file_states(changed)
        for memory in store.memories.find(scope, MemoryFilter(), ids=[state.memory for state in changed]):
            store.memories.update(marked(memory, "; ".join(words[memory.id])))
    return len({state.memory for state in changed})


def marked(memory: StoredMemory, words: str) -> StoredMemory:
    """The memory with what speaks against it in its provenance, where ranking and context find it."""
    rest = {name: value for name, value in memory.provenance.items() if name != STALE}
    return replace(memory, provenance={**rest, STALE: words} if words else rest)


def staleness(state: FileState, content: bytes | None) -> str:
    """In words how a file differs from what it was; empty if it does not differ much."""
    if content is None:
        return f"{state.path} is gone"
    share = changed_share(state.sketch, sketch(content))
    return f"{state.path} changed by {share:.0%} since" if share >= CHANGED_A_LOT else ""


def _hashes(text: str) -> set[str]:
    _, _, hashes = text.partition(":")
    return {hashes[place : place + 10] for place in range(0, len(hashes), 10)}


# --- what a text says of files


class Claim(NamedTuple):
    """One thing said of a file: that it holds a name, and perhaps the value of it."""

    path: str
    name: str
    value: str = ""


def claims(text: str) -> list[Claim]:
    """What a text says of files, in its order; few, and only what has a plain form."""
    return list(dict.fromkeys(_claims(text[:_READ_CHARACTERS])))[:_MOST_CLAIMS]


def out_of_date(memory: StoredMemory, root: Path | None) -> str:
    """What of a memory the working tree at `root` no longer bears out: of its claims, else of its files.

    What was said and done at its time is no claim.
    """
    is_claim = memory.kind not in (Kind.OBSERVATION, Kind.SUMMARY)
    words = checked(memory.body, root) if is_claim and root is not None else ""
    return words or str(memory.provenance.get(STALE) or "")


def checked(text: str, root: Path) -> str:
    """In words what of a text's claims no longer holds; empty if all holds or nothing can be told."""
    return "; ".join(words for claim in claims(text) if (words := _against(claim, root)))


def _claims(text: str) -> Iterator[Claim]:
    for match in _SYMBOL.finditer(text):
        yield Claim(match[1], match[2])
    for sentence in (item.said for item in sentences(text)):
        values = _VALUE.findall(sentence)
        files = set(_FILE.findall(_VALUE.sub(" ", sentence))) if values else set()
        if len(files) == 1:
            (path,) = files
            yield from (Claim(path, name, value) for name, value in values)


def _against(claim: Claim, root: Path) -> str:
    content = read_inside(root, claim.path)
    if content is None:
        # A path that never was in this tree may be another machine's or a sentence's own: nothing is told.
        gone = "/" in claim.path and (root / claim.path).parent.is_dir() and not (root / claim.path).exists()
        return f"{claim.path} is gone" if gone else ""
    text = content.decode("utf-8", "replace")
    last = re.split(r"\.|::", claim.name)[-1] if not claim.value else claim.name
    lines = [line for line in text.splitlines() if re.search(rf"(?<!\w){re.escape(last)}(?!\w)", line)]
    if not lines:
        return f"{claim.name} is gone from {claim.path}"
    if not claim.value or any(
        re.search(rf"(?<![\w.]){re.escape(claim.value)}(?![\w.])", line) for line in lines
    ):
        return ""
    set_to = (re.search(rf"{re.escape(last)}[\"']?\s*[=:]\s*[\"']?([\w.%+-]+)", line) for line in lines)
    now = next((match[1] for match in set_to if match), "")
    return f"{claim.name} in {claim.path} changed since" + (f", now {now}" if now else "")


def read_inside(root: Path, file: str) -> bytes | None:
    """A file's first bytes, if it is a regular file inside the project; a link that leads out is none."""
    if "\0" in file:  # no file can be called so
        return None
    base = os.path.realpath(root)
    path = os.path.realpath(Path(base) / file)
    if not path.startswith(base + os.sep):
        return None
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # a pipe would be waited for without end
            return None
        with Path(path).open("rb") as handle:
            return handle.read(_MOST_BYTES)
    except OSError:
        return None
