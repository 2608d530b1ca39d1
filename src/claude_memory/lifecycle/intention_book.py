"""The intentions of one project: set, check, list, complete, snooze, cancel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, tzinfo

from claude_memory.errors import InvalidInput
from claude_memory.lifecycle import intentions
from claude_memory.lifecycle.intentions import Due, Occasion
from claude_memory.model import Project
from claude_memory.store.lifecycle_protocol import Intention, IntentionStatus, Lifecycle, Priority
from claude_memory.text.times import span, upcoming


class IntentionBook:
    """What is open in a project, and what is due. Every change is kept at once."""

    def __init__(
        self,
        kept: Lifecycle,
        project: Project,
        *,
        zone: tzinfo | None = None,
        clean: Callable[[str], str] = str,
        codebase_of: Callable[[str], str] = str,
    ) -> None:
        self._kept = kept
        self._project = project
        self._zone = zone
        self._codebase_of = codebase_of  # the id of the project that a person names
        self._clean = clean  # cuts secrets and private parts before anything is stored

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
        """Keep a new intention; times as people write them."""
        moment = now or datetime.now(UTC)
        if at is not None and in_ is not None:
            raise InvalidInput("give a time or a span, not both")
        made = intentions.new(
            self._project,
            self._clean(text),
            now=moment,
            at=self.when(at, moment) if at else self.after(in_, moment) if in_ else None,
            deadline=self.when(deadline, moment, end=True) if deadline else None,
            files=files,
            topics=topics,
            codebase=self._codebase_of(codebase) if codebase else None,
            priority=Priority(priority),
        )
        self._kept.put_intention(made)
        return made

    def list(self, *, all_: bool = False) -> list[Intention]:
        """Open ones, or all that there ever were."""
        return self._kept.intentions(self._project, open_only=not all_)

    def check(
        self,
        *,
        files: Sequence[str] = (),
        words: str = "",
        given: Collection[str] = (),
        now: datetime | None = None,
    ) -> Sequence[Due]:
        """What is due on this occasion."""
        occasion = Occasion(self._project, now or datetime.now(UTC), tuple(files), words)
        return intentions.due(self.list(), occasion, given=given)

    def complete(self, id_: str, *, now: datetime | None = None) -> Intention:
        """It is done."""
        return self._closed(id_, IntentionStatus.DONE, now)

    def cancel(self, id_: str, *, now: datetime | None = None) -> Intention:
        """It is not wanted any more."""
        return self._closed(id_, IntentionStatus.CANCELLED, now)

    def snooze(self, id_: str, until: str, *, now: datetime | None = None) -> Intention:
        """Put it off for a span or until a time."""
        moment = now or datetime.now(UTC)
        old = intentions.find(self._kept, self._project, id_)
        return self._put(intentions.snoozed(old, self.when(until, moment), moment))

    def when(self, text: str, now: datetime | None = None, *, end: bool = False) -> datetime:
        """The moment that a time or a span means to this person."""
        return upcoming(text, now=now or datetime.now(UTC), zone=self._zone, end=end)

    def after(self, text: str, now: datetime | None = None) -> datetime:
        """The moment at the end of a span."""
        if span(text) is None:
            raise InvalidInput(f"cannot read the span {text!r}: try 2h, 90 minutes, 3 days")
        return self.when(text, now)

    def _closed(self, id_: str, status: IntentionStatus, now: datetime | None) -> Intention:
        old = intentions.find(self._kept, self._project, id_)
        return self._put(intentions.closed(old, status, now or datetime.now(UTC)))

    def _put(self, changed: Intention) -> Intention:
        self._kept.put_intention(changed)
        return changed
