"""The mirror's outbox: every change of a memory's state waits here until it stands in the files.

Also the way back: `replay` rebuilds rows from the records of the mirror.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from claude_memory.model import MemoryId, Project, StoredMemory
from claude_memory.store import records
from claude_memory.store.lifecycle_protocol import Review, Strength
from claude_memory.store.protocol import Added, Change
from claude_memory.store.sqlite import projects, rows, tombstones

_INSERT = """INSERT INTO changes (record, home, clock)
    VALUES (?, (SELECT value FROM meta WHERE key = 'store'),
    coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock'), 0))"""
_LARGEST = 1 << 53  # a line of a damaged file must not use the numbers up


def tick(db: apsw.Connection, at_least: int = 0) -> int:
    """The store's next moment: microseconds of the clock on the wall, but never back and never twice.

    Two homes that exchange changes order them by it; what a change answered to always comes before it.
    """
    last = int(db.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock'").get or 0)
    now = max(rows.stamp(datetime.now(UTC)), last + 1, at_least + 1)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('clock', ?)", (str(now),))
    return now


def record_states(db: apsw.Connection, change: str, memories: Iterable[StoredMemory]) -> None:
    """Write down the state of memories as they are now, and when and where they became so."""
    memories = list(memories)
    if not memories:
        return
    moment = tick(db)
    db.execute(
        """UPDATE memories SET clock = ?, home = (SELECT value FROM meta WHERE key = 'store')
           WHERE id IN (SELECT value FROM json_each(?))""",
        (moment, rows.to_json([memory.id for memory in memories])),
    )
    db.executemany(
        _INSERT,
        (
            (
                rows.to_json(
                    {
                        "change": change,
                        "at": records.moment_text(memory.updated_at),
                        "memory": records.memory_record(memory),
                    }
                ),
            )
            for memory in memories
        ),
    )


def record_project(db: apsw.Connection, project: Project, at: str, *, merged: Sequence[str] = ()) -> None:
    """Write down a project that is new, has a new name, or took others in."""
    tick(db)
    record = {"change": "project", "at": at, "project": records.project_record(project)}
    db.execute(_INSERT, (rows.to_json({**record, "merged": list(merged)} if merged else record),))


def record_intention(db: apsw.Connection, record: Mapping[str, Any], at: str) -> None:
    """Write down an intention: a reminder must outlive the database."""
    tick(db)
    db.execute(_INSERT, (rows.to_json({"change": "intention", "at": at, "intention": dict(record)}),))


def record_tombstone(db: apsw.Connection, salt: str, hash_: str, at: str) -> None:
    """Write down an erasure; the salt goes along, so that another store can honour it."""
    tick(db)
    record = {"change": "erase", "at": at, "tombstone": hash_, "salt": salt}
    db.execute(_INSERT, (rows.to_json(record),))


def record_dropped(db: apsw.Connection, ids: Sequence[MemoryId]) -> None:
    """Write down that derived memories are gone: a rebuild must not bring them back."""
    db.executemany(_INSERT, [(rows.to_json({"change": "drop", "drop": id_}),) for id_ in ids])


def record_rejected(db: apsw.Connection, ids: Sequence[MemoryId]) -> None:
    """Write down that proposals were refused by a person."""
    db.executemany(_INSERT, [(rows.to_json({"change": "reject", "reject": id_}),) for id_ in ids])


def record_strength(
    db: apsw.Connection, memory: MemoryId, state: Strength, reviews: Sequence[Review]
) -> None:
    """Write down how firmly a memory is held after a use, and the use."""
    told = {
        "memory": memory,
        "stability": state.stability,
        "difficulty": state.difficulty,
        "reviewed_at": records.moment_text(state.reviewed_at),
        "reviews": state.reviews,
        "lapses": state.lapses,
        "demoted": state.demoted,
        "uses": [{"at": records.moment_text(item.at), "reason": rows.kept(item.reason)} for item in reviews],
    }
    record = {"change": "strength", "at": records.moment_text(state.reviewed_at), "strength": told}
    db.execute(_INSERT, (rows.to_json(record),))


def pending(db: apsw.Connection, limit: int) -> list[Change]:
    """The oldest changes that are not mirrored yet."""
    found = db.execute("SELECT sequence, record FROM changes ORDER BY sequence LIMIT ?", (limit,))
    return [Change(sequence, json.loads(record)) for sequence, record in found]


def mirrored(db: apsw.Connection, through: int) -> None:
    """Forget changes that stand in the files."""
    db.execute("DELETE FROM changes WHERE sequence <= ?", (through,))


def drop_for(db: apsw.Connection, ids: Sequence[MemoryId]) -> None:
    """Remove what waits for the mirror about erased memories."""
    db.execute(
        """DELETE FROM changes WHERE coalesce(record ->> '$.memory.id', record ->> '$.strength.memory')
        IN (SELECT value FROM json_each(?))""",
        (rows.to_json(list(ids)),),
    )


def replay(db: apsw.Connection, lines: Iterable[Mapping[str, Any]]) -> Added:
    """Bring rows to the last state that the records tell; what was erased stays away."""
    from claude_memory.store.sqlite import write

    last: dict[str, StoredMemory] = {}
    strengths: list[Mapping[str, Any]] = []
    latest = 0
    for line in lines:
        sequence = line.get("sequence")
        latest = max(latest, sequence) if isinstance(sequence, int) else latest
        if "memory" in line:
            memory = records.memory_from_record(line["memory"])
            last[memory.id] = memory
        elif "reject" in line:
            db.execute("INSERT OR IGNORE INTO rejected VALUES (?)", (str(line["reject"]),))
        elif "drop" in line:
            last.pop(str(line["drop"]), None)
        elif "tombstone" in line:
            own = line.get("salt") or tombstones.salt(db)
            tombstones.add(db, [(str(own), str(line["tombstone"]))])
        elif isinstance(line.get("strength"), dict):
            strengths.append(line["strength"])
        elif isinstance(line.get("intention"), dict):
            _replay_intention(db, line["intention"])
        elif "project" in line:
            _replay_project(db, records.project_from_record(line["project"]), line.get("merged", ()))
    added = write.add(db, (), list(last.values()), mirrored=False)
    _bring_forward(db, last)
    for told in strengths:
        _replay_strength(db, told)
    _count_on(db, latest)
    return added


def _count_on(db: apsw.Connection, latest: int) -> None:
    """Go on counting behind the files: a database whose count is lower has lost what they tell."""
    latest = min(latest, _LARGEST)
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'changes'", (latest,))
    if not db.changes():
        db.execute("INSERT INTO sqlite_sequence VALUES ('changes', ?)", (latest,))


def _replay_project(db: apsw.Connection, project: Project, merged: object) -> None:
    from claude_memory.store.sqlite import regroup

    number = projects.ensure(db, project)
    for place, identity in enumerate(project.identities):  # a later line tells who has a name by now
        db.execute("INSERT OR REPLACE INTO project_aliases VALUES (?, ?, ?)", (identity, number, place))
    if project.path:
        db.execute("INSERT OR IGNORE INTO project_paths VALUES (?, ?)", (project.path, number))
    for source in merged if isinstance(merged, list) else ():
        regroup.absorb(db, str(source), number)


def _replay_strength(db: apsw.Connection, told: Mapping[str, Any]) -> None:
    from claude_memory.store.sqlite import lifecycle

    at = records.moment(told["reviewed_at"])
    figures = (float(told["stability"]), float(told["difficulty"]), at)
    state = Strength(*figures, int(told["reviews"]), int(told["lapses"]), bool(told["demoted"]))
    id_ = MemoryId(str(told["memory"]))
    uses = [Review(id_, records.moment(use["at"]), str(use["reason"])) for use in told.get("uses", ())]
    lifecycle.put_strength(db, id_, state, uses)


def _replay_intention(db: apsw.Connection, record: Mapping[str, Any]) -> None:
    from claude_memory.store.sqlite import lifecycle

    lifecycle.put_intention(db, lifecycle.intention_from_record(record))


def _bring_forward(db: apsw.Connection, last: Mapping[str, StoredMemory]) -> None:
    """Rows that were there before, or were superseded on the way, get the state of their last record."""
    from claude_memory.store.sqlite import write

    statement = f"SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES} WHERE m.id = ?"
    for id_, memory in last.items():
        row = next(db.execute(statement, (id_,)), None)
        if row is None:
            continue  # erased
        present = rows.memory_from_row(row)
        if present != memory and present.updated_at <= memory.updated_at:
            write.update(db, memory, mirrored=False)
