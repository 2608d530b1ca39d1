"""What a memory was understood from: the messages and events that must go when it is erased.

An exchange and a statement name their conversation and the messages in it; a session's record is made of
all of them, so that it goes too and is made anew from what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from claude_memory.model import EventId, StoredMemory
from claude_memory.store.sqlite import rows

_MESSAGES = """SELECT number, event, at FROM messages
    WHERE conversation = ? AND ordinal BETWEEN ? AND ? AND at <= ? ORDER BY at"""
# A tool use that went well is an event, but its messages do not name it.
_EVENTS = """SELECT e.id FROM events e JOIN sessions s ON s.number = e.session
    JOIN conversations c ON s.project = c.project AND s.id = iif(c.parent = '', c.session, c.parent)
    WHERE c.number = ? AND e.timestamp BETWEEN ? AND ?
      AND (c.parent = '' OR 'agent-' || (e.payload ->> '$.agent_id') = c.session)"""


@dataclass(slots=True)
class Sources:
    """Messages by number, events by id, conversations that are to be understood anew."""

    messages: set[int] = field(default_factory=set)
    events: set[EventId] = field(default_factory=set)
    conversations: set[int] = field(default_factory=set)


def of(db: apsw.Connection, memories: Sequence[StoredMemory]) -> Sources:
    """All that these memories were understood from."""
    found = Sources()
    for memory in memories:
        latest = rows.stamp(memory.updated_at)
        for session, first, last in _places(memory):
            statement = """SELECT c.number FROM conversations c JOIN projects p ON p.number = c.project
                WHERE c.session = ? AND p.id = ?"""
            for (number,) in rows.fetch(db, statement, (session, memory.project)):
                told = rows.fetch(db, _MESSAGES, (number, first, last, latest))
                found.conversations.add(number)
                found.messages.update(message for message, *_ in told)
                found.events.update(EventId(event) for _, event, _ in told if event)
                if told:
                    span = (number, told[0][2], told[-1][2])
                    found.events.update(EventId(id_) for (id_,) in rows.fetch(db, _EVENTS, span))
    return found


def understand_anew(db: apsw.Connection, conversations: set[int]) -> list[int]:
    """Let go of the records of conversations; returns the numbers of the memories that were made of them."""
    wanted = rows.id_list(sorted(conversations))
    db.execute(
        """UPDATE conversations SET record = NULL, title = '', distilled = 0
           WHERE number IN (SELECT value FROM json_each(?))""",
        (wanted,),
    )
    found = rows.fetch(
        db,
        """SELECT m.number FROM memories m JOIN conversations c ON c.project = m.project
           AND c.session = m.provenance ->> '$.conversation'
           WHERE c.number IN (SELECT value FROM json_each(?)) AND m.provenance ->> '$.source' = 'session'""",
        (wanted,),
    )
    return [number for (number,) in found]


def _places(memory: StoredMemory) -> Iterator[tuple[str, int, int]]:
    """Conversation, first and last message of each place that a memory names."""
    told = memory.provenance
    named: list[Any] = [told] if told.get("source") == "exchange" else list(told.get("places", ()))
    for place in named:
        if isinstance(place, dict) and place.get("messages"):
            yield str(place.get("conversation")), min(place["messages"]), max(place["messages"])
