"""The write-ahead of the prompt hook: the whole prompt is on disk before the model reads it.

Appended to the project's working buffer, secrets cut, without a lock and without the database. A fault here
costs one entry of the buffer, never the prompt: the prompt itself is in the spool.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import MemoryFault
from claude_memory.notes import buffer
from claude_memory.notes.places import ProjectFiles, noted_project, project_files
from claude_memory.understand.speaker import Speaker, of_hook

if TYPE_CHECKING:
    from claude_memory.surfaces.hooks.answers import Moment


def note(moment: Moment) -> None:
    """Append what a person typed to the working buffer; nobody else's words."""
    heard = of_hook({**moment.payload, "hook_event_name": moment.event})
    if heard.speaker is not Speaker.PERSON or not heard.words.strip():
        return
    try:
        entry = buffer.BufferEntry(
            moment.now, buffer.SAID, _clean(heard.words), buffer.session_name(moment.session)
        )
        buffer.write_ahead(_files(moment), entry)
    except (MemoryFault, OSError):  # a full disk, a link where a file should be
        return


def _clean(prompt: str) -> str:
    """By the rules that guard the store; a long prompt pays for loading what is quick with long texts."""
    from claude_memory.redact import kept

    return kept(prompt)


def _files(moment: Moment) -> ProjectFiles:
    """The project's files; without a store to ask, those of the project that was noted for the folder."""
    home = Path(moment.home)
    try:
        card = moment.card()
        return project_files(home, card["project"], Path(card["root"]))
    except MemoryFault:
        from claude_memory.platform.project import identify, root_of
        from claude_memory.store.sql.projects import provisional
        from claude_memory.surfaces.hooks.answers import folder_of

        root = root_of(folder_of(moment.payload) or ".")
        return project_files(home, noted_project(home, root) or provisional(identify(root)).id, root)
