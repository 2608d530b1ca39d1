"""The part `feed`: what other homes are sent, and what they send. A team's hub does it, too.

Triggers keep the lines of the table `feed` (each backend's `schema.py`); messages stand in the order of their
numbers. Here a line becomes a record that tells the whole state of a thing, and a record what this home makes
of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from claude_memory.errors import InvalidInput, StoreCorrupt
from claude_memory.model import (
    MemoryId,
    PersonId,
    Project,
    ProjectId,
    Scope,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.store import records
from claude_memory.store.feed_model import (
    MESSAGES,
    FeedBatch,
    MemoryVersion,
    Sender,
    Taken,
    is_derived,
    is_touched,
    merged,
)
from claude_memory.store.model import Intention, NewMessage, Relation, Review, Strength
from claude_memory.store.records import unpacked
from claude_memory.store.sql import changes, erase, lifecycle, projects, rows, write
from claude_memory.store.sql.archive_write import Addition, packed_keys, unpacked_keys
from claude_memory.store.sql.backend import StorePart
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

BATCH_BYTES = 2 << 20
_THROUGH = "SELECT through FROM peers WHERE replica = ? AND stream = ?"
_NOTE = """INSERT INTO peers (replica, stream, through) VALUES (?, ?, ?)
    ON CONFLICT (replica, stream) DO UPDATE SET through = max(peers.through, excluded.through)"""
_CLOCKS = "SELECT clock, home, hidden_clock, hidden_home FROM memories WHERE id = ?"
_SET_CLOCKS = "UPDATE memories SET clock = ?, home = ?, hidden_clock = ?, hidden_home = ? WHERE id = ?"
_MESSAGES = """SELECT m.number, c.agent, c.session, p.id, c.moved, c.imported, c.cwd, c.branch, c.parent,
        m.role, m.at, m.moment, m.failed, m.tool, m.call, m.event, m.speaker, m.manner, m.branch, m.keys,
        m.body
    FROM messages m JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project
    WHERE m.number > ? AND {settled} ORDER BY m.number LIMIT ?"""
_MESSAGE_FIELDS = (
    "agent session project moved imported cwd branch parent role at moment failed tool call event speaker "
    "manner message_branch"
).split()
_CONVERSATION = """SELECT c.number, p.id, c.moved, c.imported, c.cwd, o.agent, o.session
    FROM conversations c JOIN projects p ON p.number = c.project
    LEFT JOIN conversations o ON o.number = c.continues WHERE c.agent = ? AND c.session = ?"""
# What a consolidation ties together every home finds by itself, and may untie.
_RELATIONS = """SELECT a.id, b.id, r.kind, r.evidence, r.at FROM relations r
    JOIN memories a ON a.number = r.source JOIN memories b ON b.number = r.target
    WHERE (r.source = :of OR r.target = :of) AND NOT EXISTS (SELECT 1 FROM consolidation_steps s
        WHERE s.memory = r.source AND s.other = r.target AND s.action = r.kind) ORDER BY 1, 2, 3"""
_STRENGTH = (
    "SELECT stability, difficulty, reviewed_at, reviews, lapses, demoted FROM strengths WHERE memory = ?"
)
_HAS_CONVERSATION = "SELECT 1 FROM conversations WHERE session = ? AND messages > 0"
_MOMENTS = """UPDATE messages SET moment = f.moment FROM (SELECT number,
        max(at - ordinal) OVER (PARTITION BY conversation ORDER BY ordinal) + ordinal AS moment FROM messages
        WHERE moment IS NULL) f WHERE messages.number = f.number"""
_KEYLESS = """SELECT m.number, m.conversation, c.agent, c.session, m.role, m.at, m.event, m.body
    FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.keys IS NULL LIMIT 1000"""


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
        with self._connections.reading() as db:
            if stream == MESSAGES:
                return _batch(stream, since, _messages(db, since, limit))
            return _batch(stream, since, _items(db, rows.fetch(db, self.since, (since, limit))))

    def apply(self, batch: FeedBatch, sender: Sender) -> Taken:
        """Take in what another home sent, and note how far that is, all or nothing.

        Messages are a union by their keys; of a memory the later change stands; hiding and erasing win over
        it; projects meet by identity. Any order and repetition ends in the same state. What was erased
        elsewhere is kept away from now on, and swept by `Memories.apply_tombstones`.
        """
        with self._connections.writing() as db:
            try:
                taken = Application(db, sender).run(batch)
            except (InvalidInput, KeyError, TypeError, ValueError, AttributeError, OverflowError) as fault:
                raise StoreCorrupt(f"what came cannot be read: {type(fault).__name__}") from None
            if sender.replica:
                db.execute(_NOTE, (sender.replica, batch.stream, batch.through))
            return taken

    def through(self, replica: str, stream: str) -> int:
        """How far a stream of another home was taken in."""
        return int(self._value(_THROUGH, (replica, stream)) or 0)

    def forget_peers(self) -> None:
        """Begin with every other home anew, such as after one of them was paired."""
        self._write("DELETE FROM peers")

    def is_unswept(self) -> bool:
        """Whether tombstones came that were not carried out to the end yet."""
        with self._connections.reading() as db:
            return rows.noted(db, "unswept") is not None

    def swept(self) -> None:
        """They were."""
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
            db.execute(
                """INSERT INTO message_keys (key, conversation, message) VALUES (?, ?, ?)
                   ON CONFLICT (key) DO UPDATE SET message = excluded.message""",
                (key, conversation, number),
            )
    db.execute("DELETE FROM meta WHERE key = 'unkeyed'")


# --- what is sent


def _batch(stream: str, since: int, numbered: Iterable[tuple[int, Mapping[str, Any] | None]]) -> FeedBatch:
    """As many records as fit; of what is gone by now there is none."""
    batch: list[Mapping[str, Any]] = []
    size, through = 0, since
    for number, record in numbered:
        if size > BATCH_BYTES and number > through:
            break
        through = number
        if record is not None:
            batch.append(record)
            size += len(str(record))
    return FeedBatch(stream, through, batch)


def _messages(db: Database, since: int, limit: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, *fields, keys, body in db.execute(_MESSAGES.format(settled=db.settled), (since, limit)):
        message = dict(zip(_MESSAGE_FIELDS, fields, strict=True))
        yield number, {**message, "keys": unpacked_keys(keys), "text": unpacked(body)}


def _items(db: Database, waiting: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    for sequence, kind, name in waiting:
        record = _TOLD[kind](db, name)
        yield sequence, record and {"kind": kind, **record}


def _memory(db: Database, id_: str) -> dict[str, Any] | None:
    known = version(db, MemoryId(id_))
    if known is None:
        return None
    number = db.execute("SELECT number FROM memories WHERE id = ?", (id_,)).get
    told = {**asdict(known), "memory": records.record_of(known.memory)}
    related = rows.fetch(db, _RELATIONS, {"of": number})
    if related:
        told["relations"] = [list(row) for row in related]
    held = next(db.execute(_STRENGTH, (number,)), None)
    if held is not None:
        uses = rows.fetch(
            db, "SELECT at, reason FROM reviews WHERE memory = ? ORDER BY at, reason", (number,)
        )
        told["strength"], told["uses"] = list(held), [list(use) for use in uses]
    return told


def version(db: Database, id_: MemoryId) -> MemoryVersion | None:
    """A memory as it stands here."""
    memory = rows.memory(db, id_)
    return MemoryVersion(memory, *next(db.execute(_CLOCKS, (id_,)))) if memory is not None else None


def _tombstone(_: Database, name: str) -> dict[str, Any]:
    salt, hash_ = name.split(" ", 1)
    return {"salt": salt, "hash": hash_}


def _project(db: Database, id_: str) -> dict[str, Any] | None:
    row = next(db.execute("SELECT name, path FROM projects WHERE id = ?", (id_,)), None)
    if row is None:
        return None
    return {"id": id_, "name": row[0], "path": row[1], "identities": projects.alias_clocks(db, id_)}


def _conversation(db: Database, name: str) -> dict[str, Any] | None:
    agent, session = json.loads(name)
    row = next(db.execute(_CONVERSATION, (agent, session)), None)
    if row is None:
        return None
    _, project, moved, imported, cwd, *continues = row
    told = {"agent": agent, "session": session, "project": project, "moved": moved, "imported": imported}
    return {**told, "cwd": cwd, "continues": continues if continues[0] else None}


def _intention(db: Database, id_: str) -> dict[str, Any] | None:
    row = next(db.execute("SELECT record, clock, home FROM intentions WHERE id = ?", (id_,)), None)
    return {"intention": json.loads(row[0]), "clock": row[1], "home": row[2]} if row else None


_TOLD: Mapping[str, Callable[[Database, str], dict[str, Any] | None]] = {
    "memory": _memory,
    "tombstone": _tombstone,
    "rejected": lambda _, name: {"id": name},
    "project": _project,
    "conversation": _conversation,
    "intention": _intention,
}


# --- what comes


class Application:
    """One batch on its way in."""

    def __init__(self, db: Database, sender: Sender) -> None:
        self._db = db
        self._sender = sender
        self._taken = dict.fromkeys(Taken.__slots__, 0)
        self._clock = 0

    def run(self, batch: FeedBatch) -> Taken:
        """Take in what is new to this home."""
        if batch.stream == MESSAGES:
            self._take_messages(batch.records)
        else:
            by_kind: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in _ORDER}
            for record in batch.records:
                if record["kind"] in by_kind:  # a later release may tell of more
                    by_kind[record["kind"]].append(record)
            for kind, told in by_kind.items():
                if kind == "memory" or not self._sender.foreign:
                    _ORDER[kind](self, told)
        if not self._sender.foreign:
            changes.tick(self._db, min(self._clock, changes.LARGEST))
        return Taken(**self._taken)

    def _count(self, name: str, number: int = 1) -> None:
        self._taken[name] += number

    # --- messages

    def _take_messages(self, told: Sequence[Mapping[str, Any]]) -> None:
        wanted = [record for record in told if self._is_welcome(record)]
        done = Addition(self._db, {}).run([self._message(record) for record in wanted], (), ())
        self._count("messages", done.messages)
        self._count("passed_over", len(told) - done.messages)
        for record in {(one["agent"], one["session"]): one for one in wanted}.values():
            self._place_conversation(record)

    def _is_welcome(self, record: Mapping[str, Any]) -> bool:
        """A stranger adds nothing to a conversation that was held here."""
        statement = "SELECT imported FROM conversations WHERE session = ? AND agent = ?"
        known = self._db.execute(statement, (record["session"], record["agent"])).get
        return not self._sender.foreign or known is None or bool(known)

    def _message(self, record: Mapping[str, Any]) -> NewMessage:
        names = ("session", "agent", "role", "text", "cwd", "tool", "call", "parent", "speaker", "manner")
        texts: dict[str, Any] = {name: clean(str(record[name] or "")) for name in names}
        return NewMessage(
            **texts,
            at=rows.moment(int(record["at"])),
            keys=tuple(int(key) for key in record["keys"]),
            branch=str(record["message_branch"] or record["branch"]),
            failed=bool(record["failed"]),
            imported=self._sender.foreign or bool(record["imported"]),
            event_id=clean(str(record["event"] or "")),
            project=ProjectId(clean(str(record["project"]))),
            moment=int(record["moment"]),
        )

    def _place_conversation(self, record: Mapping[str, Any]) -> None:
        """Let a conversation belong where a person said last, and be trusted as far as any home of theirs."""
        if self._sender.foreign:
            return
        db = self._db
        row = next(db.execute(_CONVERSATION, (record["agent"], record["session"])), None)
        if row is None:
            return
        number, project, moved, imported, *_ = row
        there, when = projects.number_of(db, ProjectId(str(record["project"]))), int(record["moved"])
        id_ = projects.load(db, there).id
        if id_ != project and (when > moved or (when == moved and id_ < project)):
            statement = "UPDATE conversations SET project = ?, moved = ?, distilled = 0 WHERE number = ?"
            db.execute(statement, (there, max(when, moved), number))
        elif when > moved:
            db.execute("UPDATE conversations SET moved = ? WHERE number = ?", (when, number))
        if imported and not record["imported"]:
            db.execute("UPDATE conversations SET imported = FALSE WHERE number = ?", (number,))

    def _take_conversations(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            self._place_conversation(record)
            if record.get("continues"):
                self._db.execute(
                    """UPDATE conversations SET continues = (SELECT number FROM conversations
                       WHERE agent = ?3 AND session = ?4)
                       WHERE agent = ?1 AND session = ?2 AND continues IS NULL""",
                    (record["agent"], record["session"], *record["continues"]),
                )

    # --- memories

    def _take_memories(self, told: Sequence[Mapping[str, Any]]) -> None:
        new: dict[str, MemoryVersion] = {}
        for record in told:
            theirs = self._version(record)
            mine = version(self._db, theirs.memory.id)
            if mine is None:
                if self._is_wanted(theirs.memory):
                    new[theirs.memory.id] = theirs
                else:
                    self._count("passed_over")
            else:
                self._revise(mine, theirs)
        self._add(list(new.values()))
        if not self._sender.foreign:
            for record in told:
                self._take_sides(record)

    def _version(self, record: Mapping[str, Any]) -> MemoryVersion:
        memory = records.from_record(StoredMemory, record["memory"])
        if self._sender.foreign:
            person = memory.person or PersonId(self._sender.person)
            owner = person if memory.scope is Scope.USER else None
            return MemoryVersion(replace(memory, trust=Trust.IMPORTED, pinned=False, person=owner), 0, "")
        if memory.person == self._sender.person:  # two homes of one person: theirs is mine
            memory = replace(memory, person=None)
        figures = (int(record["clock"]), int(record["hidden_clock"]))
        clock, hidden = (max(0, min(figure, changes.LARGEST)) for figure in figures)
        self._clock = max(self._clock, clock, hidden)
        return MemoryVersion(
            memory, clock, clean(str(record["home"])), hidden, clean(str(record["hidden_home"]))
        )

    def _is_wanted(self, memory: StoredMemory) -> bool:
        if self._sender.foreign and memory.status is Status.FORGOTTEN:
            return False
        if memory.status is Status.PROPOSED and self._is_rejected(memory.id):
            return False
        # What was made from messages that are here is made here, too, or was and does not hold any more.
        return is_touched(memory) or not self._makes(memory)

    def _makes(self, memory: StoredMemory) -> bool:
        conversation = memory.provenance.get("conversation")
        return is_derived(memory) and bool(self._db.execute(_HAS_CONVERSATION, (str(conversation),)).get)

    def _is_rejected(self, id_: str) -> bool:
        return self._db.execute("SELECT 1 FROM rejected WHERE hash = ?", (id_,)).get is not None

    def _add(self, new: Sequence[MemoryVersion]) -> None:
        write.add(self._db, [one.memory for one in new], mirrored=False)
        for one in new:
            kept = rows.memory(self._db, one.memory.id)
            if kept is None:  # erased
                self._count("passed_over")
                continue
            self._settle("add", replace(one, memory=kept))
            self._count("added")

    def _revise(self, mine: MemoryVersion, theirs: MemoryVersion) -> None:
        if self._sender.foreign:
            if mine.said != theirs.said or mine.memory.trust is not Trust.IMPORTED:
                return  # a stranger changes nothing but what they brought
            theirs = replace(theirs, clock=1)
        wanted = merged(mine, theirs, makes_own=self._makes(mine.memory))
        if self._sender.foreign:
            wanted = replace(wanted, clock=0)
        if wanted.memory.status is Status.PROPOSED and self._is_rejected(wanted.memory.id):
            self._drop(wanted.memory.id)
            return
        owned = write.Places(self._db).owned(wanted.memory)
        known = rows.tombstones(self._db)
        left = known.left_of(replace(owned, project=self._resolved(owned.project)))
        wanted = replace(wanted, memory=left)
        if wanted == mine:
            return
        if wanted.memory != mine.memory:
            write.update(self._db, wanted.memory, mirrored=False)
            self._count("changed")
        self._settle("update", wanted)

    def _resolved(self, id_: ProjectId) -> ProjectId:
        return projects.load(self._db, projects.number_of(self._db, id_)).id

    def _settle(self, change: str, one: MemoryVersion) -> None:
        """Note whose change it is, and tell the mirrors."""
        clocks = (one.clock, one.home, one.hidden_clock, one.hidden_home)
        self._db.execute(_SET_CLOCKS, (*clocks, one.memory.id))
        changes.record_from(self._db, [changes.state_line(change, one.memory)], one.home, one.clock)

    def _take_sides(self, record: Mapping[str, Any]) -> None:
        """How a memory hangs together with others, and how firmly it is held."""
        related = [
            Relation(MemoryId(source), MemoryId(target), clean(kind), evidence, rows.moment(int(at)))
            for source, target, kind, evidence, at in record.get("relations", ())
        ]
        if related:
            lifecycle.relate(self._db, related)
        if record.get("strength"):
            id_ = MemoryId(record["memory"]["id"])
            stability, difficulty, reviewed, reviews, lapses, demoted = record["strength"]
            counts = (int(reviews), int(lapses), bool(demoted))
            state = Strength(float(stability), float(difficulty), rows.moment(int(reviewed)), *counts)
            uses = [Review(id_, rows.moment(int(at)), str(reason)) for at, reason in record.get("uses", ())]
            lifecycle.put_strength(self._db, id_, state, uses)

    # --- the rest

    def _take_tombstones(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            grave = (clean(str(record["salt"])), clean(str(record["hash"])))
            if self._db.execute("SELECT 1 FROM tombstones WHERE salt = ? AND hash = ?", grave).get is None:
                self._db.execute("INSERT INTO tombstones (salt, hash) VALUES (?, ?)", grave)
                changes.record(self._db, [changes.line("erase", tombstone=grave[1], salt=grave[0])])
                self._count("erased")
        if self._taken["erased"]:
            rows.note(self._db, "unswept", "1")

    def _take_rejected(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            id_ = clean(str(record["id"]))
            if not self._is_rejected(id_):
                self._db.execute(changes.REJECTED, (id_,))
                changes.record(self._db, [{"change": "reject", "reject": id_}])
                self._count("other")
            known = rows.memory(self._db, MemoryId(id_))
            if known is not None and known.status is Status.PROPOSED:
                self._drop(id_)

    def _drop(self, id_: str) -> None:
        number = int(self._db.execute("SELECT number FROM memories WHERE id = ?", (id_,)).get)
        changes.drop(self._db, [MemoryId(id_)])
        erase.remove(self._db, [number])
        self._count("changed")

    def _take_projects(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            clocks = {str(name): int(clock) for name, clock in record["identities"].items()}
            self._clock = max(self._clock, *clocks.values(), 0)
            project = records.from_record(Project, {**record, "identities": list(clocks)})
            self._count("other", projects.meet(self._db, project, clocks))

    def _take_intentions(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            intention = records.from_record(Intention, record["intention"])
            intention = intention._replace(project=self._resolved(intention.project))
            clock, home = int(record["clock"]), clean(str(record["home"]))
            self._clock = max(self._clock, clock)
            mine = next(
                self._db.execute("SELECT clock, home FROM intentions WHERE id = ?", (intention.id,)), (-1, "")
            )
            if (clock, home) > mine and lifecycle.put_intention(self._db, intention, clock, home):
                line = changes.line("intention", intention=record["intention"])
                changes.record_from(self._db, [line], home, clock)
                self._count("other")


_ORDER: Mapping[str, Callable[[Application, Sequence[Mapping[str, Any]]], None]] = {
    "tombstone": Application._take_tombstones,
    "rejected": Application._take_rejected,
    "project": Application._take_projects,
    "conversation": Application._take_conversations,
    "memory": Application._take_memories,
    "intention": Application._take_intentions,
}
