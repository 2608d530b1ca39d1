"""The numbered changes: every change of a memory's state waits here until each mirror has taken it.

Also the way back: `replay` brings rows to what the records of a mirror tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from claude_memory.model import MemoryId, Project, StoredMemory
from claude_memory.store.model import Added, Intention, Review, Strength
from claude_memory.store.sql import rows
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database

_INSERT = "INSERT INTO changes (record, home, clock) VALUES (?, ?, ?)"
_SAID_AT = """UPDATE memories SET clock = {since}, home = ?
    WHERE number IN (SELECT +value FROM json_each(?))"""
_RETRACT = """DELETE FROM changes
    WHERE coalesce(record -> 'memory' ->> 'id', record -> 'strength' ->> 'memory')
        IN (SELECT value FROM json_each(?))"""
TOMBSTONE = "INSERT INTO tombstones (salt, hash) VALUES (?, ?) ON CONFLICT DO NOTHING"
REJECTED = "INSERT INTO rejected (hash) VALUES (?) ON CONFLICT DO NOTHING"
LARGEST = 1 << 53  # a line of a damaged file must not use the numbers up


def store_id(db: Database) -> str:
    """The store's own random id: the home that changes come from, and the salt of its hashes."""
    return str(rows.noted(db, "store"))


def tick(db: Database, at_least: int = 0) -> int:
    """The store's next moment: microseconds of the clock on the wall, but never back and never twice."""
    return db.tick(max(rows.stamp(datetime.now(UTC)) - 1, at_least))


def record(db: Database, lines: Sequence[Mapping[str, Any]], made: tuple[str, int] | None = None) -> int:
    """Write changes down with the home they are `made` in and the moment, here and now unless they came from
    another home; the moment is given back."""
    home, clock = made or (store_id(db), tick(db))
    db.executemany(_INSERT, [(rows.to_json(entry), home, clock) for entry in lines])
    return clock


def line(change: str, at: datetime | None = None, **content: Any) -> dict[str, Any]:
    """What is written down of a change that is made now, if it does not say when."""
    return {"change": change, "at": rows.moment_text(at or datetime.now(UTC)), **content}


def record_states(
    db: Database, change: str, memories: Sequence[tuple[int, StoredMemory]], *, counts: bool = True
) -> None:
    """Write down the state of memories, given by number; where it `counts`, with when and where it became so.

    What every home finds by itself does not count, or it would undo what a person said elsewhere meanwhile.
    To be new counts as little as can be: whatever is done to the memory anywhere is later.
    """
    if not memories:
        return
    states = ((memory.updated_at, rows.record_of(memory)) for _, memory in memories)
    clock = record(db, [line(change, at, memory=state) for at, state in states])
    if counts:
        since = "min(?, created_at)" if change == "add" else "?"
        numbers = rows.id_list(number for number, _ in memories)
        db.execute(_SAID_AT.format(since=since), (clock, store_id(db), numbers))


def record_new_states(db: Database, change: str, numbers: Iterable[int], *, counts: bool = True) -> None:
    where = "WHERE m.number IN (SELECT +value FROM json_each(?))"
    record_states(db, change, rows.memories(db, where, rows.id_list(numbers)), counts=counts)


def bury(db: Database, hashes: Sequence[str]) -> None:
    """Leave hashes of what was erased, here and for the mirrors; the salt goes along, so that another store
    can honour them."""
    salt = store_id(db)
    db.executemany(TOMBSTONE, [(salt, hash_) for hash_ in hashes])
    record(db, [line("erase", tombstone=hash_, salt=salt) for hash_ in hashes])


def drop(db: Database, ids: Sequence[MemoryId]) -> None:
    """Let derived memories go from the mirrors, too: a rebuild must not bring them back."""
    retract(db, ids)
    record(db, [{"change": "drop", "drop": id_} for id_ in ids])


def retract(db: Database, ids: Sequence[MemoryId]) -> None:
    """Remove what waits for the mirrors about memories."""
    db.execute(_RETRACT, (rows.to_json(list(ids)),))


def replay(db: Database, lines: Iterable[Mapping[str, Any]]) -> Added:
    from claude_memory.store.sql import lifecycle, projects, write

    last: dict[str, tuple[StoredMemory, str, int]] = {}
    strengths: list[Mapping[str, Any]] = []
    behind = latest = 0
    for entry in lines:
        home, clock = clean(str(entry.get("home") or "")), _number(entry, "clock")
        behind, latest = max(behind, _number(entry, "sequence")), max(latest, clock)
        if "memory" in entry:
            memory = rows.from_record(StoredMemory, entry["memory"])
            last[memory.id] = (memory, home, clock)
        elif "reject" in entry:
            db.execute(REJECTED, (str(entry["reject"]),))
        elif "drop" in entry:
            last.pop(str(entry["drop"]), None)
        elif "tombstone" in entry:
            db.execute(TOMBSTONE, (str(entry.get("salt") or store_id(db)), str(entry["tombstone"])))
        elif isinstance(entry.get("strength"), dict):
            strengths.append(entry["strength"])
        elif isinstance(entry.get("intention"), dict):
            intention = rows.from_record(Intention, entry["intention"])
            lifecycle.put_intention(db, intention, clock, home)
        elif "project" in entry:
            merged = entry.get("merged")
            sources = [str(source) for source in merged] if isinstance(merged, list) else []
            projects.replay(db, rows.from_record(Project, entry["project"]), sources)
    added = write.add(db, [memory for memory, _, _ in last.values()], mirrored=False)
    for memory, home, clock in last.values():
        # A row that was there before, or was superseded on the way, gets the state of its last record.
        present = rows.memory(db, memory.id)  # None if it was erased
        if present is not None and present != memory and present.updated_at <= memory.updated_at:
            write.update(db, memory, mirrored=False)
        came = "UPDATE memories SET home = ?1, clock = ?2 WHERE id = ?3 AND clock <= ?2"
        db.execute(came, (home, clock, memory.id))
    for told in strengths:
        id_ = MemoryId(str(told["memory"]))
        uses = [rows.from_record(Review, {**use, "memory": id_}) for use in told.get("uses", ())]
        lifecycle.put_strength(db, id_, rows.from_record(Strength, told), uses)
    db.count_on(behind)  # behind the files: a database whose count is lower has lost what they tell
    tick(db, latest)
    return added


def _number(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    return min(value, LARGEST) if isinstance(value, int) else 0
