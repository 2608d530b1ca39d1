"""Notices that sessions are over, and writes down what they were, in the log and the project's files.

Never relies on an agent saying goodbye: a session is over when it stopped and stayed quiet, or when its
project went on in a new one. What was written is never written twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from claude_memory.model import Event, EventKind, ProjectId, SearchScope, SessionId
from claude_memory.notes import buffer, daily, lessons, long_term, session_log, todo
from claude_memory.notes.places import ProjectFiles, project_files
from claude_memory.notes.session_log import SessionLine
from claude_memory.notes.session_story import Story, story_of
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.platform.project import root_of
from claude_memory.store.protocol import EventFilter, Store

IDLE = timedelta(minutes=30)
ABANDONED = timedelta(hours=6)  # it never stopped: killed, or the machine went to sleep
LOOK_BACK = timedelta(days=3)
MAX_EVENTS = 3000
_QUIET = "quiet-sessions.json"
_TURNS = (
    EventKind.SESSION_START,
    EventKind.PROMPT,
    EventKind.REPLY,
    EventKind.SESSION_END,
)


@dataclass(frozen=True, slots=True)
class Over:
    """A session that ended: whose it was, and its last sign of life."""

    project: ProjectId
    session: SessionId
    cwd: str
    last: datetime


def end_sessions(home: Path, store: Store, *, now: datetime) -> list[SessionLine]:
    """Write down every session that is over and not yet written down; one process at a time."""
    with try_lock(private_folder(home / "cache") / "session-ends.lock") as mine:
        if not mine:
            return []
        turns = store.events(
            SearchScope(None), EventFilter(kinds=_TURNS, since=now - LOOK_BACK), limit=MAX_EVENTS
        )
        over = sessions_over(turns, now=now)
        logged = _logged(home, now) if over else {}
        quiet = _quiet(home)
        written = []
        for item in over:
            through = logged.get(item.session)
            if quiet.get(item.session) != item.last.isoformat() and (through is None or through < item.last):
                line = _write(home, store, item, since=through)
                written += [line] if line else []
                quiet |= {} if line else {item.session: item.last.isoformat()}
        _save_quiet(home, quiet, {item.session for item in over})
        return written


def sessions_over(turns: Sequence[Event], *, now: datetime) -> list[Over]:
    """Which sessions are over, by their turns; oldest first."""
    last: dict[tuple[ProjectId, SessionId], Event] = {}
    began: dict[ProjectId, dict[SessionId, datetime]] = {}
    for event in sorted(turns, key=lambda event: event.timestamp):
        if event.session:
            last[event.project, event.session] = event
            began.setdefault(event.project, {}).setdefault(event.session, event.timestamp)
    found = []
    for (project, session), event in last.items():
        newer = any(start > event.timestamp for other, start in began[project].items() if other != session)
        if _is_over(event, newer=newer, now=now):
            found.append(Over(project, session, event.cwd, event.timestamp))
    return sorted(found, key=lambda item: item.last)


def _is_over(last: Event, *, newer: bool, now: datetime) -> bool:
    quiet = now - last.timestamp
    if last.kind is EventKind.SESSION_END:
        return True
    stopped = last.kind is EventKind.REPLY
    return (stopped and (newer or quiet >= IDLE)) or quiet >= ABANDONED


def _logged(home: Path, now: datetime) -> dict[str, datetime]:
    lines, _ = session_log.recent(home, today=now.date(), days=LOOK_BACK.days + 2)
    found: dict[str, datetime] = {}
    for line in lines:
        moment = session_log.moment(line.through)
        if moment and line.session_id:
            found[line.session_id] = max(moment, found.get(line.session_id, moment))
    return found


def _quiet(home: Path) -> dict[str, str]:
    """Sessions that said nothing worth a line, and until when: not to be read again at every drain."""
    try:
        found = json.loads((home / "cache" / _QUIET).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save_quiet(home: Path, quiet: dict[str, str], present: set[SessionId]) -> None:
    kept = {session: last for session, last in quiet.items() if session in present}
    if kept != _quiet(home):
        write_atomically(home / "cache" / _QUIET, json.dumps(kept).encode())


def _write(home: Path, store: Store, over: Over, *, since: datetime | None) -> SessionLine | None:
    events = store.events(
        SearchScope((over.project,)),
        EventFilter(session=over.session, since=since, until=over.last),
        limit=MAX_EVENTS,
        newest_first=False,
    )
    fresh = [event for event in events if since is None or event.timestamp > since]
    story = story_of(fresh)
    if not story.is_meaningful:
        return None
    line = _line(story, over)
    session_log.append(home, line)
    files = project_files(home, over.project, root_of(over.cwd) if over.cwd else home)
    _keep(files, home, story, line, over.last)
    return line


def _line(story: Story, over: Over) -> SessionLine:
    at = over.last.astimezone()
    return SessionLine(
        date=f"{at:%Y-%m-%d}",
        session=story.title,
        time=f"{at:%H:%M}",
        summary=story.summary,
        decisions=tuple(f"{what} (why: {why})" if why else what for what, why in story.decisions),
        artifacts=story.files[:20],
        open_threads=story.open_threads,
        project=over.project,
        session_id=over.session,
        through=over.last.isoformat(),
    )


def _keep(files: ProjectFiles, home: Path, story: Story, line: SessionLine, last: datetime) -> None:
    day = last.astimezone().date()
    daily.add(files, home, line, day=day)
    long_term.add_decisions(files, home, story.decisions, day=day)
    long_term.count_files(files, home, story.files, day=day)
    lessons.learn(files, home, story.lessons, day=day)
    todo.keep(files, home, story.todos)
    buffer.set_block(files, home, buffer.NEXT, [f"- {text}" for text in story.open_threads])
    buffer.set_block(files, home, buffer.EXCHANGES, [])
