"""Two stores become one: what one sends the other takes in, once, whatever is repeated."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from claude_memory.errors import StoreFault
from claude_memory.model import MemoryFilter, SearchScope
from claude_memory.store.model import NewMessage
from claude_memory.store.sql.feed import MESSAGES, STREAMS, Sender


def test_what_one_home_sends_another_takes_in_once(store, make, reopen):
    memory = make.added("zebras at dawn")
    other = reopen("other")
    sender = Sender(replica=store.feed.replica("token"), person=str(store.person))
    for stream in STREAMS:
        batch = store.feed.changes(stream, 0, 100)
        other.feed.apply(batch, sender)
        other.feed.apply(batch, sender)
        assert other.feed.through(sender.replica, stream) == batch.through
    assert [kept.body for kept in other.memories.find(SearchScope(None), MemoryFilter())] == [memory.body]
    other.feed.forget_peers()
    assert [other.feed.through(sender.replica, stream) for stream in STREAMS] == [0, 0]


def test_a_stranger_adds_nothing_to_a_conversation_that_was_held_here(store, make):
    said = {"session": "2026", "agent": "codex", "role": "user", "cwd": "/srv/app", "text": "zebras"}
    store.archive.add(
        [NewMessage(at=datetime(2026, 5, 4, tzinfo=UTC), keys=(1,), **said)], {"/srv/app": make.project}
    )
    batch = store.feed.changes(MESSAGES, 0, 10)
    for session in ("2026", 2026):
        forged = [{**record, "session": session, "keys": [2]} for record in batch.records]
        with contextlib.suppress(StoreFault):  # a server does not take a number for a name
            assert store.feed.apply(batch._replace(records=forged), Sender(foreign=True)).messages == 0
    assert store.archive.totals()["messages"] == 1


def test_a_copy_of_a_home_counts_anew(store):
    first = store.feed.replica("token")
    assert store.feed.replica("token") == first
    assert store.feed.replica("another") != first


def test_nothing_waits_to_be_swept_where_nothing_was_erased(store):
    assert not store.feed.is_unswept()
    store.feed.swept()
    assert store.feed.erasures() == 0
