"""Where memories are kept: one `Store` in parts, whatever the database; its contract in `base` and `sql`.

Belongs here: what a store promises, its values, opening one, a look at a file that may be old or damaged.
Does not: ranking (search), judging (lifecycle), files that people edit (notes), statements (store/sql).
"""

from __future__ import annotations

from claude_memory.errors import ConfigFault

TYPE_CHECKING = False  # hooks load this on their way to a quick look: typing would take longer than all of it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from claude_memory.settings import Settings
    from claude_memory.store.base import Store
    from claude_memory.store.model import Inspection
    from claude_memory.store.postgres.team_store import PostgresStore

_SQLITE = "sqlite:///"
_SERVER = ("postgresql://", "postgres://")
_COPY = "cache/team.db"  # what hooks look at instead of a server
_COPY_SECONDS = 600


def open_store(home: Path, settings: Settings, *, patience_ms: int | None = None) -> Store:
    """Open the store of a home, made and migrated if need be; hooks have less patience with other writers."""
    if is_server(settings.store):
        return _open_server(settings.store, patience_ms)
    from claude_memory.store.sqlite.store import SqliteStore

    path = database_path(home, settings.store)
    return SqliteStore(path, home, keep_backups=settings.keep_backups, patience_ms=patience_ms)


def is_server(named: str) -> bool:
    """Whether the setting `store` names a team's server, not a file."""
    return named.startswith(_SERVER)


def for_hooks(settings: Settings) -> Settings:
    """The settings of a hook: it looks at the local copy of a server's store, never over a network."""
    if not is_server(settings.store):
        return settings
    from dataclasses import replace

    return replace(settings, store=f"{_SQLITE}{_COPY}")


def refresh_copy(home: Path, settings: Settings, store: Store, *, at_once: bool = False) -> bool:
    """Make the copy that hooks look at anew, where the store is a server's and some time went by."""
    import time

    target = home / _COPY
    is_fresh = target.exists() and time.time() - target.stat().st_mtime < _COPY_SECONDS
    if not is_server(settings.store) or (is_fresh and not at_once):
        return False
    from claude_memory.store.postgres.team_store import to_file

    to_file(store, target, whole=False)
    return True


def server_findings(settings: Settings) -> list[tuple[str, str, str, str]]:
    """How a server stands: name, `ok`, `warn` or `fail`, what is so, and what to do."""
    import contextlib

    with contextlib.closing(_open_server(settings.store, None)) as store:
        return list(store.findings())


def push_summaries(
    url: str, summaries: Sequence[tuple[Any, ...]], sessions: Sequence[tuple[Any, ...]]
) -> None:
    _postgres("team_store").push(url, summaries, sessions)


def _open_server(url: str, patience_ms: int | None) -> PostgresStore:
    store: PostgresStore = _postgres("team_store").PostgresStore(url, patience_ms)
    return store


def _postgres(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"claude_memory.store.postgres.{module}")
    except ImportError as fault:
        wanted = "pip install 'claude-memory-system[postgres]'"
        raise ConfigFault(f"a PostgreSQL server needs `{wanted}`: {fault.name} is missing") from None


def inspect(home: Path, settings: Settings) -> Inspection:
    """What can be seen of a home's store, which must be there."""
    from claude_memory.store.sqlite import inspection

    return inspection.inspect(database_path(home, settings.store))


def files_read(home: Path, settings: Settings) -> dict[str, tuple[int, int]]:
    """Size and time of each source when it was last read to its end; nothing where there is no store."""
    from claude_memory.store.sqlite import inspection

    if is_server(settings.store):
        import contextlib

        with contextlib.closing(open_store(home, settings)) as store:
            return {file.path: (file.size, file.modified_ns) for file in store.archive.files()}
    path = database_path(home, settings.store)
    return inspection.files_read(path) if path.exists() else {}


def set_damaged_aside(home: Path, settings: Settings) -> Path | None:
    """Move a database that fails its check out of the way; returns its new path.

    A sound one stays, because it also holds events, which no mirror does.
    """
    from claude_memory.store.sqlite import inspection

    path = database_path(home, settings.store)
    return inspection.set_aside(path) if path.exists() and not inspection.is_sound(path) else None


def database_path(home: Path, named: str) -> Path:
    """The SQLite file that the setting `store` names; of a server its local copy."""
    if is_server(named):
        return home / _COPY
    if not named.strip():
        return home / "memory.db"
    if not named.startswith(_SQLITE) or not named[len(_SQLITE) :].strip("/"):
        head, mark, _ = named.partition("://")
        shown = f"{head}{mark}…" if mark else named  # the rest of a URL may hold a password
        raise ConfigFault(f"setting store wants `sqlite:///PATH` or `postgresql://…`, not {shown!r}")
    from pathlib import Path

    return home / Path(named[len(_SQLITE) :]).expanduser()
