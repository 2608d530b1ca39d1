"""Where memories are kept: picks the backend that the settings name."""

from __future__ import annotations

from claude_memory.errors import ConfigFault

TYPE_CHECKING = False  # hooks load this on their way to a quick look: typing would take longer than all of it
if TYPE_CHECKING:
    from pathlib import Path

    from claude_memory.settings import Settings
    from claude_memory.store.archive_protocol import Archive
    from claude_memory.store.protocol import Store

_SQLITE = "sqlite:///"


def open_store(home: Path, settings: Settings, *, patience_ms: int | None = None) -> Store:
    """Open the store of a home, made and migrated if need be; hooks have less patience with other writers."""
    from claude_memory.store.sqlite.store import SqliteStore

    path = database_path(home, settings.store)
    return SqliteStore.open(path, home, keep_backups=settings.keep_backups, patience_ms=patience_ms)


def archive_of(store: Store) -> Archive:
    """The conversations that a store keeps."""
    archive: Archive | None = getattr(store, "archive", None)
    if archive is None:
        raise ConfigFault("this store keeps no conversations")
    return archive


def database_path(home: Path, named: str) -> Path:
    """The SQLite file that the setting `store` names; `sqlite:///x` is relative to the home."""
    if not named.strip():
        return home / "memory.db"
    if not named.startswith(_SQLITE) or not named[len(_SQLITE) :].strip("/"):
        raise ConfigFault(f"setting store wants `sqlite:///PATH` or nothing, not {_scheme(named)!r}")
    from pathlib import Path

    return home / Path(named[len(_SQLITE) :]).expanduser()


def _scheme(named: str) -> str:
    """Only the scheme is shown: the rest of a URL may hold a password."""
    head, mark, _ = named.partition("://")
    return f"{head}{mark}…" if mark else named
