"""Draining moves every captured event into the store once, and takes nothing away before it is there."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_memory.capture import drain as drain_module
from claude_memory.capture.drain import BATCH_EVENTS, Drained, Spool, SpooledFile, drain
from claude_memory.errors import StoreBusy
from claude_memory.model import Event, Kind, MemoryFilter, SearchScope
from claude_memory.platform import logs
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.model import Archived, EventFilter, Message
from claude_memory.store.sql.archive import Archive

NOW = datetime.now(UTC)
EVERYWHERE = SearchScope(None)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store(home, Settings())
    yield opened
    opened.close()


class Watched:
    """The real store, with a look at every batch and a chance to interfere before it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.sizes: list[int] = []
        self.before = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    @property
    def archive(self) -> WatchedArchive:
        return WatchedArchive(self, self.store.archive)


class WatchedArchive:
    """The real archive behind a watched store."""

    def __init__(self, watched: Watched, archive: Archive) -> None:
        self.watched, self.archive = watched, archive

    def __getattr__(self, name: str) -> Any:
        return getattr(self.archive, name)

    def add(self, *batch: Any, events: Sequence[Event] = ()) -> Archived:
        self.watched.before()
        self.watched.sizes.append(len(events))
        return self.archive.add(*batch, events=events)


def put(home: Path, number: int, **more: Any) -> Path:
    payload = {
        "session_id": "s1",
        "cwd": str(home.parent),
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": f"p{number}",
        "prompt": f"Please look at invoice number {number}",
        **more,
    }
    return Spool(home).put("UserPromptSubmit", json.dumps(payload).encode())


def run(home: Path, store: Any, **more: Any) -> Drained:
    return drain(home, store, more.pop("settings", Settings()), now=more.pop("now", NOW), **more)


def stored(store: Store) -> list[Event]:
    return store.archive.events(EVERYWHERE, EventFilter(), limit=100_000)


def messages(store: Store) -> list[Message]:
    archive = store.archive
    return [one for found in archive.conversations(EVERYWHERE) for one in archive.messages(found.number)]


def every_byte(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_captured_prompt_becomes_an_event_a_message_and_an_exchange(home: Path, store: Store) -> None:
    put(home, 1)
    assert run(home, store) == Drained(events=1, memories=2)  # the exchange, and its session's record
    [event] = stored(store)
    [message] = messages(store)
    [exchange] = store.memories.find(EVERYWHERE, MemoryFilter(kinds=(Kind.OBSERVATION,)))
    assert event.payload["prompt"] == message.text == "Please look at invoice number 1"
    assert message.event == event.id
    assert message.text in exchange.body
    assert exchange.provenance["messages"] == [1, 1]
    assert event.project == store.project_for(identity_of(home.parent)).id
    assert Spool(home).depth().count == 0


def identity_of(folder: Path) -> Any:
    from claude_memory.platform import project

    return project.identify(folder)


def test_a_home_without_a_spool_is_left_as_it_is(tmp_path: Path, store: Store) -> None:
    assert run(tmp_path / "nowhere", store) == Drained()
    assert not (tmp_path / "nowhere").exists()


def test_the_same_event_reported_twice_is_stored_once(home: Path, store: Store) -> None:
    put(home, 1)
    put(home, 1, session_id="a fork")
    assert run(home, store) == Drained(events=1, memories=2, duplicates=1)
    put(home, 1)
    assert run(home, store) == Drained(duplicates=1)
    assert len(stored(store)) == 1


def test_a_crash_between_commit_and_unlink_stores_each_event_once(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        put(home, number)
    with monkeypatch.context() as patch:
        patch.setattr(Spool, "remove", crash)
        with pytest.raises(KeyboardInterrupt):
            run(home, store)
    assert len(stored(store)) == len(messages(store)) == Spool(home).depth().count == 5
    assert run(home, store) == Drained(duplicates=5, memories=2)  # unanswered prompts are one exchange
    assert len(stored(store)) == len(messages(store)) == 5
    put(home, 4)
    assert run(home, store) == Drained(duplicates=1)


def crash(*_: object) -> None:
    raise KeyboardInterrupt


def test_nothing_is_unlinked_before_the_commit(home: Path, store: Store) -> None:
    put(home, 1)
    watched = Watched(store)
    watched.before = crash
    with pytest.raises(KeyboardInterrupt):
        run(home, watched)
    assert Spool(home).depth().count == 1


def test_a_busy_store_ends_the_drain_and_keeps_everything(home: Path, store: Store) -> None:
    put(home, 1)
    watched = Watched(store)

    def busy() -> None:
        raise StoreBusy("another process writes")

    watched.before = busy
    assert run(home, watched) == Drained(remaining=1, busy=True)
    assert run(home, store) == Drained(events=1, memories=2)


def test_whoever_finds_the_drain_taken_does_not_wait(home: Path, store: Store) -> None:
    put(home, 1)
    with Spool(home).lock() as mine:
        assert mine
        assert run(home, store) == Drained(remaining=1, busy=True)


def test_batches_hold_at_most_five_hundred_oldest_first(home: Path, store: Store) -> None:
    count = BATCH_EVENTS + 20
    for number in range(count):
        put(home, number)
    watched = Watched(store)
    assert run(home, watched).events == count
    assert watched.sizes == [BATCH_EVENTS, 20]
    times = [
        event.timestamp
        for event in store.archive.events(EVERYWHERE, EventFilter(), limit=count, newest_first=False)
    ]
    assert times == sorted(times)


def test_a_spent_budget_leaves_the_rest_but_makes_progress(home: Path, store: Store) -> None:
    for number in range(3):
        put(home, number)
    assert run(home, store, budget_seconds=0) == Drained(events=1, remaining=2, waiting=1)
    assert run(home, store, budget_seconds=0).remaining == 1
    assert run(home, store) == Drained(events=1, memories=2)


def test_what_arrives_during_a_drain_is_drained_too(home: Path, store: Store) -> None:
    put(home, 1)
    watched = Watched(store)
    late = iter([2, 3])

    def arrive() -> None:
        for number in late:
            put(home, number)
            break

    watched.before = arrive
    assert run(home, watched).events == 3


def test_what_arrives_while_unlocking_is_not_left_behind(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, late = Spool.lock, [2]

    @contextlib.contextmanager
    def lock_then_arrive(spool: Spool) -> Iterator[bool]:
        with lock(spool) as mine:
            yield mine
            if late:
                put(home, late.pop())

    monkeypatch.setattr(Spool, "lock", lock_then_arrive)
    put(home, 1)
    assert run(home, store).events == 2
    assert len(messages(store)) == 2


BAD = {
    "empty": b"",
    "broken": b'{"prompt": "' + TOKEN.encode(),
    "list": b'["' + TOKEN.encode() + b'"]',
    "binary": b"\xff\xfe\x00" * 9 + TOKEN.encode(),
    "deep": b'{"a":' * 50_000 + b'"' + TOKEN.encode() + b'"' + b"}" * 50_000,
    "huge integer": b'{"t":"' + TOKEN.encode() + b'","a":' + b"9" * 5000 + b"}",
    "private": b'["<private>' + TOKEN.encode(),
    "escaped": b'["\\u003cprivate\\u003ewords only for me\\u003c/private\\u003e"',
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_event_is_rejected_with_a_reason_and_redacted(home: Path, store: Store, name: str) -> None:
    path = Spool(home).put("PostToolUse", BAD[name])
    put(home, 1)
    assert run(home, store) == Drained(events=1, memories=2, rejected=1)
    assert (Spool(home).rejected / f"{path.name}.reason").read_text().strip()
    assert (Spool(home).rejected / path.name).exists()
    for secret in (TOKEN.encode(), b"words only for me"):
        assert secret not in every_byte(home)


def test_surrogates_are_stored_not_rejected(home: Path, store: Store) -> None:
    raw = b'{"hook_event_name":"UserPromptSubmit","prompt":"three words \\ud83d here","cwd":"/x\\udc00"}'
    Spool(home).put("UserPromptSubmit", raw)
    assert run(home, store) == Drained(events=1, memories=2)
    assert stored(store)[0].payload["prompt"] == "three words \ufffd here"


def test_what_names_no_session_is_found_as_well(home: Path, store: Store) -> None:
    shared = {"cwd": str(home.parent), "session_id": None, "prompt_id": None}
    put(home, 1, **shared)
    reply = {"hook_event_name": "Stop", "last_assistant_message": "Invoice number 1 was paid.", **shared}
    put(home, 2, **reply)
    assert run(home, store) == Drained(events=2, memories=2)
    [exchange] = store.memories.find(EVERYWHERE, MemoryFilter(kinds=(Kind.OBSERVATION,)))
    assert "Please look at invoice number 1" in exchange.body
    assert "was paid" in exchange.body
    assert {event.session for event in stored(store)} == {None}


def test_an_oversized_file_is_rejected_and_only_its_redacted_head_kept(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_memory.capture import parse

    monkeypatch.setattr(parse, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(drain_module, "KEPT_REJECTED", 1 << 16)
    head = (1 << 16) - 20  # the token lies across the cut
    path = Spool(home).put("Stop", b'{"a": "' + b"x" * (head - 7) + TOKEN.encode() + b"x" * (2 << 20))
    assert run(home, store).rejected == 1
    kept = (Spool(home).rejected / path.name).read_bytes()
    assert 0 < len(kept) < 1 << 16
    assert TOKEN[:16].encode() not in every_byte(home)


def test_names_no_hook_made_are_rejected(home: Path, store: Store) -> None:
    put(home, 1)
    (Spool(home).new / "stray.txt").write_text(f"token {TOKEN}")
    assert run(home, store) == Drained(events=1, memories=2, rejected=1)
    assert TOKEN.encode() not in every_byte(home)


def test_a_link_in_the_spool_is_not_followed(home: Path, store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"prompt": "not meant for you"}')
    path = put(home, 1)
    path.unlink()
    path.symlink_to(outside)
    assert run(home, store) == Drained(rejected=1)
    assert outside.exists()
    assert b"not meant for you" not in every_byte(home)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["1-1700000000000000000-7-ab-Stop-codex.json", "pipe"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_holds_up_no_drain(
    home: Path, store: Store, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, 1)
    if kind == "pipe":
        os.mkfifo(Spool(home).new / name)
    else:
        monkeypatch.chdir(Spool(home).new)  # a socket's path may not be long
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
            bound.bind(name)
    os.mkfifo(Spool(home).temporary / "pipe")
    os.utime(Spool(home).temporary / "pipe", (1, 1))
    assert run(home, store).rejected == 1
    assert len(stored(store)) == 1
    assert Spool(home).depth().count == 0
    assert list(Spool(home).temporary.iterdir()) == []


def test_a_full_spool_is_looked_through_no_longer_than_the_budget(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is asked while names are read, and something is drained all the same."""
    put(home, 1)
    for number in range(3000):
        (Spool(home).new / f"1-17000000000{number:08}-7-ab-Stop-codex.json").touch()
    looked: list[str] = []
    whole = drain_module._spooled

    def counted(entry: os.DirEntry[str]) -> SpooledFile | None:
        looked.append(entry.name)
        return whole(entry)

    monkeypatch.setattr(drain_module, "_spooled", counted)
    done = run(home, store, budget_seconds=0)
    assert done.events + done.rejected == 1
    assert done.remaining == 1000  # not counted any further
    assert len(looked) < 2000


def test_a_capture_is_not_swept_while_its_hook_lives(home: Path, store: Store) -> None:
    """A clock that jumped by a year makes every file look old."""
    put(home, 1)
    mine = Spool(home).temporary / f"1-1700000000000000000-{os.getpid()}-ab-Stop-codex.json"
    dead = Spool(home).temporary / "1-1700000000000000000-4194305-ab-Stop-codex.json"
    for path in (mine, dead):
        path.write_bytes(b"half")
    run(home, store, now=NOW + timedelta(days=400))
    assert mine.exists()
    assert not dead.exists()


def test_a_newer_format_waits_for_a_newer_program(home: Path, store: Store) -> None:
    path = put(home, 1)
    newer = path.with_name(path.name.replace("1-", "2-", 1))
    path.rename(newer)
    put(home, 2)
    assert run(home, store) == Drained(events=1, memories=2)
    assert newer.exists()
    assert Spool(home).depth().newer == 1


def test_two_releases_of_the_hook_feed_one_store(home: Path, store: Store) -> None:
    for number in range(0, 20, 2):
        put(home, number)
        newer = put(home, number + 1)
        newer.rename(newer.with_name("2-" + newer.name[2:]))
        run(home, store)
    assert len(stored(store)) == 10
    assert Spool(home).depth().newer == 10


def test_a_file_that_cannot_be_rejected_stays_and_blocks_nobody(home: Path, store: Store) -> None:
    bad = Spool(home).put("Stop", b"{")
    put(home, 1)
    Spool(home).rejected.rmdir()
    Spool(home).rejected.write_text("a file where the folder should be")
    assert run(home, store) == Drained(events=1, memories=2, remaining=1)
    assert bad.exists()


def test_a_file_that_cannot_be_unlinked_does_not_keep_the_drain_busy(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, 1)
    monkeypatch.setattr(Spool, "remove", lambda *_: None)
    assert run(home, store) == Drained(events=1, memories=2, remaining=1)


def test_the_workers_of_a_compaction_leave_nothing(home: Path, store: Store) -> None:
    put(home, 1, hook_event_name="SubagentStop", agent_type="", agent_id="a")
    assert run(home, store) == Drained(ignored=1)
    assert stored(store) == []


@pytest.mark.parametrize("cwd", ["", None, 7, "/gone/for/ever", "relative/path", "C:\\shop", "/nul\0byte"])
def test_a_folder_that_is_gone_or_strange_still_has_a_project(home: Path, store: Store, cwd: object) -> None:
    put(home, 1, cwd=cwd)
    assert run(home, store).events == 1
    assert stored(store)[0].project


def test_private_files_are_stored_by_name_only(home: Path, store: Store) -> None:
    put(
        home,
        1,
        hook_event_name="PostToolUse",
        tool_name="Read",
        tool_use_id="t1",
        tool_input={"file_path": "/shop/.env"},
        tool_response={"content": "GREETING=nothing-secret-by-its-looks"},
    )
    assert run(home, store).events == 1
    assert stored(store)[0].payload["tool_input"] == {"file_path": "/shop/.env"}
    assert b"nothing-secret-by-its-looks" not in every_byte(home)


def test_a_projects_own_exclusions_hold_for_its_events_alone(
    home: Path, store: Store, tmp_path: Path
) -> None:
    for name, exclude in (("one", ["*.sql"]), ("two", [])):
        config = tmp_path / name / ".claude-memories" / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps({"exclude": exclude}))
        put(
            home,
            0,
            cwd=str(tmp_path / name),
            hook_event_name="PostToolUse",
            tool_use_id=name,
            tool_input={"file_path": "dump.sql"},
            tool_response="rows",
        )
    assert run(home, store).events == 2
    kept = {Path(event.cwd).name: "tool_response" in event.payload for event in stored(store)}
    assert kept == {"one": False, "two": True}


def test_no_secret_is_left_anywhere(home: Path, store: Store) -> None:
    logs.configure(home, Settings(log_level="debug"))
    try:
        put(home, 1, prompt=f"use {TOKEN} and <private>my salary", reason="my salary</private> is fine here")
        Spool(home).put("Stop", b'{"x": "' + TOKEN.encode())
        assert run(home, store).rejected == 1
    finally:
        logs.close()
    store.close()
    everything = every_byte(home)
    assert TOKEN.encode() not in everything
    assert b"my salary" not in everything


def test_what_a_dead_hook_left_is_removed_with_a_line_in_the_log(home: Path, store: Store) -> None:
    put(home, 1)
    half = Spool(home).temporary / "half"
    half.write_bytes(b"half a prompt")
    old = (NOW - timedelta(hours=2)).timestamp()
    os.utime(half, (old, old))
    logs.configure(home, Settings())
    try:
        run(home, store)
    finally:
        logs.close()
    assert not half.exists()
    assert "unfinished capture of 13 bytes" in (home / "logs" / "claude-memory.log").read_text()


def test_a_file_another_drainer_took_is_no_fault(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, 1)
    pending = Spool.pending
    gone = SpooledFile(Spool(home).new / "1-1-1-ab-Stop-codex.json", "Stop", "codex", NOW)
    monkeypatch.setattr(Spool, "pending", lambda spool, limit=None, **_: [gone, *pending(spool, limit)])
    assert run(home, store) == Drained(events=1, memories=2)
