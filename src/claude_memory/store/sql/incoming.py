"""What another home sends on its way in, and how two versions of one memory become one.

Whatever order versions meet in, and however often, the same one comes out: the later change of what is said,
and apart from it the later word on whether it is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_memory.model import MemoryId, PersonId, Project, ProjectId, Scope, Status, StoredMemory, Trust
from claude_memory.store.model import Intention, NewMessage, Relation, Review, Strength
from claude_memory.store.sql import changes, erase, lifecycle, projects, rows, write
from claude_memory.store.sql.archive_write import Addition
from claude_memory.store.sql.feed import (
    CONVERSATION,
    MESSAGES,
    FeedBatch,
    MemoryVersion,
    Sender,
    Taken,
    version,
)
from claude_memory.store.sql.rows import is_derived
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_TRUST = (Trust.IMPORTED, Trust.TOOL, Trust.AGENT, Trust.USER)
_MARKS = ("pinned", "status", "topics", "kind", "supersedes", "superseded_by")
_SET_CLOCKS = "UPDATE memories SET clock = ?, home = ?, hidden_clock = ?, hidden_home = ? WHERE id = ?"
_HAS_CONVERSATION = "SELECT 1 FROM conversations WHERE session = ? AND messages > 0"


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
        row = next(db.execute(CONVERSATION, (record["agent"], record["session"])), None)
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
        memory = rows.from_record(StoredMemory, record["memory"])
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
            project = rows.from_record(Project, {**record, "identities": list(clocks)})
            self._count("other", projects.meet(self._db, project, clocks))

    def _take_intentions(self, told: Sequence[Mapping[str, Any]]) -> None:
        for record in told:
            intention = rows.from_record(Intention, record["intention"])
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


# --- one of two versions


def merged(mine: MemoryVersion, theirs: MemoryVersion, *, makes_own: bool) -> MemoryVersion:
    """The one version that two become. `makes_own`: this home has the messages that it is made from."""
    # Of the same change mine stays: what was erased from it stays away.
    later, hiding = max(mine, theirs, key=lambda one: one.said), max(mine, theirs, key=lambda one: one.hiding)
    memory = later.memory
    if makes_own and later is theirs and is_derived(mine.memory) and is_derived(theirs.memory):
        memory = _with_marks(mine.memory, theirs.memory)
    if mine.memory.body == theirs.memory.body:
        memory = replace(memory, trust=max(mine.memory.trust, theirs.memory.trust, key=_TRUST.index))
    memory = replace(
        memory,
        provenance=_with_places(memory.provenance, mine.memory, theirs.memory),
        updated_at=max(mine.memory.updated_at, theirs.memory.updated_at),
    )
    return MemoryVersion(_shown_as(memory, hiding), *later.said, hiding.hidden_clock, hiding.hidden_home)


def is_touched(memory: StoredMemory) -> bool:
    """Whether somebody did something to what was derived."""
    return memory.pinned or memory.status is not Status.ACTIVE or not is_derived(memory)


def _with_marks(mine: StoredMemory, theirs: StoredMemory) -> StoredMemory:
    return replace(mine, **{name: getattr(theirs, name) for name in _MARKS})


def _with_places(origin: Mapping[str, Any], *told: StoredMemory) -> Mapping[str, Any]:
    """One statement is one memory, however many places say it: those of both."""
    listed = [place for memory in told for place in memory.provenance.get("places", ())]
    if not listed:
        return origin
    by_name = {str(place.get("conversation")): place for place in listed if isinstance(place, dict)}
    return {**origin, "places": [by_name[name] for name in sorted(by_name)]}


def _shown_as(memory: StoredMemory, hiding: MemoryVersion) -> StoredMemory:
    if hiding.is_hidden:
        return replace(memory, status=Status.FORGOTTEN, forgotten_at=hiding.memory.forgotten_at)
    if memory.status is Status.FORGOTTEN:
        shown = Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE
        return replace(memory, status=shown, forgotten_at=None)
    return replace(memory, forgotten_at=None)
