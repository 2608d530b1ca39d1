"""What was erased stays away: salted hashes that tell erased content without holding any of it."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator

import apsw

from claude_memory.model import Event, EventId, MemoryId, ProjectId, StoredMemory
from claude_memory.store.sqlite import rows


def salt(db: apsw.Connection) -> str:
    """The store's own random id."""
    return str(db.execute("SELECT value FROM meta WHERE key = 'store'").get)


def add(db: apsw.Connection, pairs: Iterable[tuple[str, str]]) -> None:
    """Write down (salt, hash) pairs; a pair from another store's mirror keeps that store's salt."""
    db.executemany("INSERT OR IGNORE INTO tombstones VALUES (?, ?)", pairs)


def of_memory(salt_: str, memory: StoredMemory) -> Iterator[str]:
    """The hashes under which an erased memory is known: by its id, and by its words in its project."""
    yield _hash(salt_, "memory", memory.id)
    yield _hash(salt_, "body", memory.project, normal(memory.body))


def of_event(salt_: str, event: EventId) -> str:
    """The hash under which an erased event is known."""
    return _hash(salt_, "event", event)


class Tombstones:
    """The tombstones of a store, asked many times in one transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._salts = [salt_ for (salt_,) in db.execute("SELECT DISTINCT salt FROM tombstones")]

    def hold_memory(self, memory: StoredMemory) -> bool:
        """Whether this memory was erased."""
        return any(self._has(salt_, hash_) for salt_ in self._salts for hash_ in of_memory(salt_, memory))

    def hold_event(self, event: Event) -> bool:
        """Whether this event was erased."""
        return any(self._has(salt_, of_event(salt_, event.id)) for salt_ in self._salts)

    def _has(self, salt_: str, hash_: str) -> bool:
        statement = "SELECT 1 FROM tombstones WHERE salt = ? AND hash = ?"
        return self._db.execute(statement, (salt_, hash_)).get is not None


def normal(body: str) -> str:
    """A text without what does not change its words: letter case, spacing, character forms."""
    return " ".join(unicodedata.normalize("NFKC", rows.clean(body)).casefold().split())


def _hash(salt_: str, *parts: str | MemoryId | EventId | ProjectId) -> str:
    digest = hashlib.blake2b(key=salt_.encode("ascii", "replace")[:64], digest_size=16)
    digest.update("\0".join(map(rows.clean, parts)).encode("utf-8"))
    return digest.hexdigest()
