"""Conversations: every message once, found by its words, understood from front to end, in its project only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from claude_memory.model import EventId, EventKind, Kind, MemoryFilter, SearchScope, Status, Trust
from claude_memory.store.model import (
    ConversationFilter,
    EventFilter,
    ImportFile,
    MadeRoom,
    NewMessage,
    Understood,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERYWHERE = SearchScope(None)
HOSTILE = ['"', "NEAR(", "a AND b", "*", "\x00", "漢字", "🙂", "\ud800", "x" * 10_000, "' OR 1=1 --", ""]


def message(text, key, minutes=0, **changed):
    values = {"session": "s1", "agent": "claude-code", "role": "user", "cwd": "/srv/app", **changed}
    return NewMessage(at=NOON + timedelta(minutes=minutes), text=text, keys=(key,), **values)


@pytest.fixture
def keep(store, make):
    """Archives messages in the project of `make`, or of another folder."""

    def add(*messages, **more):
        projects = {"/srv/app": make.project, "/srv/app/sub": make.project, **more.pop("projects", {})}
        return store.archive.add(messages, projects, **more)

    return add


def only(store, scope=EVERYWHERE, **wanted):
    [conversation] = store.archive.conversations(scope, **wanted)
    return conversation


def texts(messages):
    return [item.text for item in messages]


def test_a_message_comes_back_as_it_was_and_is_kept_once(store, make, keep):
    long = "stack trace " * 500
    told = message("run the tests", 1, branch="main", speaker="person", manner="typed", path="/t.jsonl")
    failed = message(long, 2, 1, role="result", tool="Bash", call="c1", failed=True, event=make.event("e1"))
    assert keep(told, failed).messages == 2
    again = keep(told, failed)
    assert (again.messages, again.duplicates, again.sessions) == (0, 2, 0)
    conversation = only(store)
    assert (conversation.title, conversation.messages, conversation.branch) == ("run the tests", 2, "main")
    assert (conversation.first, conversation.last) == (NOON, NOON + timedelta(minutes=1))
    first, second = store.archive.messages(conversation.number)
    assert (first.text, first.speaker, first.manner, first.ordinal) == ("run the tests", "person", "typed", 1)
    assert (second.text, second.tool, second.call, second.failed) == (long, "Bash", "c1", True)
    assert texts(store.archive.of_events([EventId("e1"), EventId("nobody")])) == [long]
    assert [event.id for event in store.archive.events(make.scope, EventFilter(), limit=9)] == ["e1"]


def test_a_copy_goes_on_from_what_it_copied(store, keep):
    keep(message("one", 1), message("two", 2, 1))
    done = keep(message("one", 1, session="s2"), message("three", 3, 2, session="s2"))
    assert (done.messages, done.duplicates, done.sessions) == (1, 1, 1)
    copied = only(store, prefix="s2")
    assert (copied.continues, texts(store.archive.messages(copied.number))) == ("s1", ["three"])


def test_a_range_of_messages(store, keep):
    keep(*(message(f"turn {n}", n, n) for n in range(1, 7)))
    number = only(store).number
    assert texts(store.archive.messages(number, first=2, last=4)) == ["turn 2", "turn 3", "turn 4"]
    assert store.archive.messages(999) == []


def test_conversations_by_folder_agent_time_id_and_number(store, make, keep):
    keep(message("a", 1), message("b", 2, 60, session="t1", agent="codex", cwd="/srv/app/sub"))
    archive = store.archive

    def sessions(within=None, **more):
        return [
            item.session for item in archive.conversations(make.scope, within or ConversationFilter(), **more)
        ]

    assert sessions() == ["t1", "s1"]
    assert sessions(limit=1) == ["t1"]
    assert sessions(prefix="s") == ["s1"]
    assert sessions(ConversationFilter(agent="codex")) == ["t1"]
    assert sessions(ConversationFilter(folder="/srv/app")) == ["t1", "s1"]
    assert sessions(ConversationFilter(folder="/srv/app/sub")) == ["t1"]
    assert sessions(ConversationFilter(folder="/srv/ap")) == []
    assert sessions(ConversationFilter(since=NOON + timedelta(minutes=30))) == ["t1"]
    assert sessions(ConversationFilter(until=NOON + timedelta(minutes=30))) == ["s1"]
    assert [item.session for item in archive.by_sessions(EVERYWHERE, ["s1", "t1", "x"])] == ["t1", "s1"]
    numbers = [only(store, prefix=name).number for name in ("s1", "t1")]
    assert [item.number for item in archive.by_numbers([*numbers, 99])] == numbers
    assert archive.agents() == ["claude-code", "codex"]


def test_nothing_of_one_project_reaches_another(store, make, make_in, keep):
    theirs = make_in(store, "/srv/theirs")
    keep(message("zanzibar", 1))
    other = SearchScope((theirs.project,))
    archive = store.archive
    assert archive.conversations(other) == []
    assert archive.by_sessions(other, ["s1"]) == []
    assert archive.session_ids(other, "s") == []
    assert archive.candidates(other, ["zanzibar"], 9) == []
    assert archive.matching(other, ["zanzibar"], ConversationFilter(), lambda _: True, limit=9, depth=9) == []
    assert archive.session_ids(make.scope, "s") == ["s1"]
    assert texts(archive.candidates(make.scope, ["zanzibar"], 9)) == ["zanzibar"]


def test_messages_are_found_by_their_rarest_words(store, make, keep):
    keep(*(message(f"common word{n} tail", n, n) for n in range(1, 9)))
    keep(message("common rare pearl", 20, 20), message("pearl of wisdom", 21, 21))
    archive = store.archive
    assert texts(archive.candidates(make.scope, ["common", "pearl"], 2)) == [
        "common rare pearl",
        "pearl of wisdom",
    ]
    accepted = archive.matching(
        make.scope, ["common"], ConversationFilter(), lambda text: "3" in text, limit=5, depth=50
    )
    assert texts(accepted) == ["common word3 tail"]
    total, counts = archive.word_counts(["common", "PEARL", "absent"])
    assert (total, counts) == (10, {"common": 9, "pearl": 2, "absent": 0})
    assert archive.words_beginning("pea", 5) == ["pearl"]


def test_messages_by_their_role_and_whether_they_failed(store, make, keep):
    keep(message("pearl", 1), message("pearl broke", 2, 1, role="result", failed=True))
    for within, expected in (
        (ConversationFilter(roles=("user",)), ["pearl"]),
        (ConversationFilter(failed=True), ["pearl broke"]),
        (ConversationFilter(roles=("user",), failed=True), []),
    ):
        assert texts(store.archive.candidates(make.scope, ["pearl"], 9, within)) == expected


@pytest.mark.parametrize("words", HOSTILE)
def test_no_words_make_a_question_fail(store, make, keep, words):
    keep(message(words, 1))
    archive = store.archive
    archive.candidates(make.scope, [words], 9)
    archive.matching(make.scope, [words], ConversationFilter(), lambda _: True, limit=9, depth=9)
    archive.word_counts([words])
    archive.words_beginning(words, 9)
    archive.conversations(make.scope, ConversationFilter(agent=words, folder=words), prefix=words)
    archive.by_sessions(make.scope, [words])
    assert store.check().problems == ()


def test_how_far_files_were_read_is_kept_with_the_messages(store, keep):
    read = ImportFile("/t.jsonl", "codex", 2**63 + 5, 10, 20, 10, "head", "tail", 1, {"turn": 3})
    keep(message("a", 1), files=[read])
    assert store.archive.files() == [read]
    assert store.archive.totals() == {"conversations": 1, "messages": 1, "files": 1}


def exchange(make, first, last, body, **changed):
    memory = make.memory(
        body, kind=Kind.OBSERVATION, session="s1", provenance={"source": "exchange"}, **changed
    )
    return Understood(memory, first, last, {"request": body})


def test_what_was_understood_replaces_what_was_understood_before(store, make, keep):
    keep(*(message(f"turn {n}", n, n) for n in range(1, 5)))
    archive = store.archive
    [waiting] = archive.waiting(9)
    old, grown = exchange(make, 1, 2, "first"), exchange(make, 3, 4, "second")
    assert archive.understood(waiting.number, 4, [old, grown], record={"title": "A session"}) == 2
    assert archive.waiting(9) == []
    assert [(first, last) for _, first, last, _ in archive.exchanges(waiting.number)] == [(1, 2), (3, 4)]
    assert archive.exchanges_at([(waiting.number, 4), (waiting.number, 9), (99, 1)]) == [
        (grown.memory.id, waiting.number, 3, 4, {"request": "second"}),
        None,
        None,
    ]
    assert archive.exchange_parts([old.memory.id, "nobody"]) == {old.memory.id: {"request": "first"}}
    [(conversation, record)] = archive.session_records(make.scope, 9)
    assert (conversation.title, record) == ("A session", {"title": "A session"})

    keep(message("turn 5", 5, 5))
    assert [item.number for item in archive.waiting(9)] == [waiting.number]
    anew = exchange(make, 3, 5, "second, and more")
    assert archive.understood(waiting.number, 5, [anew], since=3) == 1
    kept = [id_ for id_, *_ in archive.exchanges(waiting.number)]
    assert kept == [old.memory.id, anew.memory.id]
    assert make.load(grown.memory.id) is None
    assert store.check().problems == ()


def test_what_a_person_forgot_or_rejected_stays_so(store, make, keep):
    keep(message("turn 1", 1))
    [waiting] = store.archive.waiting(9)
    shown = exchange(make, 1, 1, "first")
    proposal = make.memory("use tabs", status=Status.PROPOSED)
    store.archive.understood(waiting.number, 1, [shown], memories=[proposal])
    hidden = make.load(shown.memory.id)
    store.memories.update(replace(hidden, status=Status.FORGOTTEN, forgotten_at=NOON))
    assert store.lifecycle.reject([proposal.id]) == 1
    assert store.archive.understood(waiting.number, 1, [shown], memories=[proposal]) == 0
    assert make.load(shown.memory.id).status is Status.FORGOTTEN
    assert store.memories.find(make.scope, MemoryFilter(), ids=[proposal.id]) == []


def test_a_session_is_asked_about_once_until_it_grows(store, keep):
    keep(message("turn 1", 1))
    archive = store.archive
    number = only(store).number
    later = NOON + timedelta(days=1)
    assert archive.unasked(before=later, limit=9) == []  # not understood yet
    archive.understood(number, 1, [])
    assert [item.number for item in archive.unasked(before=later, limit=9)] == [number]
    assert archive.unasked(before=NOON, limit=9) == []
    archive.asked(number, 1)
    assert archive.unasked(before=later, limit=9) == []


def test_how_far_an_upgrade_is_can_be_noted(store, reopen):
    assert store.archive.upgrade_stage() == 0
    store.archive.reach_upgrade_stage(2)
    assert reopen().archive.upgrade_stage() == 2
    store.archive.reach_upgrade_stage(0)
    assert store.archive.upgrade_stage() == 0


def test_room_is_made_of_tool_output_then_messages_then_exchanges_but_never_of_memories(store, make, keep):
    output = message(
        "output " * 9, 2, 1, role="result", tool="Bash", event=make.event("e1", kind=EventKind.TOOL_USE)
    )
    keep(message("what was asked", 1), output)
    number = only(store).number
    exchange = make.memory("what was asked and answered", kind=Kind.OBSERVATION, trust=Trust.AGENT)
    store.archive.understood(number, 2, [Understood(exchange, 1, 2, {})])
    typed = make.added("what a person typed", trust=Trust.USER)
    assert store.archive.make_room(1 << 40) == MadeRoom()
    assert store.archive.make_room(1) == MadeRoom(tool_outputs=2, messages=1, exchanges=1)
    assert texts(store.archive.messages(number)) == ["", ""]
    assert store.archive.events(make.scope, EventFilter(), limit=9) == []
    assert (make.load(exchange.id), make.load(typed.id)) == (None, typed)
    assert keep(output).messages == 0, "what went does not come back"
    assert store.check().problems == ()
