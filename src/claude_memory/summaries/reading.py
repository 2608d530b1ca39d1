"""Reads the messages of one session, redacted as every import is: from the agent's file, else the archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.imports.reading import Task, batches
from claude_memory.imports.state import Start
from claude_memory.model import ProjectId, SearchScope, SessionId
from claude_memory.settings import Settings
from claude_memory.store.archive_protocol import Archive, Message, NewMessage
from claude_memory.summaries.keeper import Material, material
from claude_memory.summaries.model import Stretch
from claude_memory.summaries.stretches import boundaries, figures, stretches
from claude_memory.transcripts import places


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of a session, counted from 1, and what each of its compactions took."""

    session: SessionId
    cwd: str
    messages: tuple[Message, ...]
    stretches: Sequence[Stretch]
    kind: str = "transcript"
    unread: int = 0  # lines that are no JSON, or too long


def read(path: Path, settings: Settings, *, agent: str | None = None) -> Transcript:
    """The session in a transcript; a file that no agent is known to write is refused."""
    sources = list(places.within(path.expanduser().absolute(), agent)) if path.is_file() else []
    if not sources:
        raise InvalidInput(f"no agent is known to write such a file: {path}")
    parts = list(batches(Task(sources[0], Start()), settings))
    new = [message for part in parts for message in part.messages]
    if not new:
        raise InvalidInput(f"nothing was said in {path}")
    session = next((message.session for message in new if not message.parent), new[0].session)
    own = [message for message in new if message.session == session]
    messages = tuple(_message(number, one) for number, one in enumerate(own, start=1))
    cwd = next((one.cwd for one in own if one.cwd), "")
    found = stretches(messages, session=session, figures=figures(path))
    return Transcript(session, cwd, messages, found, unread=sum(part.skipped for part in parts))


def _message(number: int, new: NewMessage) -> Message:
    return Message(
        number,
        0,
        number,
        new.role,
        new.at,
        new.text,
        new.tool,
        new.call,
        new.failed,
        new.event.id if new.event else "",
        new.speaker,
        new.manner,
        new.branch,
    )


def archived(archive: Archive, session: SessionId) -> Transcript | None:
    """The session as the archive keeps it; figures come from its file while the agent keeps that."""
    kept = archive.by_sessions(SearchScope(None), [session])
    if not kept:
        return None
    messages = tuple(archive.messages(kept[0].number))
    known = figures(Path(kept[0].path)) if kept[0].path.endswith(".jsonl") else {}
    found = stretches(messages, session=session, figures=known)
    return Transcript(session, kept[0].cwd, messages, found, "archive")


def open_material(
    path: Path, settings: Settings, *, agent: str | None = None, note: Callable[[str], None]
) -> Material:
    """What was said in a file since its last compaction; all of it, where nothing was said since.

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
    return material(messages, stretch, ProjectId(""), kind="transcript", cwd=transcript.cwd)
