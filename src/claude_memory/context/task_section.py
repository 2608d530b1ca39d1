"""The tasks under way, for the start of a session and for sub-agents.

Most projects have none, so whether there are any is looked up before the task files' code is loaded.
"""

from __future__ import annotations

from pathlib import Path

from claude_memory.context.builder import Situation
from claude_memory.context.lines import Line
from claude_memory.errors import MemoryFault
from claude_memory.platform.project import FOLDER
from claude_memory.text.quotation import plain

START_TOKENS = 200
SUBAGENT_TOKENS = 250


def tasks(situation: Situation) -> list[Line]:
    """A line for each task that was worked on last, with its phase."""
    return [
        Line(line)
        for line in task_lines(
            situation.project_root, situation.home, session=situation.session, max_tokens=START_TOKENS
        )
    ]


def _is_used(root: Path, home: Path) -> bool:
    """Whether anybody keeps tasks here or elsewhere; most do not, and need not pay for finding out whose."""
    return (root / FOLDER).is_dir() or any(True for _ in (home / "projects").glob("*/sessions"))


def task_lines(
    root: Path, home: Path, *, session: str | None, max_tokens: int, commands: bool = False
) -> list[str]:
    """The section's lines; none where there is no task, or its files cannot be read."""
    if not _is_used(root, home):
        return []
    from claude_memory.tasks.storage import storage_for

    try:
        storage = storage_for(root, home=home)
        if not any((folder / "sessions").is_dir() for folder in storage.folders):
            return []
        from claude_memory.tasks.book import TaskBook
        from claude_memory.tasks.views import section_of

        text = section_of(TaskBook(storage, session), max_tokens=max_tokens, commands=commands)
    except (MemoryFault, OSError):
        return []
    return [line for line in map(plain, text.splitlines()) if line]
