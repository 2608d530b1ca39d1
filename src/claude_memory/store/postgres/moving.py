"""A whole store from SQLite to PostgreSQL and back: the same rows under the same numbers.

Both have the same tables and columns, so a row is copied column by column. What is a person's alone has
another space and person on either side; texts are indexed anew by the target itself. Feeds, their peers and
the replica's name are not copied: what counts on is the copy's own.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import Conflict
from claude_memory.platform.files import private_folder
from claude_memory.store.postgres.finding import read_vector, written
from claude_memory.store.postgres.migrations import BESIDE_MEMORIES
from claude_memory.store.postgres.team_server import PROVENANCE, TRUST
from claude_memory.store.sql import rows
from claude_memory.store.sql.archive import indexed
from claude_memory.store.sql.rows import packed, unpacked
from claude_memory.store.sqlite.connection import drop_logs
from claude_memory.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from claude_memory.store.base import Database, Store

# In the order of who refers to whom.
_TABLES = (
    "projects project_aliases project_paths sessions events conversations messages message_keys import_files "
    "summed_up memories memory_topics memory_files passages models vectors changes cursors tombstones "
    "rejected intentions strengths reviews relations entities mentions graphed file_states consolidations "
    "consolidation_steps arrivals unjudged exchanges exchange_failures"
).split()
_NOT_FOR_HOOKS = frozenset(
    "events messages message_keys import_files summed_up models vectors changes cursors reviews entities "
    "mentions graphed consolidations consolidation_steps".split()
)
_NUMBERED = ("number", "id", "sequence")  # where a table begins with it, the server gives the next one
_BOOLEAN = frozenset(("failed", "imported", "pinned", "demoted", "undone"))
_BATCH = 500


def to_file(store: Store, target: Path, *, whole: bool = True) -> int:
    """Write what a person sees of a team's store as a SQLite store; it appears only when it is complete.

    For hooks not the whole: memories, without conversations and vectors.
    """
    private_folder(target.parent)
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as folder,
        contextlib.closing(SqliteStore(Path(folder) / target.name, Path(folder))) as copy,
    ):
        person = store.person
        with store.transactions.reading() as source, copy.transactions.writing() as goal:
            goal.execute("UPDATE people SET id = ?", (person,))
            rows.note(goal, "person", person)
            number = int(goal.execute("SELECT number FROM people").get)
            _copy(source, goal, number, [name for name in _TABLES if whole or name not in _NOT_FOR_HOOKS])
        copy.memories.rebuild_index()
        drop_logs(target)  # of the file that goes: they must not be taken for the new one's
        return copy.export(target)


def from_file(source: SqliteStore, store: Store) -> None:
    """Move a person's own store into a team that holds nothing yet."""
    with source.transactions.reading() as file, store.transactions.writing() as goal:
        if any(goal.execute(f"SELECT 1 FROM {table} LIMIT 1").get for table in ("memories", "messages")):
            raise Conflict("the team holds memories already: `claude-memory sync` brings two together")
        _copy(file, goal, -goal.user_space, _TABLES)
    store.memories.rebuild_index()


def _copy(source: Database, goal: Database, person: int, tables: Sequence[str]) -> None:
    """Copy tables; `person` is the number that the person has at the goal."""
    is_server = bool(goal.user_space)
    file = source if is_server else goal
    for table in tables:
        known: Any = file.execute(f"SELECT name FROM pragma_table_info('{table}')")
        columns = [name for (name,) in known if (table, name) != ("vectors", "seq")]
        changes = [_change(table, name, source, goal, person) for name in columns]
        places = ("CAST(? AS halfvec)" if is_server and name == "vector" else "?" for name in columns)
        names = ", ".join(f'"{name}"' for name in columns)
        into = f"INSERT INTO {table} ({names}) VALUES ({', '.join(places)}) ON CONFLICT DO NOTHING"
        found: Any = iter(source.execute(_picked(table, columns, source)))
        while batch := list(islice(found, _BATCH)):
            changed = [[change(value) for change, value in zip(changes, row, strict=True)] for row in batch]
            if table == "messages":
                number, tool, body = (columns.index(name) for name in ("number", "tool", "body"))
                texts = [(row[number], indexed(row[tool] or "", unpacked(row[body]))) for row in batch]
                goal.put_messages(columns, changed, texts)
            else:
                goal.executemany(into, changed)
        if is_server and columns[0] in _NUMBERED:
            latest = int(goal.execute(f"SELECT coalesce(max({columns[0]}), 0) FROM {table}").get)
            goal.execute("SELECT memory_advance(?, ?, ?)", (table, columns[0], latest))


def _change(table: str, name: str, source: Database, goal: Database, person: int) -> Callable[[Any], Any]:
    is_server = bool(goal.user_space)
    if name == "space":
        return lambda value: goal.user_space if value == source.user_space else value
    if (table, name) == ("memories", "person"):
        return lambda value: None if value is None else person
    if (table, name) == ("messages", "body"):
        return lambda value: packed(unpacked(value), always=is_server)
    if name == "vector":
        return written if is_server else read_vector
    return bool if is_server and name in _BOOLEAN else lambda value: value


def _picked(table: str, columns: Sequence[str], source: Database) -> str:
    """The statement that reads a table; of a file, without what is another person's: theirs to bring."""
    visible, otherwise = "", {}
    if source.user_space:
        otherwise = {
            "vectors.vector": "CAST(m.vector AS text)",
            "memories.trust": TRUST,
            "memories.provenance": PROVENANCE,
        }
    elif table in ("memories", "passages", "vectors"):
        visible = "WHERE m.space >= 0"
    elif table in BESIDE_MEMORIES:
        visible = f"WHERE m.{BESIDE_MEMORIES[table]} NOT IN (SELECT number FROM memories WHERE space < 0)"
    said = [otherwise.get(f"{table}.{name}", f'm."{name}"') for name in columns]
    return f"SELECT {', '.join(said)} FROM {table} m {visible}"
