"""The part `lifecycle`: intentions, strength, relations, file states, runs of the consolidation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.errors import Conflict
from claude_memory.model import MemoryId, Project, ProjectId, SearchScope, StoredMemory
from claude_memory.store import records
from claude_memory.store.model import FileState, Intention, Relation, Review, Step, Strength
from claude_memory.store.records import kept, to_json
from claude_memory.store.sql import changes, projects, rows
from claude_memory.store.sql.backend import StorePart

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_BATCH = 1_000
_LISTED = "SELECT value FROM json_each(?)"
_NUMBER = "(SELECT number FROM memories WHERE id = ?)"
_PUT_INTENTION = """INSERT INTO intentions (id, project, codebase, status, record, clock, home)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET project = excluded.project,
    codebase = excluded.codebase, status = excluded.status, record = excluded.record,
    clock = excluded.clock, home = excluded.home"""
_INTENTIONS = """SELECT i.record FROM intentions i JOIN projects p ON p.number = i.project
    WHERE (p.id = :project AND i.codebase IS NULL OR i.codebase IN (SELECT value FROM json_each(:ids))
        OR i.codebase = :name AND NOT EXISTS (SELECT 1 FROM projects WHERE id = i.codebase)
        AND (SELECT count(*) FROM projects WHERE lower(name) = :name) = 1)
      AND (i.status = 'open' OR NOT :open) ORDER BY i.number"""
# Of two states the one reviewed last stands, in every home alike.
_DROP_STRENGTH = """DELETE FROM strengths WHERE memory = (SELECT number FROM memories WHERE id = ?1)
    AND (reviewed_at, reviews, stability, difficulty, lapses, demoted) < (?4, ?5, ?2, ?3, ?6, ?7)"""
_PUT_STRENGTH = """INSERT INTO strengths
      (memory, stability, difficulty, reviewed_at, reviews, lapses, demoted)
    SELECT number, ?2, ?3, ?4, ?5, ?6, ?7 FROM memories WHERE id = ?1 ON CONFLICT DO NOTHING"""
_PUT_REVIEW = """INSERT INTO reviews (memory, at, reason)
    SELECT number, ?2, ?3 FROM memories WHERE id = ?1 ON CONFLICT DO NOTHING"""
_STRENGTHS = """SELECT m.id, s.stability, s.difficulty, s.reviewed_at, s.reviews, s.lapses, s.demoted
    FROM memories m JOIN strengths s ON s.memory = m.number
    WHERE m.id IN (SELECT value FROM json_each(?))"""
_ARRIVALS = """SELECT m.id, a.at FROM memories m JOIN arrivals a ON a.memory = m.number
    WHERE m.id IN (SELECT value FROM json_each(?))"""
_JUDGED = f"""DELETE FROM unjudged
    WHERE memory IN (SELECT number FROM memories WHERE id IN ({_LISTED}))"""
_UNJUDGED = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    JOIN unjudged u ON u.memory = m.number ORDER BY m.created_at, m.id LIMIT ?"""
# Both ends in one project, whatever the caller says: nothing of one project touches another.
_RELATE = """INSERT INTO relations (source, target, kind, evidence, at) SELECT a.number, b.number, ?3, ?4, ?5
    FROM memories a JOIN memories b ON b.project = a.project WHERE a.id = ?1 AND b.id = ?2
    ON CONFLICT DO NOTHING"""
_EARLIER = f"""UPDATE relations SET evidence = ?4, at = ?5 WHERE source = {_NUMBER[:-1]}1)
    AND target = {_NUMBER[:-1]}2) AND kind = ?3 AND (?5, ?4) < (at, evidence)"""
_RELATIONS = """SELECT a.id, b.id, r.kind, r.evidence, r.at FROM relations r
    JOIN memories a ON a.number = r.source JOIN memories b ON b.number = r.target
    WHERE {end} IN (SELECT number FROM memories WHERE id IN (SELECT value FROM json_each(:ids)))
      AND (:any OR r.kind IN (SELECT value FROM json_each(:kinds)))"""
_PUT_FILE_STATE = """INSERT INTO file_states (memory, path, sketch, revision, stale)
    SELECT number, ?2, ?3, ?4, ?5 FROM memories WHERE id = ?1 ON CONFLICT (memory, path) DO UPDATE
    SET sketch = excluded.sketch, revision = excluded.revision, stale = excluded.stale"""
_FILE_STATES = """SELECT m.id, f.path, f.sketch, f.revision, f.stale FROM file_states f
    JOIN memories m ON m.number = f.memory WHERE m.space IN (SELECT +value FROM json_each(:spaces))
      AND (:all OR m.id IN (SELECT value FROM json_each(:ids)))"""


class Lifecycle(StorePart):
    """What memories are worth and how they hang together; what a person wants to be reminded of."""

    def put_intention(self, intention: Intention) -> None:
        """Keep a new one or the new state of a known one; Conflict if what it says was erased."""
        with self._connections.writing() as db:
            record = records.intention_record(intention)
            clock = changes.record(db, [changes.line("intention", intention=record)])
            if not put_intention(db, intention, clock, changes.store_id(db)):
                raise Conflict("this was erased for good and stays so")

    def intentions(self, project: Project, *, open_only: bool = True) -> list[Intention]:
        """Those of the project, and those of anywhere that name its codebase; oldest first."""
        ids = [project.id, *(name[3:] for name in project.identities if name.startswith("id:"))]
        values = {
            "project": project.id,
            "ids": to_json(ids),
            "name": project.name.casefold(),  # as 0.1.0 kept it; it counts where only one has it
            "open": open_only,
        }
        return [
            records.from_record(Intention, json.loads(text)) for (text,) in self._read(_INTENTIONS, values)
        ]

    def has_open_intentions(self) -> bool:
        """Whether any reminder waits, of whatever project; cheap, because every prompt asks."""
        return bool(self._read("SELECT 1 FROM intentions WHERE status = 'open' LIMIT 1"))

    def strengths(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Strength]:
        """Known states; a memory that was never reviewed has none."""
        return {
            MemoryId(id_): Strength(stability, difficulty, rows.moment(at), reviews, lapses, bool(demoted))
            for id_, stability, difficulty, at, reviews, lapses, demoted in self._read(_STRENGTHS, _ids(ids))
        }

    def put_strengths(self, strengths: Mapping[MemoryId, Strength], reviews: Sequence[Review] = ()) -> None:
        """Keep states and the reviews that led to them; an older state changes nothing."""
        lines = []
        with self._connections.writing() as db:
            for id_, state in strengths.items():
                uses = [item for item in reviews if item.memory == id_]
                put_strength(db, id_, state, uses)
                record = records.strength_record(id_, state, uses)
                lines.append({"change": "strength", "at": record["reviewed_at"], "strength": record})
            changes.record(db, lines)

    def arrivals(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, datetime]:
        """When memories came to this store, of those that were made long before."""
        return {MemoryId(id_): rows.moment(at) for id_, at in self._read(_ARRIVALS, _ids(ids))}

    def unjudged(self, limit: int) -> list[StoredMemory]:
        """Memories that have not met their neighbours yet, of any project, oldest first."""
        return [rows.memory_from_row(row) for row in self._read(_UNJUDGED, (limit,))]

    def judged(self, ids: Sequence[MemoryId]) -> None:
        """These have met their neighbours."""
        if ids:
            self._write(_JUDGED, _ids(ids))

    def reviews(self, memory: MemoryId) -> list[Review]:
        """Every use of one memory, oldest first."""
        statement = f"SELECT at, reason FROM reviews WHERE memory = {_NUMBER} ORDER BY at, number"
        return [Review(memory, rows.moment(at), reason) for at, reason in self._read(statement, (memory,))]

    def relate(self, relations: Sequence[Relation]) -> int:
        """Keep relations between memories of one project; returns how many are new."""
        with self._connections.writing() as db:
            return relate(db, relations)

    def relations(self, ids: Sequence[MemoryId], *, kinds: Sequence[str] = ()) -> list[Relation]:
        """Those that begin or end at one of the memories, oldest first."""
        values = {"ids": to_json(list(ids)), "any": not kinds, "kinds": to_json(list(kinds))}
        statement = f"{_RELATIONS.format(end='r.source')} UNION {_RELATIONS.format(end='r.target')}"
        ordered = self._read(f"{statement} ORDER BY 5, 1, 2, 3", values)
        return [
            Relation(source, target, kind, evidence, rows.moment(at))
            for source, target, kind, evidence, at in ordered
        ]

    def unrelate(self, source: MemoryId, target: MemoryId, kind: str) -> None:
        """Take a relation back."""
        statement = f"DELETE FROM relations WHERE source = {_NUMBER} AND target = {_NUMBER} AND kind = ?"
        self._write(statement, (source, target, kind))

    def archive(self, ids: Sequence[MemoryId]) -> int:
        """Let active memories rest; nothing else of them changes."""
        return self._restate(ids, "active", "archived", "archive")

    def unarchive(self, ids: Sequence[MemoryId]) -> int:
        """Bring archived memories back as they were."""
        return self._restate(ids, "archived", "active", "restore")

    def _restate(self, ids: Sequence[MemoryId], before: str, after: str, change: str) -> int:
        """Change nothing but the status, so that undoing restores equality; the mirrors are told."""
        done = 0
        statement = f"UPDATE memories SET status = ? WHERE status = ? AND id IN ({_LISTED}) RETURNING number"
        for start in range(0, len(ids), _BATCH):
            batch = to_json(list(ids[start : start + _BATCH]))
            with self._connections.writing() as db:
                moved = rows.fetch(db, statement, (after, before, batch))
                # Each home sees for itself what faded: it must not undo what was said elsewhere.
                changes.record_new_states(db, change, [number for (number,) in moved], counts=False)
                done += len(moved)
        return done

    def reject(self, ids: Sequence[MemoryId]) -> int:
        """Take proposals out for good: what rules find again is not proposed again."""
        from claude_memory.store.sql import understood

        with self._connections.writing() as db:
            return understood.reject(db, ids)

    def put_file_states(self, states: Sequence[FileState]) -> None:
        """Keep what files held, or how they differ by now."""
        values = [(s.memory, kept(s.path), s.sketch, s.revision, kept(s.stale)) for s in states]
        with self._connections.writing() as db:
            db.executemany(_PUT_FILE_STATE, values)

    def file_states(self, scope: SearchScope, ids: Sequence[MemoryId] | None = None) -> list[FileState]:
        """Files that memories of the scope are tied to."""
        with self._connections.reading() as db:
            values = {
                "spaces": rows.id_list(rows.spaces_of(db, scope)),
                "all": ids is None,
                "ids": to_json(list(ids or ())),
            }
            return [FileState(*row) for row in db.execute(_FILE_STATES, values)]

    def consolidated(self, project: ProjectId, at: datetime, steps: Sequence[Step]) -> int:
        """Note a run and its steps; returns its number."""
        with self._connections.writing() as db:
            number = projects.number_of(db, project)
            through = int(db.execute("SELECT coalesce(max(number), 0) FROM memories").get)
            run = db.execute(
                "INSERT INTO consolidations (project, at, through) VALUES (?, ?, ?) RETURNING number",
                (number, rows.stamp(at), through),
            ).get
            db.executemany(
                f"""INSERT INTO consolidation_steps (run, action, memory, other)
                    VALUES (?, ?, {_NUMBER}, {_NUMBER})""",
                [(run, step.action, step.memory, step.other) for step in steps],
            )
        return int(run)

    def steps(self, run: int) -> list[Step]:
        """What a run did, in order."""
        statement = """SELECT c.action, a.id, b.id FROM consolidation_steps c
            JOIN memories a ON a.number = c.memory LEFT JOIN memories b ON b.number = c.other
            WHERE c.run = ? ORDER BY c.rowid"""
        return [Step(*row) for row in self._read(statement, (run,))]

    def last_run(self, project: ProjectId) -> tuple[int, datetime, int] | None:
        """Number and time of the last run that stands, and how many memories came since."""
        statement = """SELECT c.number, c.at,
              (SELECT count(*) FROM memories m WHERE m.number > c.through AND m.space = c.project)
            FROM consolidations c WHERE c.project = (SELECT number FROM projects WHERE id = ?)
              AND NOT c.undone ORDER BY c.number DESC LIMIT 1"""
        runs = self._read(statement, (project,))
        return next(((int(number), rows.moment(at), int(since)) for number, at, since in runs), None)

    def undone(self, run: int) -> None:
        """This run was taken back."""
        self._write("UPDATE consolidations SET undone = TRUE WHERE number = ?", (run,))


def _ids(ids: Sequence[MemoryId]) -> tuple[str]:
    return (to_json(list(ids)),)


def relate(db: Database, relations: Sequence[Relation]) -> int:
    """Keep relations; returns how many are new. Of one that is told twice the earlier stands."""
    from claude_memory.redact.erasure import without

    made = 0
    erased = rows.tombstones(db).sentences(None)
    for item in relations:
        evidence = str(without(kept(item.evidence), erased))
        values = (item.source, item.target, item.kind, evidence, rows.stamp(item.at))
        db.execute(_RELATE, values)
        made += db.changes()
        db.execute(_EARLIER, values)
    return made


def put_strength(db: Database, memory: MemoryId, state: Strength, uses: Sequence[Review]) -> None:
    """Keep the state of a memory and the uses that led to it; an older state changes nothing."""
    figures = (state.stability, state.difficulty, rows.stamp(state.reviewed_at))
    values = (memory, *figures, state.reviews, state.lapses, state.demoted)
    db.execute(_DROP_STRENGTH, values)
    db.execute(_PUT_STRENGTH, values)
    db.executemany(_PUT_REVIEW, [(memory, rows.stamp(use.at), kept(use.reason)) for use in uses])


def put_intention(db: Database, intention: Intention, clock: int = 0, home: str = "") -> bool:
    """Insert or replace the row, unless what it says was erased; returns whether it stands now.

    `clock` and `home`: when and where it became so.
    """
    from claude_memory.redact.erasure import holds

    if holds(intention.text, rows.tombstones(db).sentences(intention.project)):
        return False
    project = projects.number_of(db, intention.project)
    codebase = kept(intention.codebase).casefold() if intention.codebase else None
    record = to_json(records.intention_record(intention))
    values = (intention.id, project, codebase, intention.status.value, record, clock, home)
    db.execute(_PUT_INTENTION, values)
    return True
