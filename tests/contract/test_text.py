"""Words find what holds them, what stands beside it, and the day it is from."""

from dataclasses import replace
from datetime import UTC, datetime

from claude_memory.model import Kind, MemoryFilter, Status
from claude_memory.text import words as text


def passage(store, make, memory):
    terms = dict.fromkeys(text.index_terms(memory.body), 1.0)
    found = store.memories.text_candidates(make.scope, MemoryFilter(), terms, 10_000)
    return next(one for one in store.memories.passages(found) if one.memory == memory.id)


def turns(make, *bodies, session="s1"):
    memories = [make.memory(body, session=session, title="") for body in bodies]
    make.store.memories.add(memories)
    return memories


def test_any_term_finds_and_more_terms_rank_higher(make):
    both = make.added("zebra giraffe")
    one = make.added("zebra horse")
    make.added("lion")
    assert make.find("giraffe zebra") == [both.id, one.id]


def test_the_rarer_word_decides(store, make):
    store.memories.add([make.memory("common words here") for _ in range(50)])
    rare = make.added("unicorn words here")
    assert make.find("common unicorn", limit=1) == [rare.id]


def test_weights_shift_the_order(store, make):
    zebra, lion = make.added("zebra"), make.added("lion")

    def order(weights):
        found = store.memories.text_candidates(make.scope, MemoryFilter(), weights, 9)
        return [one.memory for one in store.memories.passages(found)]

    assert order({"zebra": 2.0, "lion": 1.0}) == [zebra.id, lion.id]
    assert order({"zebra": 1.0, "lion": 2.0}) == [lion.id, zebra.id]


def test_a_word_in_every_memory_still_finds(store, make):
    store.memories.add([make.memory("everywhere") for _ in range(20)])
    assert len(make.find("everywhere")) == 20


def test_identifiers_signs_and_scripts(make):
    names = [
        "parseHttpRequest()",
        "C++ templates",
        "src/auth/token.py",
        "日本語の設定",
        "naïve café",
        "v2.10.3",
    ]
    ids = {name: make.added(name, title="").id for name in names}
    for query, name in [
        ("http request", names[0]),
        ("parseHttpRequest", names[0]),
        ("c++", names[1]),
        ("token.py", names[2]),
        ("設定", names[3]),
        ("café", names[4]),
        ("v2.10.3", names[5]),
    ]:
        assert make.find(query)[:1] == [ids[name]], query


def test_the_end_of_a_long_memory_is_found_with_its_title(store, make):
    long = make.added("filler text. " * 2000 + "zanzibar", title="Deployment plan")
    make.added("filler text")
    assert make.find("zanzibar") == [long.id]
    [last] = store.memories.passages(
        store.memories.text_candidates(make.scope, MemoryFilter(), {"zanzibar": 1.0}, 9)
    )
    assert last.ordinal > 0
    assert last.text.endswith("zanzibar")
    assert last.own[:2] == ("deploy", "plan")


def test_passages_leave_nothing_out(store, make):
    body = " ".join(f"word{number}" for number in range(3000))
    make.added(body, title="t")
    found = sorted(store.memories.unembedded("model-a", 99), key=lambda one: one.ordinal)
    rebuilt = ""
    for one in found:
        overlap = next(size for size in range(len(one.text), -1, -1) if rebuilt.endswith(one.text[:size]))
        rebuilt += one.text[overlap:]
    assert rebuilt == f"t\n{body}"


def test_neighbours_of_a_session_lend_their_words(store, make):
    memories = turns(make, "alpha", "bravo", "charlie", "delta", "echo")
    middle = passage(store, make, memories[2])
    assert (middle.own, middle.near, middle.far) == (("charli",), ("bravo", "delta"), ("alpha", "echo"))
    assert passage(store, make, memories[0]).near == ("bravo",)


def test_one_by_one_or_at_once_gives_the_same_neighbours(store, make):
    bodies = [f"w{number}x" for number in range(12)]
    at_once = turns(make, *bodies, session="batch")
    shuffled = [make.memory(body, session="single", title="") for body in bodies]
    for memory in [*shuffled[::2], *reversed(shuffled[1::2])]:
        store.memories.add([memory])
    for one, other in zip(at_once, shuffled, strict=True):
        a, b = passage(store, make, one), passage(store, make, other)
        assert (a.own, a.near, a.far) == (b.own, b.near, b.far)
    assert store.check().problems == ()


def test_memories_without_session_have_no_neighbours(store, make):
    turns(make, "alpha", "bravo", session=None)
    turns(make, "charlie", session="s1")
    [found] = make.find("alpha")
    assert make.find("bravo") != [found]


def test_exchanges_and_summaries_speak_for_themselves(store, make):
    first, exchange, second = (
        make.memory(body, session="s1", kind=kind, title="")
        for body, kind in (("alpha", Kind.FACT), ("bravo", Kind.OBSERVATION), ("charlie", Kind.FACT))
    )
    store.memories.add([first, exchange, second])
    assert passage(store, make, exchange).near == ()
    assert passage(store, make, first).near == ("charli",)
    assert store.check().problems == ()


def test_neighbours_close_up_when_one_is_forgotten_and_open_when_it_returns(store, make):
    memories = turns(make, "alpha", "bravo", "charlie")
    store.memories.update(replace(memories[1], status=Status.FORGOTTEN, forgotten_at=memories[1].created_at))
    assert passage(store, make, memories[0]).near == ("charli",)
    store.memories.update(memories[1])
    assert passage(store, make, memories[0]).near == ("bravo",)
    assert passage(store, make, memories[0]).far == ("charli",)


def test_the_last_one_forgotten_leaves_no_word_behind(store, make):
    memories = turns(make, "alpha", "bravo")
    store.memories.update(replace(memories[1], status=Status.FORGOTTEN, forgotten_at=memories[1].created_at))
    assert make.find("bravo") == []


def test_a_memory_that_changes_tells_its_neighbours(store, make):
    memories = turns(make, "alpha", "bravo", "charlie")
    store.memories.update(replace(memories[1], body="tango"))
    assert passage(store, make, memories[2]).near == ("tango",)
    store.memories.update(replace(memories[1], body="tango", session="s2"))
    assert passage(store, make, memories[2]).near == ("alpha",)
    assert store.check().problems == ()


def test_the_month_and_year_find_what_is_from_then(make):
    make.added("release notes", created_at=datetime(2025, 4, 2, tzinfo=UTC))
    june = make.added("release notes", created_at=datetime(2025, 6, 2, tzinfo=UTC))
    assert make.find("June", limit=1) == [june.id]


def test_statistics_are_exact_and_follow_every_change(store, make):
    memories = turns(make, "alpha bravo", "bravo", "charlie")
    counted = store.memories.term_statistics(make.scope, ["alpha", "bravo", "nothing"])
    assert counted.passages == 3
    assert counted.document_frequency == {"alpha": 3, "bravo": 3, "nothing": 0}
    # own + near + half of far: 2+1+.5, 1+3, 1+1+1
    assert counted.mean_length == (3.5 + 4 + 3) / 3
    store.memories.erase([memory.id for memory in memories])
    emptied = store.memories.term_statistics(make.scope, ["alpha"])
    assert (emptied.passages, emptied.mean_length, emptied.document_frequency) == (0, 0.0, {"alpha": 0})


def test_no_terms_or_no_limit_give_nothing(store, make):
    make.added("alpha")
    assert store.memories.text_candidates(make.scope, MemoryFilter(), {}, 10) == []
    assert store.memories.text_candidates(make.scope, MemoryFilter(), {"alpha": 1.0}, 0) == []


def test_ten_thousand_terms_are_no_error(store, make):
    memory = make.added("alpha")
    terms = {"alpha": 1.0} | {f"t{number}": 1.0 for number in range(10_000)}
    found = store.memories.text_candidates(make.scope, MemoryFilter(), terms, 10)
    assert [one.memory for one in store.memories.passages(found)] == [memory.id]
