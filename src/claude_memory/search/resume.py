"""How a person goes on with a conversation: the agent's own command, in the conversation's folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from claude_memory.platform.agents import BY_NAME, canonical
from claude_memory.store.archive_protocol import Conversation

# An id comes from a file that anybody may have written: it must not read as an option or a path.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


@dataclass(frozen=True, slots=True)
class Resume:
    """A command and the folder to run it in."""

    arguments: tuple[str, ...]
    folder: str

    @property
    def line(self) -> str:
        """What a person would type."""
        command = shlex.join(self.arguments)
        return f"cd {shlex.quote(self.folder)} && {command}" if self.folder else command

    @property
    def has_folder(self) -> bool:
        """Whether the folder is still there."""
        return bool(self.folder) and Path(self.folder).is_dir()


def resume(conversation: Conversation) -> Resume | None:
    """How to go on; None where the agent has no command for it. A sub-agent's work goes on in its session."""
    known = BY_NAME.get(canonical(conversation.agent))
    template = known.resume if known else ""
    session = conversation.parent or conversation.session
    if not template or not _ID.fullmatch(session):
        return None
    arguments = tuple(part.format(session=session) for part in template.split())
    return Resume(arguments, conversation.cwd)
