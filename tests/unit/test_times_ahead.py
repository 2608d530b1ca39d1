"""Times ahead: what people write means the moment they mean, also when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from claude_memory.errors import InvalidInput
from claude_memory.text.times import span, upcoming

BERLIN = ZoneInfo("Europe/Berlin")
# A Wednesday, 10:30 in Berlin.
NOW = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "wall"),
    [
        ("tomorrow 9:00", "2026-11-19 09:00"),
        ("tomorrow", "2026-11-19 09:00"),
        ("tomorrow at 9am", "2026-11-19 09:00"),
        ("tomorrow noon", "2026-11-19 12:00"),
        ("tomorrow evening", "2026-11-19 18:00"),
        ("day after tomorrow 14:15", "2026-11-20 14:15"),
        ("today 17:00", "2026-11-18 17:00"),
        ("tonight", "2026-11-18 20:00"),
        ("this afternoon", "2026-11-18 14:00"),
        ("end of day", "2026-11-18 17:00"),
        ("end of the week", "2026-11-20 17:00"),
        ("17:00", "2026-11-18 17:00"),
        ("at 9:00", "2026-11-19 09:00"),
        ("9:15 pm", "2026-11-18 21:15"),
        ("midnight", "2026-11-19 00:00"),
        ("friday 14:30", "2026-11-20 14:30"),
        ("fri", "2026-11-20 09:00"),
        ("wednesday 11:00", "2026-11-18 11:00"),
        ("wednesday 9:00", "2026-11-25 09:00"),
        ("next wednesday", "2026-11-25 09:00"),
        ("monday", "2026-11-23 09:00"),
        ("next week", "2026-11-23 09:00"),
        ("next month", "2026-12-01 09:00"),
        ("2026-11-20", "2026-11-20 09:00"),
        ("2026-11-20 10:00", "2026-11-20 10:00"),
        ("2026-11-20T10:00", "2026-11-20 10:00"),
        ("20 nov", "2026-11-20 09:00"),
        ("November 20th 16:00", "2026-11-20 16:00"),
        ("3 march", "2027-03-03 09:00"),
        ("in 2h", "2026-11-18 12:30"),
        ("in 90 minutes", "2026-11-18 12:00"),
        ("1h30m", "2026-11-18 12:00"),
        ("in half an hour", "2026-11-18 11:00"),
        ("in 3 days", "2026-11-21 10:30"),
        ("in a week", "2026-11-25 10:30"),
    ],
)
def test_it_is_read_on_the_persons_own_clock(text: str, wall: str) -> None:
    assert f"{upcoming(text, now=NOW, zone=BERLIN).astimezone(BERLIN):%Y-%m-%d %H:%M}" == wall


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("tomorrow 9:00 UTC", datetime(2026, 11, 19, 9, tzinfo=UTC)),
        ("tomorrow 9:00 America/New_York", datetime(2026, 11, 19, 14, tzinfo=UTC)),
        ("tomorrow 9:00 +05:30", datetime(2026, 11, 19, 3, 30, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("2026-11-20T10:00:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("friday 18:00 Asia/Tokyo", datetime(2026, 11, 20, 9, tzinfo=UTC)),
    ],
)
def test_a_zone_in_the_text_comes_before_the_persons_own(text: str, moment: datetime) -> None:
    assert upcoming(text, now=NOW, zone=BERLIN) == moment


def test_nine_in_the_morning_stays_nine_when_the_clocks_change() -> None:
    saturday = datetime(2026, 10, 24, 10, 0, tzinfo=UTC)  # summer time ends in the night that follows
    assert upcoming("tomorrow 9:00", now=saturday, zone=BERLIN) == datetime(2026, 10, 25, 8, tzinfo=UTC)
    assert upcoming("in 1 day", now=saturday, zone=BERLIN) == saturday + timedelta(hours=25)
    assert upcoming("in 24h", now=saturday, zone=BERLIN) == saturday + timedelta(hours=24)


def test_a_deadline_without_a_time_is_the_end_of_the_day() -> None:
    found = upcoming("friday", now=NOW, zone=BERLIN, end=True).astimezone(BERLIN)
    assert (found.day, found.hour, found.minute) == (20, 23, 59)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "when pigs fly", "25:00", "2020-01-01 10:00", "2020-01-01", "tomorrow-ish", "in", "32 nov"],
)
def test_what_cannot_be_read_or_lies_behind_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput):
        upcoming(text, now=NOW, zone=BERLIN)


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(InvalidInput, match="Mars/Base"):
        upcoming("tomorrow 9:00 Mars/Base", now=NOW, zone=BERLIN)


def test_spans() -> None:
    assert span("2h") == timedelta(hours=2)
    assert span("1 day and 2 hours") == timedelta(days=1, hours=2)
    assert span("tomorrow") is None
    assert span("0h") is None
