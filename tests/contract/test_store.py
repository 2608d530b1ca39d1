"""The store as a whole: its person, its changes, its copies, other processes, and that all of it is tested."""

import ast
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.model import MemoryFilter, PersonId, Scope, SearchScope, Status
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.sql.archive import Archive
from claude_memory.store.sql.lifecycle import Graph, Lifecycle
from claude_memory.store.sql.memories import Memories

PARTS = {"memories": Memories, "archive": Archive, "graph": Graph, "lifecycle": Lifecycle}
FAR = 5 * 10**15  # microseconds: a clock a century ahead
EVERYWHERE = SearchScope(None)
EVERY = MemoryFilter(statuses=tuple(Status))


def promised(part):
    return {method for method in vars(part) if not method.startswith("_")} - {"scrub"}  # the backend's own


def used():
    """What the tests of this folder use of a store: `x.part.method` or `store.method`."""
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = node.value
                yield (owner.attr if isinstance(owner, ast.Attribute) else "", node.attr)
                if isinstance(owner, ast.Name):
                    yield (owner.id, node.attr)


def test_every_method_of_every_part_is_tested_here():
    found = set(used())
    missing = {
        f"{part}.{method}"
        for part, class_ in PARTS.items()
        for method in promised(class_)
        if (part, method) not in found
    }
    names = {method for _, method in found}
    missing |= {f"store.{method}" for method in promised(Store) - names}
    assert not missing, f"write a test in tests/contract for {sorted(missing)}"


# --- the person


def test_what_travels_with_the_person_is_theirs(store, make, reopen):
    own = make.added("I like tabs", scope=Scope.USER)
    shared = make.added("tabs it is")
    assert make.load(own.id).person == store.person == reopen().person
    assert make.load(shared.id).person is None


def test_what_is_another_persons_is_not_seen(store, make):
    theirs = make.added("they like zebras", scope=Scope.USER, person=PersonId("somebody-else"))
    vector = make.embed_all().get(theirs.id)  # a store of several people takes it only from its owner
    assert store.memories.find(EVERYWHERE, EVERY) == []
    assert make.find("zebras", scope=EVERYWHERE) == []
    assert vector is None or make.near(vector) == []
    assert store.memories.complete_id(EVERYWHERE, "m") == []
    assert store.check().problems == ()


def test_a_mirror_tells_whose_a_memory_is(store, make, reopen):
    make.added("I like tabs", scope=Scope.USER)
    make.added("they like zebras", scope=Scope.USER, person=PersonId("somebody-else"))
    lines = [change.record for change in store.changes_since("m", 99)]
    owners = [line["memory"]["person"] for line in lines if "memory" in line]
    assert owners in ([store.person, "somebody-else"], [store.person])
    other = reopen("other home")
    other.replay(lines)
    assert other.memories.find(EVERYWHERE, EVERY) == []  # of two people who are not the one here


# --- numbered changes


def test_each_mirror_has_its_own_cursor(store, make):
    for body in ("one", "two", "three"):
        make.added(body)
    first = store.changes_since("files", 99)
    assert [change.record["change"] for change in first] == ["project", "add", "add", "add"]
    store.changes_taken("another", first[1].sequence)
    store.changes_taken("files", first[3].sequence)
    assert store.changes_since("files", 99) == []
    assert store.changes_since("another", 99) == first[2:]
    store.changes_taken("another", first[0].sequence)  # a cursor does not go back
    assert store.changes_since("another", 1) == first[2:3]
    store.changes_taken("another", first[3].sequence)
    assert store.changes_since("a third", 99) == []  # what all had is gone


def test_changes_are_numbered_and_their_clock_only_goes_on(store, make):
    memory = make.added("one")
    store.memories.update(replace(memory, pinned=True))
    store.memories.erase([memory.id])
    changes = store.changes_since("m", 99)
    numbers, clocks = [item.sequence for item in changes], [item.clock for item in changes]
    assert numbers == sorted(set(numbers))
    assert clocks == sorted(clocks)
    assert len(set(clocks)) > 1
    assert len({item.home for item in changes}) == 1


def test_a_rebuilt_store_counts_on_behind_the_one_that_was_lost(store, make, reopen):
    make.added("one")
    changes = store.changes_since("m", 99)
    late = [{"sequence": item.sequence, "home": item.home, "clock": FAR, **item.record} for item in changes]
    rebuilt = reopen("rebuilt")
    rebuilt.replay(late)
    rebuilt.memories.update(replace(make.load("m0001"), pinned=True))
    [change] = rebuilt.changes_since("m", 99)
    assert change.sequence > changes[-1].sequence
    assert change.clock > FAR


@pytest.mark.parametrize("line", [{"memory": {}}, {"memory": {"id": "x"}}, {"project": {"id": 1}}])
def test_a_line_that_is_no_record_is_refused_as_a_whole(store, make, line):
    make.added("one")
    with pytest.raises(InvalidInput):
        store.replay([line])
    assert [item.id for item in store.memories.find(make.scope, EVERY)] == ["m0001"]


# --- in use


def test_somebody_is_told_of_every_commit(store, make):
    told = []
    store.transactions.after_write = lambda: told.append(1)
    memory = make.added("one")
    store.memories.update(replace(memory, pinned=True))
    store.stats()
    assert len(told) == 2


def test_who_is_in_a_hurry_still_writes(store, make):
    with store.transactions.hurried(1):
        make.added("one")
    assert store.stats(make.project).memories == {"note": 1}


def test_counts_are_of_one_project_or_of_all(store, make, make_in):
    make.added("one", session="s1")
    make.embed_all()
    store.archive.add(events=[make.event("e1")])
    make_in(store, "/srv/other").added("two", id="theirs")
    everything, own = store.stats(), store.stats(make.project)
    assert (own.projects, own.events, own.sessions, own.passages, own.vectors) == (1, 1, 1, 1, {"model-a": 1})
    assert (everything.projects, everything.memories, everything.passages) == (2, {"note": 2}, 2)
    assert everything.size_bytes > 0
    assert own.oldest == own.newest == make.load("m0001").created_at


def test_a_copy_is_a_store_with_the_same_answers(store, make, tmp_path):
    memory = make.added("zebra", scope=Scope.USER)
    make.embed_all()
    version = store.export(tmp_path / "copy" / "memory.db")
    make.added("later")
    copy = open_store(tmp_path / "copy", Settings())
    assert copy.memories.find(EVERYWHERE, EVERY) == [make.load(memory.id)]
    assert (copy.person, copy.projects()) == (store.person, store.projects())
    assert copy.stats().schema_version == version
    assert copy.check() == copy.check()._replace(problems=(), memories=1, passages=1)
    copy.close()


def test_another_process_sees_and_adds(store, make, reopen, tmp_path):
    make.added("zebra")
    script = (
        "import sys; from pathlib import Path; from dataclasses import replace;"
        "from claude_memory.model import MemoryFilter, SearchScope; from claude_memory.settings import Settings;"
        "from claude_memory.store import open_store; store = open_store(Path(sys.argv[1]), Settings(store=sys.argv[2]));"
        "[memory] = store.memories.find(SearchScope(None), MemoryFilter());"
        "store.memories.add([replace(memory, id='theirs', body='lion')]); store.close()"
    )
    subprocess.run(
        [sys.executable, "-c", script, tmp_path / "home", reopen.setting()], check=True, timeout=60
    )
    assert make.find("lion") == ["theirs"]


def test_a_closed_store_says_so(store, make):
    make.added("one")
    failed = []
    store.close()

    def look():
        try:
            store.memories.find(make.scope, EVERY)
        except StoreFault as fault:
            failed.append(str(fault))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert failed == ["the store is closed"]
