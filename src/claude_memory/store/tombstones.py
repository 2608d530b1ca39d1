"""What was erased stays away: salted hashes that tell erased content without holding any of it.

`Tombstones` is the door of a store: whatever is about to be kept passes it, from wherever it comes.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from claude_memory.model import Event, EventId, ProjectId, StoredMemory
from claude_memory.redact.erasure import ERASED, Hashed, Holder, holds, title_without, without
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database

MESSAGE = "k"  # what the hashes of messages begin with
# A hash from another store's mirror keeps that store's salt.
_KNOWN = "SELECT 1 FROM tombstones WHERE salt = ? AND hash = ?"
_SENTENCES = "SELECT salt, hash FROM tombstones WHERE hash LIKE 's%-%'"
_FORMER = """SELECT a.identity FROM project_aliases a JOIN projects p ON p.number = a.project
    WHERE p.id = ? AND substr(a.identity, 1, 3) = 'id:'"""


def of(salt: str, kind: str, *parts: str) -> str:
    """The hash under which something erased is known: `memory` or `event` and its id, `message` and one of
    its keys, `body` and a memory's project and `plain` words."""
    digest = hashlib.blake2b(key=salt.encode("ascii", "replace")[:64], digest_size=16)
    digest.update("\0".join(map(clean, (kind, *parts))).encode("utf-8"))
    return (MESSAGE if kind == "message" else "") + digest.hexdigest()


def plain(body: str) -> str:
    """A memory's words, whatever their letter case, spacing, character forms."""
    return " ".join(unicodedata.normalize("NFKC", clean(body)).casefold().split())


class Tombstones:
    """The tombstones of a store, asked many times in one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._salts = [salt for (salt,) in db.execute("SELECT DISTINCT salt FROM tombstones")]
        self._holders: dict[ProjectId | None, Holder] = {}

    def hold(self, *things: tuple[str, ...]) -> bool:
        """Whether one of these was erased; each is what `of` takes."""
        hashes = ((salt, of(salt, *thing)) for salt in self._salts for thing in things)
        return any(self._db.execute(_KNOWN, known).get is not None for known in hashes)

    def _names(self, project: ProjectId) -> list[ProjectId]:
        """The ids of a project, and of those that were merged into it."""
        former = self._db.execute(_FORMER, (project,)) if self._salts else ()
        return [project, *(ProjectId(name.removeprefix("id:")) for (name,) in former)]

    @cached_property
    def _sentences(self) -> dict[str, list[str]]:
        by_salt: defaultdict[str, list[str]] = defaultdict(list)
        for salt, hash_ in self._db.execute(_SENTENCES):
            by_salt[salt].append(hash_)
        return by_salt

    def hold_memory(self, memory: StoredMemory) -> bool:
        bodies = [("body", name, plain(memory.body)) for name in self._names(memory.project)]
        return self.hold(("memory", memory.id), *bodies)

    def hold_message(self, keys: Iterable[int]) -> bool:
        return self.hold(*(("message", str(key)) for key in keys))

    def hold_event(self, event: EventId) -> bool:
        return self.hold(("event", event))

    def sentences(self, project: ProjectId | None) -> Holder:
        """The sentences that were erased from a project; of all projects for None."""
        if project not in self._holders:
            ids = None if project is None else self._names(project)
            self._holders[project] = Hashed(self._sentences, ids)
        return self._holders[project]

    def admitted(self, memory: StoredMemory) -> StoredMemory | None:
        """The memory as it may be kept: None if it was erased, without the lines that were."""
        if not self._salts:
            return memory
        left = self.left_of(memory)
        return None if left.body == ERASED or self.hold_memory(memory) else left

    def left_of(self, memory: StoredMemory) -> StoredMemory:
        return memory_without(memory, self.sentences(memory.project)) if self._salts else memory

    def admitted_event(self, event: Event) -> Event | None:
        if self.hold_event(event.id):
            return None
        holder = self.sentences(event.project)
        return replace(event, payload=without(dict(event.payload), holder)) if holder.likely("") else event


def memory_without(memory: StoredMemory, holder: Holder) -> StoredMemory:
    """The memory without the sentences; its body is `ERASED` if it says nothing else."""
    said = (memory.title, memory.body, memory.task or "", *memory.topics, *memory.files)
    origin = without(dict(memory.provenance), holder)
    if origin == memory.provenance and not any(holds(text, holder) for text in said):
        return memory
    body = without(memory.body, holder)
    return replace(
        memory,
        body=body,
        title=title_without(memory.title, memory.body, body, holder),
        task=None if memory.task and holds(memory.task, holder) else memory.task,
        topics=tuple(without(memory.topics, holder)),
        files=tuple(without(memory.files, holder)),
        provenance=origin,
    )
