"""Intentions: what a person or an agent wants to be reminded of, and when each is due.

Deciding is pure; time, files and words are arguments. An intention is open until somebody completes
or cancels it: nothing here closes one by itself, so none is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.model import Project, memory_id
from claude_memory.store.model import Intention, IntentionStatus, Priority
from claude_memory.store.sql.lifecycle import Lifecycle
from claude_memory.text.quotation import meant, named
from claude_memory.text.times import span, upcoming
from claude_memory.text.words import query_terms

MAX_CHARACTERS = 2_000
DEADLINE_NEAR = timedelta(days=1)
_ORDER = {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 2}


class Occasion(NamedTuple):
    """What is going on right now, as far as an intention may wait for it."""

    project: Project
    now: datetime
    files: tuple[str, ...] = ()
    words: str = ""


class Due(NamedTuple):
    intention: Intention
    reason: str


def due(intentions: Iterable[Intention], occasion: Occasion, *, given: Collection[str] = ()) -> list[Due]:
    """Those that are due now and were not given yet: most important first, then the longest overdue."""

    def urgency(one: Due) -> tuple[int, datetime]:
        moments = (one.intention.snoozed_until or one.intention.at, one.intention.deadline)
        since = min(filter(None, moments), default=one.intention.created_at)
        return _ORDER[one.intention.priority], since

    waiting = [item for item in intentions if item.id not in given]
    return sorted((Due(item, why) for item in waiting if (why := _why_due(item, occasion))), key=urgency)


def _why_due(intention: Intention, occasion: Occasion) -> str:
    """Why an intention is due, in words; empty if it is not. Any of its triggers is enough."""
    now, deadline, snoozed = occasion.now, intention.deadline, intention.snoozed_until
    project, codebase = occasion.project, intention.codebase
    # A codebase is the project by one of its ids; 0.1.0 kept a name.
    is_here = not codebase or codebase.casefold() == project.name.casefold()
    is_here = is_here or codebase == project.id or f"id:{codebase}" in project.identities
    if intention.status is not IntentionStatus.OPEN or not is_here:
        return ""
    if snoozed is not None:
        return "snoozed until now" if now >= snoozed else ""
    if deadline is not None and now >= deadline:
        return f"its deadline {_shown(deadline)} has passed"
    if intention.at is not None and now >= intention.at:
        return f"was to come up {_shown(intention.at)}"
    if deadline is not None and now >= deadline - DEADLINE_NEAR:
        return f"its deadline is {_shown(deadline)}"
    return _why_here(intention, occasion)


def _why_here(intention: Intention, occasion: Occasion) -> str:
    touched = [file for pattern in intention.files for file in occasion.files if matches(pattern, file)]
    if touched:
        return f"touches {named(touched[0], 80)}"
    words = set(query_terms(" ".join((occasion.words, *occasion.files)))) if occasion.words else set()
    for topic in intention.topics:
        if (wanted := query_terms(topic)) and words.issuperset(wanted):
            return f"concerns {named(topic, 80)}"
    if intention.at or intention.deadline or intention.files or intention.topics:
        return ""
    return f"you are in {named(occasion.project.name, 80)}" if intention.codebase else "still open"


def matches(pattern: str, file: str) -> bool:
    """Whether a file is meant by a glob; `**` crosses folders, a bare name matches anywhere."""
    path = file.replace("\\", "/").removeprefix("./")
    wanted = pattern.replace("\\", "/").removeprefix("./")
    if "/" not in wanted:
        return bool(_glob(wanted).fullmatch(PurePosixPath(path).name))
    # An absolute path, or one from another folder, ends in what the pattern says.
    return bool(_glob(wanted).fullmatch(path) or _glob(f"**/{wanted.lstrip('/')}").fullmatch(path))


def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/?|\*|\?)", pattern)
    kinds = {"**/": "(?:[^/]*/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(kinds.get(part) or re.escape(part) for part in parts))


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class IntentionBook:
    """What is open in a project, and what is due. Every change is kept at once."""

    kept: Lifecycle
    project: Project
    codebase_of: Callable[[str], str]  # the id of the project that a person names

    def set(
        self,
        text: str,
        *,
        at: str | None = None,
        in_: str | None = None,
        deadline: str | None = None,
        files: Sequence[str] = (),
        topics: Sequence[str] = (),
        codebase: str | None = None,
        priority: Priority | str = Priority.NORMAL,
        now: datetime | None = None,
    ) -> Intention:
        from claude_memory.lifecycle.drafting import clean  # hooks ask what is due, and set nothing

        moment, said = now or datetime.now(UTC), clean(text).strip()
        if at is not None and in_ is not None:
            raise InvalidInput("give a time or a span, not both")
        if in_ and span(in_) is None:
            raise InvalidInput(f"cannot read the span {in_!r}: try 2h, 90 minutes, 3 days")
        if not said:
            raise InvalidInput("an intention needs a text")
        if len(said) > MAX_CHARACTERS:
            raise InvalidInput(f"an intention is at most {MAX_CHARACTERS:,} characters long")
        made = Intention(
            id="i" + memory_id(f"intention:{os.urandom(16).hex()}")[1:],
            project=self.project.id,
            text=said,
            created_at=moment,
            at=upcoming(when, now=moment) if (when := at or in_) else None,
            deadline=upcoming(deadline, now=moment, end=True) if deadline else None,
            files=tuple(files),
            topics=tuple(topic.strip() for topic in topics if topic.strip()),
            codebase=self.codebase_of(codebase) if codebase else None,
            priority=Priority(priority),
        )
        self.kept.put_intention(made)
        return made

    def list(self, *, all_: bool = False) -> list[Intention]:
        return self.kept.intentions(self.project, open_only=not all_)

    def check(
        self, *, files: Sequence[str] = (), words: str = "", now: datetime | None = None
    ) -> Sequence[Due]:
        return due(self.list(), Occasion(self.project, now or datetime.now(UTC), tuple(files), words))

    def complete(self, id_: str) -> Intention:
        return self._changed(id_, status=IntentionStatus.DONE, closed_at=datetime.now(UTC))

    def cancel(self, id_: str) -> Intention:
        return self._changed(id_, status=IntentionStatus.CANCELLED, closed_at=datetime.now(UTC))

    def snooze(self, id_: str, until: str, *, now: datetime | None = None) -> Intention:
        """Put it off for a span or until a time: it is silent until then, and due from then on."""
        moment = now or datetime.now(UTC)
        then = upcoming(until, now=moment)
        if then <= moment:
            raise InvalidInput("snooze to a time ahead")
        return self._changed(id_, snoozed_until=then)

    def _changed(self, id_: str, **changes: Any) -> Intention:
        """Change the one open intention that an id or its beginning names."""
        known = {item.id: item for item in self.list(all_=True)}
        old = known[meant(id_, [*known], f"intention {id_!r} in this project")]
        if old.status is not IntentionStatus.OPEN:
            raise Conflict(f"{old.id} is {old.status} already")
        new = old._replace(**changes)
        self.kept.put_intention(new)
        return new
