"""Finds the compactions that are not summed up yet, and reads what each took: from the agent's own file while
there is one, else from the archive; redacted as every import is.

What is wrong with one session holds up no other. Which sessions wait is known to the store: one is looked at
again when another report of it comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import InvalidInput, MemoryFault
from claude_memory.imports.reading import Start, Task, batches
from claude_memory.model import Event, EventKind, ProjectId, SearchScope, SessionId
from claude_memory.platform import logs
from claude_memory.settings import Settings
from claude_memory.store.archive_model import EventFilter, Message
from claude_memory.store.protocol import Archive, Store
from claude_memory.summaries.keeping import LATE, Keeper, Material, Transcript
from claude_memory.summaries.model import OPEN, RULES, KeptSummary, Stretch
from claude_memory.summaries.stretches import figures, open_end, stretches
from claude_memory.transcripts import sources

if TYPE_CHECKING:
    from claude_memory.summaries.asking import Asker

KINDS = (EventKind.COMPACTION_START, EventKind.COMPACTION)
AT_ONCE = 200  # sessions, the latest; after a large import the others wait for the next drain
MAX_REPORTS = 400  # of one session
LONGEST = timedelta(minutes=15)  # from a compaction's first report to its last


def read(path: Path, settings: Settings, *, agent: str | None = None) -> Transcript:
    """The session in a transcript; a file that no agent is known to write is refused."""
    named = list(sources.within(path.expanduser().absolute(), agent)) if path.is_file() else []
    if not named:
        raise InvalidInput(f"no agent is known to write such a file: {path}")
    parts = list(batches(Task(named[0], Start()), settings))
    new = [message for part in parts for message in part.messages]
    if not new:
        raise InvalidInput(f"nothing was said in {path}")
    session = next((message.session for message in new if not message.parent), new[0].session)
    own = [message for message in new if message.session == session]
    messages = [
        Message(number, 0, number, new.role, new.at, new.text, new.tool, new.call, new.failed,
                new.event.id if new.event else "", new.speaker, new.manner, new.branch)
        for number, new in enumerate(own, start=1)
    ]  # fmt: skip
    cwd = next((message.cwd for message in own if message.cwd), "")
    taken = stretches(messages, session=session, figures=figures(path))
    return Transcript(session, cwd, messages, taken, unread=sum(part.skipped for part in parts))


def archived(archive: Archive, session: SessionId) -> Transcript | None:
    """The session as the archive keeps it; figures come from its file while the agent keeps that."""
    conversation = next(iter(archive.by_sessions(SearchScope(None), [session])), None)
    if conversation is None:
        return None
    messages = archive.messages(conversation.number)
    facts = figures(Path(conversation.path)) if conversation.path.endswith(".jsonl") else {}
    taken = stretches(messages, session=session, figures=facts)
    return Transcript(session, conversation.cwd, messages, taken, "archive")


def open_material(
    path: Path, settings: Settings, *, agent: str | None = None, note: Callable[[str], None] | None = None
) -> Material:
    """What was said in a transcript since its last compaction; all of it, where nothing was said since.

    What could not be read of it is told to `note`.
    """
    file = path.expanduser()
    if not file.is_file():
        raise InvalidInput(f"{'not a file' if file.exists() else 'no such file'}: {path}")
    if not file.stat().st_size:
        raise InvalidInput(f"the file is empty: {path}")
    transcript = read(file, settings, agent=agent)
    if transcript.unread and note:
        lines = "1 line" if transcript.unread == 1 else f"{transcript.unread:,} lines"
        note(f"{lines} of {path} could not be read")
    messages, session = transcript.messages, transcript.session
    at = max(message.at for message in messages)
    stretch = open_end(messages, session=session, at=at, trigger="manual", boundary="")
    stretch = stretch or Stretch(session, "", 1, len(messages), at, "manual")
    return transcript.material(stretch, ProjectId(""))


def open_summary(path: Path, settings: Settings, *, agent: str | None = None) -> dict[str, Any]:
    """The summary of the open end of a transcript, now, as a compact_NNN.json would hold it; stores nothing.

    For who cannot wait for the drain: it opens no store, asks no model and checks no schema.
    """
    took = open_material(path, settings, agent=agent)
    return took.document(took.summary())


@dataclass(frozen=True, slots=True)
class Compactions:
    """The compactions that a home's store knows of."""

    home: Path
    store: Store
    settings: Settings

    @property
    def keeper(self) -> Keeper:
        return Keeper(self.home, self.store)

    def sum_up(self) -> list[KeptSummary]:
        """Sum up what is not yet, the latest sessions first; gives back what is new or better."""
        new = []
        for waiting in self.store.archive.waiting_compactions(AT_ONCE):
            try:
                made = self._session(waiting.session, waiting.reports)
            except InvalidInput as fault:  # its id names no folder: no later try can do better
                _warn(fault)
                made = []
            except (MemoryFault, OSError) as fault:
                _warn(fault)
                continue
            if made is not None:
                new += made
                self.store.archive.summed_up(waiting)
        return new

    def upgrade(self) -> list[KeptSummary]:
        """Ask a language model about the latest summaries, where a setting names one."""
        from claude_memory.summaries.upgrading import upgrade

        asker = self._asker()
        return upgrade(self.keeper, asker, self.materials) if asker else []

    def ask_about_sessions(self) -> int:
        """Ask the same language model what the latest sessions settled; gives back how much it proposed."""
        from claude_memory.summaries.upgrading import ask_about_sessions

        asker = self._asker()
        return ask_about_sessions(self.store, asker) if asker else 0

    def _asker(self) -> Asker | None:
        if self.settings.summariser in ("", RULES):
            return None
        from claude_memory.summaries.asking import asker

        return asker(self.home, self.settings)

    def materials(self, session: str) -> list[Material]:
        """What each compaction of a session took, while it can still be read."""
        reports = self._reports(session)
        told = self._transcript(SessionId(session), reports) if reports else None
        return [told.material(stretch, reports[0].project) for stretch in told.stretches] if told else []

    def _session(self, session: SessionId, reports: Sequence[Event]) -> list[KeptSummary] | None:
        """What is new; None where nothing of the session can be read yet."""
        transcript = self._transcript(session, reports)
        if transcript is None:
            return None
        new = self.keeper.conversation(transcript, reports[0].project)
        if early := _under_way(transcript, reports):
            begun = replace(transcript, stretches=[early], kind=OPEN)
            new += self.keeper.conversation(begun, reports[0].project)
        return new

    def _transcript(self, session: SessionId, reports: Sequence[Event]) -> Transcript | None:
        """The agent's own file while there is one, else the archive."""
        named = [str(event.payload.get("transcript_path") or "") for event in reports]
        for path in dict.fromkeys(filter(None, named)):
            try:
                transcript = read(Path(path), self.settings)
            except (InvalidInput, OSError):
                continue
            if transcript.session == session:
                return transcript
        return archived(self.store.archive, session)

    def _reports(self, session: str) -> Sequence[Event]:
        """A session's reports by time."""
        wanted = EventFilter(session=SessionId(session), kinds=KINDS)
        return self.store.archive.events(SearchScope(None), wanted, limit=MAX_REPORTS)[::-1]


def _warn(fault: Exception) -> None:
    logs.logger("compaction").warning("a session's compactions are not summed up now: %s", fault)


def _under_way(transcript: Transcript, reports: Sequence[Event]) -> Stretch | None:
    """What a compaction takes whose boundary is not written yet, or never will be.

    That it began is enough to sum it up; the report that it is over brings the agent's own summary.
    """
    ends = [stretch.at for stretch in transcript.stretches]
    slack = {EventKind.COMPACTION_START: timedelta(), EventKind.COMPACTION: LATE}
    open_ = [one for one in reports if not any(at + slack[one.kind] >= one.timestamp for at in ends)]
    begun = [one for one in open_ if one.kind is EventKind.COMPACTION_START]
    over = [one for one in open_ if one.kind is EventKind.COMPACTION]
    if not open_:
        return None
    last = (over or begun)[-1]
    start = next((one for one in reversed(begun) if last.timestamp - one.timestamp <= LONGEST), last)
    trigger = str(start.payload.get("trigger") or "auto")
    at, session = last.timestamp, transcript.session
    stretch = open_end(transcript.messages, session=session, at=at, trigger=trigger, boundary=start.id)
    written = str(last.payload.get("compact_summary") or "") if over else ""
    return replace(stretch, agent_summary=written) if stretch else None
