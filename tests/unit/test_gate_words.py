"""What the write gate goes by: words that meet, values that differ, and doubt before anything is replaced."""

from __future__ import annotations

import pytest

from claude_memory.lifecycle.cues import changes
from claude_memory.lifecycle.gate import Action, chosen, judged
from claude_memory.lifecycle.matching import matched
from claude_memory.lifecycle.polarity import polarity
from claude_memory.lifecycle.values import kinds_differ, numbers, other_measures, same_measure_differs


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use UTC in the database", "use UTC in the databse"),
        ("delete the photo", "remove the picture"),
        ("dead code elimination runs last", "DCE runs last"),
        ("the configuration is read", "the config is loaded"),
    ],
)
def test_words_for_the_same_thing_meet(old: str, new: str) -> None:
    found = matched(old, new)
    assert not found.left_old
    assert not found.left_new


def test_words_side_by_side_are_one_thing_and_others_are_told() -> None:
    found = matched("Meter readings are rounded", "Meter readings come hourly")
    assert found.chunks == 1
    assert found.left_old
    assert found.left_new


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("within 14 days", "within two weeks"),
        ("every 15 minutes", "each 900 seconds"),
        ("daily", "once a day"),
        ("32k tokens", "32,000 tokens"),
        ("at 10:00", "at ten"),
        ("for 18 months", "for a year and a half"),
        ("three hundred lines", "300 lines"),
        ("two dozen partitions", "24 partitions"),
        ("at 4pm", "at 16:00"),
        ("published as a package", "a package"),
    ],
)
def test_figures_that_say_the_same_are_the_same(one: str, other: str) -> None:
    assert numbers(one) == numbers(other)


def test_figures_are_compared_by_what_they_count() -> None:
    assert same_measure_differs("two approvals are needed", "one approval is enough")
    assert not same_measure_differs("holds 512 samples", "is drained every 2 seconds")
    assert other_measures("holds 512 samples", "is drained every 2 seconds")


def test_a_figure_is_one_word() -> None:
    assert not matched("Kotlin is at 1.9", "Gradle is at 8.9").shared


@pytest.mark.parametrize(
    ("old", "new", "agree"),
    [
        ("The runner has no Docker.", "The runner doesn't have Docker.", True),
        ("Calls require a key.", "Calls require no key.", False),
        ("Overbooking rooms is permitted.", "Rooms can not be overbooked.", False),
        ("Pages are cached.", "Pages are cached no longer than a day.", True),
    ],
)
def test_a_denial_meets_what_it_denies(old: str, new: str, agree: bool) -> None:
    found = polarity(old, new, matched(old, new))
    assert (found["against"] == 0) is agree


def test_one_of_a_kind_is_a_value() -> None:
    assert kinds_differ("settled on Mondays", "settled on Tuesdays")
    assert not kinds_differ("settled on Mondays", "settled on Monday and Tuesday")


def test_a_habit_is_no_change_and_an_event_is() -> None:
    assert not changes("Stop words are kept.", "Stop words are removed in preprocessing.")
    assert changes("Stop words are kept.", "Stop words were removed from the index.")


def test_in_doubt_nothing_is_replaced() -> None:
    assert chosen((0.1, 0.1, 0.7, 0.1)) is Action.SUPERSEDED
    assert chosen((0.4, 0.05, 0.5, 0.05)) is Action.ADDED


@pytest.mark.parametrize("cosine", [None, 0.95])
def test_use_and_do_not_use_are_never_the_same(cosine: float | None) -> None:
    for old, new in (
        ("Use Redis for sessions.", "Don't use Redis for sessions."),
        ("Never mock the clock.", "Mock the clock."),
        ("Return early with guard clauses.", "Refrain from guard clauses."),
    ):
        assert judged(old, new, cosine).action is not Action.REINFORCED
