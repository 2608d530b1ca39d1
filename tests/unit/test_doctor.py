"""The doctor: says what is wrong and what to do, works when nothing else does, changes nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from claude_memory import doctor
from claude_memory.backup import mirror
from claude_memory.capture.drain import Spool
from claude_memory.doctor import Check, surroundings
from claude_memory.model import Kind, ProjectIdentity, StoredMemory, memory_id
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.sqlite import inspection, schema


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_MEMORY_STORE", "CLAUDE_MEMORY_DEBUG", "CLAUDE_MEMORY_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store(home, Settings())
    yield opened
    opened.close()


def remember(store: Store, count: int, word: str = "note") -> list[StoredMemory]:
    project = store.project_for(ProjectIdentity(("path:/p",), "p", "/p"))
    now = datetime.now(UTC)
    made = [
        StoredMemory(memory_id(f"{word} {n}"), project.id, Kind.NOTE, f"{word} {n}", f"{word} {n}", now, now)
        for n in range(count)
    ]
    store.memories.add(made)
    return made


def found(home: Path, name: str) -> Check:
    [check] = [item for item in doctor.check(home, None) if item.name == name]
    return check


def levels(home: Path) -> dict[str, str]:
    return {item.name: item.level for item in doctor.check(home, None)}


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def test_a_healthy_home_is_all_ok_and_nothing_is_touched(home: Path, store: Store) -> None:
    remember(store, 3)
    mirror.flush(home, store)
    store.close()
    before = contents(home)
    assert set(levels(home).values()) == {"ok"}
    assert contents(home) == before


def test_a_missing_home_is_told_and_not_made(tmp_path: Path) -> None:
    assert found(tmp_path / "none" / "deeper", "home").level == "warn"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_home_is_fine_and_stays_empty(home: Path) -> None:
    assert set(levels(home).values()) == {"ok"}
    assert list(home.iterdir()) == []


def test_a_home_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    assert found(tmp_path / "home", "home").level == "fail"


def test_nothing_heavy_is_loaded(home: Path, store: Store) -> None:
    remember(store, 1)
    script = (
        "import sys; from pathlib import Path; from claude_memory.doctor import check;"
        "check(Path(sys.argv[1]), None);"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'onnx', 'typer', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, home], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_files_that_others_can_read_are_told_with_the_remedy(home: Path, store: Store) -> None:
    (home / "MEMORY.md").write_text("me")
    (home / "MEMORY.md").chmod(0o644)
    check = found(home, "permissions")
    assert check.level == "warn"
    assert "MEMORY.md" in check.message
    assert "chmod" in check.hint
    assert stat.S_IMODE((home / "MEMORY.md").stat().st_mode) == 0o644


def test_a_home_that_cannot_be_made_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(tmp_path / "new" / "home", "home").level == "warn"
    (tmp_path / "file").write_text("in the way")
    check = found(tmp_path / "file" / "home", "home")
    assert (check.level, "is no folder" in check.message) == ("fail", True)
    monkeypatch.setattr(surroundings, "_is_read_only", lambda root: True)
    check = found(tmp_path / "new" / "home", "home")
    assert (check.level, f"{tmp_path} is not writable" in check.message) == ("fail", True)


def test_a_read_only_home_is_a_fault(home: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(store, 2)
    store.close()
    monkeypatch.setattr(surroundings, "_is_read_only", lambda root: True)
    assert found(home, "home").level == "fail"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_home_without_rights_is_a_fault(home: Path) -> None:
    home.chmod(0)
    try:
        assert found(home, "home").level == "fail"
    finally:
        home.chmod(0o700)


@pytest.mark.parametrize(("free_mb", "level"), [(10, "fail"), (200, "warn"), (5000, "ok")])
def test_the_disk_warns_before_it_is_full(
    home: Path, monkeypatch: pytest.MonkeyPatch, free_mb: int, level: str
) -> None:
    usage = surroundings.shutil.disk_usage(home)
    monkeypatch.setattr(surroundings.shutil, "disk_usage", lambda _: usage._replace(free=free_mb << 20))
    assert found(home, "disk").level == level


# --- the store


def test_what_is_no_database_is_a_fault_with_the_way_out(home: Path) -> None:
    (home / "memory.db").write_bytes(b"not a database" * 1000)
    check = found(home, "store")
    assert (check.level, "reindex" in check.hint) == ("fail", True)


def test_a_damaged_page_is_found(home: Path, store: Store) -> None:
    remember(store, 300, "a longer note that fills pages of the database file")
    store.close()
    path = home / "memory.db"
    content = bytearray(path.read_bytes())
    for start in range(40_960, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    assert "fail" in levels(home).values()


def test_a_lost_database_is_told_from_a_new_home(home: Path, store: Store) -> None:
    remember(store, 1)
    mirror.flush(home, store)
    store.close()
    for path in home.glob("memory.db*"):
        path.unlink()
    check = found(home, "store")
    assert (check.level, "--from-files" in check.hint) == ("fail", True)


def test_a_newer_schema_is_told_and_left_alone(home: Path, store: Store) -> None:
    store.close()
    db = apsw.Connection(str(home / "memory.db"))
    db.pragma("user_version", 999)
    db.close()
    check = found(home, "store")
    assert (check.level, "upgrade" in check.message + check.hint) == ("fail", True)


def test_an_older_schema_is_not_migrated_by_looking(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setattr(schema, "CURRENT", schema.CURRENT + 1)
    before = contents(home)
    assert found(home, "store").level == "warn"
    assert contents(home) == before


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stopping a process is POSIX")
def test_a_stopped_writer_turns_the_doctor_red(home: Path, store: Store) -> None:
    remember(store, 5)
    script = (
        "import apsw, sys, time; db = apsw.Connection(sys.argv[1]); db.execute('BEGIN IMMEDIATE');"
        "print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, home / "memory.db"], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout
        writer.stdout.readline()
        os.kill(writer.pid, signal.SIGSTOP)
        try:
            checks = {item.name: item for item in doctor.check(home, None)}
        finally:
            writer.kill()
    assert checks["write lock"].level == "fail"
    if sys.platform == "linux":
        assert str(writer.pid) in checks["write lock"].message
    assert checks["index"].level == "ok"  # reading needs no lock
    assert checks["integrity"].level == "ok"
    assert found(home, "write lock").level == "ok"


def test_a_text_index_that_lost_entries_is_found(home: Path, store: Store) -> None:
    remember(store, 5)
    store.close()
    db = apsw.Connection(str(home / "memory.db"))
    db.execute("DELETE FROM text_index_docsize WHERE id = (SELECT min(id) FROM text_index_docsize)")
    db.close()
    check = found(home, "index")
    assert (check.level, "reindex" in check.hint) == ("fail", True)


def test_a_store_beyond_its_cap_warns(home: Path, store: Store) -> None:
    (home / "config.toml").write_text("store_cap_mb = 0\n")
    assert found(home, "store").level == "warn"


def test_a_store_too_large_to_check_in_time_is_said_to_be(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, 2000)
    monkeypatch.setattr(inspection, "_LOOK_SECONDS", 0.0)
    assert "in a few seconds" in found(home, "integrity").message


def test_a_network_drive_warns(home: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "on_network", lambda path: True)
    assert found(home, "file system").level == "warn"


# --- capture


def test_the_spool_tells_depth_age_and_refusals(home: Path) -> None:
    spool = Spool(home)
    spool.put("UserPromptSubmit", b"{}")
    assert found(home, "spool").message.startswith("1 events wait")
    assert found(home, "spool").level == "ok"
    [waiting] = spool.pending()
    old = int((time.time() - 2 * 86_400) * 1e9)
    parts = waiting.path.name.split("-")
    waiting.path.rename(waiting.path.with_name("-".join([parts[0], str(old), *parts[2:]])))
    assert found(home, "spool").level == "warn"
    spool.put("Stop", b"{}")
    [first, second] = spool.pending()
    spool.reject(first, "unreadable")
    assert found(home, "rejected").level == "warn"
    assert found(home, "spool").level == "ok"
    second.path.rename(second.path.with_name("9" + second.path.name))
    assert found(home, "spool format").level == "warn"


def test_a_spool_over_its_cap_is_a_fault(home: Path) -> None:
    (home / "config.toml").write_text("spool_cap_mb = 0\n")
    Spool(home).put("Stop", b"x" * 1000)
    assert found(home, "spool").level == "fail"


def test_a_spool_that_cannot_be_read_is_a_fault(home: Path) -> None:
    (home / "spool").mkdir()
    (home / "spool" / "new").write_text("no folder")
    assert found(home, "spool").level == "fail"


def test_what_was_begun_and_never_finished_is_told(home: Path) -> None:
    (home / ".x.tmp").write_text("half")
    assert "leftovers" not in levels(home)
    os.utime(home / ".x.tmp", (0, 0))
    assert levels(home)["leftovers"] == "warn"


def test_copies_that_were_set_aside_are_told(home: Path) -> None:
    assert "old copies" not in levels(home)
    (home / "memory.db.damaged-20260101T000000Z").write_bytes(b"x")
    home.with_name("home.before-restore-20260101T000000Z").mkdir()
    assert found(home, "old copies").message.startswith("2 kept")


def test_a_mirror_with_broken_lines_or_far_behind_warns(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, 30)
    assert found(home, "mirror").level == "ok"
    monkeypatch.setattr(doctor, "_MANY_PENDING", 10)
    assert found(home, "mirror").level == "warn"
    mirror.flush(home, store)
    assert found(home, "mirror").level == "ok"
    with (home / mirror.CURRENT).open("ab") as handle:
        handle.write(b"torn\n")
    assert "1 lines cannot be read" in found(home, "mirror").message


# --- search


def test_words_only_is_told_with_its_reason(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(home, "search").message.startswith("words and meaning")
    (home / "config.toml").write_text('embedder = "none"\n')
    assert (found(home, "search").level, "none" in found(home, "search").message) == ("warn", True)
    (home / "config.toml").write_text('embedder = "folder:/no/such/folder"\n')
    assert (found(home, "search").level, "/no/such/folder" in found(home, "search").message) == ("warn", True)
    (home / "config.toml").write_text('embedder = "nonsense"\n')
    assert found(home, "search").level == "fail"
    (home / "config.toml").unlink()
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "onnxruntime" else True)
    assert "onnxruntime not installed" in found(home, "search").message


def test_missing_vectors_and_those_of_another_model_are_told(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, 4)
    assert found(home, "vectors").message.startswith(
        "0 of 4 passages have a vector; the rest is found by words"
    )
    monkeypatch.setattr(doctor, "_FEW", 1)
    assert found(home, "vectors").level == "warn"
    waiting = store.memories.unembedded("another", 10)
    store.memories.add_vectors("another", [(passage.id, bytes(384)) for passage in waiting])
    others = [item for item in doctor.check(home, None) if item.name == "vectors"]
    assert any("another model (another)" in item.message for item in others)


# --- settings and the rest


def test_settings_that_cannot_be_read_are_a_fault_and_the_rest_is_still_checked(
    home: Path, store: Store
) -> None:
    (home / "config.toml").write_text("search_limit = 'many'\n")
    result = levels(home)
    assert result["settings"] == "fail"
    assert result["store"] == "ok"
    (home / "config.toml").write_text("serch_limit = 3\n")
    assert "serch_limit" in found(home, "settings").message
    (home / "config.toml").write_text('store = "oracle://x"\n')
    assert found(home, "store").level == "fail"


def test_retention_is_announced(home: Path) -> None:
    assert "365 days" in found(home, "retention").message
    (home / "config.toml").write_text("keep_events_days = 0\nforget_undo_days = 7\n")
    assert "for ever" in found(home, "retention").message
    assert "7 days" in found(home, "retention").message


def test_large_logs_warn(home: Path) -> None:
    (home / "config.toml").write_text("log_max_mb = 1\n")
    (home / "logs").mkdir()
    (home / "logs" / "x.log").write_bytes(bytes(11 << 20))
    assert found(home, "logs").level == "warn"


def test_an_old_sqlite_is_a_fault(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_OLDEST_LIBRARY", (99, 0, 0))
    assert found(home, "versions").level == "fail"


def test_a_restore_that_was_cut_off_is_told(tmp_path: Path) -> None:
    (tmp_path / ".home.restoring").write_text("home.before-restore-x")
    assert "restore" in found(tmp_path / "home", "home").message


@pytest.mark.parametrize(
    "name", ["memory.db", "spool", "logs", "backups", "cache", "config.toml", "memories.jsonl", "sessions"]
)
@pytest.mark.parametrize("shape", ["file", "folder", "broken link"])
def test_it_never_raises_whatever_stands_where(home: Path, name: str, shape: str) -> None:
    path = home / name
    if shape == "file":
        path.write_bytes(b"\xff\x00garbage\n")
    elif shape == "folder":
        (path / "inner").mkdir(parents=True)
    elif os.name != "nt":
        path.symlink_to(home / "nowhere")
    before = contents(home)
    result = doctor.check(home, None)
    assert all(item.message and "\n" not in item.message for item in result)
    assert contents(home) == before


@pytest.mark.parametrize("hidden", ["statvfs", "geteuid", "O_DIRECTORY", "O_NOFOLLOW"])
def test_it_works_without_what_only_posix_has(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    remember(store, 1)
    mirror.flush(home, store)
    usage = surroundings.shutil.disk_usage(home)
    monkeypatch.setattr(
        surroundings.shutil, "disk_usage", lambda _: usage
    )  # the library has its own way elsewhere
    monkeypatch.delattr(os, hidden, raising=False)
    assert "fail" not in levels(home).values()
