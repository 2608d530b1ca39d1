"""Times as people write and say them, and how we show them. Pure: `now` and the zone are arguments.

Behind us: `yesterday`, `3d`, `2 weeks ago`. Ahead: `tomorrow 9:00`, `in 2h`, `20 nov 14:30 Europe/Berlin`.
Days ahead are counted on the wall clock, hours on the real one, so that `tomorrow 9:00` stays nine o'clock
when the clocks change.
"""

from __future__ import annotations

import contextlib
import re
import time as system
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from claude_memory.errors import InvalidInput

_DAYS = {"today": 0, "yesterday": 1, "tomorrow": -1}
_MORNING, _LAST_SECOND = timedelta(hours=9), timedelta(days=1, seconds=-1)
_CLOCKS = {
    "morning": 9, "noon": 12, "midday": 12, "lunch": 12, "afternoon": 14, "evening": 18, "tonight": 20,
    "night": 20, "midnight": 24,
}  # fmt: skip
_ALSO_SAID = (
    (r"\bend of (the )?week\b", "friday 17:00"),
    (r"\b(end of day|eod)\b", "today 17:00"),
    (r"\b(tonight|this (morning|afternoon|evening))\b", r"today \1"),
    (r"\bhalf an hour\b", "30 minutes"),
)
_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_SPAN = re.compile(
    rf"(\d{{1,5}}|\b(?:{'|'.join(_WORDS)})\b)\s*"
    r"(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w|months?|mo|years?|y)(?![a-z])"
)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2})(?::\d{2})?)?\s*(am|pm|a\.m\.|p\.m\.|o'clock|h)?(?=\s|$)")
_ZONE = re.compile(
    r"(?<=[\d:apm])\s*(?:UTC|GMT)?([+-]\d{2}:?\d{2})$|\s(UTC|GMT|Z|[A-Z]\w+(?:/[A-Z][\w+-]+)+)$"
)
_FILLER = re.compile(r"\b(at|on|by|the|of|this|in the|around|next|today)\b|[\s.]")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DATE_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+{_MONTH}(?:\s+(\d{{4}}))?")
_MONTH_DATE = re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}}))?")
_NEVER, _WEEKLY, _YEARLY = 0, 7, 365  # when a day that is past by now comes again


def deadline(budget_seconds: float | None) -> Callable[[], bool]:
    """Tells whether a budget that begins now is spent; without one it never is."""
    if budget_seconds is None:
        return lambda: False
    end = system.monotonic() + budget_seconds
    return lambda: system.monotonic() >= end


def minute(when: datetime) -> str:
    """Day and time in the reader's own zone: how every listing shows a moment."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def minute_of(text: object) -> str:
    """The same for a moment that a document holds as text; what is none stays as it is."""
    found = stated(str(text))
    return minute(found) if found else str(text)


def stated(text: str | None) -> datetime | None:
    """A time as documents hold it, in UTC unless it says otherwise; None for what is none."""
    with contextlib.suppress(ValueError):
        found = datetime.fromisoformat(text or "")
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


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


def moment(text: str, *, now: datetime, end: bool = False) -> datetime:
    """The moment meant, in UTC. Whole days begin at midnight in `now`'s zone; with `end`, they end there."""
    words = " ".join(text.lower().split())
    try:
        found = now if words == "now" else _past(words, text.strip(), now, end=end)
    except OverflowError:
        found = None
    return _in_utc(found, text, "2026-11-15, 2026-11-15T14:30, today, yesterday, 3d or 2 weeks ago")


def _in_utc(found: datetime | None, text: str, examples: str) -> datetime:
    with contextlib.suppress(OverflowError):  # the first and the last day there is
        if found:
            return found.astimezone(UTC)
    raise InvalidInput(f"cannot read the time {text!r}: try {examples}")


def _past(words: str, text: str, now: datetime, *, end: bool) -> datetime | None:
    back = _DAYS.get(words)
    if words in _WEEKDAYS:
        # The last such day: on a Monday, `monday` is today.
        back = (now.weekday() - _WEEKDAYS.index(words)) % 7
    if back is not None:
        return _bound(now - timedelta(days=back), now, end=end)
    length = re.sub("^last ", "1 ", re.sub(r"^(?:past|last) (?=\d)", "", words).removesuffix(" ago"))
    if not words.startswith("in ") and (gone := span(length)):
        return now - gone
    for pattern, days in (("%Y-%m", 31), ("%Y", 366)):
        with contextlib.suppress(ValueError):
            first = datetime.strptime(text, pattern)
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


def upcoming(text: str, *, now: datetime, zone: tzinfo | None = None, end: bool = False) -> datetime:
    """The moment meant, in UTC. A day without a time begins at nine; with `end`, it ends at midnight.

    `zone` is the person's own, None for the machine's; a zone in the text comes before it.
    """
    try:
        found = _read(text.strip(), now, zone, end=end)
    except (OverflowError, ValueError):
        found = None
    examples = "tomorrow 9:00, in 2h, friday 14:30, 2026-11-20 10:00 or 20 nov 9am Europe/Berlin"
    return _in_utc(found, text, examples)


def span(text: str) -> timedelta | None:
    """A length of time such as `2h`, `1h30m`, `3 days`; None if it is none."""
    lengths = _lengths(text.lower())
    return lengths[0] + lengths[1] if lengths else None


def _lengths(words: str) -> tuple[timedelta, timedelta] | None:
    """Whole days, which the wall clock counts, and the rest."""
    words = words.removeprefix("in ").strip()
    if re.sub(r"[\s,]|and", "", _SPAN.sub("", words)):
        return None
    days = hours = timedelta()
    for count, unit in _SPAN.findall(words):
        size = _UNITS["mo" if unit.startswith("mo") else unit[0]]
        length = (_WORDS.get(count) or int(count)) * size
        days, hours = (days + length, hours) if size.days else (days, hours + length)
    return (days, hours) if days + hours else None


def _read(text: str, now: datetime, zone: tzinfo | None, *, end: bool) -> datetime | None:
    if len(text) > len("2026-11-15"):  # a day alone is left to the words
        with contextlib.suppress(ValueError):
            iso = datetime.fromisoformat(text)
            return _ahead(iso if iso.tzinfo else _located(iso, zone), now, text)
    if match := _ZONE.search(text):
        text, zone = text[: match.start()], _zone(match)
    wall = now.astimezone(zone).replace(tzinfo=None)
    words = " ".join(text.lower().replace(",", " ").split())
    for pattern, plain in _ALSO_SAID:
        words = re.sub(pattern, plain, words)
    length = _lengths(words)
    if words == "now" or length:
        days, hours = length or (timedelta(), timedelta())
        return (_located(wall + days, zone) if days else now) + hours
    day, again, rest = _day(words, wall.date()) or (None, 1, words)
    clock, rest = _clock(rest)
    if _FILLER.sub("", rest) or (day is None and clock is None):
        return None
    midnight = datetime.combine(day or wall.date(), time())
    clock = clock or (_LAST_SECOND if end else _MORNING)
    moment = _located(midnight + clock, zone)
    if moment > now or (day == wall.date() and not again):  # `today`, and nine has struck: as soon as may be
        return moment
    if again == _NEVER:
        return _ahead(moment, now, words)
    yearly = again == _YEARLY
    then = midnight.replace(year=midnight.year + 1) if yearly else midnight + timedelta(days=again)
    return _located(then + clock, zone)


def _ahead(moment: datetime, now: datetime, text: str) -> datetime:
    if moment < now:
        raise InvalidInput(f"{text} lies in the past")
    return moment


def _zone(match: re.Match[str]) -> tzinfo | None:
    if match[1]:
        return datetime.strptime(match[1], "%z").tzinfo
    if "/" not in match[2]:
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(match[2])
    except ZoneInfoNotFoundError:
        raise InvalidInput(f"unknown time zone {match[2]!r}") from None


def _day(words: str, today: date) -> tuple[date, int, str] | None:
    first_of_next = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    next_week, next_month = 7 - today.weekday(), (first_of_next - today).days
    ahead = [("day after tomorrow", 2, _NEVER), ("tomorrow", 1, _NEVER)]
    ahead += [("next week", next_week, _NEVER), ("next month", next_month, _NEVER)]
    for place, name in enumerate(_WEEKDAYS):
        days, pattern = (place - today.weekday()) % 7, rf"{name[:3]}(?:{name[3:]})?"
        ahead += [(rf"next {pattern}", days or 7, _WEEKLY), (pattern, days, _WEEKLY)]
    for pattern, days, again in [*ahead, ("today", 0, _NEVER)]:
        if match := re.search(rf"\b{pattern}\b", words):
            return today + timedelta(days=days), again, words.replace(match[0], "", 1)
    if iso := re.search(r"\b\d{4}-\d{2}-\d{2}\b", words):
        return date.fromisoformat(iso[0]), _NEVER, words.replace(iso[0], "")
    for pattern_, month_at, day_at in ((_DATE_MONTH, 2, 1), (_MONTH_DATE, 1, 2)):
        if match := pattern_.search(words):
            month, year = _MONTHS.index(match[month_at]) + 1, int(match[3] or today.year)
            again = _NEVER if match[3] else _YEARLY
            return date(year, month, int(match[day_at])), again, words.replace(match[0], "")
    return None


def _clock(words: str) -> tuple[timedelta | None, str]:
    for name, hours in _CLOCKS.items():
        if re.search(rf"\b{name}\b", words):
            return timedelta(hours=hours), words.replace(name, "")
    match = _CLOCK.search(words)
    if not match:
        return None, words
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "")[:1]
    if half in ("a", "p"):
        hour = hour % 12 + (12 if half == "p" else 0)
    clock = datetime.combine(date.min, time(hour, minute)) - datetime.min  # which refuses 25:00
    return clock, words.replace(match[0], "", 1)


def _located(wall: datetime, zone: tzinfo | None) -> datetime:
    """A wall clock's time as a moment; without a zone, the machine's own rules say when that is."""
    return wall.astimezone(UTC) if zone is None else wall.replace(tzinfo=zone).astimezone(UTC)
