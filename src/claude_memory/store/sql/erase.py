"""Removing for good: memories, what they came from, text entries, vectors, what waits for mirrors.

What of it is left in files once the transaction is over is the backend's part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from claude_memory.model import BY_HAND, EventId, MemoryId, StoredMemory
from claude_memory.redact.erasure import ERASED, Sentences, title_without, without
from claude_memory.store import tombstones
from claude_memory.store.model import Erased, MadeRoom
from claude_memory.store.sql import changes, passages, rows, sweep
from claude_memory.store.sql.archive_write import unpacked_keys
from claude_memory.store.sql.rows import to_json, unpacked
from claude_memory.text.words import strings_in
from claude_memory.understand.model import places_of

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_FIRST_REAL_MOMENT = datetime(2020, 1, 1, tzinfo=UTC)  # an earlier event tells of a clock that was not set
_AHEAD = timedelta(days=1)
_LISTED = "(SELECT value FROM json_each(?))"
_NUMBERED = "(SELECT +value FROM json_each(?))"

# Numbers grow as events come in. What came in after one that is young enough is young enough, too,
# whatever the clock said when it was captured; what says 1970 goes with what came in after it.
_PRUNE_EVENTS = """WITH kept AS MATERIALIZED (SELECT coalesce((SELECT number FROM events
        WHERE timestamp >= :before AND timestamp <= :latest ORDER BY number LIMIT 1), :everything) AS first),
    old AS MATERIALIZED (SELECT coalesce((SELECT number FROM events WHERE timestamp >= :real
        AND timestamp < :before AND number < (SELECT first FROM kept)
        ORDER BY number DESC LIMIT 1), 0) AS last)
    DELETE FROM events WHERE timestamp < :before AND number < (SELECT first FROM kept)
        AND (timestamp >= :real OR number < (SELECT last FROM old))"""

_CONVERSATIONS = """SELECT c.number FROM conversations c JOIN projects p ON p.number = c.project
    WHERE c.session = ? AND p.id = ?"""
_MESSAGES = """SELECT number, event, at FROM messages
    WHERE conversation = ? AND ordinal BETWEEN ? AND ? AND at <= ? ORDER BY at"""
# A tool use that went well is an event, but its messages do not name it.
_EVENTS_AROUND = """SELECT e.id FROM events e JOIN sessions s ON s.number = e.session
    JOIN conversations c ON s.project = c.project
      AND s.id = CASE c.parent WHEN '' THEN c.session ELSE c.parent END
    WHERE c.number = ? AND e.timestamp BETWEEN ? AND ?
      AND (c.parent = '' OR 'agent-' || (e.payload ->> 'agent_id') = c.session)"""
_OWN_EVENTS = f"""DELETE FROM events WHERE project = (SELECT number FROM projects WHERE id = ?)
    AND id IN {_LISTED} RETURNING id"""

# A later exchange may quote an earlier one: a question it answers, tasks that still stand.
_EXCHANGES = """JOIN exchanges e ON e.memory = m.number WHERE e.conversation = ?1 AND (e.last >= ?2
    OR m.updated_at >= (SELECT at FROM messages WHERE conversation = ?1 AND ordinal = ?2))"""
_SESSION_RECORDS = """JOIN conversations c ON c.project = m.project
    AND c.session = m.provenance ->> 'conversation'
    WHERE c.number = ? AND m.provenance ->> 'source' = 'session'"""
_STATEMENTS = """JOIN conversations c ON c.project = m.project WHERE c.number = ?
    AND m.provenance ->> 'source' = 'understood' AND NOT m.pinned
    AND m.provenance ->> 'by_hand' IS NULL AND m.provenance LIKE '%' || c.session || '%'"""


def erase(db: Database, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
    """Remove memories and what they came from, and leave hashes that keep them away.

    Whatever else holds one of `texts`, by default what the memories say, loses it, in every project.
    """
    asked = dict(rows.memories(db, f"WHERE m.id IN {_LISTED}", to_json(list(ids))))
    if not asked:
        return Erased(0, 0, 0, 0)
    salt, swept = changes.store_id(db), sweep.Swept()
    memories = list(asked.values())
    changes.retract(db, [memory.id for memory in memories])
    events = _erase_origins(db, memories, swept)
    events += _erase_sources(db, memories, swept)
    swept.changed = 0  # those were asked for
    said = [memory.body for memory in memories] if texts is None else list(texts)
    if said:
        sentences = Sentences(said)
        sweep.sweep(db, lambda _: sentences, swept)
        where = {*swept.projects, *(memory.project for memory in memories)}
        hashes = (tombstones.of_sentence(salt, project, text) for project in where for text in said)
        changes.bury(db, chain.from_iterable(hashes))
        changes.bury(db, [tombstones.of_event(salt, id_) for id_ in swept.events])
    gone = {**asked, **swept.memories}
    swept.derived = {number: id_ for number, id_ in swept.derived.items() if number not in gone}
    anew = _understand_anew(db, swept.touched, gone, said)
    changes.retract(db, [memory.id for memory in gone.values()])
    hashes = (tombstones.of_memory(salt, memory) for memory in gone.values())
    changes.bury(db, chain.from_iterable(hashes))
    changes.bury(db, [tombstones.of_id(salt, piece) for piece in anew.pieces.values()])
    return _finish(db, gone, gone, anew, swept, events + len(swept.events))


def apply_tombstones(db: Database) -> Erased:
    """Take out what the tombstones tell, after they came from elsewhere: rows, events, messages, texts."""
    known, swept = rows.tombstones(db), sweep.Swept()
    doomed = {number: memory for number, memory in rows.memories(db, "") if known.hold_memory(memory)}
    events = _erase_origins(db, list(doomed.values()), swept)
    dead = [id_ for (id_,) in rows.fetch(db, "SELECT id FROM events") if known.hold_event(id_)]
    db.execute(f"DELETE FROM events WHERE id IN {_LISTED}", (to_json(dead),))
    left = rows.fetch(db, "SELECT DISTINCT event FROM messages WHERE event IS NOT NULL")
    sweep.blank_messages_of(db, [id_ for (id_,) in left if known.hold_event(id_)], swept)
    if db.execute("SELECT 1 FROM tombstones WHERE hash LIKE ? LIMIT 1", (f"{tombstones.MESSAGE}%",)).get:
        kept = rows.fetch(db, "SELECT number, keys FROM messages WHERE keys IS NOT NULL")
        blank = {number for number, keys in kept if known.hold_message(unpacked_keys(keys))}
        sweep.blank_messages(db, blank, swept)
    remove(db, list(doomed))
    swept.changed = 0
    sweep.sweep(db, known.sentences, swept)
    anew = _understand_anew(db, swept.touched, swept.memories, ())
    gone = {**doomed, **swept.memories}
    return _finish(db, gone, swept.memories, anew, swept, events + len(dead) + len(swept.events))


def _finish(
    db: Database,
    gone: Mapping[int, StoredMemory],
    standing: Mapping[int, StoredMemory],
    anew: _Anew,
    swept: sweep.Swept,
    events: int,
) -> Erased:
    """Remove the rows that are still there, and say what is gone."""
    # What is made anew leaves no tombstone, and no mirror must bring its old words back. Of an exchange
    # whose messages are not here, nothing can be made anew.
    lone = {number: id_ for number, id_ in swept.derived.items() if id_ not in anew.emptied}
    dropped = {**lone, **anew.dropped, **anew.pieces}
    changes.drop(db, list(dropped.values()))
    passages, vectors = remove(db, [*standing, *sorted(dropped)])
    rows.note(db, "unscrubbed", "1")
    ids = (*(memory.id for memory in gone.values()), *anew.ids, *swept.derived.values())
    said_in = tuple(sorted(swept.transcripts))
    return Erased(len(gone), events, passages, vectors, swept.changed, ids, said_in)


def _erase_origins(db: Database, memories: Sequence[StoredMemory], swept: sweep.Swept) -> int:
    """Events that memories name as their origin, and their messages; how many events."""
    gone: list[str] = []
    named: list[str] = []
    for memory in memories:
        own = list(strings_in(memory.provenance))
        named += own
        gone += [id_ for (id_,) in rows.fetch(db, _OWN_EVENTS, (memory.project, to_json(own)))]
    archived = f"SELECT DISTINCT event FROM messages WHERE event IN {_LISTED}"
    events = [id_ for (id_,) in rows.fetch(db, archived, (to_json(named),))]
    salt = changes.store_id(db)
    changes.bury(db, [tombstones.of_event(salt, EventId(id_)) for id_ in {*gone, *events}])
    sweep.blank_messages_of(db, events, swept)
    return len(gone)


def _erase_sources(db: Database, memories: Sequence[StoredMemory], swept: sweep.Swept) -> int:
    """The messages that memories were understood from, and the events of that time; how many events."""
    messages: set[int] = set()
    events: set[EventId] = set()
    for memory in memories:
        for session, first, last in places_of(memory):
            for (number,) in rows.fetch(db, _CONVERSATIONS, (session, memory.project)):
                told = rows.fetch(db, _MESSAGES, (number, first, last, rows.stamp(memory.updated_at)))
                messages.update(message for message, *_ in told)
                events.update(EventId(event) for _, event, _ in told if event)
                if told:
                    around = rows.fetch(db, _EVENTS_AROUND, (number, told[0][2], told[-1][2]))
                    events.update(EventId(id_) for (id_,) in around)
    db.execute(f"DELETE FROM events WHERE id IN {_LISTED}", (to_json(sorted(events)),))
    gone = db.changes()
    salt = changes.store_id(db)
    changes.bury(db, [tombstones.of_event(salt, id_) for id_ in sorted(events)])
    changes.bury(db, _hashes_of(db, messages, salt))
    sweep.blank_messages(db, messages, swept)
    return gone


def _hashes_of(db: Database, messages: Iterable[int], salt: str) -> Iterator[str]:
    """Not every message is an event: they are known by their keys, too."""
    found = f"SELECT keys FROM messages WHERE number IN {_NUMBERED} AND keys IS NOT NULL"
    for (keys,) in rows.fetch(db, found, (rows.id_list(sorted(messages)),)):
        yield from (tombstones.of_message(salt, key) for key in unpacked_keys(keys))


@dataclass(slots=True)
class _Anew:
    """Memories that are made anew: those to be dropped until then, by number, and those that are emptied.

    `pieces`: statements that say nothing but a part of a sentence; they go, and do not come again.
    """

    dropped: dict[int, MemoryId] = field(default_factory=dict)
    pieces: dict[int, MemoryId] = field(default_factory=dict)
    emptied: list[MemoryId] = field(default_factory=list)

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        return (*self.dropped.values(), *self.pieces.values(), *self.emptied)


def _understand_anew(
    db: Database,
    touched: Mapping[int, set[int]],
    gone: Mapping[int, StoredMemory],
    said: Sequence[str],
) -> _Anew:
    """Let go of all that was understood from messages that changed, so that it is made of what is left.

    An exchange stays, emptied, because a person may have pinned or forgotten it. `touched`: ordinals by
    conversation; `gone`: memories that go anyway; `said`: the sentences, where they are known.
    """
    anew, sentences = _Anew(), Sentences(said)
    for conversation, ordinals in touched.items():
        statement = "UPDATE conversations SET record = NULL, title = '', distilled = 0 WHERE number = ?"
        db.execute(statement, (conversation,))
        for number, memory in rows.memories(db, _SESSION_RECORDS, conversation):
            if number not in gone:
                anew.dropped[number] = memory.id
        for number, memory in rows.memories(db, _EXCHANGES, conversation, min(ordinals)):
            if number in gone:
                continue
            if not memory.provenance.get(BY_HAND) and _says_nothing(db, number):
                anew.dropped[number] = memory.id
            else:
                _empty(db, number, _spared(memory, sentences))
                anew.emptied.append(memory.id)
        for number, memory in rows.memories(db, _STATEMENTS, conversation):
            places = places_of(memory)
            only_here = bool(places) and all(_is_touched(db, memory, place, touched) for place in places)
            if number not in gone and only_here and sentences.is_piece(memory.body):
                anew.pieces[number] = memory.id
    return anew


def _is_touched(
    db: Database,
    memory: StoredMemory,
    place: tuple[str, int, int],
    touched: Mapping[int, set[int]],
) -> bool:
    session, first, last = place
    held = rows.fetch(db, _CONVERSATIONS, (session, memory.project))
    return any(first <= ordinal <= last for (number,) in held for ordinal in touched.get(number, ()))


def _says_nothing(db: Database, exchange: int) -> bool:
    """Whether every message of an exchange was erased."""
    statement = """SELECT m.body FROM messages m JOIN exchanges e ON e.conversation = m.conversation
        AND m.ordinal BETWEEN e.first AND e.last WHERE e.memory = ?"""
    return all(unpacked(body) == ERASED for (body,) in db.execute(statement, (exchange,)))


def _spared(memory: StoredMemory, sentences: Sentences) -> StoredMemory:
    """An exchange without its words. Those that somebody wrote are left alone but for pieces of a sentence,
    because understanding would not write them again."""
    if not memory.provenance.get(BY_HAND):
        return replace(memory, title=ERASED, body=ERASED, files=())
    body = str(without(memory.body, sentences, pieces=True))
    return replace(memory, body=body, title=title_without(memory.title, memory.body, body, sentences))


def _empty(db: Database, number: int, memory: StoredMemory) -> None:
    sweep.rewrite_memory(db, number, memory)
    db.execute("UPDATE exchanges SET record = '{}' WHERE memory = ?", (number,))


def remove(db: Database, numbers: Sequence[int]) -> tuple[int, int]:
    """Delete memories with all that hangs on them, then let their neighbours close the gaps; returns how
    many passages and vectors went."""
    writer = db.entries()
    gaps: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    passage_count = vector_count = 0
    for number in numbers:
        session, created_at, space = next(
            db.execute("SELECT session, created_at, space FROM memories WHERE number = ?", (number,))
        )
        dropped = passages.drop_passages(db, writer, number)
        passage_count += dropped.passages
        vector_count += dropped.vectors
        db.execute("DELETE FROM memories WHERE number = ?", (number,))
        writer.erased(space)
        if session is not None:
            gaps[session].append((created_at, number))
    for session, places in gaps.items():
        passages.refresh_session(db, writer, session, sorted(places), set())
    writer.flush()
    return passage_count, vector_count


def prune(db: Database, events_before: datetime | None) -> int:
    """Drop events by age; returns how many."""
    if events_before is None:
        return 0
    moments = {"before": events_before, "real": _FIRST_REAL_MOMENT, "latest": datetime.now(UTC) + _AHEAD}
    stamps = {name: rows.stamp(moment) for name, moment in moments.items()}
    db.execute(_PRUNE_EVENTS, {**stamps, "everything": rows.EVERYTHING})
    return db.changes()


def is_unfinished(db: Database) -> bool:
    """Whether something was erased whose old pages may still be in the files."""
    return rows.noted(db, "unscrubbed") is not None


# --- keeping the store within its cap: the oldest tool output goes first, then messages, then exchanges.
# Typed memories and summaries never go. A message keeps its row, without its words, so that no import brings
# it back and the parts of a conversation keep their numbers.

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


def make_room(db: Database, need: int) -> tuple[MadeRoom, int]:
    """Take out what is to go next, about so many bytes of it; 0 when only what must stay is left."""
    for step in (_tool_output, _oldest_messages, _oldest_exchanges):
        gone, freed = step(db, need)
        if gone != MadeRoom():
            rows.note(db, "unscrubbed", "1")
            return gone, max(freed, 1)
    return MadeRoom(), 0


def _tool_output(db: Database, need: int) -> tuple[MadeRoom, int]:
    events, freed = _drop_events(db, f"IN {_TOOL_KINDS}", need)
    messages, more = _blank(db, "role = 'result'", need - freed)
    return MadeRoom(tool_outputs=events + messages), freed + more


def _oldest_messages(db: Database, need: int) -> tuple[MadeRoom, int]:
    events, freed = _drop_events(db, f"NOT IN {_TOOL_KINDS}", need)
    messages, more = _blank(db, "role != 'result'", need - freed)
    return MadeRoom(messages=events + messages), freed + more


def _oldest_exchanges(db: Database, need: int) -> tuple[MadeRoom, int]:
    found = _enough(rows.fetch(db, _OLD_EXCHANGES, (BATCH,)), need)
    ids = [id_ for _, id_, _ in found]
    changes.drop(db, ids)
    remove(db, [number for number, _, _ in found])
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
