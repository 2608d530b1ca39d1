"""The store in one SQLite file: rows, text index and vectors commit together."""

from claude_memory.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
