"""The spool keeps every captured event, in order, whatever else lies in its folders."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory.capture.drain import Spool, SpooledFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "home")


def named(spool: Spool, name: str, content: bytes = b"{}") -> Path:
    spool.new.mkdir(parents=True, exist_ok=True)
    path = spool.new / name
    path.write_bytes(content)
    return path


def test_an_empty_home_has_nothing_waiting(spool: Spool) -> None:
    assert spool.pending() == []
    depth = spool.depth()
    assert (depth.count, depth.size_bytes, depth.oldest, depth.rejected) == (0, 0, None, 0)
    assert not spool.home.exists()


def test_bytes_come_back_as_they_were_put(spool: Spool) -> None:
    raw = bytes(range(256)) * 10
    path = spool.put("PostToolUse", raw, agent="gemini-cli")
    [file] = spool.pending()
    assert file.path == path
    assert path.read_bytes() == raw
    assert (file.event, file.agent, file.ours) == ("PostToolUse", "gemini-cli", True)
    assert abs((datetime.now(UTC) - file.moment).total_seconds()) < 60


def test_folders_and_files_are_their_owners_alone(spool: Spool) -> None:
    path = spool.put("Stop", b"{}")
    assert path.stat().st_mode & 0o777 == 0o600
    for folder in (spool.home, spool.folder, spool.new, spool.temporary, spool.rejected):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_pending_is_oldest_first_by_the_time_in_the_name(spool: Spool) -> None:
    times = [1_700_000_000_000_000_005, 999_999_999_999_999_999, 1_700_000_000_000_000_001]
    for moment in times:
        named(spool, f"1-{moment}-7-ab-Stop-codex.json")
    assert [int(f.path.name.split("-")[1]) for f in spool.pending()] == sorted(times)


def test_a_hostile_event_name_stays_inside_the_spool(spool: Spool) -> None:
    path = spool.put("../../../evil" + "x" * 500, b"{}", agent="a/b\0c")
    assert path.parent == spool.new
    [file] = spool.pending()
    assert file.ours
    assert len(path.name) < 200


def test_a_name_no_hook_made_is_pending_as_foreign(spool: Spool) -> None:
    named(spool, "notes.txt")
    [file] = spool.pending()
    assert not file.ours


def test_files_of_a_newer_format_are_left_alone_and_reported(spool: Spool) -> None:
    path = named(spool, "2-1700000000000000000-7-ab-Stop-codex-with-more.json")
    assert spool.pending() == []
    assert spool.depth().newer == 1
    assert spool.depth().count == 0
    assert path.exists()


def test_folders_in_the_spool_are_not_events(spool: Spool) -> None:
    spool.put("Stop", b"{}")
    (spool.new / "folder").mkdir()
    assert len(spool.pending()) == 1


def test_depth_tells_count_size_age_and_rejected(spool: Spool) -> None:
    first = spool.put("Stop", b"12345")
    spool.put("Stop", b"123")
    spool.reject(next(f for f in spool.pending() if f.path == first), "why", kept=b"left")
    depth = spool.depth()
    assert (depth.count, depth.size_bytes, depth.rejected) == (1, 3, 1)
    assert depth.oldest == spool.pending()[0].moment


def test_a_rejected_file_keeps_its_reason_beside_it(spool: Spool) -> None:
    path = spool.put("Stop", b"raw secret")
    spool.reject(spool.pending()[0], "not JSON", kept=b"redacted")
    assert not path.exists()
    assert (spool.rejected / path.name).read_bytes() == b"redacted"
    assert (spool.rejected / f"{path.name}.reason").read_text() == "not JSON\n"
    assert (spool.rejected / path.name).stat().st_mode & 0o777 == 0o600


def test_the_name_of_a_foreign_file_is_not_kept(spool: Spool) -> None:
    named(spool, "password-hunter2" + "x" * 230)
    spool.reject(spool.pending()[0], "foreign")
    assert spool.depth().rejected == 1
    assert not any("hunter2" in path.name for path in spool.rejected.iterdir())


def test_removing_what_is_gone_already_is_no_fault(spool: Spool) -> None:
    spool.put("Stop", b"{}")
    files = spool.pending()
    spool.remove(files)
    spool.remove(files)
    assert spool.pending() == []


def test_only_captures_unfinished_for_an_hour_are_swept(spool: Spool) -> None:
    spool.put("Stop", b"{}")
    old, young = spool.temporary / "old", spool.temporary / "young"
    for path, age in ((old, timedelta(minutes=61)), (young, timedelta(minutes=59))):
        path.write_bytes(b"half")
        moment = (NOW - age).timestamp()
        os.utime(path, (moment, moment))
    assert spool.sweep(NOW) == [4]
    assert young.exists()
    assert not old.exists()
    assert len(spool.pending()) == 1


def test_only_one_holds_the_right_to_drain(spool: Spool) -> None:
    with spool.lock() as first, spool.lock() as second:
        assert (first, second) == (True, False)
    with spool.lock() as again:
        assert again


def test_a_spooled_file_is_a_value() -> None:
    file = SpooledFile(Path("x"), "Stop", "codex", NOW)
    assert file == SpooledFile(Path("x"), "Stop", "codex", NOW)
