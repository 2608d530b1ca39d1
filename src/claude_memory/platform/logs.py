"""The program's own log: `logs/claude-memory.log`, private, rotated, never in anybody's way.

Nothing is set up at import. Lines at info and above say what happened, never what was said; a log
that cannot be written is silent, because the memory must work on a full or read-only disk.
"""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from claude_memory.platform import files
from claude_memory.settings import Settings

ROOT = "claude_memory"
OLD_FILES = 3


def logger(name: str) -> logging.Logger:
    """The logger of one part; silent until `configure` gives it a file."""
    root = logging.getLogger(ROOT)
    if not root.handlers:
        root.addHandler(logging.NullHandler())  # else Python prints warnings on standard error
    return root.getChild(name)


def configure(home: Path, settings: Settings) -> None:
    close()
    root = logging.getLogger(ROOT)
    handler = _PrivateFile(
        home / "logs" / "claude-memory.log",
        maxBytes=settings.log_max_mb << 20,
        backupCount=OLD_FILES,
        encoding="utf-8",
        errors="backslashreplace",
        delay=True,
    )
    handler.setFormatter(_Cleaned("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(settings.log_level.upper())
    root.propagate = False


def close() -> None:
    root = logging.getLogger(ROOT)
    for handler in list(root.handlers):
        if isinstance(handler, _PrivateFile):
            root.removeHandler(handler)
            handler.close()
            root.propagate = True


class _Cleaned(logging.Formatter):
    """Messages of faults may quote what a person gave."""

    def format(self, record: logging.LogRecord) -> str:
        from claude_memory.redact import kept

        return kept(super().format(record))


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        files.private_folder(Path(self.baseFilename).parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.baseFilename, flags, files.FILE_MODE)
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name logging gives it
        """A line that cannot be written is dropped; the default would print a traceback."""
