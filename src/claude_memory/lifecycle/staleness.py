"""Whether a memory may be out of date: how much its files changed since it was made.

Of files that a memory is tied to, hashes of their lines are kept. Reads files of the project only.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope, StoredMemory
from claude_memory.store.base import Store
from claude_memory.store.model import FileState

# From this share of lines on a file counts as changed a lot: below it, most of what was said of it holds.
CHANGED_A_LOT = 0.5
_SAMPLE = 64  # smallest line hashes kept: tells the shared share to within some percent
STALE = "stale"  # the provenance's word for it
_MOST_BYTES = 1 << 20


def sketch(content: bytes) -> str:
    """A file in few characters: the smallest hashes of its distinct lines, and of the whole."""
    lines = {line.strip() for line in content.splitlines()} - {b""}
    hashes = sorted(blake2b(line, digest_size=5).hexdigest() for line in lines)[:_SAMPLE]
    return f"{blake2b(content, digest_size=8).hexdigest()}:{''.join(hashes)}"


def changed_share(before: str, after: str) -> float:
    """How much of a file changed, 0 to 1, by two sketches."""
    one, other = (
        {hashes[place : place + 10] for place in range(0, len(hashes), 10)}
        for hashes in (text.partition(":")[2] for text in (before, after))
    )
    smallest = set(sorted(one | other)[:_SAMPLE])
    return 1.0 - len(smallest & one & other) / len(smallest) if smallest and before != after else 0.0


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
