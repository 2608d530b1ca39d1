"""Reading by filter, by id, by time."""

from datetime import UTC, datetime, timedelta

import pytest

from claude_memory.model import EventKind, Kind, MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.store.model import EventFilter

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def three(make):
    return [
        make.added("first zebra", kind=Kind.DECISION, topics=("Auth",), files=("src/auth.py",), session="s1"),
        make.added("second zebra", kind=Kind.FIX, topics=("api",), files=("/w/app/src/api.py",), task="t1"),
        make.added("third zebra", kind=Kind.NOTE, status=Status.SUPERSEDED, session="s2"),
    ]


FILTERS = [
    (MemoryFilter(), {0, 1, 2}),
    (MemoryFilter(kinds=(Kind.DECISION,)), {0}),
    (MemoryFilter(kinds=(Kind.DECISION, Kind.FIX)), {0, 1}),
    (MemoryFilter(topics=("auth",)), {0}),
    (MemoryFilter(topics=("AUTH", "api")), {0, 1}),
    (MemoryFilter(files=("src/auth.py",)), {0}),
    (MemoryFilter(files=("auth.py",)), {0}),
    (MemoryFilter(files=("/anywhere/src/auth.py",)), {0}),
    (MemoryFilter(files=("./src/api.py",)), {1}),
    (MemoryFilter(files=("src\\api.py",)), {1}),
    (MemoryFilter(files=("uth.py", "src")), set()),
    (MemoryFilter(files=("lib/auth.py",)), set()),
    (MemoryFilter(task="t1"), {1}),
    (MemoryFilter(session="s1"), {0}),
    (MemoryFilter(session="s9"), set()),
    (MemoryFilter(since=NOON + timedelta(minutes=2)), {1, 2}),
    (MemoryFilter(until=NOON + timedelta(minutes=2)), {0, 1}),
    (MemoryFilter(statuses=(Status.ACTIVE,)), {0, 1}),
    (MemoryFilter(statuses=(Status.SUPERSEDED,), session="s2"), {2}),
]


@pytest.mark.parametrize(("filter_", "expected"), FILTERS, ids=range(len(FILTERS)))
def test_filters_mean_the_same_for_lists_words_and_vectors(store, make, three, filter_, expected):
    wanted = {three[place].id for place in expected}
    vector = make.embed_all()[three[0].id]
    assert {memory.id for memory in store.memories.find(make.scope, filter_)} == wanted
    assert set(make.find("zebra", filter_)) == wanted
    assert set(make.near(vector, filter_, limit=10)) == wanted


def test_a_filter_is_applied_before_the_limit(store, make):
    rare = make.added("zebra stripes", kind=Kind.DECISION)
    store.memories.add([make.memory("zebra stripes", kind=Kind.NOTE) for _ in range(600)])
    vector = [*make.embed_all().values()][-1]
    only = MemoryFilter(kinds=(Kind.DECISION,))
    assert make.find("zebra", only, limit=1) == [rare.id]
    assert make.near(vector, only, limit=1) == [rare.id]


def test_newest_come_first_or_last_as_asked(store, make, three):
    ids = [memory.id for memory in three]
    assert [memory.id for memory in store.memories.find(make.scope, MemoryFilter(), limit=2)] == [
        ids[2],
        ids[1],
    ]
    oldest = store.memories.find(make.scope, MemoryFilter(), limit=2, newest_first=False)
    assert [memory.id for memory in oldest] == ids[:2]


def test_ids_come_in_their_order_and_in_scope_only(store, make, make_in, three):
    asked = [three[2].id, MemoryId("unknown"), three[0].id, three[2].id]
    found = store.memories.find(make.scope, MemoryFilter(), ids=asked)
    assert [memory.id for memory in found] == [three[2].id, three[0].id]
    assert store.memories.find(make_in(store, "/srv/other").scope, MemoryFilter(), ids=asked) == []


def test_ids_are_completed(store, make, three):
    assert store.memories.complete_id(make.scope, "m000") == ["m0001", "m0002", "m0003"]
    assert store.memories.complete_id(make.scope, "m0002") == ["m0002"]
    assert store.memories.complete_id(make.scope, "%") == []
    assert store.memories.complete_id(make.scope, "") == []


def test_events_by_session_kind_and_time(store, make):
    store.archive.add(
        events=[
            make.event("e1", timestamp=NOON),
            make.event("e2", timestamp=NOON + timedelta(hours=1), session="s2"),
            make.event("e3", timestamp=NOON + timedelta(hours=2), kind=EventKind.REPLY),
        ]
    )

    def ids(filter_, **options):
        return [event.id for event in store.archive.events(make.scope, filter_, **{"limit": 9, **options})]

    assert ids(EventFilter()) == ["e3", "e2", "e1"]
    assert ids(EventFilter(), newest_first=False, limit=2) == ["e1", "e2"]
    assert ids(EventFilter(session="s1")) == ["e3", "e1"]
    assert ids(EventFilter(kinds=(EventKind.PROMPT,))) == ["e2", "e1"]
    assert ids(EventFilter(since=NOON + timedelta(hours=1))) == ["e3", "e2"]
    assert ids(EventFilter(until=NOON + timedelta(hours=1))) == ["e2", "e1"]
    assert ids(EventFilter(ids=("e2", "nope"))) == ["e2"]
    assert store.archive.events(SearchScope(()), EventFilter(), limit=9) == []


def test_stats_count(store, make, make_in, three):
    make_in(store, "/srv/other").added("elsewhere", id="o1")
    store.archive.add(events=[make.event("e1")])
    make.embed_all()
    of_all, of_one = store.stats(), store.stats(make.project)
    assert (of_all.projects, sum(of_all.memories.values()), of_all.events) == (2, 4, 1)
    assert of_one.memories == {"decision": 1, "fix": 1, "note": 1}
    assert (of_one.passages, dict(of_one.vectors), of_one.sessions) == (3, {"model-a": 3}, 2)
    assert (of_one.oldest, of_one.newest) == (three[0].created_at, three[2].created_at)
    assert of_all.size_bytes > 0
