"""The write gate in a store: nothing is refused, nothing is lost, everything is linked and explained."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_memory import Memory, NewMemory
from claude_memory.lifecycle.gate import Action, judged
from claude_memory.model import Status, Trust
from claude_memory.store.lifecycle_protocol import lifecycle_of

WORDS = {"embedder": "none"}
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


def fact(text: str, day: int = 0, **more: object) -> NewMemory:
    return NewMemory(text, kind="fact", created_at=START + timedelta(days=day), **more)  # type: ignore[arg-type]


def test_a_new_value_takes_the_place_of_the_old_and_both_stay(memory: Memory) -> None:
    old = memory.remember(fact("Log retention is 14 days."))
    new = memory.remember(fact("Log retention was raised to 30 days, no longer 14.", 1))
    assert memory.verdicts[new.id].action is Action.SUPERSEDED
    [was, now] = memory.show([old.id, new.id])
    assert (was.status, was.superseded_by) == (Status.SUPERSEDED, new.id)
    assert (now.status, now.supersedes) == (Status.ACTIVE, old.id)
    hits = memory.search("log retention days", limit=5)
    assert [hit.id for hit in hits] == [new.id, old.id]
    [relation] = lifecycle_of(memory.store).relations([new.id])
    assert (relation.kind, relation.target) == ("supersedes", old.id)
    assert "retent" in relation.evidence


def test_the_same_said_again_reinforces_and_both_can_be_found(memory: Memory) -> None:
    old = memory.remember(fact("Deploys happen on Wednesdays."))
    new = memory.remember(fact("deploys happen on  Wednesdays.", 1))
    assert memory.verdicts[new.id].action is Action.REINFORCED
    assert lifecycle_of(memory.store).strengths([old.id])[old.id].reviews == 1
    assert [item.status for item in memory.show([old.id, new.id])] == [Status.ACTIVE, Status.ACTIVE]


def test_do_and_dont_are_kept_as_a_conflict(memory: Memory) -> None:
    old = memory.remember(fact("Run database migrations automatically on deploy."))
    new = memory.remember(fact("Never run database migrations automatically on deploy.", 1))
    assert memory.verdicts[new.id].action is Action.CONFLICT
    assert {item.status for item in memory.show([old.id, new.id])} == {Status.ACTIVE}


@given(
    verb=st.sampled_from(["use", "log", "cache", "retry", "commit", "mock"]),
    thing=st.sampled_from(["request bodies", "floats for money", "tabs", "generated files", "the ORM"]),
    denial=st.sampled_from(["don't {}", "never {}", "do not {}", "Don’t {}"]),
)
def test_do_and_dont_are_never_duplicates(verb: str, thing: str, denial: str) -> None:
    said = f"{verb} {thing}"
    assert judged(said, denial.format(said)).action is not Action.REINFORCED
    assert judged(denial.format(said), said).action is not Action.REINFORCED


def test_another_project_is_out_of_reach(memory: Memory, tmp_path: Path) -> None:
    old = memory.remember(fact("Log retention is 14 days."))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with Memory.open(tmp_path / "home", other, flags=WORDS) as elsewhere:
        new = elsewhere.remember(fact("Log retention was raised to 30 days, no longer 14.", 1))
        assert elsewhere.verdicts[new.id].action is Action.ADDED
    assert memory.show([old.id])[0] == old


def test_neither_tool_nor_agent_overrules_a_person_and_nothing_overrules_a_pin(memory: Memory) -> None:
    own = memory.remember(fact("Staging is at stage.marlin.example.", trust=Trust.USER))
    said = "Staging moved to staging.marlin.example; stage.marlin.example is switched off."
    for other in (Trust.TOOL, Trust.AGENT):
        theirs = memory.remember(fact(said, 1, trust=other))
        assert memory.verdicts[theirs.id].action is Action.CONFLICT
        assert memory.show([own.id])[0].status is Status.ACTIVE
        memory.forget([theirs.id])
    memory.revise(own.id, pinned=True)
    person = memory.remember(fact(said, 2, trust=Trust.USER))
    assert memory.verdicts[person.id].action is not Action.SUPERSEDED


def test_what_is_older_does_not_replace_what_is_newer(memory: Memory) -> None:
    memory.remember(fact("Log retention is 14 days.", 5))
    late = memory.remember(fact("Log retention was raised to 30 days, no longer 14.", 1))
    assert memory.verdicts[late.id].action is not Action.SUPERSEDED


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
