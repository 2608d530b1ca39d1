"""Times as people write them mean what people expect."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.errors import InvalidInput
from claude_memory.text import times
from claude_memory.text.times import moment

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 15, 14, 30, tzinfo=ZONE)  # a Sunday


def local(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=ZONE)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("now", NOW),
        ("today", local(2026, 11, 15)),
        ("Yesterday", local(2026, 11, 14)),
        ("sunday", local(2026, 11, 15)),
        ("monday", local(2026, 11, 9)),
        ("3d", local(2026, 11, 12, 14, 30)),
        ("2 weeks ago", local(2026, 11, 1, 14, 30)),
        ("an hour ago", local(2026, 11, 15, 13, 30)),
        ("last week", local(2026, 11, 8, 14, 30)),
        ("90 min", local(2026, 11, 15, 13, 0)),
        ("2026-11-01", local(2026, 11, 1)),
        ("2026-11", local(2026, 11, 1)),
        ("2026", local(2026, 1, 1)),
        ("2026-11-01T08:15", local(2026, 11, 1, 8, 15)),
        ("2026-11-01 08:15", local(2026, 11, 1, 8, 15)),
        ("2026-11-01T08:15:00Z", datetime(2026, 11, 1, 8, 15, tzinfo=UTC)),
    ],
)
def test_a_time_is_understood(said: str, meant: datetime) -> None:
    assert moment(said, now=NOW) == meant


@pytest.mark.parametrize(
    ("said", "last_day"),
    [
        ("yesterday", (2026, 11, 14)),
        ("2026-11-01", (2026, 11, 1)),
        ("2026-02", (2026, 2, 28)),
        ("2025", (2025, 12, 31)),
    ],
)
def test_until_a_day_includes_that_day(said: str, last_day: tuple[int, int, int]) -> None:
    end = moment(said, now=NOW, end=True)
    assert local(*last_day, 23, 59) < end < local(*last_day) + timedelta(days=1)


@pytest.mark.parametrize(
    "said", ["", "soon", "2026-13-01", "31.11.2026", "-3d", "3 apples", "999999y", "0001"]
)
def test_what_is_no_time_is_refused_in_one_line(said: str) -> None:
    with pytest.raises(InvalidInput, match="cannot read the time") as caught:
        moment(said, now=NOW)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_refused(said: str) -> None:
    with contextlib.suppress(InvalidInput):
        assert moment(said, now=NOW).tzinfo is UTC


def test_every_moment_is_shown_alike_in_the_readers_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert times.minute(datetime(2026, 11, 15, 20, 5, 9, tzinfo=UTC)) == "2026-11-16 05:05"
        assert times.minute_of("2026-11-15T20:05:09.123Z") == "2026-11-16 05:05"
        assert times.minute_of("2026-11-15T20:05:09") == "2026-11-16 05:05"
        assert times.minute_of("some day") == "some day"
        assert times.stated("2026-11-15T20:05+09:00") == datetime(2026, 11, 15, 11, 5, tzinfo=UTC)
        assert times.stated(None) is None
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
