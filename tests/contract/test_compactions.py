"""Which compactions wait to be summed up is told by the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from claude_memory.model import EventKind, SessionId
from claude_memory.store.base import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _report(make: Any, id_: str, session: str, minutes: int, kind: EventKind = EventKind.COMPACTION) -> Any:
    at = NOON + timedelta(minutes=minutes)
    return make.event(id_, session=SessionId(session), kind=kind, timestamp=at)


def test_a_session_waits_until_its_reports_are_summed_up(store: Store, make: Any) -> None:
    archive = store.archive
    assert archive.waiting_compactions(10) == []
    store.archive.add(events=[_report(make, "e1", "s1", 5, EventKind.COMPACTION_START), make.event("e2")])
    store.archive.add(events=[_report(make, "e3", "s2", 1), _report(make, "e4", "s1", 2)])

    first, second = archive.waiting_compactions(10)
    assert (first.session, [report.id for report in first.reports]) == ("s1", ["e4", "e1"])
    assert (first.latest, second.session) == ("e4", "s2")
    assert len(archive.waiting_compactions(1)) == 1

    archive.summed_up(first)
    assert [waiting.session for waiting in archive.waiting_compactions(10)] == ["s2"]


def test_a_later_report_lets_a_session_wait_again(store: Store, make: Any) -> None:
    archive = store.archive
    store.archive.add(events=[_report(make, "e1", "s1", 5)])
    [waiting] = archive.waiting_compactions(10)
    store.archive.add(events=[_report(make, "e2", "s1", 1)])  # came in while it was summed up
    archive.summed_up(waiting)

    [again] = archive.waiting_compactions(10)
    assert [report.id for report in again.reports] == ["e2", "e1"]
    archive.summed_up(again)
    assert archive.waiting_compactions(10) == []
