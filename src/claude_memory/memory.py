"""`Memory`: one open home and project, and a verb for everything a surface can ask.

Wiring only: the verbs stand in `verbs`, by topic, and each calls the part that does the work. Ranking,
SQL and file formats live elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from claude_memory import settings as settings_module
from claude_memory.project import identify
from claude_memory.verbs.asking import Asking
from claude_memory.verbs.upkeep import Reindexed
from claude_memory.verbs.writing import Writing

__all__ = ["Memory", "Reindexed"]


class Memory(Writing, Asking):
    """A memory of one project, in one home. Use as a context manager."""

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        project: Path | str | None = None,
        *,
        flags: Mapping[str, Any] | None = None,
        progress: Callable[[str], None] | None = None,
        patience_ms: int | None = None,
    ) -> Self:
        """Open the memory of a project folder (default: the current one). Makes the home if needed.

        `progress` is told, in a line, of what takes long, such as the model's first conversion.
        `patience_ms` is how long to wait for another process that writes, where not for seconds.
        """
        root = Path(home).expanduser() if home is not None else settings_module.home()
        folder = Path(project).expanduser() if project is not None else Path.cwd()
        if not root.exists():
            from claude_memory.transfer.backup import recover

            recover(root)  # a restore that was killed between its two renames
        settings = settings_module.load(
            root, project_root=Path(identify(folder, quick=True).path), flags=flags
        )
        return cls(root, folder, settings, progress, patience_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
