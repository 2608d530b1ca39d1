"""The life of memories: reminders, strength, relations, file states, runs; each within its project."""

from datetime import UTC, datetime, timedelta

import pytest

from claude_memory.errors import Conflict
from claude_memory.model import Kind, Status
from claude_memory.store.model import (
    FileState,
    Intention,
    IntentionStatus,
    Priority,
    Relation,
    Review,
    Step,
    Strength,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def project(store, make):
    [found] = [item for item in store.projects() if item.id == make.project]
    return found


def test_an_intention_comes_back_in_its_last_state(store, project):
    wanted = Intention(
        "i1", project.id, "look at the logs", NOON, at=NOON, deadline=NOON + timedelta(days=1),
        files=("a.py",), topics=("logs",), priority=Priority.HIGH,
    )  # fmt: skip
    store.lifecycle.put_intention(wanted)
    assert store.lifecycle.intentions(project) == [wanted]
    done = Intention("i1", project.id, "look at the logs", NOON, status=IntentionStatus.DONE, closed_at=NOON)
    store.lifecycle.put_intention(done)
    assert store.lifecycle.intentions(project) == []
    assert store.lifecycle.intentions(project, open_only=False) == [done]


def test_an_intention_belongs_to_its_project_or_to_the_codebase_it_names(store, project, identify):
    other = store.project_for(identify("/srv/other"))
    store.lifecycle.put_intention(Intention("i1", project.id, "here", NOON))
    store.lifecycle.put_intention(Intention("i2", project.id, "there", NOON, codebase=other.id))
    assert [item.id for item in store.lifecycle.intentions(project)] == ["i1"]
    assert [item.id for item in store.lifecycle.intentions(other)] == ["i2"]


def test_an_intention_that_says_what_was_erased_is_refused(store, make, project):
    memory = make.added("the launch code is zanzibar")
    store.memories.erase([memory.id])
    with pytest.raises(Conflict):
        store.lifecycle.put_intention(Intention("i1", project.id, "the launch code is zanzibar", NOON))


def test_strengths_and_the_uses_behind_them(store, make):
    memory = make.added("one")
    held = Strength(3.5, 5.0, NOON, reviews=2, lapses=1, demoted=True)
    use = Review(memory.id, NOON, "shown")
    store.lifecycle.put_strengths({memory.id: held, "nobody": held}, [use])
    assert store.lifecycle.strengths([memory.id, "nobody"]) == {memory.id: held}
    assert store.lifecycle.reviews(memory.id) == [use]
    older = Strength(9.0, 1.0, NOON - timedelta(days=1))
    store.lifecycle.put_strengths({memory.id: older})
    assert store.lifecycle.strengths([memory.id]) == {memory.id: held}


def test_what_was_made_long_before_it_came_has_an_arrival(store, make):
    old = make.added("old", created_at=NOON - timedelta(days=900))
    new = make.added("new", created_at=datetime.now(UTC))
    assert set(store.lifecycle.arrivals([old.id, new.id])) == {old.id}


def test_statements_wait_to_meet_their_neighbours(store, make):
    first, second = make.added("one"), make.added("two")
    make.added("a turn", kind=Kind.OBSERVATION)
    assert [item.id for item in store.lifecycle.unjudged(9)] == [first.id, second.id]
    store.lifecycle.judged([first.id])
    store.lifecycle.judged([])
    assert [item.id for item in store.lifecycle.unjudged(9)] == [second.id]


def test_relations_stay_within_a_project(store, make, make_in):
    first, second = make.added("one"), make.added("two")
    theirs = make_in(store, "/srv/other").added("three", id="theirs")
    relation = Relation(second.id, first.id, "newer", "says it later", NOON)
    assert store.lifecycle.relate([relation, Relation(first.id, theirs.id, "newer", "", NOON)]) == 1
    assert store.lifecycle.relate([relation]) == 0
    assert store.lifecycle.relations([first.id]) == [relation]
    assert store.lifecycle.relations([theirs.id]) == []
    assert store.lifecycle.relations([first.id], kinds=["repeats"]) == []
    run = store.lifecycle.consolidated(make.project, NOON, [Step("newer", second.id, first.id)])
    store.lifecycle.undo(run)
    assert store.lifecycle.relations([first.id]) == []


def test_archiving_and_back_restores_equality(store, make):
    memory, other = make.added("one"), make.added("two", status=Status.SUPERSEDED)
    assert store.lifecycle.archive([memory.id, other.id]) == 1
    assert make.load(other.id) == other
    store.lifecycle.undo(store.lifecycle.consolidated(make.project, NOON, [Step("archive", memory.id)]))
    assert make.load(memory.id) == memory


def test_a_rejected_proposal_is_gone_and_nothing_else_can_be_rejected(store, make):
    proposal, settled = make.added("use tabs", status=Status.PROPOSED), make.added("use spaces")
    assert store.lifecycle.reject([proposal.id, settled.id]) == 1
    assert make.find("tabs") == []
    assert make.load(settled.id) == settled


def test_file_states_of_the_scope(store, make, make_in):
    memory = make.added("one")
    theirs = make_in(store, "/srv/other").added("two", id="theirs")
    state = FileState(memory.id, "a.py", "sketch", "rev", "")
    store.lifecycle.put_file_states([state, FileState(theirs.id, "b.py", "sketch")])
    assert store.lifecycle.file_states(make.scope) == [state]
    changed = FileState(memory.id, "a.py", "sketch", "rev", "half of it changed")
    store.lifecycle.put_file_states([changed])
    assert store.lifecycle.file_states(make.scope) == [changed]


def test_a_run_can_be_taken_back(store, make):
    first, second = make.added("one"), make.added("two")
    assert store.lifecycle.last_run(make.project) is None
    steps = [Step("link", first.id, second.id), Step("archive", second.id)]
    run = store.lifecycle.consolidated(make.project, NOON, steps)
    make.added("three")
    assert store.lifecycle.last_run(make.project) == (run, NOON, 1)
    assert store.lifecycle.undo(run) == steps
    assert store.lifecycle.last_run(make.project) is None
