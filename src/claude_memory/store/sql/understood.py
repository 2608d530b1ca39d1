"""Keeping what was understood of a conversation: exchanges and their memories, its record, what it left.

All of it is derived from messages and may be made anew: an exchange that grew is brought up to date, one
that is no longer there is taken out. What a person did to it (pinned, forgot, used) stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_memory.model import BY_HAND, MemoryId, Status, StoredMemory
from claude_memory.store.model import Understood
from claude_memory.store.sql import changes, erase, rows, write
from claude_memory.store.sql.rows import to_json
from claude_memory.text.quotation import clean
from claude_memory.understand import commands

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_PLACES = ("places", "messages")
_GUESSED = "('distilled', 'compaction')"
# What an earlier release made of single turns of this conversation.
_FORMER = f"""SELECT m.number, m.id, m.status, m.forgotten_at, m.pinned, m.provenance ->> 'event'
    FROM memories m JOIN sessions s ON s.number = m.session
    JOIN conversations c ON c.session = s.id AND c.project = s.project
    WHERE c.number = ? AND m.number NOT IN (SELECT memory FROM exchanges) AND (
        (m.kind IN ('observation', 'summary') AND m.provenance ->> 'source' IN ('hook', 'transcript'))
        OR (m.provenance ->> 'source' IN {_GUESSED} AND (m.status = 'proposed' OR m.kind = 'summary')))"""


def keep(
    db: Database,
    conversation: int,
    exchanges: Sequence[Understood],
    since: int,
    memories: Sequence[StoredMemory],
) -> int:
    """Write exchanges and memories in the running transaction; returns how many memories are new."""
    new = 0
    _drop_outdated(db, conversation, since, {item.memory.id for item in exchanges})
    former = _former(db, conversation)
    for item in exchanges:
        new += _put(db, _as_left(db, conversation, item, former))
        _place(db, conversation, item)
    new += sum(_put(db, memory) for memory in memories if not _is_rejected(db, memory))
    if former:
        _carry_strengths(db, conversation, former)
        _remove(db, [(number, MemoryId(id_)) for number, id_, *_ in former])
    return new


def _put(db: Database, memory: StoredMemory) -> int:
    """Add a memory, or bring the known one up to what it says now; a person's hand on it stays."""
    known = rows.memory(db, memory.id)
    if known is None:
        return write.add(db, [memory]).memories
    if known.provenance.get(BY_HAND):
        places = {name: memory.provenance[name] for name in _PLACES if name in memory.provenance}
        memory = replace(known, provenance={**known.provenance, **places}, updated_at=memory.updated_at)
    told = replace(
        memory,
        status=known.status if known.status is not Status.PROPOSED else memory.status,
        forgotten_at=known.forgotten_at,
        pinned=known.pinned,
        supersedes=known.supersedes,
        superseded_by=known.superseded_by,
        created_at=known.created_at,
        updated_at=max(known.updated_at, memory.updated_at),
        trust=known.trust,
        scope=known.scope,
        topics=tuple(dict.fromkeys((*memory.topics, *known.topics))),
    )
    if told != known:
        write.update(db, told, counts=False)
    return 0


def _place(db: Database, conversation: int, item: Understood) -> None:
    db.execute(
        """INSERT INTO exchanges (memory, conversation, first, last, record)
           SELECT number, ?, ?, ?, ? FROM memories WHERE id = ?
           ON CONFLICT (memory) DO UPDATE SET conversation = excluded.conversation,
               first = excluded.first, last = excluded.last, record = excluded.record""",
        (conversation, item.first, item.last, to_json(item.record), item.memory.id),
    )
    _note_failures(db, item)


def _note_failures(db: Database, item: Understood) -> None:
    """By which kinds of commands the exchange is found when one of them is about to be run again."""
    failed = (run for run in item.record.get("commands", ()) if run.get("failed"))
    kinds = {kind for run in failed for kind in commands.families(run["command"])}
    db.execute(
        "DELETE FROM exchange_failures WHERE memory = (SELECT number FROM memories WHERE id = ?)",
        (item.memory.id,),
    )
    db.executemany(
        "INSERT INTO exchange_failures (family, memory) SELECT ?, number FROM memories WHERE id = ?",
        [(clean(kind), item.memory.id) for kind in sorted(kinds)],
    )


def _drop_outdated(db: Database, conversation: int, since: int, kept: set[MemoryId]) -> None:
    found = rows.fetch(
        db,
        """SELECT m.number, m.id FROM exchanges e JOIN memories m ON m.number = e.memory
           WHERE e.conversation = ? AND e.first >= ? AND NOT m.pinned AND m.status <> 'forgotten'""",
        (conversation, since),
    )
    _remove(db, [(number, MemoryId(id_)) for number, id_ in found if id_ not in kept])


def _remove(db: Database, gone: Sequence[tuple[int, MemoryId]]) -> None:
    """Take out rows that are derived; no tombstone, because they may come again."""
    if gone:
        changes.drop(db, [id_ for _, id_ in gone])
        erase.remove(db, [number for number, _ in gone])


def reject(db: Database, ids: Sequence[MemoryId]) -> int:
    """Take proposals out, and keep their ids, which say what was proposed, so that they never come back."""
    statement = (
        "SELECT number, id FROM memories WHERE status = 'proposed' AND id IN (SELECT value FROM json_each(?))"
    )
    gone = [(number, MemoryId(id_)) for number, id_ in rows.fetch(db, statement, (to_json(list(ids)),))]
    db.executemany(changes.REJECTED, [(id_,) for _, id_ in gone])
    _remove(db, gone)
    changes.record(db, [{"change": "reject", "reject": id_} for _, id_ in gone])
    return len(gone)


def _is_rejected(db: Database, memory: StoredMemory) -> bool:
    if memory.status is not Status.PROPOSED:
        return False
    return db.execute("SELECT 1 FROM rejected WHERE hash = ?", (memory.id,)).get is not None


def _former(db: Database, conversation: int) -> list[tuple[Any, ...]]:
    """Memories of single turns that an earlier release made; none in a home that began with this one."""
    if rows.noted(db, "move") is None:
        return []
    return [row for row in rows.fetch(db, _FORMER, (conversation,)) if not row[4]]


def _as_left(
    db: Database, conversation: int, item: Understood, former: Sequence[tuple[Any, ...]]
) -> StoredMemory:
    """The exchange, forgotten if a turn of it was."""
    hidden = {event: at for _, _, status, at, _, event in former if status == "forgotten" and event}
    if not hidden:
        return item.memory
    found = db.execute(
        """SELECT event FROM messages WHERE conversation = ? AND ordinal BETWEEN ? AND ?
           AND event IN (SELECT value FROM json_each(?))""",
        (conversation, item.first, item.last, to_json(list(hidden))),
    ).get
    if found is None:
        return item.memory
    at = hidden[found]
    return replace(
        item.memory, status=Status.FORGOTTEN, forgotten_at=rows.moment(at) if at is not None else None
    )


def _carry_strengths(db: Database, conversation: int, former: Sequence[tuple[Any, ...]]) -> None:
    """What was used often stays strong: the exchange takes over the firmest state of its turns."""
    for number, _, _, _, _, event in former:
        db.execute(
            """INSERT INTO strengths (memory, stability, difficulty, reviewed_at, reviews, lapses, demoted)
               SELECT e.memory, s.stability, s.difficulty, s.reviewed_at, s.reviews, s.lapses, s.demoted
               FROM strengths s
               JOIN messages m ON m.event = ? AND m.conversation = ?
               JOIN exchanges e ON e.conversation = m.conversation AND m.ordinal BETWEEN e.first AND e.last
               WHERE s.memory = ?
               ON CONFLICT (memory) DO UPDATE SET
                   stability = max(strengths.stability, excluded.stability),
                   reviews = max(strengths.reviews, excluded.reviews)""",
            (event, conversation, number),
        )
