"""Finds the compactions that are not summed up yet: those that hooks reported, and those an import brought.

What is wrong with one session holds up no other. A session is looked at again only when it has reports that
were not there before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claude_memory.errors import InvalidInput, MemoryFault
from claude_memory.model import Event, EventKind, SearchScope, SessionId
from claude_memory.platform import logs
from claude_memory.settings import Settings
from claude_memory.store.archive_protocol import Archive
from claude_memory.store.protocol import EventFilter, Store
from claude_memory.summaries import reading
from claude_memory.summaries.keeper import LATE, Keeper, Material, material
from claude_memory.summaries.model import OPEN, RULES, KeptSummary, Stretch
from claude_memory.summaries.reading import Transcript
from claude_memory.summaries.stretches import open_end

KINDS = (EventKind.COMPACTION_START, EventKind.COMPACTION)
AT_ONCE = 200  # sessions, the latest; after a large import the others wait for the next drain
PAGE = 400  # events read at once
LONGEST = timedelta(minutes=15)  # from a compaction's first report to its last


def compactions(home: Path, store: Store, archive: Archive | None, settings: Settings) -> Compactions:
    """The compactions that a home's store knows of."""
    return Compactions(store, archive, settings, Keeper(home, store))


@dataclass(frozen=True, slots=True)
class Compactions:
    """The compactions that a store knows of."""

    store: Store
    archive: Archive | None
    settings: Settings
    keeper: Keeper

    def sum_up(self) -> list[KeptSummary]:
        """Sum up what is not yet, the latest sessions first; gives back what is new or better."""
        reports: dict[SessionId, list[Event]] = {}
        for event in self._events():
            if event.session:
                reports.setdefault(event.session, []).append(event)
        latest = sorted(reports, key=lambda session: reports[session][-1].timestamp, reverse=True)
        waiting = [session for session in latest if self._is_new(session, reports[session])]
        return [kept for session in waiting[:AT_ONCE] for kept in self._session(session, reports[session])]

    def upgrade(self) -> list[KeptSummary]:
        """Ask a language model about the latest summaries, where a setting names one."""
        if self.settings.summariser in ("", RULES):
            return []
        from claude_memory.summaries.providers import open_provider
        from claude_memory.summaries.upgrading import Upgrade

        provider = open_provider(self.settings)
        if provider is None:
            return []
        asking = Upgrade(self.keeper, provider, self.materials, self.settings.summariser_daily_tokens)
        return asking.run(datetime.now(UTC))

    def ask_about_sessions(self) -> int:
        """Ask the same language model what the latest sessions settled; gives back how much it proposed."""
        if self.settings.summariser in ("", RULES) or self.archive is None:
            return 0
        from claude_memory.summaries.providers import open_provider
        from claude_memory.summaries.session_asking import SessionAsking

        provider = open_provider(self.settings)
        if provider is None:
            return 0
        tokens = self.settings.summariser_daily_tokens
        asking = SessionAsking(self.keeper.home, self.store, self.archive, provider, tokens, time.sleep)
        return asking.run(datetime.now(UTC))

    def materials(self, session: str) -> list[Material]:
        """What each compaction of a session took, while it can still be read."""
        wanted = EventFilter(session=SessionId(session), kinds=KINDS)
        reports = self.store.events(SearchScope(None), wanted, limit=PAGE)
        found = self._transcript(SessionId(session), reports) if reports else None
        if found is None:
            return []
        return [
            material(found.messages, one, reports[0].project, kind=found.kind, cwd=found.cwd)
            for one in found.stretches
        ]

    def _is_new(self, session: SessionId, reports: Sequence[Event]) -> bool:
        try:
            return bool(self.keeper.shelf.about(session).get("reports") != len(reports))
        except InvalidInput:  # its id names no folder: no later try can do better
            return False

    def _session(self, session: SessionId, reports: Sequence[Event]) -> list[KeptSummary]:
        try:
            found = self._transcript(session, reports)
            if found is None:
                return []
            id_, keeper = reports[0].project, self.keeper
            new = keeper.conversation(found.messages, found.stretches, id_, kind=found.kind, cwd=found.cwd)
            early = _under_way(found, reports)
            if early is not None:
                new += keeper.conversation(found.messages, [early], id_, kind=OPEN, cwd=found.cwd)
            keeper.shelf.note(session, reports=len(reports))
        except (MemoryFault, OSError) as fault:
            logs.logger("compaction").warning("a session's compactions are not summed up now: %s", fault)
            return []
        return new

    def _transcript(self, session: SessionId, reports: Sequence[Event]) -> Transcript | None:
        """The agent's own file while there is one, else the archive."""
        named = [str(event.payload.get("transcript_path") or "") for event in reports]
        for path in dict.fromkeys(filter(None, named)):
            try:
                found = reading.read(Path(path), self.settings)
            except (InvalidInput, OSError):
                continue
            if found.session == session:
                return found
        return reading.archived(self.archive, session) if self.archive else None

    def _events(self) -> Iterator[Event]:
        """All reports, oldest first, read a page at a time."""
        wanted = EventFilter(kinds=KINDS)
        seen: set[str] = set()
        while True:
            page = self.store.events(SearchScope(None), wanted, limit=PAGE, newest_first=False)
            fresh = [event for event in page if event.id not in seen]
            yield from fresh
            if len(page) < PAGE or not fresh:
                return
            wanted, seen = replace(wanted, since=page[-1].timestamp), {event.id for event in page}


def _under_way(found: Transcript, reports: Sequence[Event]) -> Stretch | None:
    """What a compaction takes whose boundary is not written yet, or never will be.

    That it began is enough to sum it up; the report that it is over brings the agent's own summary.
    """
    ends = [one.at for one in found.stretches]
    slack = {EventKind.COMPACTION_START: timedelta(), EventKind.COMPACTION: LATE}
    open_ = [one for one in reports if not any(at + slack[one.kind] >= one.timestamp for at in ends)]
    begun = [one for one in open_ if one.kind is EventKind.COMPACTION_START]
    over = [one for one in open_ if one.kind is EventKind.COMPACTION]
    if not open_:
        return None
    last = (over or begun)[-1]
    start = next((one for one in reversed(begun) if last.timestamp - one.timestamp <= LONGEST), last)
    trigger = str(start.payload.get("trigger") or "auto")
    stretch = open_end(
        found.messages, session=found.session, at=last.timestamp, trigger=trigger, boundary=start.id
    )
    written = str(last.payload.get("compact_summary") or "") if over else ""
    return replace(stretch, agent_summary=written) if stretch else None
