"""Intentions, strength, relations, file states and consolidation runs in the SQLite file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from claude_memory.errors import Conflict
from claude_memory.model import MemoryId, Project, ProjectId, SearchScope, StoredMemory
from claude_memory.redact.erasure import holds, without
from claude_memory.store.lifecycle_protocol import (
    FileState,
    Intention,
    IntentionStatus,
    Priority,
    Relation,
    Review,
    Step,
    Strength,
)
from claude_memory.store.records import moment_text
from claude_memory.store.sqlite import changes, rows
from claude_memory.store.sqlite.connection import Connections
from claude_memory.store.sqlite.tombstones import Tombstones
from claude_memory.store.sqlite.write import Places

_BATCH = 1_000
_LISTED = "SELECT value FROM json_each(?)"
_NUMBER = "(SELECT number FROM memories WHERE id = ?)"
_PUT_INTENTION = """INSERT INTO intentions (id, project, codebase, status, record) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET codebase = excluded.codebase, status = excluded.status,
    record = excluded.record"""
_INTENTIONS = """SELECT i.record FROM intentions i JOIN projects p ON p.number = i.project
    WHERE (p.id = :project AND i.codebase IS NULL OR i.codebase IN (SELECT value FROM json_each(:ids))
        OR i.codebase = :name AND NOT EXISTS (SELECT 1 FROM projects WHERE id = i.codebase)
        AND (SELECT count(*) FROM projects WHERE lower(name) = :name) = 1)
      AND (i.status = 'open' OR NOT :open) ORDER BY i.number"""
_PUT_STRENGTH = """INSERT OR REPLACE INTO strengths SELECT number, ?2, ?3, ?4, ?5, ?6, ?7
    FROM memories m WHERE id = ?1
      AND NOT EXISTS (SELECT 1 FROM strengths WHERE memory = m.number AND reviewed_at > ?4)"""
_PUT_REVIEW = """INSERT OR IGNORE INTO reviews (memory, at, reason)
    SELECT number, ?2, ?3 FROM memories WHERE id = ?1"""
_STRENGTHS = """SELECT m.id, s.stability, s.difficulty, s.reviewed_at, s.reviews, s.lapses, s.demoted
    FROM memories m JOIN strengths s ON s.memory = m.number
    WHERE m.id IN (SELECT value FROM json_each(?))"""
_ARRIVALS = """SELECT m.id, a.at FROM memories m JOIN arrivals a ON a.memory = m.number
    WHERE m.id IN (SELECT value FROM json_each(?))"""
_UNJUDGED = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    JOIN unjudged u ON u.memory = m.number ORDER BY m.created_at, m.id LIMIT ?"""
# Both ends in one project, whatever the caller says: nothing of one project touches another.
_RELATE = """INSERT OR IGNORE INTO relations SELECT a.number, b.number, ?3, ?4, ?5
    FROM memories a JOIN memories b ON b.project = a.project WHERE a.id = ?1 AND b.id = ?2"""
_RELATIONS = """SELECT a.id, b.id, r.kind, r.evidence, r.at FROM relations r
    JOIN memories a ON a.number = r.source JOIN memories b ON b.number = r.target
    WHERE {end} IN (SELECT number FROM memories WHERE id IN (SELECT value FROM json_each(:ids)))
      AND (:any OR r.kind IN (SELECT value FROM json_each(:kinds)))"""
_PUT_FILE_STATE = """INSERT OR REPLACE INTO file_states SELECT number, ?2, ?3, ?4, ?5
    FROM memories WHERE id = ?1"""
_FILE_STATES = """SELECT m.id, f.path, f.sketch, f.revision, f.stale FROM file_states f
    JOIN memories m ON m.number = f.memory WHERE m.space IN (SELECT value FROM json_each(:spaces))
      AND (:all OR m.id IN (SELECT value FROM json_each(:ids)))"""


class SqliteLifecycle:
    """The lifecycle side of one SQLite store."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    # --- intentions

    def put_intention(self, intention: Intention) -> None:
        """Keep it, and leave a line for the mirror: a reminder must outlive the database."""
        record = intention_record(intention)
        with self._connections.writing() as db:
            if not put_intention(db, intention):
                raise Conflict("this was erased for good and stays so")
            line = {"change": "intention", "at": moment_text(datetime.now(UTC)), "intention": record}
            db.execute("INSERT INTO changes (record) VALUES (?)", (rows.to_json(line),))

    def intentions(self, project: Project, *, open_only: bool = True) -> list[Intention]:
        """Those of the project, and those of anywhere that name its codebase."""
        ids = [project.id, *(name[3:] for name in project.identities if name.startswith("id:"))]
        values = {
            "project": project.id,
            "ids": rows.to_json(ids),
            "name": project.name.casefold(),  # as 0.1.0 kept it; it counts where only one has it
            "open": open_only,
        }
        with self._connections.reading() as db:
            return [intention_from_record(json.loads(row)) for (row,) in db.execute(_INTENTIONS, values)]

    # --- strength

    def strengths(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Strength]:
        """Known states; a memory that was never reviewed has none."""
        with self._connections.reading() as db:
            found = rows.fetch(db, _STRENGTHS, (rows.to_json(list(ids)),))
        return {
            MemoryId(id_): Strength(stability, difficulty, rows.moment(at), reviews, lapses, bool(demoted))
            for id_, stability, difficulty, at, reviews, lapses, demoted in found
        }

    def put_strengths(self, strengths: Mapping[MemoryId, Strength], reviews: Sequence[Review] = ()) -> None:
        """Keep states and the reviews that led to them."""
        uses: dict[MemoryId, list[Review]] = {id_: [] for id_ in strengths}
        for item in reviews:
            uses.setdefault(item.memory, []).append(item)
        with self._connections.writing() as db:
            for id_, state in strengths.items():
                put_strength(db, id_, state, uses[id_])
                changes.record_strength(db, id_, state, uses[id_])

    def arrivals(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, datetime]:
        """When memories came, of those that were made long before."""
        with self._connections.reading() as db:
            found = rows.fetch(db, _ARRIVALS, (rows.to_json(list(ids)),))
        return {MemoryId(id_): rows.moment(at) for id_, at in found}

    def unjudged(self, limit: int) -> list[StoredMemory]:
        """Memories that have not met their neighbours yet, oldest first."""
        with self._connections.reading() as db:
            return [rows.memory_from_row(row) for row in db.execute(_UNJUDGED, (limit,))]

    def judged(self, ids: Sequence[MemoryId]) -> None:
        """These have met their neighbours."""
        if not ids:
            return
        with self._connections.writing() as db:
            db.executemany(f"DELETE FROM unjudged WHERE memory = {_NUMBER}", [(id_,) for id_ in ids])

    def reviews(self, memory: MemoryId) -> list[Review]:
        """Every use of one memory, oldest first."""
        statement = f"SELECT at, reason FROM reviews WHERE memory = {_NUMBER} ORDER BY at, number"
        with self._connections.reading() as db:
            return [
                Review(memory, rows.moment(at), reason) for at, reason in db.execute(statement, (memory,))
            ]

    # --- relations

    def relate(self, relations: Sequence[Relation]) -> int:
        """Keep relations between memories of one project."""
        made = 0
        with self._connections.writing() as db:
            erased = Tombstones(db).sentences(None)
            for item in relations:
                evidence = str(without(rows.kept(item.evidence), erased))
                values = (item.source, item.target, item.kind, evidence, rows.stamp(item.at))
                db.execute(_RELATE, values)
                made += db.changes()
        return made

    def relations(self, ids: Sequence[MemoryId], *, kinds: Sequence[str] = ()) -> list[Relation]:
        """Those that begin or end at one of the memories, oldest first."""
        values = {"ids": rows.to_json(list(ids)), "any": not kinds, "kinds": rows.to_json(list(kinds))}
        statement = f"{_RELATIONS.format(end='r.source')} UNION {_RELATIONS.format(end='r.target')}"
        with self._connections.reading() as db:
            found = rows.fetch(db, f"{statement} ORDER BY 5, 1, 2, 3", values)
        return [
            Relation(MemoryId(source), MemoryId(target), kind, evidence, rows.moment(at))
            for source, target, kind, evidence, at in found
        ]

    def unrelate(self, source: MemoryId, target: MemoryId, kind: str) -> None:
        """Take a relation back."""
        with self._connections.writing() as db:
            db.execute(
                f"DELETE FROM relations WHERE source = {_NUMBER} AND target = {_NUMBER} AND kind = ?",
                (source, target, kind),
            )

    def archive(self, ids: Sequence[MemoryId]) -> int:
        """Let active memories rest."""
        return self._restate(ids, "active", "archived", "archive")

    def unarchive(self, ids: Sequence[MemoryId]) -> int:
        """Bring archived memories back."""
        return self._restate(ids, "archived", "active", "restore")

    def _restate(self, ids: Sequence[MemoryId], before: str, after: str, change: str) -> int:
        """Change nothing but the status, so that undoing restores equality; the mirror is told."""
        done = 0
        statement = f"SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES} WHERE m.id IN ({_LISTED})"
        for start in range(0, len(ids), _BATCH):
            batch = rows.to_json(list(ids[start : start + _BATCH]))
            with self._connections.writing() as db:
                changed = rows.fetch(
                    db,
                    f"UPDATE memories SET status = ? WHERE status = ? AND id IN ({_LISTED}) RETURNING id",
                    (after, before, batch),
                )
                moved = rows.to_json([id_ for (id_,) in changed])
                changes.record_states(
                    db, change, [rows.memory_from_row(row) for row in db.execute(statement, (moved,))]
                )
                done += len(changed)
        return done

    # --- proposals

    def reject(self, ids: Sequence[MemoryId]) -> int:
        """Take proposals out for good."""
        from claude_memory.store.sqlite import exchanges

        with self._connections.writing() as db:
            found = rows.fetch(
                db,
                f"SELECT number, id FROM memories WHERE status = 'proposed' AND id IN ({_LISTED})",
                (rows.to_json(list(ids)),),
            )
            gone = [(number, MemoryId(id_)) for number, id_ in found]
            exchanges.reject(db, gone)
            return len(gone)

    # --- files

    def put_file_states(self, states: Sequence[FileState]) -> None:
        """Keep what files held, or how they differ by now."""
        values = [(s.memory, rows.kept(s.path), s.sketch, s.revision, rows.kept(s.stale)) for s in states]
        with self._connections.writing() as db:
            db.executemany(_PUT_FILE_STATE, values)

    def file_states(self, scope: SearchScope, ids: Sequence[MemoryId] | None = None) -> list[FileState]:
        """Files that memories of the scope are tied to."""
        with self._connections.reading() as db:
            values = {
                "spaces": rows.id_list(rows.spaces_of(db, scope)),
                "all": ids is None,
                "ids": rows.to_json(list(ids or ())),
            }
            return [FileState(MemoryId(row[0]), *row[1:]) for row in rows.fetch(db, _FILE_STATES, values)]

    # --- consolidation

    def consolidated(self, project: ProjectId, at: datetime, steps: Sequence[Step]) -> int:
        """Note a run and its steps."""
        with self._connections.writing() as db:
            number = Places(db).project(project)
            through = int(db.execute("SELECT coalesce(max(number), 0) FROM memories").get)
            run = db.execute(
                "INSERT INTO consolidations (project, at, through) VALUES (?, ?, ?) RETURNING number",
                (number, rows.stamp(at), through),
            ).get
            db.executemany(
                f"INSERT INTO consolidation_steps VALUES (?, ?, {_NUMBER}, {_NUMBER})",
                [(run, step.action, step.memory, step.other) for step in steps],
            )
        return int(run)

    def steps(self, run: int) -> list[Step]:
        """What a run did, in order."""
        statement = """SELECT c.action, a.id, b.id FROM consolidation_steps c
            JOIN memories a ON a.number = c.memory LEFT JOIN memories b ON b.number = c.other
            WHERE c.run = ? ORDER BY c.rowid"""
        with self._connections.reading() as db:
            found = rows.fetch(db, statement, (run,))
        return [
            Step(action, MemoryId(id_), MemoryId(other) if other else None) for action, id_, other in found
        ]

    def last_run(self, project: ProjectId) -> tuple[int, datetime, int] | None:
        """Number and time of the last run that stands, and how many memories came since."""
        statement = """SELECT c.number, c.at,
              (SELECT count(*) FROM memories m WHERE m.number > c.through AND m.space = c.project)
            FROM consolidations c WHERE c.project = (SELECT number FROM projects WHERE id = ?)
              AND NOT c.undone ORDER BY c.number DESC LIMIT 1"""
        with self._connections.reading() as db:
            row = next(iter(rows.fetch(db, statement, (project,))), None)
        return (int(row[0]), rows.moment(row[1]), int(row[2])) if row else None

    def undone(self, run: int) -> None:
        """This run was taken back."""
        with self._connections.writing() as db:
            db.execute("UPDATE consolidations SET undone = 1 WHERE number = ?", (run,))


def put_strength(db: apsw.Connection, memory: MemoryId, state: Strength, uses: Sequence[Review]) -> None:
    """Keep the state of a memory and the uses that led to it; an older state changes nothing."""
    at = rows.stamp(state.reviewed_at)
    figures = (state.stability, state.difficulty, at, state.reviews, state.lapses, int(state.demoted))
    db.execute(_PUT_STRENGTH, (memory, *figures))
    db.executemany(_PUT_REVIEW, [(memory, rows.stamp(use.at), rows.kept(use.reason)) for use in uses])


def put_intention(db: apsw.Connection, intention: Intention) -> bool:
    """Insert or replace the row, unless what it says was erased; returns whether it stands now."""
    if holds(intention.text, Tombstones(db).sentences(intention.project)):
        return False
    project = Places(db).project(intention.project)
    codebase = rows.kept(intention.codebase).casefold() if intention.codebase else None
    record = rows.to_json(intention_record(intention))
    db.execute(_PUT_INTENTION, (intention.id, project, codebase, intention.status.value, record))
    return True


def intention_record(intention: Intention) -> dict[str, Any]:
    """An intention as plain JSON values, as it stands in the row and in the mirror."""
    return {
        "id": intention.id,
        "project": intention.project,
        "text": rows.kept(intention.text),
        "created_at": moment_text(intention.created_at),
        "at": _text(intention.at),
        "deadline": _text(intention.deadline),
        "files": [*map(rows.kept, intention.files)],
        "topics": [*map(rows.kept, intention.topics)],
        "codebase": rows.kept(intention.codebase) if intention.codebase else intention.codebase,
        "priority": intention.priority.value,
        "status": intention.status.value,
        "snoozed_until": _text(intention.snoozed_until),
        "closed_at": _text(intention.closed_at),
    }


def intention_from_record(record: Mapping[str, Any]) -> Intention:
    """The intention that a record describes."""
    return Intention(
        id=str(record["id"]),
        project=ProjectId(str(record["project"])),
        text=str(record["text"]),
        created_at=datetime.fromisoformat(record["created_at"]),
        at=_moment(record.get("at")),
        deadline=_moment(record.get("deadline")),
        files=tuple(record.get("files") or ()),
        topics=tuple(record.get("topics") or ()),
        codebase=record.get("codebase"),
        priority=Priority(record.get("priority", "normal")),
        status=IntentionStatus(record.get("status", "open")),
        snoozed_until=_moment(record.get("snoozed_until")),
        closed_at=_moment(record.get("closed_at")),
    )


def _text(moment: datetime | None) -> str | None:
    return moment_text(moment) if moment else None


def _moment(value: str | None) -> datetime | None:
    return datetime.fromisoformat(value) if value else None
