"""The write-ahead of the prompt hook: what a person settled is on disk before the model reads it.

A fault here costs one entry of the buffer, never the prompt: the prompt itself is in the spool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_memory.errors import MemoryFault
from claude_memory.layers.buffer import write_ahead
from claude_memory.layers.places import project_files

if TYPE_CHECKING:
    from claude_memory.surfaces.hooks.answers import Moment


def note(moment: Moment) -> None:
    """Write to the working buffer what the prompt corrects, decides, rules, ranks or names."""
    prompt = moment.text("prompt")
    if not prompt or prompt.lstrip().startswith("/"):
        return
    memory = moment.memory
    try:
        write_ahead(
            project_files(memory.home, memory.project.id, memory.project_root),
            memory.home,
            prompt,
            session=moment.session,
            now=moment.now,
            without_private=_without_private,
        )
    except (MemoryFault, OSError):  # held by another writer, a full disk, a link where a file should be
        return


def _without_private(text: str) -> str:
    from claude_memory.ingest.redact import redact  # most prompts never need it

    return redact(text).text
