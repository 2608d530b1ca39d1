"""The part `graph`: entities, and which memories mention them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from claude_memory.model import MemoryId, ProjectId, StoredMemory
from claude_memory.store.model import Entity, Mention
from claude_memory.store.records import kept, to_json
from claude_memory.store.sql import rows
from claude_memory.store.sql.backend import StorePart
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_ENTITY = """INSERT INTO entities (project, kind, name)
    SELECT m.project, ?2, ?3 FROM memories m WHERE m.id = ?1 AND m.space >= 0 ON CONFLICT DO NOTHING"""
_KNOWN = """SELECT e.number FROM entities e JOIN memories m ON m.project = e.project
    WHERE m.id = ?1 AND e.kind = ?2 AND e.name = ?3"""
_MENTION = """INSERT INTO mentions (memory, relation, entity)
    SELECT m.number, ?2, e.number FROM memories m JOIN entities e ON e.project = m.project AND e.kind = ?3
        AND e.name = ?4 WHERE m.id = ?1 AND m.space >= 0 ON CONFLICT DO NOTHING"""
_MENTIONED = """SELECT n.memory, n.relation, n.entity, e.kind, e.name FROM mentions n
    JOIN entities e ON e.number = n.entity WHERE n.memory = (SELECT number FROM memories WHERE id = ?)"""
_READ = """INSERT INTO graphed (memory, text) SELECT number, updated_at FROM memories WHERE id = ?
    ON CONFLICT (memory) DO UPDATE SET text = excluded.text"""
_UNREAD = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    LEFT JOIN graphed g ON g.memory = m.number
    WHERE m.project = (SELECT number FROM projects WHERE id = ?) AND m.status <> 'forgotten'
      AND (g.memory IS NULL OR g.text < m.updated_at) ORDER BY m.number LIMIT ?"""
_FIND = """SELECT kind, name FROM entities WHERE project = (SELECT number FROM projects WHERE id = :project)
      AND (name = :name OR (kind = 'file' AND substr(name, length(name) - length(:name)) = '/' || :name))
    ORDER BY name = :name DESC, name LIMIT :limit"""
_OF_MEMORIES = """SELECT m.id, n.relation, e.kind, e.name FROM memories m
    JOIN mentions n ON n.memory = m.number JOIN entities e ON e.number = n.entity
    WHERE m.id IN (SELECT value FROM json_each(?)) LIMIT ?"""
# The newest of each thing by walking its index backwards: a word mentioned everywhere costs no more.
_OF_ENTITY = """SELECT m.id, n.relation FROM mentions n JOIN memories m ON m.number = n.memory
    WHERE n.entity = ? AND m.status <> 'forgotten' ORDER BY n.memory DESC LIMIT ?"""
_NUMBER = """SELECT number FROM entities
    WHERE project = (SELECT number FROM projects WHERE id = ?) AND kind = ? AND name = ?"""
_MOST_COUNTED = 1_000
_COUNT = f"SELECT count(*) FROM (SELECT 1 FROM mentions WHERE entity = ? LIMIT {_MOST_COUNTED}) n"
_COMMON = """SELECT e.kind, e.name, count(DISTINCT n.memory) FROM entities e
    JOIN mentions n ON n.entity = e.number
    JOIN memories m ON m.number = n.memory AND m.status = 'active'
    WHERE e.project = (SELECT number FROM projects WHERE id = :project)
      AND e.kind IN (SELECT value FROM json_each(:kinds))
    GROUP BY e.kind, e.name ORDER BY 3 DESC, 1, 2 LIMIT :limit"""


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
        self._know(things)
        with self._connections.writing() as db:
            for memory, wanted in found.items():
                _replace(db, memory, wanted)
                db.execute(_READ, (memory,))

    def _know(self, things: Mapping[tuple[str, str], MemoryId]) -> None:
        """Enter new things, in a short transaction of their own and all in the same order: whoever mentions
        the same at a server waits neither for the rest of this one nor for each other."""
        with self._connections.reading() as db:
            new = [
                (memory, *thing)
                for thing, memory in sorted(things.items())
                if db.execute(_KNOWN, (memory, *thing)).get is None
            ]
        if new:
            with self._connections.writing() as db:
                db.executemany(_ENTITY, new)

    def unread(self, project: ProjectId, limit: int) -> list[StoredMemory]:
        """Memories not looked at yet, or changed since, oldest first."""
        return [rows.memory_from_row(row) for row in self._read(_UNREAD, (project, limit))]

    def find(self, project: ProjectId, name: str, *, limit: int = 20) -> list[Entity]:
        """Things by their name, or a path by its end."""
        values = {"project": project, "name": clean(name), "limit": limit}
        return [Entity(*row) for row in self._read(_FIND, values)]

    def of_memories(self, ids: Sequence[MemoryId], *, limit: int) -> list[Mention]:
        """What memories mention."""
        mentions = self._read(_OF_MEMORIES, (to_json(list(ids)), limit))
        return [Mention(MemoryId(id_), relation, Entity(*entity)) for id_, relation, *entity in mentions]

    def of_entities(
        self, project: ProjectId, entities: Sequence[Entity], *, each: int
    ) -> list[tuple[Mention, int]]:
        """Visible memories that mention things, the newest of each, and how many mention it in all."""
        mentions: list[tuple[Mention, int]] = []
        with self._connections.reading() as db:
            for entity in entities:
                number = db.execute(_NUMBER, (project, *entity)).get
                if number is None:
                    continue
                total = int(db.execute(_COUNT, (number,)).get)
                for id_, relation in db.execute(_OF_ENTITY, (number, each)):
                    mentions.append((Mention(MemoryId(id_), relation, entity), total))
        return mentions

    def common(self, project: ProjectId, kinds: Sequence[str], *, limit: int) -> list[tuple[Entity, int]]:
        """What is mentioned most, and by how many memories."""
        values = {"project": project, "kinds": to_json(list(kinds)), "limit": limit}
        return [(Entity(kind, name), count) for kind, name, count in self._read(_COMMON, values)]


def _replace(db: Database, memory: MemoryId, wanted: set[tuple[str, str, str]]) -> None:
    """New ones come first: a thing goes with the last that mentions it."""
    before = {(row[1], row[3], row[4]): row[:3] for row in rows.fetch(db, _MENTIONED, (memory,))}
    db.executemany(_MENTION, [(memory, *thing) for thing in sorted(wanted - before.keys())])
    gone = [row for thing, row in before.items() if thing not in wanted]
    db.executemany("DELETE FROM mentions WHERE memory = ? AND relation = ? AND entity = ?", gone)
