"""Whether a memory may be out of date: the files it is tied to, as they were then and as they are now.

A sketch of a file is kept, not the file: hashes of its lines, so that how much changed can be told.
Reads files of the project only; deciding is pure.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from claude_memory.lifecycle.claims import read_inside
from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope, StoredMemory
from claude_memory.platform import repository
from claude_memory.store.lifecycle_model import FileState
from claude_memory.store.protocol import Store

# From this share of lines on a file counts as changed a lot: below it, most of what was said of it holds.
CHANGED_A_LOT = 0.5
_SAMPLE = 64  # smallest line hashes kept: tells the shared share to within some percent
STALE = "stale"  # the provenance's word for it


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
    revision = _revision(root)
    found = []
    for memory in memories:
        for file in memory.files:
            content = read_inside(root, file)
            if content is not None:
                found.append(FileState(memory.id, file, sketch(content), revision))
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
            changed.append(replace(state, stale=now))
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


def _revision(root: Path) -> str:
    """The commit that is checked out, read without running git; empty if there is none."""
    found = repository.find(Path(os.path.realpath(root)))
    return repository.head_commit(found) if found else ""
