"""The graph: what memories mention, in one project, bounded."""

from dataclasses import replace
from datetime import timedelta

from claude_memory.model import Status
from claude_memory.store.model import Entity, Mention

FILE = Entity("file", "src/auth/jwt.py")
TOPIC = Entity("topic", "auth")


def test_memories_wait_until_they_were_read_and_again_when_they_change(store, make):
    first, second = make.added("one"), make.added("two")
    graph = store.graph
    assert [item.id for item in graph.unread(make.project, 9)] == [first.id, second.id]
    graph.put({first.id: [Mention(first.id, "about", TOPIC)], second.id: []})
    assert graph.unread(make.project, 9) == []
    store.memories.update(replace(first, body="three", updated_at=first.updated_at + timedelta(days=1)))
    assert [item.id for item in graph.unread(make.project, 9)] == [first.id]


def test_what_is_mentioned_is_found_by_name_and_by_the_end_of_a_path(store, make):
    memory = make.added("one")
    told = [Mention(memory.id, "about", TOPIC), Mention(memory.id, "edits", FILE)]
    store.graph.put({memory.id: told})
    assert store.graph.find(make.project, "auth") == [TOPIC]
    assert store.graph.find(make.project, "jwt.py") == [FILE]
    assert store.graph.find(make.project, "wt.py") == []
    assert store.graph.find(make.project, '"\x00%') == []
    assert sorted(store.graph.of_memories([memory.id], limit=9), key=str) == sorted(told, key=str)
    assert len(store.graph.of_memories([memory.id], limit=1)) == 1


def test_a_thing_gives_its_newest_visible_memories_and_their_number(store, make):
    memories = [make.added(f"note {n}") for n in range(4)]
    store.graph.put({item.id: [Mention(item.id, "about", TOPIC)] for item in memories})
    store.memories.update(replace(memories[3], status=Status.FORGOTTEN, forgotten_at=memories[3].created_at))
    found = store.graph.of_entities(make.project, [TOPIC, FILE], each=2)
    assert [(mention.memory, total) for mention, total in found] == [
        (memories[2].id, 4),
        (memories[1].id, 4),
    ]
    assert store.graph.common(make.project, ["topic"], limit=5) == [(TOPIC, 3)]
    assert store.graph.common(make.project, ["file"], limit=5) == []


def test_nothing_of_one_project_reaches_another(store, make, make_in):
    memory = make.added("one")
    store.graph.put({memory.id: [Mention(memory.id, "about", TOPIC)]})
    other = make_in(store, "/srv/other").project
    assert store.graph.find(other, "auth") == []
    assert store.graph.of_entities(other, [TOPIC], each=9) == []
    assert store.graph.common(other, ["topic"], limit=9) == []
    assert store.graph.unread(other, 9) == []


def test_an_erased_memory_does_not_live_on_in_a_name(store, make):
    memory = make.added("zanzibar")
    store.graph.put({memory.id: [Mention(memory.id, "about", Entity("topic", "zanzibar"))]})
    store.memories.erase([memory.id])
    assert store.graph.find(make.project, "zanzibar") == []
