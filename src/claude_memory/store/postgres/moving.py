"""A whole store from SQLite to PostgreSQL and back: the same rows under the same numbers.

Both have the same tables and columns, so a row is copied column by column. What is a person's alone has
another space and person on either side; texts are indexed anew by the target itself. Feeds, their peers and
the replica's name are not copied: what counts on is the copy's own.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import Conflict
from claude_memory.store.postgres.finding import written
from claude_memory.store.postgres.team_server import PROVENANCE, TRUST
from claude_memory.store.sql import rows
from claude_memory.store.sql.rows import unpacked
from claude_memory.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from claude_memory.store.postgres.team_store import PostgresStore
    from claude_memory.store.sql.backend import Database

# In the order of who refers to whom.
_TABLES = (
    "projects project_aliases project_paths sessions events conversations messages message_keys import_files "
    "summed_up memories memory_topics memory_files passages models vectors changes cursors tombstones "
    "rejected intentions strengths reviews relations entities mentions graphed file_states consolidations "
    "consolidation_steps arrivals unjudged exchanges exchange_failures"
).split()
_BOOLEAN = frozenset(("failed", "imported", "pinned", "demoted", "undone"))
_PERSONAL = "(SELECT number FROM memories WHERE space < 0)"  # another person's, in a file
_BATCH = 500


_NOT_FOR_HOOKS = frozenset(
    "events messages message_keys import_files summed_up models vectors changes cursors reviews entities "
    "mentions graphed consolidations consolidation_steps".split()
)


def to_file(store: PostgresStore, target: Path, *, whole: bool = True) -> int:
    """Write what a person sees of a team's store as a SQLite store; it appears only when it is whole."""
    with tempfile.TemporaryDirectory(dir=_made(target.parent), prefix=".export-") as folder:
        made = Path(folder) / target.name
        with contextlib.closing(SqliteStore(made, Path(folder))) as copy:
            person = store.person
            with store.transactions.reading() as source, copy.transactions.writing() as goal:
                goal.execute("UPDATE people SET id = ?", (person,))
                rows.note(goal, "person", person)
                number = goal.execute("SELECT number FROM people").get
                tables = [table for table in _TABLES if whole or table not in _NOT_FOR_HOOKS]
                _copy(
                    source,
                    goal,
                    lambda name, value: _for_file(name, value, source.user_space, number),
                    tables,
                )
            copy.memories.rebuild_index()
            version = copy.stats().schema_version
        _one_file(made)
        for ending in ("-wal", "-shm"):  # of the file that goes: they must not be taken for the new one's
            target.with_name(target.name + ending).unlink(missing_ok=True)
        os.replace(made, target)
    return version


def from_file(source: SqliteStore, store: PostgresStore) -> dict[str, int]:
    """Move a person's own store into a team that holds nothing yet; returns how many rows of each table."""
    with source.transactions.reading() as file, store.transactions.writing() as goal:
        if (
            goal.execute("SELECT 1 FROM memories LIMIT 1").get
            or goal.execute("SELECT 1 FROM messages LIMIT 1").get
        ):
            raise Conflict(
                "the team's store holds memories already: `claude-memory sync` brings two together"
            )
        space = goal.user_space
        moved = _copy(file, goal, lambda name, value: _for_server(name, value, space))
        for table, column in _NUMBERED.items():
            latest = int(goal.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").get)
            goal.execute("SELECT memory_advance(?, ?, ?)", (table, column, latest))
    store.memories.rebuild_index()
    return moved


_NUMBERED = {
    **dict.fromkeys(
        "projects sessions events conversations messages memories models intentions reviews entities "
        "consolidations".split(),
        "number",
    ),
    "passages": "id",
    "changes": "sequence",
}


def _copy(
    source: Database,
    goal: Database,
    changed: Callable[[str, Any], Any],
    tables: Sequence[str] = _TABLES,
) -> dict[str, int]:
    """Copy tables; `changed` gives a column's value as the other side has it."""
    file = goal if goal.user_space == 0 else source
    moved = {}
    for table in tables:
        known: Any = file.execute(f"SELECT name FROM pragma_table_info('{table}')")
        columns = [name for (name,) in known if (table, name) != ("vectors", "seq")]
        names = ", ".join(f'"{name}"' for name in columns)
        places = ", ".join(_taken(table, name, goal) for name in columns)
        into = f"INSERT INTO {table} ({names}) VALUES ({places}) ON CONFLICT DO NOTHING"
        moved[table] = 0
        for batch in _batches(source, table, columns):
            if table == "messages":
                goal.put_messages(columns, *_messages(batch, columns, goal))
            else:
                values = [
                    [changed(f"{table}.{name}", value) for name, value in zip(columns, row, strict=True)]
                    for row in batch
                ]
                goal.executemany(into, values)
            moved[table] += len(batch)
    return moved


def _batches(source: Database, table: str, columns: Sequence[str]) -> Iterator[list[Any]]:
    picked = ", ".join(_asked(table, name, source) for name in columns)
    found: Any = iter(source.execute(f"SELECT {picked} FROM {table} m {_visible(table, source)}"))
    batch = []
    for row in found:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _visible(table: str, source: Database) -> str:
    """Of a file, without what is another person's: only they may bring it to a team."""
    if source.user_space:
        return ""
    if table in ("memories", "passages", "vectors"):
        return "WHERE m.space >= 0"
    column = {"relations": "source"}.get(table, "memory")
    beside = (
        "memory_topics memory_files strengths reviews relations mentions graphed file_states arrivals "
        "consolidation_steps unjudged exchanges exchange_failures"
    )
    return f"WHERE m.{column} NOT IN {_PERSONAL}" if table in beside.split() else ""


def _asked(table: str, name: str, source: Database) -> str:
    if source.user_space:
        if table == "memories" and name in ("trust", "provenance"):
            return TRUST if name == "trust" else PROVENANCE
        if table == "vectors" and name == "vector":
            return "CAST(m.vector AS text)"
    return f'm."{name}"'


def _taken(table: str, name: str, goal: Database) -> str:
    return "CAST(? AS halfvec)" if goal.user_space and (table, name) == ("vectors", "vector") else "?"


def _for_server(name: str, value: Any, space: int) -> Any:
    column = name.partition(".")[2]
    if column in _BOOLEAN:
        return bool(value)
    if column == "space" and value == 0:
        return space
    if name == "memories.person" and value is not None:
        return -space
    return written(value) if name == "vectors.vector" else value


def _for_file(name: str, value: Any, space: int, person: int) -> Any:
    column = name.partition(".")[2]
    if column == "space" and value == space:
        return 0
    if name == "memories.person" and value is not None:
        return person
    if name == "vectors.vector":
        return bytes(int(part) % 256 for part in value.strip("[]").split(","))
    return value


def _messages(
    batch: Sequence[Sequence[Any]], columns: Sequence[str], goal: Database
) -> tuple[list[list[Any]], list[tuple[int, str]]]:
    from claude_memory.store.sql.archive import indexed

    number, tool, body, failed = (columns.index(name) for name in ("number", "tool", "body", "failed"))
    made, texts = [], []
    for row in batch:
        text, values = unpacked(row[body]), list(row)
        values[body], values[failed] = goal.body(text), bool(row[failed])
        made.append(values)
        texts.append((row[number], indexed(row[tool] or "", text)))
    return made, texts


def _made(folder: Path) -> Path:
    from claude_memory.platform import files

    files.private_folder(folder)
    return folder


def _one_file(path: Path) -> None:
    """Without a log beside it."""
    from claude_memory.store.sqlite.inspection import without_log

    without_log(path)
