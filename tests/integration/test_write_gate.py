"""The write gate in a store: nothing is refused, nothing is lost, everything is linked and explained."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_memory import Memory, NewMemory
from claude_memory.lifecycle.consolidate import NEAR, Action, judged
from claude_memory.model import Status

WORDS = {"embedder": "none"}
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


def fact(text: str, day: int = 0, **more: object) -> NewMemory:
    return NewMemory(text, kind="fact", created_at=START + timedelta(days=day), **more)  # type: ignore[arg-type]


def test_only_a_person_replaces_a_memory(memory: Memory) -> None:
    old = memory.remember(fact("Log retention is 14 days."))
    guess = memory.remember(fact("Log retention was raised to 30 days, no longer 14.", 1))
    assert memory.verdicts[guess.id].action is not Action.REINFORCED
    assert memory.show([old.id])[0].status is Status.ACTIVE
    said = memory.remember(fact("Log retention is 60 days.", 2, supersedes=old.id))
    [was, now] = memory.show([old.id, said.id])
    assert (was.status, was.superseded_by) == (Status.SUPERSEDED, said.id)
    assert (now.status, now.supersedes) == (Status.ACTIVE, old.id)


def test_a_text_close_in_meaning_is_linked_as_the_newer_one() -> None:
    near = judged("Log retention is 14 days.", "Logs are kept for 30 days.", NEAR)
    assert near == (Action.LINKED, NEAR)
    assert judged("Log retention is 14 days.", "Logs are kept for 30 days.", NEAR - 0.01)[0] is Action.ADDED
    assert judged("Log retention is 14 days.", "Logs are kept for 30 days.")[0] is Action.ADDED


def test_links_point_from_the_newer_to_the_older(memory: Memory) -> None:
    new = memory.remember(fact("Deploys happen on Monday.", 1)).id
    old = memory.remember(fact("Deploys happen on Monday.")).id  # came later, and is of an earlier day
    [relation] = memory.store.lifecycle.relations([old])
    assert (relation.source, relation.target, relation.kind) == (new, old, "repeats")


def test_the_same_said_again_reinforces_and_both_can_be_found(memory: Memory) -> None:
    old = memory.remember(fact("Deploys happen on Wednesdays."))
    new = memory.remember(fact("deploys happen on  Wednesdays.", 1))
    assert memory.verdicts[new.id].action is Action.REINFORCED
    assert memory.store.lifecycle.strengths([old.id])[old.id].reviews == 1
    assert [item.status for item in memory.show([old.id, new.id])] == [Status.ACTIVE, Status.ACTIVE]


@given(
    verb=st.sampled_from(["use", "log", "cache", "retry", "commit", "mock"]),
    thing=st.sampled_from(["request bodies", "floats for money", "tabs", "generated files", "the ORM"]),
    denial=st.sampled_from(["don't {}", "never {}", "do not {}", "Don’t {}"]),
)
def test_do_and_dont_are_never_duplicates(verb: str, thing: str, denial: str) -> None:
    said = f"{verb} {thing}"
    assert judged(said, denial.format(said), 0.99)[0] is not Action.REINFORCED
    assert judged(denial.format(said), said, 0.99)[0] is not Action.REINFORCED


def test_another_project_is_out_of_reach(memory: Memory, tmp_path: Path) -> None:
    old = memory.remember(fact("Log retention is 14 days."))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with Memory.open(tmp_path / "home", other, flags=WORDS) as elsewhere:
        new = elsewhere.remember(fact("Log retention was raised to 30 days, no longer 14.", 1))
        assert elsewhere.verdicts[new.id].action is Action.ADDED
    assert memory.show([old.id])[0] == old


def test_turns_of_a_conversation_are_left_alone(memory: Memory) -> None:
    turns = ["Thanks, Gina!", "Thanks, Gina!!", "I no longer live in Rome.", "I live in Rome."]
    kept = memory.remember_many([NewMemory(text, session="s1") for text in turns])
    assert len(set(kept)) == 4
    assert {verdict.action for verdict in memory.verdicts.values()} == {Action.ADDED}


def test_a_bulk_is_stored_without_comparing(memory: Memory) -> None:
    kept = memory.remember_many([fact("Log retention is 14 days.") for _ in range(120)])
    assert len(set(kept)) == 120
    assert {verdict.action for verdict in memory.verdicts.values()} == {Action.ADDED}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(
        st.sampled_from(
            [
                "Log retention is 14 days.",
                "Log retention was raised to 30 days.",
                "Never keep logs.",
                "Logs are kept for 14 days.",
                "Deploys moved to Friday.",
                "Deploys happen on Monday.",
            ]
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_write_in_one_project_changes_another(
    texts: list[str], memory: Memory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    neighbour = tmp_path_factory.mktemp("neighbour")
    with Memory.open(memory.home, neighbour, flags=WORDS) as other:
        other.remember_many([fact(text, number) for number, text in enumerate(texts)])
        before = other.show([item.id for item in other.search("log retention deploys", limit=50)])
        memory.remember_many([fact(text, 30 + number) for number, text in enumerate(reversed(texts))])
        after = other.show([item.id for item in before])
    assert before == after


def test_the_latest_rule_answers_what_holds_now(memory: Memory) -> None:
    ids = memory.remember_many(
        [
            NewMemory(f"{chatter} Start all variable names with '{prefix}_'. {more}", created_at=when)
            for chatter, prefix, more, when in (
                ("Welcome!", "m", "Our current convention for variable names is strict.", START),
                ("Good work.", "wr", "See you.", START + timedelta(days=30)),
                ("Hello again.", "z", "Lunch is at noon.", START + timedelta(days=60)),
            )
        ]
    )
    asked = "what is our current convention for variable names?"
    assert [hit.id for hit in memory.search(asked, limit=3)] == list(reversed(ids))
