"""Keeping the store within its cap: the oldest tool output goes first, then messages, then exchanges.

Typed memories and summaries never go. A message keeps its row, without its words, so that no import brings it
back and the parts of a conversation keep their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from claude_memory.store.model import MadeRoom
from claude_memory.store.packing import unpacked
from claude_memory.store.records import to_json
from claude_memory.store.sql import changes, erase, rows, sweep

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

BATCH = 2000
_TOOL_KINDS = "('tool_call', 'tool_use', 'tool_failure')"
_OLD_EVENTS = (
    """SELECT number, length(payload) FROM events WHERE kind {which} ORDER BY timestamp, number LIMIT ?"""
)
_OLD_MESSAGES = """SELECT number, tool, body FROM messages WHERE body != '' AND {which}
    ORDER BY at, number LIMIT ?"""
_OLD_EXCHANGES = """SELECT m.number, m.id, length(m.body)
    FROM exchanges e JOIN memories m ON m.number = e.memory
    WHERE m.kind = 'observation' AND NOT m.pinned AND m.trust != 'user'
    ORDER BY m.created_at, m.number LIMIT ?"""


def take(db: Database, need: int) -> tuple[MadeRoom, int]:
    """Take out what is to go next, about so many bytes of it; 0 when only what must stay is left."""
    for step in (_tool_output, _messages, _exchanges):
        gone, freed = step(db, need)
        if gone != MadeRoom():
            rows.note(db, "unscrubbed", "1")
            return gone, max(freed, 1)
    return MadeRoom(), 0


def _tool_output(db: Database, need: int) -> tuple[MadeRoom, int]:
    events, freed = _drop_events(db, f"IN {_TOOL_KINDS}", need)
    messages, more = _blank(db, "role = 'result'", need - freed)
    return MadeRoom(tool_outputs=events + messages), freed + more


def _messages(db: Database, need: int) -> tuple[MadeRoom, int]:
    events, freed = _drop_events(db, f"NOT IN {_TOOL_KINDS}", need)
    messages, more = _blank(db, "role != 'result'", need - freed)
    return MadeRoom(messages=events + messages), freed + more


def _exchanges(db: Database, need: int) -> tuple[MadeRoom, int]:
    found = _enough(rows.fetch(db, _OLD_EXCHANGES, (BATCH,)), need)
    ids = [id_ for _, id_, _ in found]
    changes.drop(db, ids)
    erase.remove(db, [number for number, _, _ in found])
    return MadeRoom(exchanges=len(found)), sum(size for *_, size in found)


def _drop_events(db: Database, which: str, need: int) -> tuple[int, int]:
    found = _enough(rows.fetch(db, _OLD_EVENTS.format(which=which), (BATCH,)), need)
    numbers = to_json([number for number, _ in found])
    db.execute("DELETE FROM events WHERE number IN (SELECT +value FROM json_each(?))", (numbers,))
    return len(found), sum(size for _, size in found)


def _blank(db: Database, which: str, need: int) -> tuple[int, int]:
    rows_ = rows.fetch(db, _OLD_MESSAGES.format(which=which), (BATCH,))
    found = _enough([(*row, len(row[2])) for row in rows_], need)
    for number, tool, body, _ in found:
        sweep.rewrite(db, number, tool or "", unpacked(body), "")
    return len(found), sum(size for *_, size in found)


def _enough(found: Sequence[tuple[Any, ...]], need: int) -> list[tuple[Any, ...]]:
    """The first rows that together take what is needed; the size of each stands last."""
    chosen: list[tuple[Any, ...]] = []
    for row in found:
        if need <= 0:
            break
        need -= row[-1]
        chosen.append(row)
    return chosen
