"""What a person erased stays erased, even when an older backup that still holds it is put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.backup import mirror
from claude_memory.notes import erasing
from claude_memory.settings import Settings
from claude_memory.store import open_store


def carry_over(old: Path, new: Path) -> int:
    """Erase from the home `new` what the tombstones of the home `old` name; returns how many memories.

    Rows, events, messages, mirror and plain files: a backup made before holds it in all of them.
    """
    known = {record["tombstone"] for record in _tombstones(new)}
    unknown = []
    with contextlib.suppress(OSError):  # a home too broken to be read is why one restores
        unknown = [record for record in _tombstones(old) if record["tombstone"] not in known]
    if not unknown:
        return 0
    with contextlib.closing(open_store(new, Settings())) as store:
        store.replay(unknown)
        done = store.apply_tombstones()
        mirror.purge(new, done.ids, cache(store.erased_sentences))
        mirror.flush(new, store)
        erasing.purge(new, store.erased_sentences())
    with mirror.locked(new):
        # Without their numbers, which count the changes of another store.
        mirror.append(new, [{key: record[key] for key in record if key != "sequence"} for record in unknown])
    return done.memories


def _tombstones(home: Path) -> Iterator[Mapping[str, Any]]:
    return (record for record in mirror.read(home) if isinstance(record.get("tombstone"), str))
