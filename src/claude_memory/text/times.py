"""Times as people write and say them, and how we show them. Pure: `now` and the zone are arguments.

Behind us: `yesterday`, `3d`, `2 weeks ago`. Ahead: `tomorrow 9:00`, `in 2h`, `20 nov 14:30 Europe/Berlin`.
Days ahead are counted on the wall clock, hours on the real one, so that `tomorrow 9:00` stays nine o'clock
when the clocks change.
"""

from __future__ import annotations

import re
import time as system
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from claude_memory.errors import InvalidInput

_DAYS = {"today": 0, "yesterday": 1, "tomorrow": -1}
MORNING = time(9, 0)
_EVENING_OF_DAY = time(17, 0)
_NAMED = {
    "morning": MORNING,
    "noon": time(12, 0),
    "midday": time(12, 0),
    "lunch": time(12, 0),
    "afternoon": time(14, 0),
    "eod": _EVENING_OF_DAY,
    "evening": time(18, 0),
    "tonight": time(20, 0),
    "night": time(20, 0),
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = "january february march april may june july august september october november december".split()
_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_NUMBER = rf"\d{{1,5}}|\b(?:{'|'.join(_WORDS)})\b"
_SPAN = re.compile(
    rf"({_NUMBER})\s*"
    r"(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w|months?|mo|years?|y)(?![a-z])"
)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2})(?::\d{2})?)?\s*(am|pm|a\.m\.|p\.m\.|o'clock|h)?(?=\s|$)")
_ZONE_NAME = re.compile(r"\b([A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_+-]+)+|UTC|GMT|Z)\s*$")
_OFFSET = re.compile(r"(?<=[\d ])(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?\s*$")
_FILLER = re.compile(r"\b(at|on|by|the|of|this|in the|around|next)\b")
_MONTH = rf"({'|'.join(name[:3] for name in _MONTHS)})[a-z]*\.?"
_DATE_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+{_MONTH}(?:\s+(\d{{4}}))?")
_MONTH_DATE = re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}}))?")


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


# --- looking back


def moment(text: str, *, now: datetime, end: bool = False) -> datetime:
    """The moment meant, in UTC. Whole days begin at midnight in `now`'s zone; with `end`, they end there."""
    words = " ".join(text.lower().split())
    try:
        found = _past_day(words, now, end=end) or _ago(words, now) or _past_date(text.strip(), now, end=end)
    except OverflowError:
        found = None
    if found is None:
        raise InvalidInput(
            f"cannot read the time {text!r}: try 2026-11-15, 2026-11-15T14:30, today, yesterday, 3d "
            "or 2 weeks ago"
        )
    return found.astimezone(UTC)


def _past_day(words: str, now: datetime, *, end: bool) -> datetime | None:
    if words == "now":
        return now
    back = _DAYS.get(words)
    if words in _WEEKDAYS:
        # The last such day: on a Monday, `monday` is today.
        back = (now.weekday() - _WEEKDAYS.index(words)) % 7
    return None if back is None else _bound((now - timedelta(days=back)), now, end=end)


def _ago(words: str, now: datetime) -> datetime | None:
    words = re.sub(r"^(?:past|last) (?=\d)", "", words).removesuffix(" ago")
    length = None if words.startswith("in ") else span(re.sub("^last ", "1 ", words))
    return now - length if length else None


def _past_date(text: str, now: datetime, *, end: bool) -> datetime | None:
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


# --- looking ahead


def upcoming(text: str, *, now: datetime, zone: tzinfo | None = None, end: bool = False) -> datetime:
    """The moment meant, in UTC. A day without a time begins at nine; with `end`, it ends at midnight.

    `zone` is the person's own, None for the machine's; a zone in the text comes before it.
    """
    try:
        found = _read(text.strip(), now, zone, end=end)
    except (OverflowError, ValueError):
        found = None
    if found is None:
        raise InvalidInput(
            f"cannot read the time {text!r}: try tomorrow 9:00, in 2h, friday 14:30, 2026-11-20 10:00 "
            "or 20 nov 9am Europe/Berlin"
        )
    return found.astimezone(UTC)


def span(text: str) -> timedelta | None:
    """A length of time such as `2h`, `1h30m`, `3 days`; None if it is none."""
    found = _lengths(text.lower())
    return found[0] + found[1] if found else None


def _lengths(words: str) -> tuple[timedelta, timedelta] | None:
    """Whole days, which the wall clock counts, and the rest."""
    words = words.removeprefix("in ").strip()
    if words in ("half an hour", "half hour"):
        return timedelta(), timedelta(minutes=30)
    if re.sub(r"[\s,]|and", "", _SPAN.sub("", words)):
        return None
    lengths = [(_WORDS.get(count) or int(count)) * _unit(unit) for count, unit in _SPAN.findall(words)]
    units = [unit[0] in "dwy" or unit.startswith("mo") for _, unit in _SPAN.findall(words)]
    days = sum((length for length, whole in zip(lengths, units, strict=True) if whole), timedelta())
    total = sum(lengths, timedelta())
    return (days, total - days) if total else None


def _unit(unit: str) -> timedelta:
    if unit.startswith("mo"):
        return timedelta(days=30)
    days = {"d": 1, "w": 7, "y": 365}.get(unit[0])
    return timedelta(days=days) if days else timedelta(seconds={"s": 1, "m": 60, "h": 3600}[unit[0]])


def _read(text: str, now: datetime, zone: tzinfo | None, *, end: bool) -> datetime | None:
    iso = _iso(text, now, zone)
    if iso is not None:
        return iso
    rest, named = _zone(text)
    zone = named or zone
    wall = now.astimezone(zone).replace(tzinfo=None)
    words = " ".join(rest.lower().replace(",", " ").split())
    length = _lengths(words)
    if length is not None:
        days, hours = length
        return (_located(wall + days, zone) if days else now) + hours
    return _worded(words, now, wall, zone, end=end)


def _iso(text: str, now: datetime, zone: tzinfo | None) -> datetime | None:
    """A full date and time; a day alone is left to the words."""
    if len(text) <= len("2026-11-15"):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = found if found.tzinfo else _located(found, zone)
    if moment < now:
        raise InvalidInput(f"{text} lies in the past")
    return moment


def _zone(text: str) -> tuple[str, tzinfo | None]:
    offset = _OFFSET.search(text)
    if offset and re.search(r"\d:\d\d|[ap]m", text[: offset.start()].lower()):
        sign = -1 if offset.group(1) == "-" else 1
        delta = timedelta(hours=int(offset.group(2)), minutes=int(offset.group(3) or 0))
        return text[: offset.start()], timezone(sign * delta)
    name = _ZONE_NAME.search(text)
    if not name:
        return text, None
    if "/" not in name.group(1):
        return text[: name.start()], UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return text[: name.start()], ZoneInfo(name.group(1))
    except ZoneInfoNotFoundError:
        raise InvalidInput(f"unknown time zone {name.group(1)!r}") from None


def _worded(words: str, now: datetime, wall: datetime, zone: tzinfo | None, *, end: bool) -> datetime | None:
    if words == "now":
        return now
    day, rest = _day(words, wall.date())
    clock = _clock(rest)
    leftover = _CLOCK.sub("", _FILLER.sub("", rest))
    if re.sub(rf"[\s.]|{'|'.join(_NAMED)}|midnight", "", leftover) or (day is None and clock is None):
        return None
    clock = clock or (time(23, 59, 59) if end else MORNING)
    start = day or wall.date()
    found = _located(datetime.combine(start, clock) + timedelta(days="midnight" in rest), zone)
    if found > now:
        return found
    if day is None:
        start += timedelta(days=1)
    elif any(name in words or name[:3] in words.split() for name in _WEEKDAYS):
        start += timedelta(days=7)
    elif day == wall.date():  # `today`, and nine o'clock has struck: as soon as may be
        return found
    elif re.search(r"\d{4}", words):
        raise InvalidInput(f"{words} lies in the past")
    else:
        start = day.replace(year=day.year + 1)
    return _located(datetime.combine(start, clock), zone)


def _day(words: str, today: date) -> tuple[date | None, str]:
    """The day meant and what is left of the words."""
    words = words.replace("end of the week", "end of week")
    fixed = {
        "day after tomorrow": 2,
        "tomorrow": 1,
        "end of week": (4 - today.weekday()) % 7,
        "next week": 7 - today.weekday(),
        "next month": ((today.replace(day=1) + timedelta(days=32)).replace(day=1) - today).days,
        "end of day": 0,
        "today": 0,
    }
    for name, ahead in fixed.items():
        if name in words:
            left = words.replace(name, "eod" if name.startswith("end") else "")
            return today + timedelta(days=ahead), left
    if re.search(r"\b(tonight|eod|this (morning|afternoon|evening))\b", words):
        return today, words
    return _weekday(words, today) or _dated(words, today) or (None, words)


def _weekday(words: str, today: date) -> tuple[date, str] | None:
    for place, name in enumerate(_WEEKDAYS):
        match = re.search(rf"\b(next )?({name}|{name[:3]})\b", words)
        if match:
            ahead = (place - today.weekday()) % 7
            if match.group(1) and ahead == 0:
                ahead = 7
            return today + timedelta(days=ahead), words.replace(match.group(), "")
    return None


def _dated(words: str, today: date) -> tuple[date, str] | None:
    iso = re.search(r"\b(\d{4})-(\d{2})-(\d{2})\b", words)
    if iso:
        return date(*map(int, iso.groups())), words.replace(iso.group(), "")
    for pattern, month_at, day_at in ((_DATE_MONTH, 2, 1), (_MONTH_DATE, 1, 2)):
        match = pattern.search(words)
        if match:
            month = [name[:3] for name in _MONTHS].index(match.group(month_at)) + 1
            year = int(match.group(3)) if match.group(3) else today.year
            return date(year, month, int(match.group(day_at))), words.replace(match.group(), "")
    return None


def _clock(words: str) -> time | None:
    for name, clock in _NAMED.items():
        if re.search(rf"\b{name}\b", words):
            return clock
    if "midnight" in words:
        return time(0, 0)
    match = _CLOCK.search(words)
    if not match:
        return None
    hour, minute, half = int(match.group(1)), int(match.group(2) or 0), (match.group(3) or "")[:1]
    if half in ("a", "p"):
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, minute)


def _located(wall: datetime, zone: tzinfo | None) -> datetime:
    """A wall clock's time as a moment; without a zone, the machine's own rules say when that is."""
    return wall.astimezone(UTC) if zone is None else wall.replace(tzinfo=zone).astimezone(UTC)
