"""A quick look into the store for hooks: read-only, a few questions, plain tuples for answers.

Loads neither the model nor the store's other parts: that would take longer than every answer here.
What hooks may see is decided here, too: this project and what travels with the person, nothing that is
proposed, replaced or forgotten.
"""

from __future__ import annotations

import json

import apsw

from claude_memory.errors import StoreFault
from claude_memory.store.sqlite import schema
from claude_memory.store.sqlite.schema import key

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

PATIENCE_MS = 50
_NOWHERE = -(1 << 62)  # the space of a project that is not known
PASSAGES = 2_000
FILE_ROWS = 40
COMMAND_ROWS = 25
_MMAP_BYTES = 1 << 33
_TOTAL = "SELECT coalesce(sum(passages), 0) FROM spaces WHERE number IN (0, ?)"
_FREQUENCIES = "SELECT term, passages FROM lexicon WHERE term IN (SELECT value FROM json_each(?))"
_HOLDING = """SELECT m.number, s.id, p.own FROM text_index
    JOIN passages p ON p.id = text_index.rowid JOIN memories m ON m.number = p.memory
    LEFT JOIN sessions s ON s.number = m.session
    WHERE text_index MATCH ? AND m.status = 'active' AND m.kind <> 'summary'
    ORDER BY p.id DESC LIMIT ?"""
_TEXTS = """SELECT m.number, m.id, m.kind, m.trust, m.created_at, s.id, m.title, m.body,
    (SELECT count(*) FROM memory_files f WHERE f.memory = m.number), e.record, m.provenance ->> '$.source'
    FROM memories m LEFT JOIN sessions s ON s.number = m.session LEFT JOIN exchanges e ON e.memory = m.number
    WHERE m.number IN (SELECT value FROM json_each(?))"""
_OF_FILE = """SELECT DISTINCT m.number FROM memory_files f JOIN memories m ON m.number = f.memory
    WHERE f.name = ? AND f.path IN (SELECT value FROM json_each(?)) AND m.space IN (0, ?)
      AND m.status = 'active' AND m.kind <> 'summary' ORDER BY m.created_at DESC LIMIT ?"""
_OF_COMMAND = """SELECT DISTINCT m.number FROM exchange_failures f JOIN memories m ON m.number = f.memory
    WHERE f.family IN (SELECT value FROM json_each(?)) AND m.space = ? AND m.status = 'active'
    ORDER BY m.created_at DESC LIMIT ?"""


class Seen:
    """One memory as a hook sees it: `files` is how many it names, `record` holds an exchange's parts."""

    def __init__(self, row: Sequence[Any]) -> None:
        self.number, self.id, self.kind, self.trust, self.created, self.session, self.title = row[:7]
        self.body, self.files, self.source = row[7], int(row[8]), row[10] or ""
        self.record: dict[str, Any] = json.loads(row[9]) if row[9] else {}


class Glance:
    """One project's part of a store; closes itself with the process."""

    def __init__(self, path: str, project: str) -> None:
        self._db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self._db.set_busy_timeout(PATIENCE_MS)
        try:
            if schema.version(self._db) < schema.CURRENT:
                raise StoreFault(f"{path} waits for its migration: the next command makes it")
            self._db.pragma("mmap_size", _MMAP_BYTES)
            number = self._db.execute("SELECT number FROM projects WHERE id = ?", (project,)).get
        except apsw.Error as fault:
            raise StoreFault(f"{path} cannot be read: {fault}") from None
        self._space = int(number or _NOWHERE)

    def close(self) -> None:
        self._db.close()

    def has_open_intentions(self) -> bool:
        """Whether any reminder waits, in whatever project."""
        return self._db.execute("SELECT 1 FROM intentions WHERE status = 'open' LIMIT 1").get is not None

    def frequencies(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """How many passages there are, and how many hold each of the terms that any holds."""
        keys = {key(space, term): term for term in terms for space in (0, self._space)}
        found: dict[str, int] = {}
        for name, count in self._db.execute(_FREQUENCIES, (json.dumps(list(keys)),)):
            found[keys[name]] = found.get(keys[name], 0) + count
        return int(self._db.execute(_TOTAL, (self._space,)).get), found

    def sessions(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM sessions WHERE project = ?", (self._space,)).get)

    def holding(self, terms: Iterable[str]) -> list[tuple[int, str | None, str]]:
        """Number, session and terms of passages that hold any of these terms, newest first."""
        keys = " OR ".join(f'"{key(space, term)}"' for term in terms for space in (0, self._space))
        return list(self._db.execute(_HOLDING, (f"own : ({keys})", PASSAGES))) if keys else []

    def seen(self, numbers: Sequence[int]) -> list[Seen]:
        """Memories by their numbers, in that order."""
        rows = {row[0]: row for row in self._db.execute(_TEXTS, (json.dumps(list(numbers)),))}
        return [Seen(rows[number]) for number in numbers if number in rows]

    def of_file(self, paths: Sequence[str]) -> list[Seen]:
        """What names a file, newest first; `paths` are spellings of the same one."""
        name = paths[0].rpartition("/")[2]
        asked = (name, json.dumps(list(paths)), self._space, FILE_ROWS)
        return self.seen([number for (number,) in self._db.execute(_OF_FILE, asked)])

    def failures(self, families: Sequence[str]) -> list[Seen]:
        """Exchanges in which a command of these families failed, newest first."""
        asked = (json.dumps(list(families)), self._space, COMMAND_ROWS)
        return self.seen([number for (number,) in self._db.execute(_OF_COMMAND, asked)])
