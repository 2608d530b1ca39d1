"""The mirror: every change of a memory ends up in memories.jsonl, whatever crashes in between."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory.backup import mirror
from claude_memory.errors import Conflict, StoreFault
from claude_memory.platform import locks
from claude_memory.store.model import Change


class Ledger:
    """The change log of a store, and nothing else of it."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.mirrored = 0

    def record(
        self, body: str, *, id_: str | None = None, at: str = "2026-11-15T10:00:00+00:00", **more: object
    ):
        sequence = len(self.changes) + 1
        memory = {"id": id_ or f"m{sequence:012}", "body": body, **more}
        self.changes.append(
            Change(sequence, {"change": "added", "at": at, "memory": memory}, "home", sequence)
        )

    def tombstone(self, digest: str, at: str = "2026-11-15T10:00:00+00:00") -> None:
        record = {"change": "erased", "at": at, "tombstone": digest}
        number = len(self.changes) + 1
        self.changes.append(Change(number, record, "home", number))

    def changes_since(self, cursor: str, limit: int) -> list[Change]:
        return [change for change in self.changes if change.sequence > self.mirrored][:limit]

    def changes_taken(self, cursor: str, through: int) -> None:
        self.mirrored = max(self.mirrored, through)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def bodies(home: Path) -> list[str]:
    return [record["memory"]["body"] for record in mirror.read(home) if "memory" in record]


def names(home: Path) -> list[str]:
    return [path.name for path in mirror.paths(home)]


def test_every_change_is_appended_once_and_in_order(tmp_path: Path, ledger: Ledger) -> None:
    for number in range(mirror.BATCH * 2 + 7):
        ledger.record(f"note {number}")
    assert mirror.flush(tmp_path, ledger) == mirror.BATCH * 2 + 7
    assert mirror.flush(tmp_path, ledger) == 0
    ledger.record("later")
    assert mirror.flush(tmp_path, ledger) == 1
    assert bodies(tmp_path) == [*(f"note {number}" for number in range(mirror.BATCH * 2 + 7)), "later"]
    sequences = [record["sequence"] for record in mirror.read(tmp_path)]
    assert sequences == sorted(set(sequences))


def test_a_line_says_what_the_store_recorded(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("数据库 uses WAL\nand \u2028 odd \x00 characters", topics=["a", "b"])
    mirror.flush(tmp_path, ledger)
    raw = (tmp_path / mirror.CURRENT).read_bytes()
    assert raw.count(b"\n") == 1
    assert "数据库".encode() in raw
    told = {"sequence": 1, "home": "home", "clock": 1}
    assert list(mirror.read(tmp_path)) == [{**told, **ledger.changes[0].record}]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_only_the_owner_can_read_it(tmp_path: Path, ledger: Ledger) -> None:
    home = tmp_path / "home"
    ledger.record("private")
    mirror.flush(home, ledger)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}


def test_nothing_to_do_writes_nothing(tmp_path: Path, ledger: Ledger) -> None:
    assert mirror.flush(tmp_path / "home", ledger) == 0
    assert mirror.purge(tmp_path / "home", ["m1"]) == 0
    assert list(mirror.read(tmp_path / "home")) == []
    assert not (tmp_path / "home").exists()


def test_a_crash_before_the_store_knows_gives_the_line_twice_and_loses_none(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.record("one")

    def crash(cursor: str, through: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "changes_taken", crash)
        with pytest.raises(KeyboardInterrupt):
            mirror.flush(tmp_path, ledger)
    ledger.record("two")
    assert mirror.flush(tmp_path, ledger) == 2
    assert bodies(tmp_path) == ["one", "one", "two"]
    assert [record["sequence"] for record in mirror.read(tmp_path)] == [1, 1, 2]


@pytest.mark.parametrize("kept", [1, 5, 40, -1])
def test_a_torn_last_line_costs_that_line_only(tmp_path: Path, ledger: Ledger, kept: int) -> None:
    ledger.record("whole")
    ledger.record("torn")
    mirror.flush(tmp_path, ledger)
    path = tmp_path / mirror.CURRENT
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept])
    ledger.record("after")
    mirror.flush(tmp_path, ledger)
    unread: list[bytes] = []
    records = mirror.read(tmp_path, unread)
    found = [record["memory"]["body"] for record in records]
    whole_but_for_its_newline = kept == -1
    assert found == (["whole", "torn", "after"] if whole_but_for_its_newline else ["whole", "after"])
    assert len(unread) == (0 if whole_but_for_its_newline else 1)


def test_what_is_no_record_is_skipped_and_counted(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("good")
    mirror.flush(tmp_path, ledger)
    hostile = [
        b"not json",
        b'"a string"',
        b"[1]",
        b"\xff\xfe",
        b"\x00" * 50,
        b"[" * 100_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
        b'{"memory": {"body": "\\ud800"}}',
    ]
    with (tmp_path / mirror.CURRENT).open("ab") as handle:
        handle.write(b"\n".join([*hostile, b"", b"  "]) + b"\n")
    ledger.record("still read")
    mirror.flush(tmp_path, ledger)
    unread: list[bytes] = []
    records = mirror.read(tmp_path, unread)
    assert [record["memory"]["body"] for record in records] == ["good", "still read"]
    assert len(unread) == len(hostile)


def test_a_lone_surrogate_does_not_hold_up_later_changes(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("broken \ud800 emoji")
    ledger.record("fine 😀")
    assert mirror.flush(tmp_path, ledger) == 2
    assert bodies(tmp_path) == ["fine 😀"]


def flush_in(home: Path, ledger: Ledger, month: str, body: str) -> None:
    """Write one change as if the clock stood in that month."""
    moment = datetime.fromisoformat(f"{month}-03T12:00:00+00:00")
    ledger.record(body)
    mirror.flush(home, ledger, now=moment)
    os.utime(home / mirror.CURRENT, (moment.timestamp(), moment.timestamp()))


def test_the_first_change_of_a_month_starts_a_new_file(tmp_path: Path, ledger: Ledger) -> None:
    for month, body in [("09", "s1"), ("09", "s2"), ("10", "o"), ("12", "d")]:
        flush_in(tmp_path, ledger, f"2026-{month}", body)
    assert names(tmp_path) == ["memories-2026-09.jsonl", "memories-2026-10.jsonl", "memories.jsonl"]
    assert bodies(tmp_path) == ["s1", "s2", "o", "d"]


def test_changes_of_other_years_do_not_scatter_the_files(tmp_path: Path, ledger: Ledger) -> None:
    for year in (2023, 2026, 2019, 2031):
        ledger.record(str(year), at=f"{year}-01-01T00:00:00+00:00")
        mirror.flush(tmp_path, ledger)
    assert names(tmp_path) == ["memories.jsonl"]


def test_a_purge_does_not_shift_a_file_to_another_month(tmp_path: Path, ledger: Ledger) -> None:
    flush_in(tmp_path, ledger, "2026-09", "kept")
    ledger.record("gone", id_="m1")
    mirror.purge(tmp_path, ["m1"])
    flush_in(tmp_path, ledger, "2026-10", "new")
    assert names(tmp_path) == ["memories-2026-09.jsonl", "memories.jsonl"]


def test_a_clock_that_was_set_back_overwrites_nothing_and_keeps_the_order(
    tmp_path: Path, ledger: Ledger
) -> None:
    months = ["2027-01", "2027-02", "2026-03", *["2026-04", "2026-05"] * 12]
    for number, month in enumerate(months):
        flush_in(tmp_path, ledger, month, str(number))
        os.utime(tmp_path / mirror.CURRENT, (0, 0) if number % 3 else None)
    assert bodies(tmp_path) == [str(number) for number in range(len(months))]
    assert len(names(tmp_path)) > 10  # more than one digit counts


def test_a_full_disk_leaves_no_half_line_and_the_change_pending(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.record("kept")
    mirror.flush(tmp_path, ledger)
    before = (tmp_path / mirror.CURRENT).read_bytes()
    real_write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if len(content) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(descriptor, bytes(content)[: len(content) // 2])

    ledger.record("waits")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StoreFault, match="No space left"):
            mirror.flush(tmp_path, ledger)
    assert (tmp_path / mirror.CURRENT).read_bytes() == before
    assert mirror.flush(tmp_path, ledger) == 1
    assert bodies(tmp_path) == ["kept", "waits"]


def test_short_writes_are_finished(tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: real_write(descriptor, bytes(content)[:7]))
    ledger.record("a body longer than seven bytes")
    mirror.flush(tmp_path, ledger)
    assert bodies(tmp_path) == ["a body longer than seven bytes"]


def test_flush_does_not_wait_for_another_and_purge_waits_only_so_long(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "LOCK_WAIT_SECONDS", 0.05)
    ledger.record("mine", id_="m1")
    mirror.flush(tmp_path, ledger)
    ledger.record("next")
    with locks.try_lock(tmp_path / mirror.LOCK) as free:
        assert free
        assert mirror.flush(tmp_path, ledger) == 0
        with pytest.raises(Conflict):
            mirror.purge(tmp_path, ["m1"])
    assert mirror.flush(tmp_path, ledger) == 1


def test_purge_leaves_no_byte_of_the_erased_and_everything_else(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("the secret plan", id_="m0000000000aa")
    ledger.record("other", id_="m0000000000bb", supersedes="m0000000000aa")
    mirror.flush(tmp_path, ledger)
    os.utime(tmp_path / mirror.CURRENT, (0, 0))
    ledger.record("the secret plan, revised", id_="m0000000000aa")
    ledger.changes.append(
        Change(4, {"change": "forgot", "at": "2026-10-01T00:00:00+00:00", "id": "m0000000000aa"}, "home", 4)
    )
    ledger.tombstone("feed" * 8)
    mirror.flush(tmp_path, ledger)
    with (tmp_path / mirror.CURRENT).open("ab") as handle:
        handle.write(b'{"memory": {"body": "the secret pl')  # torn by a crash, before its id

    assert mirror.purge(tmp_path, ["m0000000000aa"]) == 4

    assert len(names(tmp_path)) == 2
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret" not in everything
    assert b"m0000000000aa" not in everything
    records = list(mirror.read(tmp_path))
    assert [record.get("tombstone") for record in records] == [None, "feed" * 8]
    assert records[0]["memory"] == {"id": "m0000000000bb", "body": "other", "supersedes": None}


def test_purge_keeps_other_lines_byte_for_byte(tmp_path: Path, ledger: Ledger) -> None:
    for number in range(50):
        ledger.record(f"naïve note {number}", id_=f"m{number:04}")
    mirror.flush(tmp_path, ledger)
    lines = (tmp_path / mirror.CURRENT).read_bytes().splitlines(keepends=True)
    mirror.purge(tmp_path, ["m0007", "m0049"])
    assert (tmp_path / mirror.CURRENT).read_bytes().splitlines(keepends=True) == lines[:7] + lines[8:49]


def test_purge_leaves_a_file_alone_that_holds_nothing_of_it(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("other")
    mirror.flush(tmp_path, ledger)
    before = (tmp_path / mirror.CURRENT).stat()
    assert mirror.purge(tmp_path, ["m1"]) == 0
    assert (tmp_path / mirror.CURRENT).stat().st_ino == before.st_ino


def test_a_long_flush_lets_a_purge_in(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "BATCH", 1)
    monkeypatch.setattr(mirror, "LOCK_WAIT_SECONDS", 30)
    for number in range(2000):
        ledger.record(f"note {number}", id_=f"m{number}")
    mirror._flush_turn(tmp_path, ledger, datetime.now(UTC))
    flusher = threading.Thread(target=mirror.flush, args=(tmp_path, ledger))
    flusher.start()
    try:
        assert mirror.purge(tmp_path, ["m0"]) == 1
        assert ledger.changes_since(mirror.CURRENT, 1)  # it did not have to wait for the end
    finally:
        ledger.mirrored = len(ledger.changes)
        flusher.join()


def test_a_purge_that_fails_leaves_the_file_as_it_was_and_no_copy(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.record("text", id_="m1")
    mirror.flush(tmp_path, ledger)
    before = (tmp_path / mirror.CURRENT).read_bytes()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            mirror.purge(tmp_path, ["m1"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != mirror.LOCK} == {
        mirror.CURRENT: before
    }


def test_a_copy_left_by_a_killed_purge_goes_with_the_next(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("text", id_="m1")
    mirror.flush(tmp_path, ledger)
    leftover = tmp_path / f".{mirror.CURRENT}.purge"
    leftover.write_bytes(b"half a copy")
    assert mirror.purge(tmp_path, ["m1"]) == 1
    assert not leftover.exists()


def test_purge_and_flush_at_the_same_time_lose_nothing(tmp_path: Path, ledger: Ledger) -> None:
    for number in range(400):
        ledger.record(f"note {number}", id_=f"m{number:04}")
    doomed = [f"m{number:04}" for number in range(0, 400, 2)]

    def purge_all() -> None:
        for id_ in doomed[:40]:
            mirror.purge(tmp_path, [id_])

    purger = threading.Thread(target=purge_all)
    original, mirror.BATCH = mirror.BATCH, 5
    try:
        purger.start()
        while ledger.changes_since(mirror.CURRENT, 1):
            mirror.flush(tmp_path, ledger)
        purger.join()
    finally:
        mirror.BATCH = original
    mirror.purge(tmp_path, doomed)
    assert bodies(tmp_path) == [f"note {number}" for number in range(1, 400, 2)]


@pytest.mark.parametrize("hidden", ["fdatasync", "O_DIRECTORY", "O_CLOEXEC"])
def test_it_works_without_what_only_posix_has(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    monkeypatch.delattr(os, hidden, raising=False)
    for month in ("01", "02"):
        flush_in(tmp_path, ledger, f"2026-{month}", month)
    mirror.purge(tmp_path, ["m000000000001"])
    assert bodies(tmp_path) == ["02"]


def test_lines_are_plain_json_for_other_tools(tmp_path: Path, ledger: Ledger) -> None:
    ledger.record("for jq")
    mirror.flush(tmp_path, ledger)
    [line] = (tmp_path / mirror.CURRENT).read_text("utf-8").splitlines()
    assert json.loads(line)["memory"]["body"] == "for jq"
