"""Removing for good: memories, what they came from, and their sentences in every table that can hold one.

Which columns those are, and why no other one can, stands in `tests/integration/test_erasing_everywhere.py`,
which holds it against the schema; what a text holds, `redact/erasure.py` decides. What is left in files once
the transaction is over is the backend's part. Also here: what goes by age, and for want of room.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from claude_memory.model import BY_HAND, EventId, MemoryId, ProjectId, StoredMemory
from claude_memory.redact import erasure
from claude_memory.redact.erasure import ERASED, Holder, Sentences, holds, title_without, without
from claude_memory.store import tombstones
from claude_memory.store.model import Erased
from claude_memory.store.sql import changes, rows, write
from claude_memory.store.sql.archive import indexed
from claude_memory.store.sql.archive_write import unpacked_keys
from claude_memory.store.sql.rows import to_json, unpacked
from claude_memory.text.words import strings_in
from claude_memory.understand.model import places_of

if TYPE_CHECKING:
    from claude_memory.store.base import Database

Of = Callable[[ProjectId | None], Holder]
_LISTED = "(SELECT value FROM json_each(?))"
_NUMBERED = "(SELECT +value FROM json_each(?))"
_OWN_EVENTS = f"""SELECT id FROM events WHERE project = (SELECT number FROM projects WHERE id = ?)
    AND id IN {_LISTED}"""
_CONVERSATIONS = """SELECT c.number FROM conversations c JOIN projects p ON p.number = c.project
    WHERE c.session = ? AND p.id = ?"""
_UNDERSTOOD_FROM = """SELECT number, event, at FROM messages
    WHERE conversation = ? AND ordinal BETWEEN ? AND ? AND at <= ? ORDER BY at"""
# A tool use that went well is an event, but its messages do not name it.
_EVENTS_AROUND = """SELECT e.id FROM events e JOIN sessions s ON s.number = e.session
    JOIN conversations c ON s.project = c.project
      AND s.id = CASE c.parent WHEN '' THEN c.session ELSE c.parent END
    WHERE c.number = ? AND e.timestamp BETWEEN ? AND ?
      AND (c.parent = '' OR 'agent-' || (e.payload ->> 'agent_id') = c.session)"""
# A later exchange may quote an earlier one: a question it answers, tasks that still stand.
_EXCHANGES = """JOIN exchanges e ON e.memory = m.number WHERE e.conversation = ?1 AND (e.last >= ?2
    OR m.updated_at >= (SELECT at FROM messages WHERE conversation = ?1 AND ordinal = ?2))"""
_EXCHANGED = """SELECT m.body FROM messages m JOIN exchanges e ON e.conversation = m.conversation
    AND m.ordinal BETWEEN e.first AND e.last WHERE e.memory = ?"""
_SESSION_RECORDS = """JOIN conversations c ON c.project = m.project
    AND c.session = m.provenance ->> 'conversation'
    WHERE c.number = ? AND m.provenance ->> 'source' = 'session'"""
_STATEMENTS = """JOIN conversations c ON c.project = m.project WHERE c.number = ?
    AND m.provenance ->> 'source' = 'understood' AND NOT m.pinned
    AND m.provenance ->> 'by_hand' IS NULL AND m.provenance LIKE '%' || c.session || '%'"""
_MESSAGES = """m.body, p.id, m.number, m.conversation, m.ordinal, m.tool, c.path FROM messages m
    JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project"""
_OF_PROJECT = "JOIN projects p ON p.number = t.project"
_OF_MEMORY = "JOIN memories m ON m.number = t.{} JOIN projects p ON p.number = m.project"
# What sentences are cut out of, beside memories, events and messages: table, column, key, and how a row comes
# by its project.
_SWEPT = (
    ("conversations", "title", ("number",), _OF_PROJECT),
    ("intentions", "record", ("number",), _OF_PROJECT),
    ("conversations", "record", ("number",), _OF_PROJECT),
    ("exchanges", "record", ("memory",), _OF_MEMORY.format("memory")),
    ("import_files", "state", ("path",), "LEFT JOIN projects p ON 1 = 0"),
    ("relations", "evidence", ("source", "target", "kind"), _OF_MEMORY.format("source")),
)


def erase(db: Database, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
    asked = dict(rows.memories(db, f"WHERE m.id IN {_LISTED}", to_json(list(ids))))
    if not asked:
        return Erased(0, 0, 0, 0)
    work = _Erasure(db, asked)
    work.take_origins(sources=True)
    said = [memory.body for memory in asked.values()] if texts is None else list(texts)
    sentences = Sentences(said)
    if said:
        events = work.sweep(lambda _: sentences)
        hashes = (
            erasure.sentence_hash(work.salt, project, text) for project in work.projects for text in said
        )
        changes.bury(db, [hash_ for hash_ in hashes if hash_ is not None])
        changes.bury(db, [tombstones.of(work.salt, "event", id_) for id_ in sorted(events)])
    work.understand_anew(sentences)
    gone = list(work.memories.values())
    ids = [*(memory.id for memory in gone), *work.pieces.values()]
    things = [("memory", id_) for id_ in ids]
    bodies = [("body", memory.project, tombstones.plain(memory.body)) for memory in gone]
    changes.bury(db, [tombstones.of(work.salt, *thing) for thing in (*things, *bodies)])
    return work.finish()


def apply_tombstones(db: Database) -> Erased:
    known = rows.tombstones(db)
    work = _Erasure(db, {number: item for number, item in rows.memories(db, "") if known.hold_memory(item)})
    work.take_origins()
    work.drop_events([id_ for (id_,) in rows.fetch(db, "SELECT id FROM events") if known.hold_event(id_)])
    left = rows.fetch(db, "SELECT number, event FROM messages WHERE event IS NOT NULL")
    blank = {number for number, event in left if known.hold_event(event)}
    if db.execute("SELECT 1 FROM tombstones WHERE hash LIKE ? LIMIT 1", (f"{tombstones.MESSAGE}%",)).get:
        keyed = rows.fetch(db, "SELECT number, keys FROM messages WHERE keys IS NOT NULL")
        blank |= {number for number, keys in keyed if known.hold_message(unpacked_keys(keys))}
    work.blank_messages(blank)
    work.sweep(known.sentences)
    work.understand_anew(Sentences(()))
    return work.finish()


class _Erasure:
    """One run: what is to be removed as a whole, what is made anew, and which agents' own files said it."""

    def __init__(self, db: Database, memories: Mapping[int, StoredMemory]) -> None:
        self.db = db
        self.salt = changes.store_id(db)
        self.memories = dict(memories)
        self.projects = {memory.project for memory in memories.values()}
        # What is understood again from what is left: emptied till then, or gone. Of the derived nothing is
        # left; pieces are statements that say nothing but a part of a sentence, and do not come again.
        self.emptied: list[MemoryId] = []
        self.dropped: dict[int, MemoryId] = {}
        self.derived: dict[int, MemoryId] = {}
        self.pieces: dict[int, MemoryId] = {}
        self._touched: defaultdict[int, set[int]] = defaultdict(set)  # messages, by conversation
        self._transcripts: set[str] = set()
        self._events = self._changed = 0

    def take_origins(self, *, sources: bool = False) -> None:
        """Remove the events that the memories name, with their messages; with `sources`, also the messages
        that they were understood from, and the events of that time."""
        db = self.db
        messages: set[int] = set()
        own: set[EventId] = set()
        events: set[EventId] = set()
        for memory in self.memories.values():
            named = to_json(list(strings_in(memory.provenance)))
            own.update(id_ for (id_,) in rows.fetch(db, _OWN_EVENTS, (memory.project, named)))
            told = rows.fetch(db, f"SELECT number, event FROM messages WHERE event IN {_LISTED}", (named,))
            messages.update(number for number, _ in told)
            events.update(event for _, event in told)
            for session, first, last in places_of(memory) if sources else ():
                for (number,) in rows.fetch(db, _CONVERSATIONS, (session, memory.project)):
                    place = (number, first, last, rows.stamp(memory.updated_at))
                    if told := rows.fetch(db, _UNDERSTOOD_FROM, place):
                        messages.update(message for message, *_ in told)
                        own.update(event for _, event, _ in told if event)
                        around = rows.fetch(db, _EVENTS_AROUND, (number, told[0][2], told[-1][2]))
                        own.update(id_ for (id_,) in around)
        self.drop_events(own)
        changes.bury(db, [tombstones.of(self.salt, "event", id_) for id_ in sorted(own | events)])
        if sources:  # not every message is an event: they are known by their keys, too
            keyed = f"SELECT keys FROM messages WHERE number IN {_NUMBERED}"
            packed = rows.fetch(db, keyed, (rows.id_list(sorted(messages)),))
            keys = (key for (one,) in packed for key in unpacked_keys(one))
            changes.bury(db, [tombstones.of(self.salt, "message", str(key)) for key in keys])
        self.blank_messages(messages)

    def drop_events(self, ids: Iterable[EventId]) -> None:
        self.db.execute(f"DELETE FROM events WHERE id IN {_LISTED}", (to_json(sorted(ids)),))
        self._events += self.db.changes()

    def blank_messages(self, numbers: set[int]) -> None:
        """Empty messages; their keys stay, and keep copies away."""
        for number in sorted(numbers):
            row = next(self.db.execute(f"SELECT {_MESSAGES} WHERE m.number = ?", (number,)))
            if unpacked(row[0]) != ERASED:
                self._reword(row, ERASED, Sentences(()))

    def _reword(self, row: Sequence[Any], left: str, holder: Holder) -> None:
        body, project, number, conversation, ordinal, tool, path = row
        text = unpacked(body)
        reword(self.db, number, tool or "", text, left)
        title = str(self.db.execute("SELECT title FROM conversations WHERE number = ?", (conversation,)).get)
        fresh = title_without(title, text, left, holder) if title else title
        if fresh != title:
            self.db.execute("UPDATE conversations SET title = ? WHERE number = ?", (fresh, conversation))
        self.projects.add(ProjectId(project))
        self._touched[conversation].add(ordinal)
        self._transcripts |= {path} if path else set()

    def sweep(self, of: Of) -> set[EventId]:
        """Cut the sentences of each project out of rows; returns the events that held one, which are gone."""
        self._sweep_memories(of)
        events = self._sweep_archive(of)
        for table, column, keys, join in _SWEPT:
            where = f"WHERE {' AND '.join(f'{key} = ?' for key in keys)}"
            places = ", ".join(f"t.{key}" for key in keys)
            statement = (
                f"SELECT t.{column}, p.id, {places} FROM {table} t {join} WHERE t.{column} IS NOT NULL"
            )
            for text, project, *place in rows.fetch(self.db, statement):
                left = _left_of(table, column, text, of(project))
                if left is None:
                    self.db.execute(f"DELETE FROM {table} {where}", place)
                elif left != text:
                    self.db.execute(f"UPDATE {table} SET {column} = ? {where}", (left, *place))
                self._changed += left != text
        return events

    def _sweep_memories(self, of: Of) -> None:
        """Also of what waits for the mirror; the state of a memory that is changed is written down again."""
        statement = """SELECT record, record -> 'memory' ->> 'project', sequence FROM changes
            WHERE record ->> 'tombstone' IS NULL"""
        for record, project, sequence in rows.fetch(self.db, statement):
            if holds(record, of(project)):
                self.db.execute("DELETE FROM changes WHERE sequence = ?", (sequence,))
        statement = f"SELECT m.number, {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}"
        hit = []
        for number, *row in self.db.execute(statement):
            holder = of(ProjectId(row[1]))
            if any(isinstance(text, str) and holder.likely(text) for text in row[3:]):
                hit.append((number, rows.read(StoredMemory, row)))
        for number, memory in hit:
            left = tombstones.memory_without(memory, of(memory.project))
            if left == memory or number in self.memories:
                continue
            self.projects.add(memory.project)
            if left.body != ERASED:
                _rewrite_memory(self.db, number, left)
                self._changed += 1
            elif rows.is_derived(memory):  # never buried: it is made anew from the messages
                self.derived[number] = memory.id
            else:
                self.memories[number] = memory

    def _sweep_archive(self, of: Of) -> set[EventId]:
        found: set[EventId] = set()
        statement = "SELECT e.id, p.id, e.payload FROM events e JOIN projects p ON p.number = e.project"
        for id_, project, payload in self.db.execute(statement):
            if holds(payload, of(ProjectId(project))):
                found.add(EventId(id_))
                self.projects.add(ProjectId(project))
                path = json.loads(payload).get("transcript_path")
                self._transcripts |= {path} if isinstance(path, str) else set()
        self.drop_events(found)
        read = self.db.execute(f"SELECT {_MESSAGES}")
        for row in [row for row in read if holds(unpacked(row[0]), of(ProjectId(row[1])))]:
            holder = of(ProjectId(row[1]))
            self._reword(row, str(without(unpacked(row[0]), holder)), holder)
            self._changed += 1
        return found

    def understand_anew(self, sentences: Sentences) -> None:
        """Let go of what was understood from messages that changed, so that it is made of what is left.

        An exchange stays, emptied, because a person may have pinned or forgotten it.
        """
        db = self.db
        for conversation, ordinals in self._touched.items():
            statement = "UPDATE conversations SET record = NULL, title = '', distilled = 0 WHERE number = ?"
            db.execute(statement, (conversation,))
            for number, memory in self._standing(_SESSION_RECORDS, conversation):
                self.dropped[number] = memory.id
            for number, memory in self._standing(_EXCHANGES, conversation, min(ordinals)):
                said = (unpacked(body) for (body,) in rows.fetch(db, _EXCHANGED, (number,)))
                if not memory.provenance.get(BY_HAND) and all(text == ERASED for text in said):
                    self.dropped[number] = memory.id
                else:
                    _rewrite_memory(db, number, _emptied(memory, sentences))
                    db.execute("UPDATE exchanges SET record = '{}' WHERE memory = ?", (number,))
                    self.emptied.append(memory.id)
            for number, memory in self._standing(_STATEMENTS, conversation):
                only_here = [self._is_touched(memory, place) for place in places_of(memory)]
                if only_here and all(only_here) and sentences.is_piece(memory.body):
                    self.pieces[number] = memory.id

    def _standing(self, where: str, *values: Any) -> list[tuple[int, StoredMemory]]:
        return [found for found in rows.memories(self.db, where, *values) if found[0] not in self.memories]

    def _is_touched(self, memory: StoredMemory, place: tuple[str, int, int]) -> bool:
        session, first, last = place
        held = rows.fetch(self.db, _CONVERSATIONS, (session, memory.project))
        return any(first <= at <= last for (number,) in held for at in self._touched.get(number, ()))

    def finish(self) -> Erased:
        # What is made anew leaves no tombstone, and no mirror must bring its old words back. Of an exchange
        # whose messages are not here, nothing can be made anew.
        lone = {number: id_ for number, id_ in self.derived.items() if id_ not in self.emptied}
        dropped = {**lone, **self.dropped, **self.pieces}
        gone = [memory.id for memory in self.memories.values()]
        changes.retract(self.db, gone)
        changes.drop(self.db, list(dropped.values()))
        passage_count, vectors = remove(self.db, [*self.memories, *sorted(dropped)])
        rows.note(self.db, "unscrubbed", "1")
        ids = dict.fromkeys((*gone, *dropped.values(), *self.emptied, *self.derived.values()))
        files = tuple(sorted(self._transcripts))
        return Erased(len(gone), self._events, passage_count, vectors, self._changed, tuple(ids), files)


def _left_of(table: str, column: str, text: str, holder: Holder) -> str | None:
    """What is left of a row's text; None if the row goes with it."""
    if table == "relations":
        return str(without(text, holder, pieces=True))
    if column == "title":
        return text if title_without(text, "", "", holder) == text else ERASED
    if not holds(text, holder):
        return text
    return None if table == "intentions" else to_json(without(json.loads(text), holder))


def _emptied(memory: StoredMemory, sentences: Sentences) -> StoredMemory:
    """An exchange without its words. Those that somebody wrote are left alone but for pieces of a sentence,
    because understanding would not write them again."""
    if not memory.provenance.get(BY_HAND):
        return replace(memory, title=ERASED, body=ERASED, files=())
    body = str(without(memory.body, sentences, pieces=True))
    return replace(memory, body=body, title=title_without(memory.title, memory.body, body, sentences))


def _rewrite_memory(db: Database, number: int, left: StoredMemory) -> None:
    for table in ("mentions", "graphed"):
        db.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
    changes.retract(db, [left.id])
    write.update(db, left, counts=False)


def reword(db: Database, number: int, tool: str, before: str, after: str) -> None:
    db.replace_words(number, indexed(tool, before), indexed(tool, after))
    body = rows.packed(after, always=db.is_shared)
    db.execute("UPDATE messages SET body = ? WHERE number = ?", (body, number))


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
        dropped, vectors = write.drop_passages(db, writer, number)
        passage_count, vector_count = passage_count + dropped, vector_count + vectors
        db.execute("DELETE FROM memories WHERE number = ?", (number,))
        writer.erased(space)
        if session is not None:
            gaps[session].append((created_at, number))
    for session, places in gaps.items():
        write.refresh_session(db, writer, session, sorted(places), set())
    writer.flush()
    return passage_count, vector_count


def drop(db: Database, gone: Mapping[int, str]) -> None:
    """Take out what is derived, by number and id; no tombstone, because it may come again."""
    if gone:
        changes.drop(db, [MemoryId(id_) for id_ in gone.values()])
        remove(db, list(gone))


# --- by age. Numbers grow as events come in. What came in after one that is young enough is young enough,
# too, whatever the clock said when it was captured; what says 1970 goes with what came in after it.

_FIRST_REAL_MOMENT = datetime(2020, 1, 1, tzinfo=UTC)  # an earlier event tells of a clock that was not set
_AHEAD = timedelta(days=1)
_PRUNE_EVENTS = """WITH kept AS MATERIALIZED (SELECT coalesce((SELECT number FROM events
        WHERE timestamp >= :before AND timestamp <= :latest ORDER BY number LIMIT 1), :everything) AS first),
    old AS MATERIALIZED (SELECT coalesce((SELECT number FROM events WHERE timestamp >= :real
        AND timestamp < :before AND number < (SELECT first FROM kept)
        ORDER BY number DESC LIMIT 1), 0) AS last)
    DELETE FROM events WHERE timestamp < :before AND number < (SELECT first FROM kept)
        AND (timestamp >= :real OR number < (SELECT last FROM old))"""


def prune(db: Database, events_before: datetime) -> int:
    moments = {"before": events_before, "real": _FIRST_REAL_MOMENT, "latest": datetime.now(UTC) + _AHEAD}
    stamps = {name: rows.stamp(moment) for name, moment in moments.items()}
    db.execute(_PRUNE_EVENTS, {**stamps, "everything": rows.EVERYTHING})
    return db.changes()


# --- keeping the store within its cap: the oldest tool output goes first, then messages, then exchanges.
# Typed memories and summaries never go. A message keeps its row, without its words, so that no import brings
# it back and the parts of a conversation keep their numbers.

BATCH = 2000
_TOOL_KINDS = "('tool_call', 'tool_use', 'tool_failure')"
_STEPS = {
    "tool_outputs": (f"kind IN {_TOOL_KINDS}", "role = 'result'"),
    "messages": (f"kind NOT IN {_TOOL_KINDS}", "role != 'result'"),
}
_OLD_EVENTS = "SELECT number, length(payload) FROM events WHERE {which} ORDER BY timestamp, number LIMIT ?"
_OLD_MESSAGES = """SELECT number, tool, body, length(body) FROM messages WHERE body != '' AND {which}
    ORDER BY at, number LIMIT ?"""
_OLD_EXCHANGES = """SELECT m.number, m.id, length(m.body)
    FROM exchanges e JOIN memories m ON m.number = e.memory
    WHERE m.kind = 'observation' AND NOT m.pinned AND m.trust != 'user'
    ORDER BY m.created_at, m.number LIMIT ?"""


def make_room(db: Database, need: int) -> tuple[Counter[str], int]:
    """Take out what is to go next, about so many bytes of it; 0 when only what must stay is left."""
    for name, (kinds, roles) in _STEPS.items():
        events, freed = _enough(db, _OLD_EVENTS.format(which=kinds), need)
        numbers = rows.id_list(number for number, _ in events)
        db.execute(f"DELETE FROM events WHERE number IN {_NUMBERED}", (numbers,))
        messages, more = _enough(db, _OLD_MESSAGES.format(which=roles), need - freed)
        for number, tool, body, _ in messages:
            reword(db, number, tool or "", unpacked(body), "")
        gone, freed = Counter({name: len(events) + len(messages)}), freed + more
        if events or messages:
            break
    else:
        exchanges, freed = _enough(db, _OLD_EXCHANGES, need)
        drop(db, {number: id_ for number, id_, _ in exchanges})
        if not exchanges:
            return Counter(), 0
        gone = Counter(exchanges=len(exchanges))
    rows.note(db, "unscrubbed", "1")
    return gone, max(freed, 1)


def _enough(db: Database, statement: str, need: int) -> tuple[list[tuple[Any, ...]], int]:
    """The first rows that together take what is needed, and what they take; the size of each stands last."""
    chosen, freed = [], 0
    for row in rows.fetch(db, statement, (BATCH,)):
        if freed >= need:
            break
        freed += row[-1]
        chosen.append(row)
    return chosen, freed
