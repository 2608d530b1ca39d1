"""The part `feed`: what other homes are sent, and what they send. A team's hub does it, too.

Triggers keep the lines of the table `feed` (each backend's `schema.py`); messages stand in the order of their
numbers. Here a line becomes a record that tells the whole state of a thing; `incoming` has what this home
makes of a record.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.errors import InvalidInput, StoreCorrupt
from claude_memory.model import MemoryId, Status, StoredMemory
from claude_memory.store.base import StorePart
from claude_memory.store.sql import rows
from claude_memory.store.sql.archive_write import packed_keys, unpacked_keys
from claude_memory.store.sql.rows import unpacked

if TYPE_CHECKING:
    from claude_memory.store.base import Database

# In this order: what is said of conversations finds their messages there.
MESSAGES, ITEMS = "messages", "items"
STREAMS = (MESSAGES, ITEMS)
BATCH_BYTES = 2 << 20
_NOTE = """INSERT INTO peers (replica, stream, through) VALUES (?, ?, ?)
    ON CONFLICT (replica, stream) DO UPDATE SET through = max(peers.through, excluded.through)"""
_CLOCKS = "SELECT clock, home, hidden_clock, hidden_home FROM memories WHERE id = ?"
_MESSAGES = """SELECT m.number, c.agent, c.session, p.id, c.moved, c.imported, c.cwd, c.branch, c.parent,
        m.role, m.at, m.moment, m.failed, m.tool, m.call, m.event, m.speaker, m.manner, m.branch, m.keys,
        m.body
    FROM messages m JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project
    WHERE m.number > ? AND {settled} ORDER BY m.number LIMIT ?"""
_MESSAGE_FIELDS = (
    "agent session project moved imported cwd branch parent role at moment failed tool call event speaker "
    "manner message_branch"
).split()
CONVERSATION = """SELECT c.number, p.id, c.moved, c.imported, c.cwd, o.agent, o.session
    FROM conversations c JOIN projects p ON p.number = c.project
    LEFT JOIN conversations o ON o.number = c.continues WHERE c.agent = ? AND c.session = ?"""
# Strongest first, and when a person gave them; 0 where nobody did.
_NAMES = """SELECT a.identity, a.clock FROM project_aliases a JOIN projects p ON p.number = a.project
    WHERE p.id = ? ORDER BY a.place, a.identity"""
# What a consolidation ties together every home finds by itself, and may untie.
_RELATIONS = """SELECT a.id, b.id, r.kind, r.evidence, r.at FROM relations r
    JOIN memories a ON a.number = r.source JOIN memories b ON b.number = r.target
    WHERE (r.source = :of OR r.target = :of) AND NOT EXISTS (SELECT 1 FROM consolidation_steps s
        WHERE s.memory = r.source AND s.other = r.target AND s.action = r.kind) ORDER BY 1, 2, 3"""
_STRENGTH = (
    "SELECT stability, difficulty, reviewed_at, reviews, lapses, demoted FROM strengths WHERE memory = ?"
)
_MOMENTS = """UPDATE messages SET moment = f.moment FROM (SELECT number,
        max(at - ordinal) OVER (PARTITION BY conversation ORDER BY ordinal) + ordinal AS moment FROM messages
        WHERE moment IS NULL) f WHERE messages.number = f.number"""
_KEYLESS = """SELECT m.number, m.conversation, c.agent, c.session, m.role, m.at, m.event, m.body
    FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.keys IS NULL LIMIT 1000"""
_KEY = """INSERT INTO message_keys (key, conversation, message) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET message = excluded.message"""


class FeedBatch(NamedTuple):
    """What changed in a home after a number of one of its streams, oldest first; `through` is the last one.

    Records are plain JSON values. One whose number did not go on is the end.
    """

    stream: str
    through: int
    records: Sequence[Mapping[str, Any]] = ()

    def document(self) -> dict[str, Any]:
        return {**self._asdict(), "records": list(self.records)}


def batch_from(document: Any) -> FeedBatch:
    try:
        stream, through, told = document["stream"], int(document["through"]), document["records"]
        if stream not in STREAMS or through < 0 or not all(isinstance(item, dict) for item in told):
            raise ValueError(stream)
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt("what came is no batch of changes") from None
    return FeedBatch(stream, through, tuple(told))


class Sender(NamedTuple):
    """The home that a batch is from. One that was never paired is `foreign`: it adds, and changes nothing."""

    replica: str = ""  # the very copy, whose numbers count on; empty if it is not seen again
    person: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    messages: int = 0
    added: int = 0
    changed: int = 0
    erased: int = 0  # tombstones
    other: int = 0  # projects, reminders, refusals
    passed_over: int = field(default=0, compare=False)

    def __add__(self, more: Taken) -> Taken:
        return Taken(*(getattr(self, name) + getattr(more, name) for name in self.__slots__))


class MemoryVersion(NamedTuple):
    """A memory with when and where it became so, and when and where it was last hidden or shown."""

    memory: StoredMemory
    clock: int = 0
    home: str = ""
    hidden_clock: int = 0
    hidden_home: str = ""

    @property
    def said(self) -> tuple[int, str]:
        """What orders versions by what they say."""
        return self.clock, self.home

    @property
    def hiding(self) -> tuple[int, str, bool]:
        """What orders versions by whether they are hidden; of two that nobody can tell apart, hidden wins."""
        return self.hidden_clock, self.hidden_home, self.memory.status is Status.FORGOTTEN


class Feed(StorePart):
    """What changed, numbered, for other homes; and what they send."""

    # Items after a number: rows that share one are told together.
    since = "SELECT sequence, kind, name FROM feed WHERE sequence > ? ORDER BY sequence LIMIT ?"

    def replica(self, token: str) -> str:
        """The name of this very copy, whose numbers count on. It is a new one unless `token`, which lies
        beside the store and in no backup of it, is the one given last."""
        with self._connections.writing() as db:
            _complete(db)
            known = json.loads(rows.noted(db, "replica") or "[]")
            if not known or known[1] != token:
                known = [os.urandom(8).hex(), token]
                rows.note(db, "replica", json.dumps(known))
            return str(known[0])

    def changes(self, stream: str, since: int, limit: int) -> FeedBatch:
        """What stands in a stream after a number, oldest first; what changed twice stands there once."""
        told: list[Mapping[str, Any]] = []
        size, through = 0, since
        with self._connections.reading() as db:
            items = _messages(db, since, limit) if stream == MESSAGES else self._items(db, since, limit)
            for number, record in items:
                if size > BATCH_BYTES and number > through:
                    break
                through = number
                if record is not None:  # else it is gone by now
                    told.append(record)
                    size += len(str(record))
        return FeedBatch(stream, through, told)

    def _items(self, db: Database, since: int, limit: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
        for sequence, kind, name in rows.fetch(db, self.since, (since, limit)):
            record = _TOLD[kind](db, name)
            yield sequence, record and {"kind": kind, **record}

    def apply(self, batch: FeedBatch, sender: Sender) -> Taken:
        """Take in what another home sent, and note how far that is, all or nothing.

        Messages are a union by their keys; of a memory the later change stands; hiding and erasing win over
        it; projects meet by identity. Any order and repetition ends in the same state. What was erased
        elsewhere is kept away from now on, and swept by `Memories.apply_tombstones`.
        """
        from claude_memory.store.sql.incoming import Application

        with self._connections.writing() as db:
            try:
                taken = Application(db, sender).run(batch)
            except (InvalidInput, KeyError, TypeError, ValueError, AttributeError, OverflowError) as fault:
                raise StoreCorrupt(f"what came cannot be read: {type(fault).__name__}") from None
            if sender.replica:
                db.execute(_NOTE, (sender.replica, batch.stream, batch.through))
            return taken

    def through(self, replica: str, stream: str) -> int:
        through = "SELECT through FROM peers WHERE replica = ? AND stream = ?"
        return int(self._value(through, (replica, stream)) or 0)

    def forget_peers(self) -> None:
        """Begin with every other home anew, such as after one of them was paired."""
        self._write("DELETE FROM peers")

    def is_unswept(self) -> bool:
        """Whether tombstones came that were not carried out to the end yet."""
        return self._value("SELECT 1 FROM meta WHERE key = 'unswept'") is not None

    def swept(self) -> None:
        self._write("DELETE FROM meta WHERE key = 'unswept'")

    def erasures(self) -> int:
        """How many tombstones there are: what was written down elsewhere before the last one may hold it."""
        return int(self._value("SELECT count(*) FROM tombstones"))


def _complete(db: Database) -> None:
    """Give messages of an earlier release their moments and keys."""
    if rows.noted(db, "unkeyed") is None:
        return
    db.execute(_MOMENTS)
    while found := rows.fetch(db, _KEYLESS):
        for number, conversation, agent, session, role, at, event, body in found:
            seed = f"event\0{event}" if event else f"{agent}\0{session}\0{role}\0{at}\0{unpacked(body)}"
            digest = hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()
            key = int.from_bytes(digest, "big") >> 1
            db.execute("UPDATE messages SET keys = ? WHERE number = ?", (packed_keys([key]), number))
            db.execute(_KEY, (key, conversation, number))
    db.execute("DELETE FROM meta WHERE key = 'unkeyed'")


def _messages(db: Database, since: int, limit: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, *fields, keys, body in db.execute(_MESSAGES.format(settled=db.settled), (since, limit)):
        message = dict(zip(_MESSAGE_FIELDS, fields, strict=True))
        yield number, {**message, "keys": unpacked_keys(keys), "text": unpacked(body)}


def _memory(db: Database, id_: str) -> dict[str, Any] | None:
    known = version(db, MemoryId(id_))
    if known is None:
        return None
    number = db.execute("SELECT number FROM memories WHERE id = ?", (id_,)).get
    told = {**known._asdict(), "memory": rows.record_of(known.memory)}
    if related := rows.fetch(db, _RELATIONS, {"of": number}):
        told["relations"] = [list(row) for row in related]
    for held in rows.fetch(db, _STRENGTH, (number,)):
        uses = "SELECT at, reason FROM reviews WHERE memory = ? ORDER BY at, reason"
        told["strength"], told["uses"] = list(held), [list(use) for use in rows.fetch(db, uses, (number,))]
    return told


def version(db: Database, id_: MemoryId) -> MemoryVersion | None:
    memory = rows.memory(db, id_)
    return MemoryVersion(memory, *next(db.execute(_CLOCKS, (id_,)))) if memory is not None else None


def _project(db: Database, id_: str) -> dict[str, Any] | None:
    for name, path in rows.fetch(db, "SELECT name, path FROM projects WHERE id = ?", (id_,)):
        return {"id": id_, "name": name, "path": path, "identities": dict(rows.fetch(db, _NAMES, (id_,)))}
    return None


def _conversation(db: Database, name: str) -> dict[str, Any] | None:
    agent, session = json.loads(name)
    for _, project, moved, imported, cwd, *continues in rows.fetch(db, CONVERSATION, (agent, session)):
        told = {"agent": agent, "session": session, "project": project, "moved": moved, "imported": imported}
        return {**told, "cwd": cwd, "continues": continues if continues[0] else None}
    return None


def _intention(db: Database, id_: str) -> dict[str, Any] | None:
    row = next(db.execute("SELECT record, clock, home FROM intentions WHERE id = ?", (id_,)), None)
    return {"intention": json.loads(row[0]), "clock": row[1], "home": row[2]} if row else None


_TOLD: Mapping[str, Callable[[Database, str], dict[str, Any] | None]] = {
    "memory": _memory,
    "tombstone": lambda _, name: dict(zip(("salt", "hash"), name.split(" ", 1), strict=True)),
    "rejected": lambda _, name: {"id": name},
    "project": _project,
    "conversation": _conversation,
    "intention": _intention,
}
