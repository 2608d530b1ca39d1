"""What a memory was understood from: the messages and events that must go when it is erased.

An exchange and a statement name their conversation and the messages in it; a session's record is made of
all of them, so that it goes too and is made anew from what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import apsw

from claude_memory.model import BY_HAND, EventId, MemoryId, StoredMemory
from claude_memory.redact.erasure import ERASED, Sentences, title_without, without
from claude_memory.store.packing import unpacked
from claude_memory.store.sqlite import changes, rows, write
from claude_memory.understand.model import places_of

_MESSAGES = """SELECT number, event, at FROM messages
    WHERE conversation = ? AND ordinal BETWEEN ? AND ? AND at <= ? ORDER BY at"""
# A tool use that went well is an event, but its messages do not name it.
_EVENTS = """SELECT e.id FROM events e JOIN sessions s ON s.number = e.session
    JOIN conversations c ON s.project = c.project AND s.id = iif(c.parent = '', c.session, c.parent)
    WHERE c.number = ? AND e.timestamp BETWEEN ? AND ?
      AND (c.parent = '' OR 'agent-' || (e.payload ->> '$.agent_id') = c.session)"""


@dataclass(slots=True)
class Sources:
    """Messages by number, events by id."""

    messages: set[int] = field(default_factory=set)
    events: set[EventId] = field(default_factory=set)


def of(db: apsw.Connection, memories: Sequence[StoredMemory]) -> Sources:
    """All that these memories were understood from."""
    found = Sources()
    for memory in memories:
        latest = rows.stamp(memory.updated_at)
        for session, first, last in places_of(memory):
            statement = """SELECT c.number FROM conversations c JOIN projects p ON p.number = c.project
                WHERE c.session = ? AND p.id = ?"""
            for (number,) in rows.fetch(db, statement, (session, memory.project)):
                told = rows.fetch(db, _MESSAGES, (number, first, last, latest))
                found.messages.update(message for message, *_ in told)
                found.events.update(EventId(event) for _, event, _ in told if event)
                if told:
                    span = (number, told[0][2], told[-1][2])
                    found.events.update(EventId(id_) for (id_,) in rows.fetch(db, _EVENTS, span))
    return found


@dataclass(slots=True)
class Anew:
    """Memories that are made anew: those to be dropped until then, by number, and those that are emptied.

    `pieces`: statements that say nothing but a part of a sentence; they go, and do not come again.
    """

    dropped: dict[int, MemoryId] = field(default_factory=dict)
    pieces: dict[int, MemoryId] = field(default_factory=dict)
    emptied: list[MemoryId] = field(default_factory=list)

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        return (*self.dropped.values(), *self.pieces.values(), *self.emptied)


def understand_anew(
    db: apsw.Connection,
    touched: Mapping[int, set[int]],
    gone: Mapping[int, StoredMemory],
    said: Sequence[str],
) -> Anew:
    """Let go of all that was understood from messages that changed, so that it is made of what is left.

    An exchange stays, emptied, because a person may have pinned or forgotten it. `touched`: ordinals by
    conversation; `gone`: memories that go anyway; `said`: the sentences, where they are known.
    """
    anew, sentences = Anew(), Sentences(said)
    for conversation, ordinals in touched.items():
        statement = "UPDATE conversations SET record = NULL, title = '', distilled = 0 WHERE number = ?"
        db.execute(statement, (conversation,))
        for number, memory in _memories(db, _RECORDS, conversation):
            if number not in gone:
                anew.dropped[number] = memory.id
        for number, memory in _memories(db, _EXCHANGES, conversation, min(ordinals)):
            if number in gone:
                continue
            by_hand = bool(memory.provenance.get(BY_HAND))
            if not by_hand and _says_nothing(db, number):
                anew.dropped[number] = memory.id
            else:
                _empty(db, number, _spared(memory, sentences) if by_hand else _emptied(memory))
                anew.emptied.append(memory.id)
        for number, memory in _memories(db, _STATEMENTS, conversation):
            only_here = all(_is_touched(db, place, memory, touched) for place in places_of(memory))
            if number not in gone and only_here and sentences.is_piece(memory.body):
                anew.pieces[number] = memory.id
    return anew


# A later exchange may quote an earlier one: a question it answers, tasks that still stand.
_EXCHANGES = """JOIN exchanges e ON e.memory = m.number WHERE e.conversation = ?1 AND (e.last >= ?2
    OR m.updated_at >= (SELECT at FROM messages WHERE conversation = ?1 AND ordinal = ?2))"""
_RECORDS = """JOIN conversations c ON c.project = m.project AND c.session = m.provenance ->> '$.conversation'
    WHERE c.number = ? AND m.provenance ->> '$.source' = 'session'"""
_STATEMENTS = """JOIN conversations c ON c.project = m.project WHERE c.number = ?
    AND m.provenance ->> '$.source' = 'understood' AND NOT m.pinned
    AND m.provenance ->> '$.by_hand' IS NULL
    AND c.session IN (SELECT value ->> '$.conversation' FROM json_each(m.provenance, '$.places'))"""


def _memories(db: apsw.Connection, which: str, *values: int) -> list[tuple[int, StoredMemory]]:
    statement = f"SELECT m.number, {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES} {which}"
    return [(row[0], rows.memory_from_row(row[1:])) for row in rows.fetch(db, statement, values)]


def _says_nothing(db: apsw.Connection, exchange: int) -> bool:
    """Whether every message of an exchange was erased."""
    statement = """SELECT m.body FROM messages m JOIN exchanges e ON e.conversation = m.conversation
        AND m.ordinal BETWEEN e.first AND e.last WHERE e.memory = ?"""
    return all(unpacked(body) == ERASED for (body,) in db.execute(statement, (exchange,)))


def _emptied(memory: StoredMemory) -> StoredMemory:
    return replace(memory, title=ERASED, body=ERASED, files=())


def _spared(memory: StoredMemory, sentences: Sentences) -> StoredMemory:
    """Understanding leaves the words of this one alone, so only what is a piece of a sentence goes."""
    body = str(without(memory.body, sentences, pieces=True))
    return replace(memory, body=body, title=title_without(memory.title, memory.body, body, sentences))


def _empty(db: apsw.Connection, number: int, memory: StoredMemory) -> None:
    for table in ("mentions", "graphed"):
        db.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
    changes.drop_for(db, [memory.id])
    write.update(db, memory)
    db.execute("UPDATE exchanges SET record = '{}' WHERE memory = ?", (number,))


def _is_touched(
    db: apsw.Connection,
    place: tuple[str, int, int],
    memory: StoredMemory,
    touched: Mapping[int, set[int]],
) -> bool:
    session, first, last = place
    statement = """SELECT c.number FROM conversations c JOIN projects p ON p.number = c.project
        WHERE c.session = ? AND p.id = ?"""
    found = rows.fetch(db, statement, (session, memory.project))
    return any(first <= ordinal <= last for (number,) in found for ordinal in touched.get(number, ()))
