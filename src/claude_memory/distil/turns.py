"""What a session is distilled from: turns in order, whether hooks captured them or a transcript held them.

Values only. A tool turn is the call together with its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from claude_memory.model import MemoryId, ProjectId, SessionId, StoredMemory, Trust

PERSON = "user"
AGENT = "assistant"
TOOL = "tool"
TELLS_OF = "tells of "  # before an event's id: this goes when the event goes, and not the reverse
CHANGING_TOOLS = frozenset(
    "edit write multiedit notebookedit apply_patch str_replace_editor str_replace_based_edit_tool replace"
    " write_file edit_file search_replace create_file patch".split()
)
RUNNING_TOOLS = frozenset("bash shell run_shell_command exec exec_command execute terminal run".split())
_PATHS = ("file_path", "notebook_path", "path", "filePath", "target_file", "absolute_path")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `key` names it wherever it is read; `ref` says where it can be looked up."""

    role: str
    key: str
    at: datetime
    text: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    failed: bool = False
    ref: Mapping[str, Any] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """What was run, if this ran something."""
        said = self.given.get("command")
        if isinstance(said, list):  # an argument vector; a shell's own is its last part
            said = said[-1] if said[:2] in (["bash", "-lc"], ["bash", "-c"]) else " ".join(map(str, said))
        runs = self.role == TOOL and self.tool.lower() in RUNNING_TOOLS
        return said if runs and isinstance(said, str) else ""

    @property
    def changed_file(self) -> str:
        """The file this turn changed, if it did."""
        if self.role != TOOL or self.failed or self.tool.lower() not in CHANGING_TOOLS:
            return ""
        return self.path

    @property
    def path(self) -> str:
        """The file a tool was pointed at."""
        found = (self.given.get(key) for key in _PATHS)
        return next((name for name in found if isinstance(name, str) and name), "")


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose session it is: what every memory made from it carries."""

    session: SessionId | None
    project: ProjectId
    cwd: str = ""
    source: str = "hook"
    person: Trust = Trust.USER  # what a person's words are worth; less if the history came from elsewhere
    agent: Trust = Trust.AGENT


@dataclass(frozen=True, slots=True)
class Distilled:
    """What a session leaves, and which earlier memories of it no longer hold (old id to new, if any)."""

    memories: tuple[StoredMemory, ...] = ()
    withdrawn: Mapping[MemoryId, MemoryId | None] = field(default_factory=dict)


def relative(name: str, cwd: str) -> str:
    """A file's name as the project knows it."""
    name, root = name.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and name.startswith(root + "/"):
        return name[len(root) + 1 :]
    return name.removeprefix("./")


def said_before(turns: Sequence[Turn], index: int) -> list[Turn]:
    """What the agent said and did between the person's turn and the one before it."""
    while index > 0 and turns[index - 1].role == PERSON:  # said in two goes
        index -= 1
    start = index
    while start > 0 and turns[start - 1].role != PERSON:
        start -= 1
    return list(turns[start:index])
