"""The write-ahead of the prompt hook: what a person settled is on disk before the model reads it.

A fault here costs one entry of the buffer, never the prompt: the prompt itself is in the spool. Most
prompts settle nothing, so nothing is loaded but the scan until one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_memory.errors import MemoryFault
from claude_memory.notes.triggers import Found, scan
from claude_memory.understand.speaker import Speaker, of_hook

SHORT = 8_000  # characters

if TYPE_CHECKING:
    from claude_memory.surfaces.hooks.answers import Moment


def note(moment: Moment) -> None:
    """Write to the working buffer what the prompt corrects, decides, rules, ranks or names."""
    said = of_hook({**moment.payload, "hook_event_name": moment.event})
    if said.speaker is not Speaker.PERSON:
        return
    prompt = said.words
    found = scan(prompt)
    if found:
        found = scan(_clean(prompt))
    if found:
        try:
            _write(moment, found)
        except (MemoryFault, OSError):  # held by another writer, a full disk, a link where a file should be
            return


def _clean(prompt: str) -> str:
    """By the rules that guard the store; a long prompt pays for loading what is quick with long texts."""
    from claude_memory.redact import redact, redact_short

    return redact_short(prompt) if len(prompt) <= SHORT else redact(prompt).text


def _write(moment: Moment, found: list[Found]) -> None:
    from claude_memory.notes import buffer
    from claude_memory.notes.places import project_files

    memory = moment.memory
    session = buffer.session_name(moment.session)
    buffer.add(
        project_files(memory.home, memory.project.id, memory.project_root),
        memory.home,
        [buffer.Entry(moment.now, item.label, item.text, session) for item in found],
        wait_seconds=buffer.HOOK_WAIT_SECONDS,
    )
