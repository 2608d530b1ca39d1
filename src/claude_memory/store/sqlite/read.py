"""Reading rows: memories, events, passages, counts. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from claude_memory.model import (
    Event,
    MemoryFilter,
    MemoryId,
    Passage,
    PassageId,
    ProjectId,
    SearchScope,
    StoredMemory,
)
from claude_memory.store.protocol import EventFilter, StoreStats
from claude_memory.store.sqlite import rows, text_index

_PASSAGES = """SELECT q.id, m.id, p.id, q.ordinal, m.title, m.body, q.start, q.stop, q.own, q.near, q.far,
    q.dates, {vector} FROM passages q JOIN memories m ON m.number = q.memory
    JOIN projects p ON p.number = m.project"""
_MOST_WALKS = 400  # SQLite joins at most 500 selects
_VECTOR = """(SELECT v.vector FROM vectors v JOIN models n ON n.number = v.model
    WHERE v.passage = q.id AND n.id = :model)"""


def memories(
    db: apsw.Connection,
    scope: SearchScope,
    filter_: MemoryFilter,
    ids: Sequence[MemoryId] | None,
    limit: int | None,
    *,
    newest_first: bool,
) -> list[StoredMemory]:
    """The memories that fit, by time; with `ids`, those in their order."""
    if ids is not None:
        return _by_ids(db, scope, filter_, ids)[:limit]
    condition, values = rows.filter_sql(filter_)
    values["limit"] = -1 if limit is None else limit
    order = "DESC" if newest_first else "ASC"
    spaces = rows.spaces_of(db, scope)
    values["spaces"] = rows.id_list(spaces)
    where = [f"m.space = {space}" for space in spaces]
    if len(spaces) > _MOST_WALKS:
        where = ["m.space IN (SELECT value FROM json_each(:spaces))"]
    # One ordered walk per space: a common `IN` would sort the whole project for ten rows.
    walks = " UNION ALL ".join(
        f"""SELECT * FROM (SELECT m.number, m.created_at FROM memories m WHERE {place}
            AND {condition} ORDER BY m.created_at {order}, m.number {order} LIMIT :limit)"""
        for place in where
    )
    statement = f"""SELECT {rows.MEMORY_COLUMNS} FROM ({walks}) found
        JOIN memories m ON m.number = found.number JOIN projects p ON p.number = m.project
        LEFT JOIN sessions s ON s.number = m.session
        ORDER BY m.created_at {order}, m.number {order} LIMIT :limit"""
    return [rows.memory_from_row(row) for row in db.execute(statement, values)]


def _by_ids(
    db: apsw.Connection, scope: SearchScope, filter_: MemoryFilter, ids: Sequence[MemoryId]
) -> list[StoredMemory]:
    condition, values = rows.filter_sql(filter_)
    values["ids"] = rows.to_json(list(ids))
    values["spaces"] = rows.id_list(rows.spaces_of(db, scope))
    statement = f"""SELECT {rows.MEMORY_COLUMNS} FROM {rows.MEMORY_TABLES}
        WHERE m.id IN (SELECT value FROM json_each(:ids))
          AND m.space IN (SELECT value FROM json_each(:spaces)) AND {condition}"""
    found = {row[0]: rows.memory_from_row(row) for row in db.execute(statement, values)}
    return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]


def complete_id(db: apsw.Connection, scope: SearchScope, prefix: str) -> list[MemoryId]:
    """Ids in scope that begin with the prefix, at most 20; a prefix of nothing names nothing."""
    prefix = rows.clean(prefix)
    if not prefix:
        return []
    found = db.execute(
        """SELECT id FROM memories WHERE id >= ?1 AND id < ?1 || char(1114111)
             AND space IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT 20""",
        (prefix, rows.id_list(rows.spaces_of(db, scope))),
    )
    return [MemoryId(id_) for (id_,) in found if id_.startswith(prefix)]


def events(
    db: apsw.Connection, scope: SearchScope, filter_: EventFilter, limit: int, *, newest_first: bool
) -> list[Event]:
    """The events that fit, by time."""
    conditions = ["1"]
    values: dict[str, Any] = {"limit": limit}
    if scope.projects is not None:
        # Equality where it can be: then the index gives the order, and only `limit` rows are read.
        one = len(scope.projects) == 1
        numbers = "SELECT number FROM projects WHERE id IN (SELECT value FROM json_each(:projects))"
        conditions.append(f"e.project = ({numbers})" if one else f"e.project IN ({numbers})")
        values["projects"] = rows.to_json(scope.projects)
    conditions += _event_conditions(filter_, values)
    order = "DESC" if newest_first else "ASC"
    statement = f"""SELECT {rows.EVENT_COLUMNS} FROM {rows.EVENT_TABLES} WHERE {" AND ".join(conditions)}
        ORDER BY e.timestamp {order}, e.number {order} LIMIT :limit"""
    return [rows.event_from_row(row) for row in db.execute(statement, values)]


def _event_conditions(filter_: EventFilter, values: dict[str, Any]) -> list[str]:
    conditions = []
    if filter_.session is not None:
        conditions.append("e.session IN (SELECT number FROM sessions WHERE id = :session)")
        values["session"] = rows.clean(filter_.session)
    if filter_.kinds:
        conditions.append("e.kind IN (SELECT value FROM json_each(:kinds))")
        values["kinds"] = rows.to_json(filter_.kinds)
    if filter_.since is not None:
        conditions.append("e.timestamp >= :since")
        values["since"] = rows.stamp(filter_.since)
    if filter_.until is not None:
        conditions.append("e.timestamp <= :until")
        values["until"] = rows.stamp(filter_.until)
    if filter_.ids:
        conditions.append("e.id IN (SELECT value FROM json_each(:ids))")
        values["ids"] = rows.to_json(filter_.ids)
    return conditions


def passages(db: apsw.Connection, ids: Sequence[PassageId], model: str | None) -> list[Passage]:
    """Whole passages in the order asked for; one that is gone is left out."""
    statement = _PASSAGES.format(vector=_VECTOR if model else ":model")
    statement += " WHERE q.id IN (SELECT value FROM json_each(:ids))"
    values = {"model": model, "ids": rows.id_list(ids)}
    found = {row[0]: passage_from_row(row, model) for row in db.execute(statement, values)}
    return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]


def passage_from_row(row: Sequence[Any], model: str | None) -> Passage:
    """A row of _PASSAGES."""
    id_, memory, project, ordinal, title, body, start, stop, own, near, far, dates, vector = row
    return Passage(
        id=PassageId(id_),
        memory=MemoryId(memory),
        project=ProjectId(project),
        ordinal=ordinal,
        text=text_index.searchable(title, body)[start:stop],
        own=tuple(own.split()),
        near=tuple(near.split()),
        far=tuple(far.split()),
        date=tuple(dates.split()),
        vector=vector,
        model=model if vector is not None else None,
    )


def unembedded(db: apsw.Connection, model: str, limit: int, project: ProjectId | None) -> list[Passage]:
    """Passages without a vector of this model: newest memories first, bulk observations after the rest."""
    number, through = next(
        db.execute("SELECT number, complete_through FROM models WHERE id = ?", (model,)), (None, 0)
    )
    statement = (
        _PASSAGES.format(vector="NULL")
        + """
        WHERE q.id > :through AND (:project IS NULL OR p.id = :project)
          AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model)
        ORDER BY m.status = 'forgotten', m.kind = 'observation', m.created_at DESC, m.number DESC, q.ordinal
        LIMIT :limit"""
    )
    values = {"through": through, "project": project, "model": number, "limit": limit}
    return [passage_from_row(row, None) for row in db.execute(statement, values)]


def stats(db: apsw.Connection, project: ProjectId | None, size_bytes: int) -> StoreStats:
    """Counts, of one project or of all."""
    one = {"project": project}
    mine = ":project IS NULL OR project = (SELECT number FROM projects WHERE id = :project)"
    of_memories = f"SELECT number FROM memories WHERE {mine}"
    oldest, newest = next(
        db.execute(f"SELECT min(created_at), max(created_at) FROM memories WHERE {mine}", one)
    )
    vectors = f"""SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model
        {f"WHERE v.passage IN (SELECT id FROM passages WHERE memory IN ({of_memories}))" if project else ""}
        GROUP BY n.id"""

    def count(statement: str) -> int:
        return int(db.execute(statement, one).get)

    return StoreStats(
        schema_version=int(db.pragma("user_version")),
        events=count(f"SELECT count(*) FROM events WHERE {mine}"),
        memories=dict(db.execute(f"SELECT kind, count(*) FROM memories WHERE {mine} GROUP BY kind", one)),
        projects=1 if project else count("SELECT count(*) FROM projects"),
        sessions=count(f"SELECT count(*) FROM sessions WHERE {mine}"),
        passages=count(f"SELECT count(*) FROM passages WHERE memory IN ({of_memories})")
        if project
        else count("SELECT count(*) FROM passages"),
        vectors=dict(db.execute(vectors, one if project else None)),
        size_bytes=size_bytes,
        oldest=rows.moment(oldest) if oldest is not None else None,
        newest=rows.moment(newest) if newest is not None else None,
    )
