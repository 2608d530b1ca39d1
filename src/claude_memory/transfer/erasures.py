"""What a person erased stays erased, even when an older backup that still holds it is put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from claude_memory.model import MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.protocol import Store
from claude_memory.transfer import mirror

_BATCH = 500


def carry_over(old: Path, new: Path) -> int:
    """Erase from the home `new` what the tombstones of the home `old` name; returns how many memories."""
    known = {record["tombstone"] for record in _tombstones(new)}
    unknown = []
    with contextlib.suppress(OSError):  # a home too broken to be read is why one restores
        unknown = [record for record in _tombstones(old) if record["tombstone"] not in known]
    if not unknown:
        return 0
    with contextlib.closing(open_store(new, Settings())) as store:
        store.replay(unknown)
        doomed = _doomed(store)
        store.erase(doomed)
        mirror.purge(new, doomed)
        mirror.flush(new, store)
    with mirror.locked(new):
        # Without their numbers, which count the changes of another store.
        mirror.append(new, [{key: record[key] for key in record if key != "sequence"} for record in unknown])
    return len(doomed)


def _tombstones(home: Path) -> Iterator[Mapping[str, Any]]:
    return (record for record in mirror.read(home) if isinstance(record.get("tombstone"), str))


def _doomed(store: Store) -> list[MemoryId]:
    """Memories that the store would not take in again; offering one that is there changes nothing."""
    everything = iter(store.memories(SearchScope(None), MemoryFilter(statuses=tuple(Status))))
    doomed: list[MemoryId] = []
    while batch := list(islice(everything, _BATCH)):
        if store.add((), batch).tombstoned:
            doomed += [memory.id for memory in batch if store.add((), [memory]).tombstoned]
    return doomed
