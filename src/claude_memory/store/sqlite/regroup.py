"""What a person says of projects: two are one, a folder is one of its own, a folder belongs to another.

Memories are moved one by one through the ordinary update, so that the text index, whose terms carry their
project's number, and the mirror follow. Each call is one transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import apsw

from claude_memory.model import Project, ProjectId, ProjectIdentity
from claude_memory.store.sqlite import changes, lifecycle, projects, rows, write

ID_NAME = "id:"  # a name that says which project was merged into this one
_MEMORIES = f"SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES} WHERE m.project = ?"
_UNDER = "(cwd = :folder OR substr(cwd, 1, length(:folder) + 1) = :folder || :slash)"


def merge(db: apsw.Connection, source: ProjectId, target: ProjectId, at: str) -> Project:
    """Let all of one project belong to another, which keeps its id; the first is gone but for its names."""
    old, new = projects.number_of(db, source), projects.number_of(db, target)
    sessions = [
        number for (number,) in rows.fetch(db, "SELECT number FROM sessions WHERE project = ?", (old,))
    ]
    _move_sessions(db, sessions, new)
    _move_memories(db, old, target, None)
    for table in ("events", "conversations", "consolidations"):
        db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (new, old))
    _move_intentions(db, old, target, at)
    _absorb(db, old, new, source)
    merged = projects.load(db, new)
    changes.record_project(db, merged, at, merged=(source,))
    return merged


def absorb(db: apsw.Connection, source: str, target: int) -> None:
    """Give the names of a project that was merged to the one it went into; used when rebuilding."""
    old = db.execute("SELECT number FROM projects WHERE id = ?", (source,)).get
    if old is not None and old != target:
        _absorb(db, int(old), target, ProjectId(source))


def split(db: apsw.Connection, identity: ProjectIdentity, at: str) -> Project:
    """Make a folder a project of its own, with its sessions and what they left."""
    old = projects.lookup(db, identity)
    made = projects.separate(db, identity)
    new = projects.number_of(db, made.id)
    if old is not None and old != new:
        where = {
            "folder": rows.clean(identity.path),
            "slash": "\\" if "\\" in identity.path else "/",
            "old": old,
        }
        found = rows.fetch(
            db,
            f"SELECT DISTINCT session FROM events WHERE project = :old AND session IS NOT NULL AND {_UNDER}",
            where,
        )
        sessions = [number for (number,) in found]
        _move_sessions(db, sessions, new)
        listed = rows.to_json(sessions)
        db.execute(
            "UPDATE events SET project = ? WHERE session IN (SELECT value FROM json_each(?))", (new, listed)
        )
        db.execute(
            f"UPDATE conversations SET project = :new WHERE project = :old AND {_UNDER}",
            {**where, "new": new},
        )
        _move_memories(db, old, made.id, listed)
        changes.record_project(db, projects.load(db, old), at)
    done = projects.load(db, new)
    changes.record_project(db, done, at)
    return done


def attach(db: apsw.Connection, identity: ProjectIdentity, target: ProjectId, at: str) -> Project:
    """Let a folder belong to a project from now on; what it left elsewhere stays there."""
    number = projects.number_of(db, target)
    projects.claim(db, identity, number)
    joined = projects.load(db, number)
    changes.record_project(db, joined, at)
    return joined


def _move_sessions(db: apsw.Connection, sessions: Sequence[int], new: int) -> None:
    """A session of the same id on the other side takes the events over; memories find it by its id."""
    for number in sessions:
        twin = db.execute(
            """SELECT number FROM sessions WHERE project = ?
               AND id = (SELECT id FROM sessions WHERE number = ?)""",
            (new, number),
        ).get
        if twin is None:
            db.execute("UPDATE sessions SET project = ? WHERE number = ?", (new, number))
        elif twin != number:
            for table in ("events", "memories"):
                db.execute(f"UPDATE {table} SET session = ? WHERE session = ?", (twin, number))
            db.execute("DELETE FROM sessions WHERE number = ?", (number,))


def _move_memories(db: apsw.Connection, old: int, target: ProjectId, sessions: str | None) -> None:
    only = "" if sessions is None else " AND m.session IN (SELECT value FROM json_each(?))"
    values = (old,) if sessions is None else (old, sessions)
    for row in rows.fetch(db, _MEMORIES + only, values):
        memory = rows.memory_from_row(row)
        number = db.execute("SELECT number FROM memories WHERE id = ?", (memory.id,)).get
        # The graph is of one project: it is read anew where the memory goes.
        db.execute("DELETE FROM mentions WHERE memory = ?", (number,))
        db.execute("DELETE FROM graphed WHERE memory = ?", (number,))
        write.update(db, replace(memory, project=target))


def _move_intentions(db: apsw.Connection, old: int, target: ProjectId, at: str) -> None:
    import json

    for (record,) in rows.fetch(db, "SELECT record FROM intentions WHERE project = ?", (old,)):
        moved = replace(lifecycle.intention_from_record(json.loads(record)), project=target)
        db.execute("DELETE FROM intentions WHERE id = ?", (moved.id,))
        lifecycle.put_intention(db, moved)
        changes.record_intention(db, lifecycle.intention_record(moved), at)


def _absorb(db: apsw.Connection, old: int, new: int, source: ProjectId) -> None:
    place = db.execute("SELECT count(*) FROM project_aliases WHERE project = ?", (new,)).get
    db.execute(
        "UPDATE project_aliases SET project = ?, place = place + ? WHERE project = ?", (new, place, old)
    )
    db.execute("UPDATE project_paths SET project = ? WHERE project = ?", (new, old))
    db.execute(
        "INSERT OR REPLACE INTO project_aliases VALUES (?, ?, ?)", (f"{ID_NAME}{source}", new, place + 1_000)
    )
    used = ("sessions", "events", "memories", "conversations", "intentions", "entities", "consolidations")
    if not any(db.execute(f"SELECT 1 FROM {table} WHERE project = ? LIMIT 1", (old,)).get for table in used):
        db.execute("DELETE FROM projects WHERE number = ?", (old,))
