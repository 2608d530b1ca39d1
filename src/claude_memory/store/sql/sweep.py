"""Takes erased sentences out of every table that can hold one. What a text holds, `erasure` decides.

Which columns those are, and why no other one can, stands in `tests/integration/test_erasing_everywhere.py`,
which holds it against the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claude_memory.model import EventId, MemoryId, ProjectId, StoredMemory
from claude_memory.redact.erasure import ERASED, Holder, Sentences, holds, title_without, without
from claude_memory.store.sql import changes, rows, write
from claude_memory.store.sql.archive import indexed
from claude_memory.store.sql.rows import is_derived, to_json, unpacked
from claude_memory.store.tombstones import memory_without

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

Of = Callable[[ProjectId | None], Holder]


@dataclass(slots=True)
class Swept:
    """What is to be removed as a whole, and which agents' own files said it."""

    memories: dict[int, StoredMemory] = field(default_factory=dict)
    events: list[EventId] = field(default_factory=list)
    projects: set[ProjectId] = field(default_factory=set)
    transcripts: set[str] = field(default_factory=set)
    derived: dict[int, MemoryId] = field(default_factory=dict)  # of which nothing is left but to be made anew
    # Messages that lost something, by conversation: what was understood from them is made anew.
    touched: dict[int, set[int]] = field(default_factory=dict)
    changed: int = 0


def sweep(db: Database, of: Of, swept: Swept) -> None:
    """Cut the sentences out of rows. Rows that say nothing else are told: the caller buries them."""
    _sweep_changes(db, of)
    _sweep_memories(db, of, swept)
    _sweep_events(db, of, swept)
    _sweep_messages(db, of, swept)
    _sweep_small_texts(db, of, swept)
    _sweep_relations(db, of, swept)


def blank_messages_of(db: Database, events: list[str], swept: Swept) -> None:
    """Empty the messages that left these events; their keys stay, and keep copies away."""
    found = "SELECT number FROM messages WHERE event IN (SELECT value FROM json_each(?))"
    numbers = {number for (number,) in rows.fetch(db, found, (to_json(events),))}
    blank_messages(db, numbers, swept)


def blank_messages(db: Database, numbers: set[int], swept: Swept) -> None:
    """Empty messages; their keys stay, and keep copies away."""
    for wanted in sorted(numbers):
        found = rows.fetch(db, f"{_MESSAGES} WHERE m.number = ?", (wanted,))
        for number, conversation, ordinal, tool, body, project, path in found:
            text = unpacked(body)
            if text == ERASED:
                continue
            rewrite(db, number, tool or "", text, ERASED)
            _retitle(db, conversation, text, ERASED, Sentences(()))
            _said_in(swept, project, path, conversation, ordinal)


_MESSAGES = """SELECT m.number, m.conversation, m.ordinal, m.tool, m.body, p.id, c.path FROM messages m
    JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project"""


def _sweep_changes(db: Database, of: Of) -> None:
    """What waits for the mirror; the state of a memory that is changed below is written down again."""
    statement = "SELECT sequence, record FROM changes WHERE record ->> 'tombstone' IS NULL"
    for sequence, record in rows.fetch(db, statement):
        told = json.loads(record).get("memory") or {}
        if holds(record, of(told.get("project"))):
            db.execute("DELETE FROM changes WHERE sequence = ?", (sequence,))


def _sweep_memories(db: Database, of: Of, swept: Swept) -> None:
    statement = f"SELECT m.number, {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}"
    hit = []
    for row in db.execute(statement):
        holder = of(ProjectId(row[2]))
        if any(isinstance(text, str) and holder.likely(text) for text in row[4:]):
            hit.append((row[0], rows.read(StoredMemory, row[1:])))
    for number, memory in hit:
        left = memory_without(memory, of(memory.project))
        if left is memory or left == memory:
            continue
        swept.projects.add(memory.project)
        if left.body == ERASED and is_derived(memory):  # never buried: it is made anew from the messages
            swept.derived[number] = memory.id
        elif left.body == ERASED:
            swept.memories[number] = memory
        else:
            rewrite_memory(db, number, left)
            swept.changed += 1


def rewrite_memory(db: Database, number: int, left: StoredMemory) -> None:
    """Keep a memory as what is left of it, from which the graph is read again."""
    for table in ("mentions", "graphed"):
        db.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
    changes.retract(db, [left.id])
    write.update(db, left, counts=False)


def _sweep_events(db: Database, of: Of, swept: Swept) -> None:
    statement = "SELECT e.id, p.id, e.payload FROM events e JOIN projects p ON p.number = e.project"
    for id_, project, payload in db.execute(statement):
        if holds(payload, of(ProjectId(project))):
            swept.events.append(EventId(id_))
            swept.projects.add(ProjectId(project))
            path = json.loads(payload).get("transcript_path")
            if isinstance(path, str):
                swept.transcripts.add(path)
    db.execute("DELETE FROM events WHERE id IN (SELECT value FROM json_each(?))", (to_json(swept.events),))


def _sweep_messages(db: Database, of: Of, swept: Swept) -> None:
    hit = []
    for row in db.execute(_MESSAGES):
        text = unpacked(row[4])
        if holds(text, of(ProjectId(row[5]))):
            hit.append((row, text))
    for (number, conversation, ordinal, tool, _, project, path), text in hit:
        holder = of(ProjectId(project))
        left = str(without(text, holder))
        rewrite(db, number, tool or "", text, left)
        _retitle(db, conversation, text, left, holder)
        _said_in(swept, project, path, conversation, ordinal)


def rewrite(db: Database, number: int, tool: str, before: str, after: str) -> None:
    """Give a message other words, in its row and in the index."""
    db.replace_words(number, indexed(tool, before), indexed(tool, after))
    db.execute("UPDATE messages SET body = ? WHERE number = ?", (db.body(after), number))


def _retitle(db: Database, conversation: int, before: str, after: str, holder: Holder) -> None:
    title = str(db.execute("SELECT title FROM conversations WHERE number = ?", (conversation,)).get)
    fresh = title_without(title, before, after, holder) if title else title
    if fresh != title:
        db.execute("UPDATE conversations SET title = ? WHERE number = ?", (fresh, conversation))


def _said_in(swept: Swept, project: str, path: str, conversation: int, ordinal: int) -> None:
    swept.projects.add(ProjectId(project))
    swept.touched.setdefault(conversation, set()).add(ordinal)
    swept.changed += 1
    if path:
        swept.transcripts.add(path)


_OF_PROJECT = "JOIN projects p ON p.number = t.project"
_OF_MEMORY = "JOIN memories m ON m.number = t.memory JOIN projects p ON p.number = m.project"
_OF_ANY = "LEFT JOIN projects p ON 1 = 0"
# Documents from which sentences are cut: table, key, column, and how they come by their project.
_DOCUMENTS = (
    ("conversations", "number", "record", _OF_PROJECT),
    ("exchanges", "memory", "record", _OF_MEMORY),
    ("import_files", "path", "state", _OF_ANY),
)
_EVIDENCE = """SELECT r.source, r.target, r.kind, r.evidence, p.id FROM relations r
    JOIN memories m ON m.number = r.source JOIN projects p ON p.number = m.project"""


def _sweep_small_texts(db: Database, of: Of, swept: Swept) -> None:
    """Titles, reminders, records of sessions and exchanges, and how far files were read."""

    def change(statement: str, *values: Any) -> None:
        db.execute(statement, values)
        swept.changed += 1

    for number, title, holder in _texts(db, of, "conversations", "number", "title", _OF_PROJECT):
        if title_without(title, "", "", holder) != title:
            change("UPDATE conversations SET title = ? WHERE number = ?", ERASED, number)
    for number, record, holder in _texts(db, of, "intentions", "number", "record", _OF_PROJECT):
        if holds(record, holder):
            change("DELETE FROM intentions WHERE number = ?", number)
    for table, key, column, join in _DOCUMENTS:
        for value, record, holder in _texts(db, of, table, key, column, join):
            if holds(record, holder):
                left = to_json(without(json.loads(record), holder))
                change(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", left, value)


def _texts(
    db: Database, of: Of, table: str, key: str, column: str, join: str
) -> Iterator[tuple[Any, str, Holder]]:
    statement = f"SELECT t.{key}, t.{column}, p.id FROM {table} t {join} WHERE t.{column} IS NOT NULL"
    for value, text, project in rows.fetch(db, statement):
        yield value, text, of(project)


def _sweep_relations(db: Database, of: Of, swept: Swept) -> None:
    """What relations say of themselves."""
    for *key, evidence, project in rows.fetch(db, _EVIDENCE):
        left = without(evidence, of(ProjectId(project)), pieces=True)
        if left != evidence:
            place = "source = ? AND target = ? AND kind = ?"
            db.execute(f"UPDATE relations SET evidence = ? WHERE {place}", (left, *key))
            swept.changed += 1
