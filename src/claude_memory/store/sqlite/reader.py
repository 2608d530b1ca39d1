"""Reading databases of other programs: agents' histories, other memories. Read only, whatever they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from claude_memory.errors import StoreFault

_WAIT_MS = 500
_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class ForeignDatabase:
    """An open database of another program."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def tables(self) -> set[str]:
        """The names of its tables."""
        return {str(row["name"]) for row in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Mapping[str, Any]]:
        """Each row by the names of its columns; StoreFault where it cannot be read."""
        try:
            cursor = self._db.execute(statement, values)
            names: list[str] = []
            for row in cursor:
                names = names or [column[0] for column in cursor.getdescription()]
                yield dict(zip(names, row, strict=True))
        except apsw.Error as fault:
            raise StoreFault(f"{type(fault).__name__}: {fault}") from None


@contextlib.contextmanager
def foreign_database(path: Path) -> Iterator[ForeignDatabase]:
    """Open a database of another program; StoreFault if it is none that can be read."""
    try:
        db = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags=_FLAGS)
    except apsw.Error as fault:
        raise StoreFault(f"{type(fault).__name__}: {fault}") from None
    db.set_busy_timeout(_WAIT_MS)
    with contextlib.closing(db):
        yield ForeignDatabase(db)
