"""The end of a transcript that no compaction took yet, as material to sum up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from claude_memory.compaction.keeping import Material
from claude_memory.compaction.model import Stretch
from claude_memory.compaction.ranges import boundaries, read, turns_of
from claude_memory.distil.turns import Origin
from claude_memory.errors import InvalidInput
from claude_memory.model import ProjectId
from claude_memory.settings import Settings


def open_end(
    path: Path, settings: Settings, *, agent: str | None = None, note: Callable[[str], None]
) -> Material:
    """What was said since the last compaction; all of it, where nothing was said since.

    What could not be read of it is told to `note`.
    """
    file = path.expanduser()
    if not file.is_file():
        raise InvalidInput(f"{'not a file' if file.exists() else 'no such file'}: {path}")
    if not file.stat().st_size:
        raise InvalidInput(f"the file is empty: {path}")
    transcript = read(file, settings, agent=agent)
    if transcript.unread:
        lines = "1 line" if transcript.unread == 1 else f"{transcript.unread:,} lines"
        note(f"{lines} of {path} could not be read")
    messages = transcript.messages
    last = max((one.ordinal for one in boundaries(messages)), default=0)
    first = last + 1 if last < len(messages) - 1 else 1
    stretch = Stretch(transcript.session, "", first, len(messages), messages[-1].at, "manual")
    origin = Origin(transcript.session, ProjectId(""), transcript.cwd, "transcript")
    return Material(stretch, turns_of(transcript, first, len(messages)), origin, "transcript")
