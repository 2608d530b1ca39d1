"""Strength: fades with time along FSRS-6's curve, grows with use, falls only by a lapse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import fsrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.lifecycle.strength import (
    State,
    first_strength,
    recall_probability,
    reviewed,
    state_of,
    strength_at,
)
from claude_memory.model import Kind, MemoryId, ProjectId, StoredMemory, Trust
from claude_memory.store.model import Strength

START = datetime(2026, 1, 1, tzinfo=UTC)
USES = ("opened", "used", "repeated", "confirmed", "promoted")


def memory(kind: Kind = Kind.NOTE, trust: Trust = Trust.AGENT, *, pinned: bool = False) -> StoredMemory:
    return StoredMemory(
        MemoryId("m1"), ProjectId("p"), kind, "t", "b", START, START, trust=trust, pinned=pinned
    )


@pytest.mark.parametrize("days", [0, 1, 7, 30, 365, 3650])
@pytest.mark.parametrize("stability", [0.212, 2.3, 60.0])
def test_the_curve_is_the_packages_own(days: int, stability: float) -> None:
    card = fsrs.Card(
        card_id=1, state=fsrs.State.Review, stability=stability, difficulty=5.0, last_review=START
    )
    theirs = fsrs.Scheduler().get_card_retrievability(card, START + timedelta(days=days))
    assert recall_probability(stability, days) == pytest.approx(theirs)


@given(
    stability=st.floats(0.01, 1000),
    days=st.floats(0, 10_000),
    more=st.floats(0, 10_000),
    kind=st.sampled_from(Kind),
    trust=st.sampled_from(Trust),
    pinned=st.booleans(),
)
def test_it_never_grows_by_waiting(
    stability: float, days: float, more: float, kind: Kind, trust: Trust, *, pinned: bool
) -> None:
    item = memory(kind, trust, pinned=pinned)
    held = Strength(stability, 5.0, START)
    sooner = strength_at(item, held, START + timedelta(days=days))
    later = strength_at(item, held, START + timedelta(days=days + more))
    assert 0.0 <= later <= sooner <= 1.0


@given(
    uses=st.lists(st.tuples(st.sampled_from(USES), st.floats(0, 400)), max_size=8),
    after=st.floats(0, 2000),
    last=st.sampled_from(USES),
    kind=st.sampled_from(Kind),
)
def test_a_review_never_lowers_it_then_or_later(
    uses: list[tuple[str, float]], after: float, last: str, kind: Kind
) -> None:
    item, now, held = memory(kind), START, None
    for reason, days in uses:
        now += timedelta(days=days)
        held = reviewed(item, held, reason, now)
    now += timedelta(days=after)
    again = reviewed(item, held, last, now)
    assert strength_at(item, again, now) >= strength_at(item, held, now)
    later = now + timedelta(days=after + 1)
    assert strength_at(item, again, later) >= strength_at(item, held, later)


def test_a_lapse_lowers_it_and_no_mere_look_brings_it_back() -> None:
    item = memory(Kind.DECISION, Trust.USER)
    demoted = reviewed(item, None, "demoted", START)
    week = START + timedelta(days=7)
    assert state_of(strength_at(item, demoted, week)) in (State.SILENT, State.UNAVAILABLE)
    opened = reviewed(item, demoted, "opened", week)
    assert opened.demoted
    assert strength_at(item, opened, week + timedelta(days=60)) < 0.7
    promoted = reviewed(item, opened, "promoted", week)
    assert not promoted.demoted
    assert state_of(strength_at(item, promoted, week + timedelta(days=4000))) is State.ACTIVE


def test_what_is_pinned_or_a_persons_own_does_not_fade_away() -> None:
    much_later = START + timedelta(days=3650)
    assert state_of(strength_at(memory(Kind.NOTE, Trust.USER), None, much_later)) is State.ACTIVE
    assert state_of(strength_at(memory(Kind.OBSERVATION, Trust.TOOL, pinned=True), None, much_later)) is (
        State.ACTIVE
    )
    assert state_of(strength_at(memory(Kind.OBSERVATION, Trust.USER), None, much_later)) is (
        State.UNAVAILABLE
    )


def test_what_was_settled_outlasts_what_was_merely_seen() -> None:
    strengths = [
        first_strength(memory(kind)).stability for kind in (Kind.OBSERVATION, Kind.NOTE, Kind.DECISION)
    ]
    assert strengths == sorted(strengths)
    month = START + timedelta(days=30)
    states = [
        state_of(strength_at(memory(kind), None, month))
        for kind in (Kind.DECISION, Kind.NOTE, Kind.OBSERVATION)
    ]
    assert states == [State.ACTIVE, State.DORMANT, State.SILENT]


def test_a_review_dated_before_the_last_one_counts_as_now() -> None:
    held = reviewed(memory(), None, "opened", START + timedelta(days=10))
    late = reviewed(memory(), held, "opened", START + timedelta(days=5))
    assert late.reviewed_at == held.reviewed_at
    assert late.stability >= held.stability
