"""The parts `lifecycle` (intentions, strength, relations, file states, consolidations) and `graph`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.errors import Conflict
from claude_memory.model import MemoryId, Project, ProjectId, SearchScope, StoredMemory
from claude_memory.store.base import StorePart
from claude_memory.store.model import Entity, FileState, Intention, Mention, Relation, Review, Step, Strength
from claude_memory.store.sql import changes, projects, rows
from claude_memory.store.sql.rows import kept, to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.base import Database

_BATCH = 1_000
_NUMBER = "(SELECT number FROM memories WHERE id = ?)"
_PROJECT = "(SELECT number FROM projects WHERE id = ?)"
_LISTED = "m.id IN (SELECT value FROM json_each(?))"
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
_STRENGTHS = f"""SELECT m.id, s.stability, s.difficulty, s.reviewed_at, s.reviews, s.lapses, s.demoted
    FROM memories m JOIN strengths s ON s.memory = m.number WHERE {_LISTED}"""
_ARRIVALS = f"SELECT m.id, a.at FROM memories m JOIN arrivals a ON a.memory = m.number WHERE {_LISTED}"
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
    JOIN memories m ON m.number = f.memory WHERE m.space IN (SELECT +value FROM json_each(:spaces))"""
_STEPS = """SELECT c.action, a.id, b.id FROM consolidation_steps c
    JOIN memories a ON a.number = c.memory LEFT JOIN memories b ON b.number = c.other
    WHERE c.run = ? ORDER BY c.rowid"""
_LAST_RUN = f"""SELECT c.number, c.at,
      (SELECT count(*) FROM memories m WHERE m.number > c.through AND m.space = c.project)
    FROM consolidations c WHERE c.project = {_PROJECT} AND NOT c.undone ORDER BY c.number DESC LIMIT 1"""


class Lifecycle(StorePart):
    """What memories are worth and how they hang together; what a person wants to be reminded of."""

    def put_intention(self, intention: Intention) -> None:
        """Keep a new one or the new state of a known one; Conflict if what it says was erased."""
        with self._connections.writing() as db:
            clock = changes.record(db, [changes.line("intention", intention=rows.kept_record(intention))])
            if not put_intention(db, intention, clock, changes.store_id(db)):
                raise Conflict("this was erased for good and stays so")

    def intentions(self, project: Project, *, open_only: bool = True) -> list[Intention]:
        """Those of the project, and those of anywhere that name its codebase; oldest first."""
        ids = [project.id, *(name[3:] for name in project.identities if name.startswith("id:"))]
        # 0.1.0 kept a codebase by its name, which counts where only one has it.
        values = {"project": project.id, "name": project.name.casefold(), "open": open_only}
        found = self._read(_INTENTIONS, {**values, "ids": to_json(ids)})
        return [rows.from_record(Intention, json.loads(text)) for (text,) in found]

    def strengths(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Strength]:
        """Known states; a memory that was never reviewed has none."""
        found = self._read(_STRENGTHS, (to_json(list(ids)),))
        return {MemoryId(id_): rows.read(Strength, state) for id_, *state in found}

    def put_strengths(self, strengths: Mapping[MemoryId, Strength], reviews: Sequence[Review] = ()) -> None:
        """Keep states and the reviews that led to them; an older state changes nothing."""
        lines = []
        with self._connections.writing() as db:
            for id_, state in strengths.items():
                uses = [item for item in reviews if item.memory == id_]
                put_strength(db, id_, state, uses)
                told = [{"at": rows.moment_text(use.at), "reason": kept(use.reason)} for use in uses]
                record = {"memory": id_, **rows.record_of(state), "uses": told}
                lines.append({"change": "strength", "at": record["reviewed_at"], "strength": record})
            changes.record(db, lines)

    def arrivals(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, datetime]:
        """When memories came to this store, of those that were made long before."""
        return {MemoryId(id_): rows.moment(at) for id_, at in self._read(_ARRIVALS, (to_json(list(ids)),))}

    def unjudged(self, limit: int) -> list[StoredMemory]:
        """Memories that have not met their neighbours yet, of any project, oldest first."""
        return self._values(StoredMemory, _UNJUDGED, (limit,))

    def judged(self, ids: Sequence[MemoryId]) -> None:
        if ids:
            which = f"SELECT m.number FROM memories m WHERE {_LISTED}"
            self._write(f"DELETE FROM unjudged WHERE memory IN ({which})", (to_json(list(ids)),))

    def reviews(self, memory: MemoryId) -> list[Review]:
        """Every use of one memory, oldest first."""
        statement = f"SELECT at, reason FROM reviews WHERE memory = {_NUMBER} ORDER BY at, number"
        return [Review(memory, rows.moment(at), reason) for at, reason in self._read(statement, (memory,))]

    def relate(self, relations: Sequence[Relation]) -> int:
        """Keep relations of one project's memories, each as it was told first; returns how many are new."""
        with self._connections.writing() as db:
            return relate(db, relations)

    def relations(self, ids: Sequence[MemoryId], *, kinds: Sequence[str] = ()) -> list[Relation]:
        """Those that begin or end at one of the memories, oldest first."""
        values = {"ids": to_json(list(ids)), "any": not kinds, "kinds": to_json(list(kinds))}
        statement = f"{_RELATIONS.format(end='r.source')} UNION {_RELATIONS.format(end='r.target')}"
        return self._values(Relation, f"{statement} ORDER BY 5, 1, 2, 3", values)

    def archive(self, ids: Sequence[MemoryId]) -> int:
        """Let active memories rest; nothing else of them changes."""
        return self._restate(ids, "active", "archived", "archive")

    def _restate(self, ids: Sequence[MemoryId], before: str, after: str, change: str) -> int:
        """Change nothing but the status, so that undoing restores equality; the mirrors are told."""
        done = 0
        statement = f"UPDATE memories AS m SET status = ? WHERE status = ? AND {_LISTED} RETURNING number"
        for start in range(0, len(ids), _BATCH):
            with self._connections.writing() as db:
                batch = to_json(list(ids[start : start + _BATCH]))
                moved = [number for (number,) in rows.fetch(db, statement, (after, before, batch))]
                # Each home sees for itself what faded: it must not undo what was said elsewhere.
                changes.record_new_states(db, change, moved, counts=False)
                done += len(moved)
        return done

    def reject(self, ids: Sequence[MemoryId]) -> int:
        """Take proposals out for good, and keep their ids: what rules find again is not proposed again."""
        from claude_memory.store.sql import erase

        statement = f"SELECT m.number, m.id FROM memories m WHERE m.status = 'proposed' AND {_LISTED}"
        with self._connections.writing() as db:
            gone = dict(rows.fetch(db, statement, (to_json(list(ids)),)))
            db.executemany(changes.REJECTED, [(id_,) for id_ in gone.values()])
            erase.drop(db, gone)
            changes.record(db, [{"change": "reject", "reject": id_} for id_ in gone.values()])
        return len(gone)

    def put_file_states(self, states: Sequence[FileState]) -> None:
        """Keep what files held, or how they differ by now."""
        values = [(s.memory, kept(s.path), s.sketch, s.revision, kept(s.stale)) for s in states]
        with self._connections.writing() as db:
            db.executemany(_PUT_FILE_STATE, values)

    def file_states(self, scope: SearchScope) -> list[FileState]:
        """Files that memories of the scope are tied to."""
        with self._connections.reading() as db:
            spaces = rows.id_list(rows.spaces_of(db, scope))
            return [FileState(*row) for row in db.execute(_FILE_STATES, {"spaces": spaces})]

    def consolidated(self, project: ProjectId, at: datetime, steps: Sequence[Step]) -> int:
        noted = "INSERT INTO consolidations (project, at, through) VALUES (?, ?, ?) RETURNING number"
        step_noted = f"""INSERT INTO consolidation_steps (run, action, memory, other)
            VALUES (?, ?, {_NUMBER}, {_NUMBER})"""
        with self._connections.writing() as db:
            through = int(db.execute("SELECT coalesce(max(number), 0) FROM memories").get)
            run = int(db.execute(noted, (projects.number_of(db, project), rows.stamp(at), through)).get)
            db.executemany(step_noted, [(run, *step) for step in steps])
        return run

    def last_run(self, project: ProjectId) -> tuple[int, datetime, int] | None:
        """Number and time of the last run that stands, and how many memories came since."""
        runs = self._read(_LAST_RUN, (project,))
        return next(((int(number), rows.moment(at), int(since)) for number, at, since in runs), None)

    def undo(self, run: int) -> list[Step]:
        """Take a run back: what it archived is active, what it related is not; returns its steps."""
        steps = [Step(*row) for row in self._read(_STEPS, (run,))]
        rested = [step.memory for step in steps if step.action == "archive"]
        self._restate(rested, "archived", "active", "restore")
        ties = [(step.memory, step.other, step.action) for step in steps if step.other is not None]
        untied = f"DELETE FROM relations WHERE source = {_NUMBER} AND target = {_NUMBER} AND kind = ?"
        with self._connections.writing() as db:
            db.executemany(untied, ties)
            db.execute("UPDATE consolidations SET undone = TRUE WHERE number = ?", (run,))
        return steps


def relate(db: Database, relations: Sequence[Relation]) -> int:
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
    values = (memory, *map(rows.bound, state))
    db.execute(_DROP_STRENGTH, values)
    db.execute(_PUT_STRENGTH, values)
    db.executemany(_PUT_REVIEW, [(memory, rows.stamp(use.at), kept(use.reason)) for use in uses])


def put_intention(db: Database, intention: Intention, clock: int = 0, home: str = "") -> bool:
    """Keep what it became then and there, unless what it says was erased; returns whether it stands now."""
    from claude_memory.redact.erasure import holds

    if holds(intention.text, rows.tombstones(db).sentences(intention.project)):
        return False
    record = rows.kept_record(intention)
    codebase = record["codebase"].casefold() if record["codebase"] else None
    project = projects.number_of(db, intention.project)
    values = (intention.id, project, codebase, intention.status.value, to_json(record), clock, home)
    db.execute(_PUT_INTENTION, values)
    return True


# --- what memories mention

_ENTITY = """INSERT INTO entities (project, kind, name)
    SELECT m.project, ?2, ?3 FROM memories m WHERE m.id = ?1 AND m.space >= 0 ON CONFLICT DO NOTHING"""
_KNOWN = """SELECT e.number FROM entities e JOIN memories m ON m.project = e.project
    WHERE m.id = ?1 AND e.kind = ?2 AND e.name = ?3"""
_MENTION = """INSERT INTO mentions (memory, relation, entity)
    SELECT m.number, ?2, e.number FROM memories m JOIN entities e ON e.project = m.project AND e.kind = ?3
        AND e.name = ?4 WHERE m.id = ?1 AND m.space >= 0 ON CONFLICT DO NOTHING"""
_MENTIONED = f"""SELECT n.memory, n.relation, n.entity, e.kind, e.name FROM mentions n
    JOIN entities e ON e.number = n.entity WHERE n.memory = {_NUMBER}"""
_READ = """INSERT INTO graphed (memory, text) SELECT number, updated_at FROM memories WHERE id = ?
    ON CONFLICT (memory) DO UPDATE SET text = excluded.text"""
_UNREAD = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    LEFT JOIN graphed g ON g.memory = m.number WHERE m.project = {_PROJECT} AND m.status <> 'forgotten'
      AND (g.memory IS NULL OR g.text < m.updated_at) ORDER BY m.number LIMIT ?"""
_FIND = """SELECT kind, name FROM entities WHERE project = (SELECT number FROM projects WHERE id = :project)
      AND (name = :name OR (kind = 'file' AND substr(name, length(name) - length(:name)) = '/' || :name))
    ORDER BY name = :name DESC, name LIMIT :limit"""
_OF_MEMORIES = f"""SELECT m.id, n.relation, e.kind, e.name FROM memories m
    JOIN mentions n ON n.memory = m.number JOIN entities e ON e.number = n.entity WHERE {_LISTED} LIMIT ?"""
# The newest of each thing by walking its index backwards: a word mentioned everywhere costs no more.
_OF_ENTITY = """SELECT m.id, n.relation FROM mentions n JOIN memories m ON m.number = n.memory
    WHERE n.entity = ? AND m.status <> 'forgotten' ORDER BY n.memory DESC LIMIT ?"""
_ENTITY_NUMBER = f"SELECT number FROM entities WHERE project = {_PROJECT} AND kind = ? AND name = ?"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM mentions WHERE entity = ? LIMIT 1000) n"
_COMMON = f"""SELECT e.kind, e.name, count(DISTINCT n.memory) FROM entities e
    JOIN mentions n ON n.entity = e.number
    JOIN memories m ON m.number = n.memory AND m.status = 'active'
    WHERE e.project = {_PROJECT} AND e.kind IN (SELECT value FROM json_each(?))
    GROUP BY e.kind, e.name ORDER BY 3 DESC, 1, 2 LIMIT ?"""


class Graph(StorePart):
    """What memories mention, one project at a time, walked in bounded steps."""

    def put(self, mentions: Mapping[MemoryId, Sequence[Mention]]) -> None:
        """Replace what memories mention; an empty list notes that they were looked at."""
        if not mentions:
            return
        found = {
            memory: {(item.relation, item.entity.kind, kept(item.entity.name)) for item in items}
            for memory, items in mentions.items()
        }
        things = {(kind, name): memory for memory, items in found.items() for _, kind, name in items}
        # New things first, in a short transaction of their own and all in the same order: whoever mentions
        # the same at a server waits neither for the rest of this one nor for each other.
        named = [(memory, *thing) for thing, memory in sorted(things.items())]
        with self._connections.reading() as db:
            new = [values for values in named if db.execute(_KNOWN, values).get is None]
        if new:
            with self._connections.writing() as db:
                db.executemany(_ENTITY, new)
        with self._connections.writing() as db:
            for memory, wanted in found.items():
                # Here, too, new ones come first: a thing goes with the last that mentions it.
                before = {(row[1], *row[3:]): row[:3] for row in rows.fetch(db, _MENTIONED, (memory,))}
                db.executemany(_MENTION, [(memory, *thing) for thing in sorted(wanted - before.keys())])
                gone = [row for thing, row in before.items() if thing not in wanted]
                db.executemany("DELETE FROM mentions WHERE memory = ? AND relation = ? AND entity = ?", gone)
                db.execute(_READ, (memory,))

    def unread(self, project: ProjectId, limit: int) -> list[StoredMemory]:
        """Memories not looked at yet, or changed since, oldest first."""
        return self._values(StoredMemory, _UNREAD, (project, limit))

    def find(self, project: ProjectId, name: str, *, limit: int = 20) -> list[Entity]:
        """Things by their name, or a path by its end."""
        values = {"project": project, "name": clean(name), "limit": limit}
        return [Entity(*row) for row in self._read(_FIND, values)]

    def of_memories(self, ids: Sequence[MemoryId], *, limit: int) -> list[Mention]:
        mentions = self._read(_OF_MEMORIES, (to_json(list(ids)), limit))
        return [Mention(MemoryId(id_), relation, Entity(*entity)) for id_, relation, *entity in mentions]

    def of_entities(
        self, project: ProjectId, entities: Sequence[Entity], *, each: int
    ) -> list[tuple[Mention, int]]:
        """Visible memories that mention things, the newest of each, and how many mention it in all."""
        mentions: list[tuple[Mention, int]] = []
        with self._connections.reading() as db:
            for entity in entities:
                number = db.execute(_ENTITY_NUMBER, (project, *entity)).get
                if number is None:
                    continue
                total = int(db.execute(_COUNT, (number,)).get)
                for id_, relation in db.execute(_OF_ENTITY, (number, each)):
                    mentions.append((Mention(MemoryId(id_), relation, entity), total))
        return mentions

    def common(self, project: ProjectId, kinds: Sequence[str], *, limit: int) -> list[tuple[Entity, int]]:
        """What is mentioned most, and by how many memories."""
        found = self._read(_COMMON, (project, to_json(list(kinds)), limit))
        return [(Entity(kind, name), count) for kind, name, count in found]
