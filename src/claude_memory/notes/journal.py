"""Writes down what sessions did, while they go on: from their exchanges and records, each entry once.

The session's line and its entry in the day's log grow with it; todo, lessons, workstreams and the table of
what was settled are brought up to what the store says. Nothing meaningful happened: nothing is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from claude_memory.model import Event, EventKind, Kind, MemoryFilter, SearchScope, SessionId, Status, Trust
from claude_memory.notes import blocks
from claude_memory.notes.buffer import middle_cut, session_name
from claude_memory.notes.person_files import SessionLine, put_session
from claude_memory.notes.plain_files import TABLE_HEAD, ProjectFiles, one_line, project_files, row_of
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.platform.project import root_of
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.store.model import Conversation, EventFilter
from claude_memory.text.words import query_terms, shorten
from claude_memory.understand import calls, commands
from claude_memory.understand.agent_summary import called_open
from claude_memory.understand.exchanges import record as record_of
from claude_memory.understand.model import Command, Exchange, SessionRecord, from_json, record_from_json
from claude_memory.understand.statements import closing_points

DEFAULT_WINDOW, LONG_WINDOW = 200_000, 1_000_000
# By the beginning of a model's name, longest first; `[1m]` in a name asks for the long window.
WINDOWS = {"gpt-4.1": 1_000_000, "gpt-5": 400_000, "gpt-": 128_000, "gemini-": 1_000_000}
CONDENSED_EXCHANGES = 6
TAIL_BYTES = 512 << 10
ASKED_CHARACTERS, ANSWERED_CHARACTERS = 300, 500
RECENTLY = timedelta(minutes=20)
_PARTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
LOOK_BACK = timedelta(days=3)
WORKSTREAM_AGE = timedelta(days=14)  # before the newest session, not before today: people go on holiday
SESSIONS = 60
MOST_OPEN = 6
MOST_LEFT, MOST_DONE, MOST_ROWS = 40, 20, 20  # of the agent's list, of the table of what was settled
MOST_STREAMS = 6
MOST_LEARNED = 5  # of one session
SUMMARY_CHARACTERS = 400
# What a linter finds is put right and forgotten; and lines of a report that only say that something failed.
_STYLE = re.compile(r"lint|fmt|format|ruff|black|isort|prettier|biome|vet|staticcheck|style|codespell")
_EMPTY = re.compile(
    r"(?:=== |--- |\[[\w:.-]+\] |FAIL|ok\b|exit |error: (?:task|script|process) |.*task failed)",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,400}\)")
_REASON = re.compile(r"^(?:Asked|Why|Plan): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Journal:
    """What one home writes down; project documents committed with a repository change on command only."""

    home: Path
    store: Store
    on_command: bool = False

    def keep_up(self, now: datetime) -> None:
        """Write down what is new in the last days' sessions; one process at a time."""
        cache = private_folder(self.home / "cache")
        with try_lock(cache / "journal.lock") as mine:
            if not mine:
                return
            # How far each session was written down, and the hash of each of its lines; it may be lost.
            written: dict[str, int] = {}
            lines: dict[str, str] = {}
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                state = json.loads((cache / "journal.json").read_bytes())
                written, lines = dict(state["sessions"]), dict(state["lines"])
            recent = [each for each, _ in self.store.archive.session_records(SearchScope(None), SESSIONS)]
            since = min(now, max((each.last for each in recent), default=now)) - LOOK_BACK
            own = [each for each in reversed(recent) if not (each.parent or each.imported)]
            fresh = [each for each in own if self.on_command or written.get(each.session) != each.understood]
            grown = [each for each in fresh if each.last >= since]
            for conversation in grown:
                self._write_session(conversation, lines, since)
                written[conversation.session] = conversation.understood
            for conversation in {each.project: each for each in grown}.values():
                self._write_project(conversation)
            if grown:
                present = {str(each.session) for each in recent}
                written = {name: count for name, count in written.items() if name in present}
                lines = {name: hash_ for name, hash_ in lines.items() if name.partition(" ")[0] in present}
                state = {"sessions": written, "lines": lines}
                write_atomically(cache / "journal.json", json.dumps(state).encode())

    def _write_session(self, conversation: Conversation, lines: dict[str, str], since: datetime) -> None:
        """The session's lines: one for each day it was worked on."""
        exchanges, files = self._exchanges(conversation), self._files(conversation)
        mark = f" (session {session_name(conversation.session)})"
        days: dict[date, list[Exchange]] = {}
        for exchange in exchanges:
            if exchange.ended >= since:
                days.setdefault(exchange.ended.astimezone().date(), []).append(exchange)
        for day, part in days.items():
            if is_meaningful(part):
                rows = [row for row in self._settled(conversation, conversation.session) if row[0] == day]
                record = record_of(conversation.session, part, conversation.title)
                line = _session_line(conversation, record, part, rows)
                name = f"{conversation.session} {line.date}"
                lines[name] = put_session(self.home, line, written_before=lines.get(name, ""))
                told = {
                    "decided": "; ".join(line.decisions),
                    "committed": "; ".join(f"{each.hash} {each.subject}".strip() for each in record.commits),
                    "files": ", ".join(line.artifacts[:8]),
                    "fails": "; ".join(shorten(command.command, 80) for command in record.failing),
                    "open": "; ".join(line.open_threads),
                }
                entry = one_line(_joined(f"{line.time} {line.session}: {line.summary}", told))
                files.log_day(day, f"- {entry}{mark}", mark)
        learned = list(solved(exchanges))[-MOST_LEARNED:]
        if learned and (self.on_command or not files.is_shared):
            files.add_dated(blocks.LEARNED, learned, conversation.last.astimezone().date())

    def _write_project(self, conversation: Conversation) -> None:
        """What all sessions of a project come to; `conversation` is the newest that grew."""
        exchanges, files = self._exchanges(conversation), self._files(conversation)
        found = self.store.archive.session_records(SearchScope((conversation.project,)), SESSIONS)
        records = [record_from_json(parts) for each, parts in found if not each.parent]
        threads = open_threads(record_of(conversation.session, exchanges)) if exchanges else []
        files.set_list(blocks.NEXT, threads)
        if files.is_shared and not self.on_command:
            return

        tasks = {one_line(task.title): task.status for exchange in exchanges for task in exchange.tasks}

        def todo(present: list[str]) -> list[str]:
            """The agent's list brought up to date: each task and its status."""
            kept = {line[6:]: line.startswith("- [x] ") for line in present if line[6:] not in tasks}
            done = kept | {name: tasks[name] == "completed" for name in tasks if tasks[name] != "deleted"}
            left = [f"- [ ] {name}" for name in done if not done[name]]
            finished = [f"- [x] {name}" for name in done if done[name]]
            return [*left[-MOST_LEFT:], *finished[-MOST_DONE:]]

        files.change_block(blocks.TODO, todo)
        files.set_list(blocks.UNSOLVED, list(unsolved(records)))
        rows = [row_of(*row) for row in self._settled(conversation)]
        files.change_block(blocks.SETTLED, lambda _: [*TABLE_HEAD, *rows] if rows else [])
        files.set_list(blocks.WORKSTREAMS, list(workstreams(records)))

    def _settled(
        self, conversation: Conversation, session: SessionId | None = None
    ) -> list[tuple[date, str, str]]:
        """Decisions that stand, newest first: day, what, why. What a plain file says stands there already."""
        wanted = MemoryFilter(kinds=(Kind.DECISION,), statuses=(Status.ACTIVE,), session=session)
        scope = SearchScope((conversation.project,))
        found = self.store.memories.find(scope, wanted, limit=5 * MOST_ROWS)
        rows = []
        for item in sorted(found, key=lambda item: item.created_at, reverse=True):
            said_here = item.project == conversation.project and item.trust in (Trust.USER, Trust.AGENT)
            if said_here and item.provenance.get("source") != "file":
                why = _REASON.search(item.body)
                reason = shorten(why[1], 200) if why else ""
                rows.append((item.created_at.astimezone().date(), item.title, reason))
        return rows[:MOST_ROWS]

    def _exchanges(self, conversation: Conversation) -> list[Exchange]:
        return [from_json(parts) for *_, parts in self.store.archive.exchanges(conversation.number)]

    def _files(self, work: Conversation | Event) -> ProjectFiles:
        return project_files(self.home, work.project, root_of(work.cwd) if work.cwd else self.home)

    def watch(self, settings: Settings, now: datetime) -> None:
        """Condense the exchanges of sessions whose window is nearly full: a compaction is near."""
        recently = EventFilter(kinds=(EventKind.REPLY,), since=now - RECENTLY)
        replies = self.store.archive.events(SearchScope(None), recently, limit=50)
        for session, event in {str(event.session): event for event in reversed(replies)}.items():
            path = event.payload.get("transcript_path")
            full = percent_full(Path(path), settings) if event.session and isinstance(path, str) else None
            if full is not None:
                is_near = 0 < settings.danger_zone_percent <= full
                scope = SearchScope((event.project,))
                conversations = self.store.archive.by_sessions(scope, [session]) if is_near else ()
                lines = [line for each in conversations for line in condensed(self._exchanges(each))]
                self._files(event).set_list(blocks.EXCHANGES, lines)


def is_meaningful(exchanges: Sequence[Exchange]) -> bool:
    """Whether anything came of it: work that was done, or a question of substance that was answered."""
    return any(
        exchange.commits
        or exchange.plan
        or any(not calls.is_scratch(name) for name, _ in exchange.files_edited)
        or (len(query_terms(exchange.request)) > 2 and bool(closing_points(exchange.closing)))
        for exchange in exchanges
    )


def _session_line(
    conversation: Conversation,
    record: SessionRecord,
    exchanges: Sequence[Exchange],
    settled: Sequence[tuple[date, str, str]],
) -> SessionLine:
    """A day of a session in a line: the points that closed its last exchange that changed something."""
    ended = record.ended.astimezone()
    worked = [exchange for exchange in exchanges if exchange.files_edited or exchange.commits]
    closings = (closing_points(exchange.closing) for exchange in (*reversed(worked), *reversed(exchanges)))
    points = [_LINK.sub(r"\1", point).rstrip(".;") for point in next(filter(None, closings), ())]
    told = "; ".join(points or (commit.subject for commit in record.commits))
    return SessionLine(
        date=f"{ended:%Y-%m-%d}",
        session=record.title,
        time=f"{ended:%H:%M}",
        summary=shorten(told or record.first_request or record.title, SUMMARY_CHARACTERS),
        decisions=tuple(f"{what} (why: {why})" if why else what for _, what, why in settled),
        artifacts=tuple(name for name, _ in record.files)[:20],
        open_threads=tuple(open_threads(record)),
        project=conversation.project,
        session_id=conversation.session,
        through=record.ended.isoformat(),
    )


def _joined(head: str, told: Mapping[str, str]) -> str:
    return " · ".join([head, *(f"{label}: {text}" for label, text in told.items() if text)])


def open_threads(record: SessionRecord) -> list[str]:
    """What is left to do: the agent's open tasks, what its last words call open, what was not answered."""
    threads = [*(task.title for task in record.open_tasks), *called_open(record.closing)]
    if not record.answered and record.last_request:
        threads.append(f"not answered: {shorten(one_line(record.last_request), 160)}")
    return list(dict.fromkeys(map(one_line, threads)))[:MOST_OPEN]


def solved(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Checks that failed more than once, or whose cure took another request, and then went through."""
    failed: dict[str, tuple[int, int, Command]] = {}  # how often, since which exchange, the first failure
    for place, exchange in enumerate(exchanges):
        for command in exchange.commands:
            for name, _ in commands.checks_of(command.command):
                times, since, first = failed.get(name, (0, place, command))
                if command.failed:
                    failed[name] = (times + 1, since, first if _error(first) else command)
                elif name in failed:
                    del failed[name]
                    changed = [file for each in exchanges[since : place + 1] for file, _ in each.files_edited]
                    names = ", ".join(dict.fromkeys(changed[:4]))
                    if names and (times > 1 or place > since) and (failure := _failure(first, name)):
                        yield f"{failure}; it worked after a change to {names}"


def unsolved(records: Sequence[SessionRecord]) -> Iterator[str]:
    """Checks whose last run failed and that no later session ran again; records are newest first."""
    ran: set[str] = set()
    for record in records:
        checks = {command: commands.checks_of(command.command) for command in record.failing}
        branch = f" on {name}" if (name := _branch(record)) else ""
        for command, names in checks.items():
            for name, _ in names[:1]:
                if name not in ran and (failure := _failure(command, name, is_open=True)):
                    yield f"{record.ended.astimezone():%Y-%m-%d}: {failure}{branch}"
        ran.update(record.checks, *(dict(names) for names in checks.values()))


def _failure(command: Command, name: str, *, is_open: bool = False) -> str:
    """What failed and how; nothing for style. What is still open is told even if its report says little."""
    error = _error(command) or (one_line(command.error) if is_open else "")
    if _STYLE.search(name) or not (error or is_open):
        return ""
    parts = [part for part in commands.segments(command.command) if commands.checks_of(part)]
    how = f" with “{shorten(error, 160)}”" if error else ""
    return f"`{shorten(parts[0] if parts else name, 120)}` failed{how}"


def _error(command: Command) -> str:
    lines = map(one_line, command.error.splitlines())
    return next((line for line in lines if not _EMPTY.match(line) and len(query_terms(line)) > 2), "")


def workstreams(records: Sequence[SessionRecord]) -> Iterator[str]:
    """What is being worked on, by branch: facts of its last sessions only; records are newest first."""
    by_branch: dict[str, list[SessionRecord]] = {}
    for record in records:
        if records[0].ended - record.ended <= WORKSTREAM_AGE and (record.files or record.commits):
            by_branch.setdefault(_branch(record), []).append(record)
    for branch, found in list(by_branch.items())[:MOST_STREAMS]:
        last = found[0]
        subject = next((one.subject for record in found for one in record.commits[-1:]), "")
        told = {
            "last commit": subject if subject != last.title else "",
            "pull request": next((link for record in found for link in record.pull_requests[-1:]), ""),
            "not committed": ", ".join(last.uncommitted[:4]),
            "open": "; ".join(task.title for task in last.open_tasks[:4]),
        }
        yield _joined(f"{branch or 'no branch'} ({last.ended.astimezone():%Y-%m-%d}): {last.title}", told)


def _branch(record: SessionRecord) -> str:
    """The branch a session ended on; without a transcript only its commits tell."""
    return next(iter([*record.branches[-1:], *(commit.branch for commit in record.commits[-1:])]), "")


def percent_full(transcript: Path, settings: Settings) -> float | None:
    """How full a session's window was at the last answer that its transcript tells of; None without one."""
    try:
        with transcript.open("rb") as handle:
            handle.seek(max(handle.seek(0, os.SEEK_END) - TAIL_BYTES, 0))
            lines = handle.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        try:
            message = json.loads(line)["message"] if b'"usage"' in line else {}
            counts = [message["usage"].get(name) for name in _PARTS] if message else []
            if tokens := sum(count for count in counts if isinstance(count, int)):
                model = str(message.get("model") or "").lower()
                told = settings.context_window or (LONG_WINDOW if "[1m]" in model else 0)
                sizes = (size for start, size in WINDOWS.items() if model.startswith(start))
                return 100 * tokens / (told or next(sizes, DEFAULT_WINDOW))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # the first line may be cut, the last half-written
    return None


def condensed(exchanges: Sequence[Exchange]) -> Iterator[str]:
    for exchange in exchanges[-CONDENSED_EXCHANGES:]:
        for request in exchange.asked:
            yield f"{exchange.began:%H:%M} asked: {middle_cut(request.words, ASKED_CHARACTERS)}"
        if exchange.closing:
            yield f"{exchange.ended:%H:%M} answered: {middle_cut(exchange.closing, ANSWERED_CHARACTERS)}"
