"""What a task, a session and their documents are, the order of work, and names: of files and of writers.

No file is read here. A file name is readable, portable and never a path. The exact name stands in the
document's front matter, so no name needs to be reversible; two that a file system could take for one are
told apart by a short hash (see `apart`).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.platform.agents import at_terminal, inside_agent, require_person
from claude_memory.redact import kept

MAX_NAME_CHARACTERS = 1000
WRITER_VARIABLE = "CLAUDE_MEMORY_BY"
_MAX_STEM_BYTES = 120  # leaves room for session, time stamp and phase within the usual 255
_REDACTED = re.compile(r"\[(private|secret:[a-z0-9-]+)\]")  # an entry's heading ends at a bracket


class Part(StrEnum):
    SCRATCHPAD = "scratchpad"
    PLAN = "plan"
    PROGRESS = "progress"


class Phase(StrEnum):
    DISCOVERY = "discovery"
    PLANNING = "planning"
    EXECUTION = "execution"


class Problem(NamedTuple):
    task: str
    session: str
    path: Path
    message: str
    tampered: bool = True

    def __str__(self) -> str:
        return f"{self.path.name}: {self.message}"


class Entry(NamedTuple):
    """One sealed piece of a plan or of a progress record."""

    number: int
    text: str
    time: datetime | None = None
    by: str = ""
    marks: tuple[str, ...] = ()

    @property
    def unplanned(self) -> bool:
        return "unplanned" in self.marks


class Version(NamedTuple):
    number: int
    saved_at: datetime
    by: str
    size: int
    path: Path


class TaskFile(NamedTuple):
    part: Part
    path: Path
    size: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of one session: its exact name, the session's folder, and the names of its files there."""

    name: str
    stem: str
    created_at: datetime
    by: str
    session_id: str
    folder: Path
    files: Mapping[Part, str] = field(default_factory=dict)

    def path(self, part: Part) -> Path:
        return self.folder / "tasks" / self.files[part]


@dataclass(frozen=True, slots=True)
class Session:
    """A stretch of work; `folder` is where its files stand."""

    session_id: str
    name: str
    created_at: datetime
    by: str
    folder: Path
    tasks: Mapping[str, TaskRecord] = field(default_factory=dict)

    @property
    def short_id(self) -> str:
        """The part of the id that file names carry."""
        return self.session_id.split("-", 1)[0][:8]


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task in a list; made from folder listings alone."""

    name: str
    current_phase: Phase
    session_id: str
    created_at: datetime
    updated_at: datetime
    files: tuple[TaskFile, ...]

    @property
    def file_count(self) -> int:
        return len(self.files)


@dataclass(frozen=True, slots=True)
class TaskStatus(TaskSummary):
    entries: int
    unplanned_entries: int
    amendments: int
    last_entry: Entry | None
    problems: tuple[Problem, ...]
    next_step: str

    @property
    def task_name(self) -> str:
        return self.name


def phase_of(present: Collection[Part]) -> Phase:
    """The phase that the documents of a task show; a task without any is about to be discovered."""
    if Part.PROGRESS in present:
        return Phase.EXECUTION
    return Phase.PLANNING if Part.PLAN in present else Phase.DISCOVERY


def checked(name: str, what: str = "task") -> str:
    """The name without blanks at its ends, or InvalidInput that says what is wrong with it."""
    name = kept(name.strip())
    if not name:
        raise InvalidInput(f"a {what} needs a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInput(f"a {what} name may have {MAX_NAME_CHARACTERS} characters, not {len(name)}")
    if bad := next((c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), None):
        raise InvalidInput(f"the {what} name holds U+{ord(bad):04X}, a character no file can be named with")
    return name


def stem(name: str) -> str:
    """A portable piece of a file name for a task; a plain name stays as it is."""
    piece = "".join("-" if c.isspace() else c if c.isalnum() or c in "-_." else _percent(c) for c in name)
    piece = _percent(".") + piece[1:] if piece[0] == "." else piece
    piece = piece[:-1] + _percent(".") if piece[-1] == "." else piece
    if len(piece.encode("utf-8")) <= _MAX_STEM_BYTES:
        return piece
    return f"{piece.encode('utf-8')[: _MAX_STEM_BYTES - 9].decode('utf-8', 'ignore')}~{digest(name)}"


def apart(name: str, taken: Collection[str]) -> str:
    """A stem for the name that no file system confuses with one of the stems already taken."""
    plain = stem(name)
    folded = {fold(other) for other in taken}
    return plain if fold(plain) not in folded else f"{plain}~{digest(name)}"


def folder_name(session_id: str) -> str:
    """The folder of a session; the usual ids stay as they are."""
    usual = re.fullmatch(r"[a-z0-9_-]{1,80}", session_id)
    return session_id if usual else f"{stem(session_id)}~{digest(session_id)}"


def fold(text: str) -> str:
    """What a file system that ignores letter case and Unicode form makes of a name."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def digest(name: str, size: int = 8) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:size]


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))


def writer(by: str | None = None) -> str:
    """By whom entries are: as the caller says, else the environment, else an agent, a person, or a script.

    An agent cannot sign as a person.
    """
    if by:
        if is_person(by):
            require_person("signing as a person")
        return signature(by)
    told = os.environ.get(WRITER_VARIABLE)
    if told and not (is_person(told) and inside_agent()):  # a clone's settings may set it, too
        return signature(told)
    if inside_agent():
        return "agent"
    import getpass

    kind = "person" if at_terminal() else "script"
    try:
        return signature(f"{kind}:{getpass.getuser()}")
    except (OSError, KeyError):
        return kind


def is_person(by: str) -> bool:
    return signature(by).startswith("person")


def signature(text: str) -> str:
    """One short line without the characters that end a name in an entry's heading."""
    return re.sub(r"[\s\[\];·]+", " ", _REDACTED.sub(r"(\1)", kept(text))).strip()[:100] or "unknown"
