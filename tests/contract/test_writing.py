"""What is written is there, once, for everyone, at once."""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from claude_memory.errors import NotFound
from claude_memory.model import Kind, MemoryFilter, Scope, SearchScope, Status, Trust
from claude_memory.store.model import Added, EventFilter


def test_every_field_comes_back(store, make):
    memory = make.added(
        "body",
        kind=Kind.DECISION,
        trust=Trust.AGENT,
        scope=Scope.USER,
        session="s1",
        task="t1",
        topics=("Auth", "api"),
        files=("src/auth.py",),
        provenance={"event": "e1", "more": [1, {"deep": None}]},
        supersedes="m9999",
        pinned=True,
    )
    assert make.load(memory.id) == replace(memory, person=store.person)


def test_ids_already_there_are_skipped_and_counted(store, make):
    memory, event = make.memory("one"), make.event("e1")
    assert store.memories.add([memory]) == Added(memories=1)
    assert store.memories.add([replace(memory, body="other")]) == Added(duplicates=1)
    assert make.load(memory.id).body == "one"
    assert [store.archive.add(events=[event]).events for _ in range(2)] == [1, 0]


def test_the_same_id_twice_in_a_batch_is_stored_once(store, make):
    memory = make.memory("one")
    assert store.memories.add([memory, memory]) == Added(memories=1, duplicates=1)


def test_near_equal_titles_n_in_n_out(store, make):
    titles = ["API notes", "API notes ", "api notes", "API  notes", "API-notes", "API notes.", "ＡＰＩ notes"]
    store.memories.add([make.memory("the same words in all", title=title) for title in titles])
    assert [
        memory.title for memory in store.memories.find(make.scope, MemoryFilter(), newest_first=False)
    ] == titles
    assert len(make.find("same words")) == len(titles)


def test_events_keep_their_payload(store, make):
    event = make.event("e1", payload={"tool": {"input": ["漢字", 1.5, None, True]}}, session=None)
    store.archive.add(events=[event])
    assert store.archive.events(make.scope, EventFilter(), limit=9) == [event]


def test_superseding_keeps_both_and_says_so(store, make):
    old = make.added("indent with tabs")
    new = make.added("indent with spaces", supersedes=old.id)
    stored = make.load(old.id)
    assert (stored.status, stored.superseded_by) == (Status.SUPERSEDED, new.id)
    assert set(make.find("indent")) == {old.id, new.id}


def test_twins_of_what_was_replaced_sink_with_it(store, make):
    old, twin = make.added("indent with tabs"), make.added("Indent with tabs.", kind=Kind.DECISION)
    turn = make.added("indent with tabs", kind=Kind.OBSERVATION)
    pinned = make.added("indent with tabs", pinned=True)
    other = make.added("indent with tabs in Makefiles")
    new = make.added("indent with spaces", supersedes=old.id)
    again = make.added("indent with tabs")
    stored = make.load(twin.id)
    assert (stored.status, stored.superseded_by) == (Status.SUPERSEDED, new.id)
    assert all(make.load(one.id).status is Status.ACTIVE for one in (turn, pinned, other, again))
    told = [change.record["memory"]["id"] for change in store.changes_since("memories.jsonl", 100)
            if change.record["change"] == "supersede"]  # fmt: skip
    assert told == [old.id, twin.id]


def test_twins_sink_also_where_the_replacement_was_found_later(store, make):
    old, twin, new = make.added("port 8080"), make.added("port 8080"), make.added("port 9090")
    store.memories.update(replace(old, status=Status.SUPERSEDED, superseded_by=new.id))
    assert make.load(twin.id).superseded_by == new.id


def test_nobody_supersedes_another_projects_memory(store, make, make_in):
    old = make.added("indent with tabs")
    make_in(store, "/srv/other").added("attack", id="evil", supersedes=old.id)
    assert make.load(old.id) == old


def test_an_update_replaces_what_is_searched(store, make):
    memory = make.added("we use zebra")
    store.memories.update(
        replace(memory, body="we use giraffe", updated_at=memory.updated_at + timedelta(days=1))
    )
    assert make.find("zebra") == []
    assert make.find("giraffe") == [memory.id]


def test_an_update_of_flags_keeps_vectors(store, make):
    memory = make.added("we use zebra")
    vector = make.embed_all()[memory.id]
    store.memories.update(replace(memory, pinned=True, topics=("animals",)))
    assert make.near(vector) == [memory.id]
    assert make.find("zebra", MemoryFilter(topics=("animals",))) == [memory.id]


def test_an_update_of_the_body_wants_a_new_vector(store, make):
    memory = make.added("we use zebra")
    make.embed_all()
    store.memories.update(replace(memory, body="we use giraffe"))
    assert [passage.text for passage in store.memories.unembedded("model-a", 9)] == ["title1\nwe use giraffe"]


def test_updating_nothing_is_an_error(store, make):
    with pytest.raises(NotFound):
        store.memories.update(make.memory("never added"))


def test_forgotten_memories_are_hidden_and_come_back(store, make):
    memory = make.added("we use zebra")
    vector = make.embed_all()[memory.id]
    store.memories.update(replace(memory, status=Status.FORGOTTEN, forgotten_at=memory.created_at))
    assert make.find("zebra") == []
    assert make.near(vector) == []
    assert store.memories.find(make.scope, MemoryFilter()) == []
    assert make.find("zebra", MemoryFilter(statuses=(Status.FORGOTTEN,))) == [memory.id]
    store.memories.update(memory)
    assert make.find("zebra") == [memory.id]
    assert make.near(vector) == [memory.id]


def test_a_second_process_reads_what_was_written(store, make, reopen):
    memory = make.added("we use zebra")
    assert reopen().memories.find(make.scope, MemoryFilter()) == [memory]


HOSTILE = [
    "\x00 nul \x00",
    "lone \ud800 surrogate \udfff",
    "pair \ud83d\ude00",
    "quotes \" ' ` NEAR( OR AND NOT * ^ : - + {}",
    "漢字かな交じり文",
    "🙂" * 50,
    "C++ C# .NET @decorator #tag a/b/c.py",
    " ",
    "",
    "\u202e bidi \u200b zero",
    "x" * 100_000,
]


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_can_be_stored_and_searched(store, make, body):
    memory = make.added(
        body, title=body[:50], session=body[:9] or None, task=body[:9], topics=(body[:9],), files=(body[:9],)
    )
    store.archive.add(events=[make.event("e1", payload={"text": body}, cwd=body[:99])])
    [stored] = store.memories.find(SearchScope((make.project,)), MemoryFilter())
    clean = body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert stored.body == clean
    assert store.archive.events(make.scope, EventFilter(), limit=1)[0].payload == {"text": clean}
    make.find(body)
    store.memories.text_candidates(make.scope, MemoryFilter(), {body: 1.0, body[:5]: 2.0}, 10)
    store.memories.term_statistics(make.scope, [body])
    store.memories.complete_id(make.scope, body)
    assert store.memories.find(make.scope, MemoryFilter(topics=(body[:9],), task=body[:9])) == [stored]
    assert store.check().problems == ()
    assert memory.id == stored.id


def test_killed_in_the_middle_of_a_write_nothing_is_half_there(store, make, tmp_path, reopen):
    program = """
import os, sys
from pathlib import Path
from datetime import UTC, datetime
from claude_memory.model import *
from claude_memory.settings import Settings
from claude_memory.store import open_store
store = open_store(Path(sys.argv[1]), Settings(store=sys.argv[2]))
now = datetime(2026, 3, 1, tzinfo=UTC)
for number in range(10**6):
    batch = [StoredMemory(MemoryId(f"k{number}-{i}"), ProjectId(sys.argv[3]), Kind.NOTE, "t", "word", now, now,
                          session=SessionId("s")) for i in range(5)]
    store.memories.add(batch)
    print(number, flush=True)
"""
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "home"), reopen.setting(), make.project],
            stdout=subprocess.PIPE,
        )
        for _ in range(4):
            acknowledged = int(child.stdout.readline())
        child.kill()
        child.wait()
        child.stdout.close()
        every = {memory.id for memory in store.memories.find(make.scope, MemoryFilter())}
        assert {f"k{n}-{i}" for n in range(acknowledged + 1) for i in range(5)} <= every
        assert len(every) % 5 == 0
        assert store.check().problems == ()
        assert len(make.find("word", limit=10**6)) == len(every)
