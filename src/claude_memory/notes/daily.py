"""The daily log: what each session of a day did, one entry each, beside what a person writes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from claude_memory.notes.documents import one_line, set_block
from claude_memory.notes.places import ProjectFiles
from claude_memory.notes.session_log import SessionLine

BLOCK = "sessions"


def add(files: ProjectFiles, home: Path, line: SessionLine, *, day: date) -> bool:
    """Add a session's entry to its day."""
    parts = [line.summary]
    parts += [f"decided: {'; '.join(line.decisions)}"] if line.decisions else []
    parts += [f"files: {', '.join(line.artifacts[:8])}"] if line.artifacts else []
    parts += [f"open: {'; '.join(line.open_threads)}"] if line.open_threads else []
    entry = f"- {line.time} {one_line(' · '.join(parts))}"
    return set_block(
        files,
        home,
        files.daily(day),
        BLOCK,
        lambda present: present if entry in present else [*present, entry],
        heading="## Sessions",
        title=f"# {day:%Y-%m-%d}",
    )
