"""A full check of a store: SQLite's own, the links between tables, and the vector cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from claude_memory.store.protocol import Integrity

_MOST_LINES = 20

_COUNTED = {
    "memories without a passage": """SELECT count(*) FROM memories m
        WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.memory = m.number)""",
    "passages without a memory": """SELECT count(*) FROM passages q
        WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.number = q.memory)""",
    "passages without a text entry": """SELECT count(*) FROM passages q
        WHERE NOT EXISTS (SELECT 1 FROM text_index_docsize d WHERE d.id = q.id)""",
    "text entries without a passage": """SELECT count(*) FROM text_index_docsize d
        WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.id = d.id)""",
    "vectors without a passage": """SELECT count(*) FROM vectors v
        WHERE NOT EXISTS (SELECT 1 FROM passages q WHERE q.id = v.passage)""",
    "vectors of another length than the rest of their model": """SELECT count(*) FROM vectors v
        JOIN (SELECT model, length(vector) AS usual FROM vectors GROUP BY model HAVING seq = min(seq)) f
          ON f.model = v.model WHERE length(v.vector) <> f.usual""",
    "events whose content is no JSON": "SELECT count(*) FROM events WHERE NOT json_valid(payload)",
    "memories whose origin is no JSON": "SELECT count(*) FROM memories WHERE NOT json_valid(provenance)",
    "spaces whose count of passages is wrong": """SELECT count(*) FROM spaces s
        WHERE s.passages <> (SELECT count(*) FROM passages q WHERE q.space = s.number)""",
}


def check(db: apsw.Connection, cache: Path) -> Integrity:
    """Everything that can be verified; takes seconds on a large store."""
    problems = [*_sqlite_problems(db), *_link_problems(db), *_cache_problems(cache)]

    def count(statement: str) -> int:
        return int(db.execute(statement).get)

    vectors = "SELECT n.id, count(*) FROM vectors v JOIN models n ON n.number = v.model GROUP BY n.id"
    return Integrity(
        problems=tuple(problems[:_MOST_LINES]),
        memories=count("SELECT count(*) FROM memories"),
        passages=count("SELECT count(*) FROM passages"),
        text_entries=count("SELECT count(*) FROM text_index_docsize"),
        vectors=dict(db.execute(vectors)),
    )


def _sqlite_problems(db: apsw.Connection) -> Iterator[str]:
    for (line,) in db.execute(f"PRAGMA integrity_check({_MOST_LINES})"):
        if line != "ok":
            yield f"SQLite: {line}"
    for table, rowid, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"row {rowid} of {table} points at a row of {parent} that is gone"


def _link_problems(db: apsw.Connection) -> Iterator[str]:
    for what, statement in _COUNTED.items():
        if count := db.execute(statement).get:
            yield f"{count} {what}"


def _cache_problems(cache: Path) -> Iterator[str]:
    if cache.is_dir():
        from claude_memory.store.sqlite import matrices

        yield from (damage for file in matrices.files(cache) if (damage := file.damage()))
