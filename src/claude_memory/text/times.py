"""Times as people write and say them: dates, `yesterday`, `3d`, `2 weeks ago`. Pure; `now` is an argument."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from claude_memory.errors import InvalidInput

_AGO = re.compile(
    r"^(?:last |past )?(\d{1,6}|an?|one|two|three|last)\s*"
    r"(s|sec|second|m|min|minute|h|hour|d|day|w|week|mo|month|y|year)s?(?:\s+ago)?$"
)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "last": 1}
_SECONDS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
    "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800,
    "mo": 2_629_800, "month": 2_629_800, "y": 31_557_600, "year": 31_557_600,
}  # fmt: skip
_DAYS = {"today": 0, "yesterday": 1, "tomorrow": -1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def moment(text: str, *, now: datetime, end: bool = False) -> datetime:
    """The moment meant, in UTC. Whole days begin at midnight in `now`'s zone; with `end`, they end there."""
    words = " ".join(text.lower().split())
    try:
        found = _day(words, now, end=end) or _ago(words, now) or _iso(text.strip(), now, end=end)
    except OverflowError:
        found = None
    if found is None:
        raise InvalidInput(
            f"cannot read the time {text!r}: try 2026-11-15, 2026-11-15T14:30, today, yesterday, 3d "
            "or 2 weeks ago"
        )
    return found.astimezone(UTC)


def _day(words: str, now: datetime, *, end: bool) -> datetime | None:
    if words == "now":
        return now
    back = _DAYS.get(words)
    if words in _WEEKDAYS:
        # The last such day: on a Monday, `monday` is today.
        back = (now.weekday() - _WEEKDAYS.index(words)) % 7
    return None if back is None else _bound((now - timedelta(days=back)), now, end=end)


def _ago(words: str, now: datetime) -> datetime | None:
    match = _AGO.match(words)
    if match is None:
        return None
    count = _NUMBERS.get(match.group(1)) or int(match.group(1))
    return now - timedelta(seconds=count * _SECONDS[match.group(2)])


def _iso(text: str, now: datetime, *, end: bool) -> datetime | None:
    for pattern, days in (("%Y-%m", 31), ("%Y", 366)):
        try:
            first = datetime.strptime(text, pattern)
        except ValueError:
            continue
        last = (first + timedelta(days=days)).replace(day=1) - timedelta(days=1)
        return _bound(last if end else first, now, end=end)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) <= len("2026-11-15"):
        return _bound(found, now, end=end)
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


def _bound(day: datetime, now: datetime, *, end: bool) -> datetime:
    return datetime.combine(day.date(), time.max if end else time.min, tzinfo=now.tzinfo)


def minute(when: datetime) -> str:
    """Day and time in the reader's own zone: how every listing shows a moment."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def minute_of(text: object) -> str:
    """The same for a moment that a document holds as text; what is none stays as it is."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return str(text)
    return minute(found if found.tzinfo else found.replace(tzinfo=UTC))


def ago(when: datetime, *, now: datetime) -> str:
    """How a person says it: `just now`, `5 minutes ago`, `yesterday`, `2 weeks ago`; days of `now`'s zone."""
    seconds = (now - when).total_seconds()
    days = (now.date() - when.astimezone(now.tzinfo).date()).days
    if seconds < 0 or days > 4_000:
        return f"{when.astimezone(now.tzinfo):%Y-%m-%d}"
    if days == 0 or seconds < 6 * 3600:
        return _counted(seconds, (("hour", 3600), ("minute", 60))) or "just now"
    if days == 1:
        return "yesterday"
    return _counted(days, (("year", 365), ("month", 30.44), ("week", 7), ("day", 1)))


def _counted(amount: float, units: tuple[tuple[str, float], ...]) -> str:
    for name, size in units:
        if amount >= size:
            count = int(amount / size)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return ""
