"""What another home sends on its way in, and how two versions of one memory become one.

Whatever order versions meet in, and however often, the same one comes out: the later change of what is said,
and apart from it the later word on whether it is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_memory.model import MemoryId, PersonId, Project, ProjectId, Scope, Status, StoredMemory, Trust
from claude_memory.store.model import Intention, NewMessage, Relation, Review, Strength
from claude_memory.store.sql import changes, erase, feed, lifecycle, projects, rows, write
from claude_memory.store.sql.archive_write import Addition, is_rejected
from claude_memory.store.sql.feed import FeedBatch, MemoryVersion, Sender, Taken
from claude_memory.store.sql.rows import is_derived
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database

_SET_CLOCKS = "UPDATE memories SET clock = ?, home = ?, hidden_clock = ?, hidden_home = ? WHERE id = ?"
_CONTINUES = """UPDATE conversations SET continues = (SELECT number FROM conversations
    WHERE agent = ?3 AND session = ?4) WHERE agent = ?1 AND session = ?2 AND continues IS NULL"""
_HAS_CONVERSATION = "SELECT 1 FROM conversations WHERE session = ? AND messages > 0"


class Application:
    def __init__(self, db: Database, sender: Sender) -> None:
        self._db = db
        self._sender = sender
        self._taken: Counter[str] = Counter()
        self._clock = 0

    def run(self, batch: FeedBatch) -> Taken:
        if batch.stream == feed.MESSAGES:
            self._take_messages(batch.records)
        else:
            take = {
                "tombstone": self._take_tombstone,
                "rejected": self._take_rejected,
                "project": self._take_project,
                "conversation": self._place_conversation,
                "memory": None,
                "intention": self._take_intention,
            }
            for kind, take_one in take.items():
                told = [record for record in batch.records if record["kind"] == kind]
                if take_one is None:
                    self._take_memories(told)
                elif not self._sender.foreign:
                    for record in told:
                        take_one(record)
        if not self._sender.foreign:
            changes.tick(self._db, min(self._clock, changes.LARGEST))
        return Taken(**self._taken)

    def _take_messages(self, told: Sequence[Mapping[str, Any]]) -> None:
        held = "SELECT 1 FROM conversations WHERE session = ? AND agent = ? AND NOT imported"
        places = {(record["session"], record["agent"]) for record in told if self._sender.foreign}
        # A stranger adds nothing to a conversation that was held here.
        mine = {place for place in places if self._db.execute(held, place).get}
        wanted = [record for record in told if (record["session"], record["agent"]) not in mine]
        done = Addition(self._db, {}).run([self._message(record) for record in wanted], (), ())
        self._taken.update(messages=done.messages, passed_over=len(told) - done.messages)
        if not self._sender.foreign:
            for record in {(one["agent"], one["session"]): one for one in wanted}.values():
                self._place_conversation(record)

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
        db = self._db
        known = rows.fetch(db, feed.CONVERSATION, (record["agent"], record["session"]))
        for number, project, moved, imported, *_ in known:
            there, when = projects.number_of(db, ProjectId(str(record["project"]))), int(record["moved"])
            id_ = projects.load(db, there).id
            if id_ != project and (when > moved or (when == moved and id_ < project)):
                statement = "UPDATE conversations SET project = ?, moved = ?, distilled = 0 WHERE number = ?"
                db.execute(statement, (there, max(when, moved), number))
            elif when > moved:
                db.execute("UPDATE conversations SET moved = ? WHERE number = ?", (when, number))
            if imported and not record["imported"]:
                db.execute("UPDATE conversations SET imported = FALSE WHERE number = ?", (number,))
        if record.get("continues"):
            db.execute(_CONTINUES, (record["agent"], record["session"], *record["continues"]))

    def _take_memories(self, told: Sequence[Mapping[str, Any]]) -> None:
        new: list[MemoryVersion] = []
        for record in told:
            theirs = self._told(record)
            mine = feed.version(self._db, theirs.memory.id)
            if mine is not None:
                self._revise(mine, theirs)
            elif self._is_wanted(theirs.memory):
                new.append(theirs)
            else:
                self._taken["passed_over"] += 1
        write.add(self._db, [one.memory for one in new], mirrored=False)
        for one in new:
            kept = rows.memory(self._db, one.memory.id)
            if kept is not None:
                self._settle("add", one._replace(memory=kept))
            self._taken["passed_over" if kept is None else "added"] += 1  # erased, or not
        for record in told if not self._sender.foreign else ():
            related = [rows.read(Relation, row) for row in record.get("relations", ())]
            if related:
                lifecycle.relate(self._db, related)
            if record.get("strength"):
                id_, state = MemoryId(record["memory"]["id"]), rows.read(Strength, record["strength"])
                uses = [Review(id_, rows.moment(at), str(reason)) for at, reason in record.get("uses", ())]
                lifecycle.put_strength(self._db, id_, state, uses)

    def _told(self, record: Mapping[str, Any]) -> MemoryVersion:
        memory = rows.from_record(StoredMemory, record["memory"])
        if self._sender.foreign:
            person = memory.person or PersonId(self._sender.person)
            owner = person if memory.scope is Scope.USER else None
            return MemoryVersion(replace(memory, trust=Trust.IMPORTED, pinned=False, person=owner))
        if memory.person == self._sender.person:  # two homes of one person: theirs is mine
            memory = replace(memory, person=None)
        figures = (int(record["clock"]), int(record["hidden_clock"]))
        clock, hidden = (max(0, min(figure, changes.LARGEST)) for figure in figures)
        self._clock = max(self._clock, clock, hidden)
        homes = clean(str(record["home"])), clean(str(record["hidden_home"]))
        return MemoryVersion(memory, clock, homes[0], hidden, homes[1])

    def _is_wanted(self, memory: StoredMemory) -> bool:
        if self._sender.foreign and memory.status is Status.FORGOTTEN:
            return False
        # What was made from messages that are here is made here, too, or was and does not hold any more.
        touched = memory.pinned or memory.status is not Status.ACTIVE
        return not is_rejected(self._db, memory) and (touched or not self._makes(memory))

    def _makes(self, memory: StoredMemory) -> bool:
        """Whether this home has the messages that a memory is made from."""
        conversation = str(memory.provenance.get("conversation"))
        return is_derived(memory) and bool(self._db.execute(_HAS_CONVERSATION, (conversation,)).get)

    def _revise(self, mine: MemoryVersion, theirs: MemoryVersion) -> None:
        if self._sender.foreign:
            if mine.said != theirs.said or mine.memory.trust is not Trust.IMPORTED:
                return  # a stranger changes nothing but what they brought
            theirs = theirs._replace(clock=1)
        wanted = merged(mine, theirs, makes_own=self._makes(mine.memory))
        if self._sender.foreign:
            wanted = wanted._replace(clock=0)
        if is_rejected(self._db, wanted.memory):
            self._drop(wanted.memory.id)
            return
        owned = write.Places(self._db).owned(wanted.memory)
        placed = replace(owned, project=self._resolved(owned.project))
        wanted = wanted._replace(memory=rows.tombstones(self._db).left_of(placed))
        if wanted.memory != mine.memory:
            write.update(self._db, wanted.memory, mirrored=False)
            self._taken["changed"] += 1
        if wanted != mine:
            self._settle("update", wanted)

    def _resolved(self, id_: ProjectId) -> ProjectId:
        return projects.load(self._db, projects.number_of(self._db, id_)).id

    def _settle(self, change: str, wanted: MemoryVersion) -> None:
        self._db.execute(_SET_CLOCKS, (*wanted[1:], wanted.memory.id))
        line = changes.line(change, wanted.memory.updated_at, memory=rows.record_of(wanted.memory))
        changes.record(self._db, [line], (wanted.home, wanted.clock))

    def _take_tombstone(self, record: Mapping[str, Any]) -> None:
        grave = (clean(str(record["salt"])), clean(str(record["hash"])))
        self._db.execute(changes.TOMBSTONE, grave)
        if self._db.changes():
            changes.record(self._db, [changes.line("erase", tombstone=grave[1], salt=grave[0])])
            self._taken["erased"] += 1
            rows.note(self._db, "unswept", "1")

    def _take_rejected(self, record: Mapping[str, Any]) -> None:
        id_ = MemoryId(clean(str(record["id"])))
        self._db.execute(changes.REJECTED, (id_,))
        if self._db.changes():
            changes.record(self._db, [{"change": "reject", "reject": id_}])
            self._taken["other"] += 1
        known = rows.memory(self._db, id_)
        if known is not None and known.status is Status.PROPOSED:
            self._drop(id_)

    def _drop(self, id_: MemoryId) -> None:
        number = int(self._db.execute("SELECT number FROM memories WHERE id = ?", (id_,)).get)
        erase.drop(self._db, {number: id_})
        self._taken["changed"] += 1

    def _take_project(self, record: Mapping[str, Any]) -> None:
        clocks = {str(name): int(clock) for name, clock in record["identities"].items()}
        self._clock = max(self._clock, *clocks.values(), 0)
        project = rows.from_record(Project, {**record, "identities": list(clocks)})
        self._taken["other"] += projects.meet(self._db, project, clocks)

    def _take_intention(self, record: Mapping[str, Any]) -> None:
        intention = rows.from_record(Intention, record["intention"])
        intention = intention._replace(project=self._resolved(intention.project))
        clock, home = int(record["clock"]), clean(str(record["home"]))
        self._clock = max(self._clock, clock)
        statement = "SELECT clock, home FROM intentions WHERE id = ?"
        mine = next(self._db.execute(statement, (intention.id,)), (-1, ""))
        if (clock, home) > mine and lifecycle.put_intention(self._db, intention, clock, home):
            line = changes.line("intention", intention=record["intention"])
            changes.record(self._db, [line], (home, clock))
            self._taken["other"] += 1


_TRUST = (Trust.IMPORTED, Trust.TOOL, Trust.AGENT, Trust.USER)
_MARKS = ("pinned", "status", "topics", "kind", "supersedes", "superseded_by")


def merged(mine: MemoryVersion, theirs: MemoryVersion, *, makes_own: bool) -> MemoryVersion:
    """The one version that two become. `makes_own`: this home has the messages that it is made from."""
    # Of the same change mine stays: what was erased from it stays away.
    later = max(mine, theirs, key=lambda one: one.said)
    hiding = max(mine, theirs, key=lambda one: one.hiding)
    memory = later.memory
    if makes_own and later is theirs and is_derived(mine.memory) and is_derived(theirs.memory):
        memory = replace(mine.memory, **{name: getattr(memory, name) for name in _MARKS})
    if mine.memory.body == theirs.memory.body:
        memory = replace(memory, trust=max(mine.memory.trust, theirs.memory.trust, key=_TRUST.index))
    status, at = memory.status, None
    if hiding.memory.status is Status.FORGOTTEN:
        status, at = Status.FORGOTTEN, hiding.memory.forgotten_at
    elif status is Status.FORGOTTEN:
        status = Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE
    # One statement is one memory, however many places say it: those of both.
    origin, both = memory.provenance, (mine.memory.provenance, theirs.memory.provenance)
    if listed := [place for one in both for place in one.get("places", ())]:
        by_name = {str(place.get("conversation")): place for place in listed if isinstance(place, dict)}
        origin = {**origin, "places": [by_name[name] for name in sorted(by_name)]}
    memory = replace(
        memory,
        status=status,
        forgotten_at=at,
        provenance=origin,
        updated_at=max(mine.memory.updated_at, theirs.memory.updated_at),
    )
    return MemoryVersion(memory, *later.said, *hiding[3:])
