"""The part `graph` in SQLite: entities, and which memories mention them. See `store.protocol`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from claude_memory.model import MemoryId, ProjectId, StoredMemory
from claude_memory.store.lifecycle_model import Entity, Mention
from claude_memory.store.records import kept, to_json
from claude_memory.store.sqlite import rows
from claude_memory.store.sqlite.connection import Connections
from claude_memory.text.characters import clean

_ENTITY = """INSERT INTO entities (project, kind, name)
    SELECT m.project, ?2, ?3 FROM memories m WHERE m.id = ?1
    ON CONFLICT DO UPDATE SET name = name RETURNING number"""
_MENTION = "INSERT OR IGNORE INTO mentions SELECT number, ?2, ?3 FROM memories WHERE id = ?1"
_READ = "INSERT OR REPLACE INTO graphed SELECT number, updated_at FROM memories WHERE id = ?"
_UNREAD = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
    LEFT JOIN graphed g ON g.memory = m.number
    WHERE m.project = (SELECT number FROM projects WHERE id = ?) AND m.status <> 'forgotten'
      AND (g.memory IS NULL OR g.text < m.updated_at) ORDER BY m.number LIMIT ?"""
_FIND = """SELECT kind, name FROM entities WHERE project = (SELECT number FROM projects WHERE id = :project)
      AND (name = :name OR (kind = 'file' AND substr(name, -length(:name) - 1) = '/' || :name))
    ORDER BY name = :name DESC, name LIMIT :limit"""
_OF_MEMORIES = """SELECT m.id, n.relation, e.kind, e.name FROM json_each(?) w
    JOIN memories m ON m.id = w.value JOIN mentions n ON n.memory = m.number
    JOIN entities e ON e.number = n.entity LIMIT ?"""
# The newest of each thing by walking its index backwards: a word mentioned everywhere costs no more.
_OF_ENTITY = """SELECT m.id, n.relation FROM mentions n JOIN memories m ON m.number = n.memory
    WHERE n.entity = ? AND m.status <> 'forgotten' ORDER BY n.memory DESC LIMIT ?"""
_NUMBER = """SELECT number FROM entities
    WHERE project = (SELECT number FROM projects WHERE id = ?) AND kind = ? AND name = ?"""
_MOST_COUNTED = 1_000
_COUNT = f"SELECT count(*) FROM (SELECT 1 FROM mentions WHERE entity = ? LIMIT {_MOST_COUNTED})"
_COMMON = """SELECT e.kind, e.name, count(DISTINCT n.memory) FROM entities e
    JOIN mentions n ON n.entity = e.number
    JOIN memories m ON m.number = n.memory AND m.status = 'active'
    WHERE e.project = (SELECT number FROM projects WHERE id = :project)
      AND e.kind IN (SELECT value FROM json_each(:kinds))
    GROUP BY e.number ORDER BY 3 DESC, 1, 2 LIMIT :limit"""


class SqliteGraph:
    """The graph side of one SQLite store."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, mentions: Mapping[MemoryId, Sequence[Mention]]) -> None:
        if not mentions:
            return
        with self._connections.writing() as db:
            for memory, found in mentions.items():
                db.execute(
                    "DELETE FROM mentions WHERE memory = (SELECT number FROM memories WHERE id = ?)",
                    (memory,),
                )
                for item in found:
                    _put(db, item)
                db.execute(_READ, (memory,))

    def unread(self, project: ProjectId, limit: int) -> list[StoredMemory]:
        with self._connections.reading() as db:
            return [rows.memory_from_row(row) for row in db.execute(_UNREAD, (project, limit))]

    def find(self, project: ProjectId, name: str, *, limit: int = 20) -> list[Entity]:
        values = {"project": project, "name": clean(name), "limit": limit}
        with self._connections.reading() as db:
            return [Entity(kind, found) for kind, found in db.execute(_FIND, values)]

    def of_memories(self, ids: Sequence[MemoryId], *, limit: int) -> list[Mention]:
        with self._connections.reading() as db:
            found = rows.fetch(db, _OF_MEMORIES, (to_json(list(ids)), limit))
        return [Mention(MemoryId(id_), relation, Entity(kind, name)) for id_, relation, kind, name in found]

    def of_entities(
        self, project: ProjectId, entities: Sequence[Entity], *, each: int
    ) -> list[tuple[Mention, int]]:
        found: list[tuple[Mention, int]] = []
        with self._connections.reading() as db:
            for entity in entities:
                number = db.execute(_NUMBER, (project, *entity)).get
                if number is None:
                    continue
                total = int(db.execute(_COUNT, (number,)).get)
                for id_, relation in db.execute(_OF_ENTITY, (number, each)):
                    found.append((Mention(MemoryId(id_), relation, entity), total))
        return found

    def common(self, project: ProjectId, kinds: Sequence[str], *, limit: int) -> list[tuple[Entity, int]]:
        values = {"project": project, "kinds": to_json(list(kinds)), "limit": limit}
        with self._connections.reading() as db:
            return [(Entity(kind, name), count) for kind, name, count in db.execute(_COMMON, values)]


def _put(db: apsw.Connection, item: Mention) -> None:
    number = db.execute(_ENTITY, (item.memory, item.entity.kind, kept(item.entity.name))).get
    if number is not None:
        db.execute(_MENTION, (item.memory, item.relation, number))
