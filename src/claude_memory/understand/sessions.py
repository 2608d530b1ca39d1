"""The record of a session, made from its exchanges; and both as JSON documents. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from claude_memory.model import SessionId
from claude_memory.text.words import index_terms, shorten
from claude_memory.understand import calls, commands
from claude_memory.understand.model import (
    Command,
    Commit,
    Exchange,
    Outcome,
    SessionRecord,
    TaskItem,
    Utterance,
)
from claude_memory.understand.titles import title as title_of

FILES = 40
CHECKS = 8
REQUEST_CHARACTERS = 600
CLOSING_CHARACTERS = 2_000
OPEN_STATES = ("pending", "in_progress")


def record(session: SessionId, exchanges: Sequence[Exchange], title: str = "") -> SessionRecord:
    """The session as its exchanges show it, oldest first; `title` is what its program calls it."""
    if not exchanges:
        raise ValueError("a session without exchanges has no record")
    requests = [exchange for exchange in exchanges if exchange.asked] or list(exchanges)
    answered = [exchange for exchange in exchanges if exchange.closing]
    commits = _commits(exchanges)
    files: Counter[str] = Counter()
    for exchange in exchanges:
        files.update({name: count for name, count in exchange.files_edited if not calls.is_scratch(name)})
    return SessionRecord(
        session=session,
        title=title.strip() or _title(exchanges),
        began=min(exchange.began for exchange in exchanges),
        ended=max(exchange.ended for exchange in exchanges),
        branches=_latest_last(exchange.branch for exchange in exchanges),
        exchanges=len(exchanges),
        first_request=_asked(requests[0]),
        last_request=_asked(requests[-1]),
        answered=requests[-1].outcome is Outcome.ANSWERED,
        commits=commits,
        pull_requests=tuple(dict.fromkeys(link for one in exchanges for link in one.pull_requests)),
        files=tuple(files.most_common(FILES)),
        uncommitted=uncommitted(exchanges)[:FILES],
        open_tasks=_left_open(open_tasks(exchanges), commits),
        failing=calls.failing(command for one in exchanges for command in one.commands),
        checks=_checks(exchanges),
        closing=answered[-1].closing[:CLOSING_CHARACTERS] if answered else "",
    )


def _title(exchanges: Sequence[Exchange]) -> str:
    """The title of the exchange that changed most; without any change, of the first request."""

    def weight(exchange: Exchange) -> tuple[int, int]:
        edits = sum(count for _, count in exchange.files_edited)
        return len(exchange.commits), bool(exchange.plan) + edits

    best = max(exchanges, key=weight)
    return title_of(best if any(weight(best)) else exchanges[0])


def _asked(exchange: Exchange) -> str:
    return shorten(exchange.request or exchange.handed or exchange.plan, REQUEST_CHARACTERS)


def _latest_last(names: Iterable[str]) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for name in names:
        if name:
            seen.pop(name, None)
            seen[name] = None
    return tuple(seen)


def _commits(exchanges: Iterable[Exchange]) -> tuple[Commit, ...]:
    """Commits in order, without those that were taken back; one that was amended or rebased later counts
    once, as it was last.
    """
    last: dict[str, Commit] = {}
    for exchange in exchanges:
        steps: list[Commit | Command] = [*exchange.commits, *exchange.commands]
        for step in sorted(steps, key=lambda step: step.ordinal):
            if isinstance(step, Command):
                back = None if step.failed else _RESET.search(step.command)
                for subject in _taken_back(back[1], list(last.values())) if back else ():
                    del last[subject]
                continue
            if step.amends and last:
                last.popitem()
            last.pop(step.subject, None)
            last[step.subject] = step
    return tuple(last.values())


_RESET = re.compile(r"\bgit (?:-C \S+ )?reset (?:--?\w+ )*(HEAD~\d*|HEAD\^+|[0-9a-f]{7,40})(?![\w/.])")


def _taken_back(to: str, commits: Sequence[Commit]) -> list[str]:
    """The subjects of the commits that a reset leaves behind; all if it goes back before the first."""
    if to.startswith("HEAD"):
        count = to.count("^") or int(to[5:] or 1)
        return [commit.subject for commit in commits[-count:]] if count else []
    places = [place for place, one in enumerate(commits) if one.hash[:7] == to[:7]]
    return [commit.subject for commit in commits[(places[-1] + 1 if places else 0) :]]


def uncommitted(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """The files that were edited after the last commit."""
    files: dict[str, None] = {}
    for exchange in exchanges:
        if exchange.commits:
            files.clear()
        files.update(dict.fromkeys(exchange.uncommitted))
    return tuple(files)


def open_tasks(exchanges: Sequence[Exchange]) -> tuple[TaskItem, ...]:
    """What is open on the agent's list; an exchange holds the list only if it touched it."""
    listed = next((one.tasks for one in reversed(exchanges) if one.tasks), ())
    return tuple(task for task in listed if task.status in OPEN_STATES)


def _left_open(tasks: Iterable[TaskItem], commits: Sequence[Commit]) -> tuple[TaskItem, ...]:
    """Without what was begun before the last commit, or is what a commit says: nobody ticked it off."""
    last = commits[-1].ordinal if commits else 0
    done = [set(index_terms(commit.subject)) for commit in commits]
    return tuple(
        task
        for task in tasks
        if task.status == "pending" or task.ordinal > last
        if not any(subject.issuperset(index_terms(task.title)) for subject in done)
    )


def _checks(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    counted = Counter(
        name
        for exchange in exchanges
        for command in exchange.commands
        for name, _ in commands.checks_of(command.command)
    )
    return tuple(name for name, _ in counted.most_common(CHECKS))


def session_text(record: SessionRecord) -> str:
    """The session in a few plain lines: what was asked, what came of it, how it stands."""
    lines = [f"Asked: {record.first_request}"] if record.first_request else []
    if record.last_request and record.last_request != record.first_request:
        unanswered = "" if record.answered else " (not answered)"
        lines.append(f"Asked last{unanswered}: {record.last_request}")
    elif not record.answered:
        lines.append("Not answered.")
    if record.branches:
        lines.append("Branches: " + ", ".join(record.branches[-4:]))
    lines += [f"Commit {commit.hash} {commit.subject}" for commit in record.commits[-8:]]
    lines += [f"Pull request: {link}" for link in record.pull_requests[-4:]]
    if record.files:
        lines.append("Edited: " + ", ".join(f"{name} ({count})" for name, count in record.files[:8]))
    if record.uncommitted:
        lines.append("Not committed: " + ", ".join(record.uncommitted[:8]))
    lines += [f"Open: {task.title}" for task in record.open_tasks[:6]]
    lines += [f"Fails: {shorten(command.command, 120)}" for command in record.failing[:3]]
    if record.closing:
        lines.append(f"Ended with: {shorten(' '.join(record.closing.split()), 800)}")
    return "\n".join(lines)


# --- as JSON documents, which the store keeps

_PARTS: Mapping[str, Any] = {
    "asked": Utterance,
    "commands": Command,
    "commits": Commit,
    "tasks": TaskItem,
    "open_tasks": TaskItem,
    "failing": Command,
}


def to_json(value: Exchange | SessionRecord) -> dict[str, Any]:
    """A document that `from_json` or `record_from_json` reads back; empty members are left out."""
    document: dict[str, Any] = {key: one for key, one in asdict(value).items() if one or one is False}
    for key in ("began", "ended"):
        document[key] = document[key].isoformat()
    for spoken in document.get("asked", ()):
        spoken["at"] = spoken["at"].isoformat()
    return document


def from_json(document: Mapping[str, Any]) -> Exchange:
    """The exchange of such a document; members that it does not know are passed over."""
    return Exchange(**{"first": 0, "last": 0, **_members(Exchange, document)})


def record_from_json(document: Mapping[str, Any]) -> SessionRecord:
    """The session's record of such a document."""
    return SessionRecord(**{"title": "", **_members(SessionRecord, document)})


def _members(kind: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _member(key, value) for key, value in document.items() if key in kind.__slots__}


def _member(key: str, value: Any) -> Any:
    if key in ("began", "ended", "at"):
        return datetime.fromisoformat(value)
    if key == "outcome":
        return Outcome(value)
    if part := _PARTS.get(key):
        return tuple(part(**_members(part, item)) for item in value)
    if not isinstance(value, list):
        return value
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)
